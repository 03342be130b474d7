import itertools

import numpy as np
import pytest

from cardqp import ProblemError, Status
from cardqp.models import BinaryQP

KINDS = ("convex", "nonconvex", "linear", "knapsack", "equality", "limited")


def points(n):
    return np.array(list(itertools.product([0, 1], repeat=n)))


def random_program(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    F = rng.standard_normal((n, n))
    Q = F.T @ F / n if kind != "nonconvex" else F + F.T
    if kind == "linear":
        Q = np.zeros((n, n))
    c = rng.standard_normal(n) - Q.sum(axis=1) * (kind != "nonconvex")
    settings = {}
    weights = rng.integers(1, 9, n).astype(float)
    if kind == "knapsack":
        settings = {"A": weights[None, :], "b": [np.floor(weights.sum() / 2)]}
    if kind == "equality":
        total = float(rng.integers(1, weights.sum()))
        settings = {"A_eq": weights[None, :], "b_eq": [total]}
    if kind == "limited":
        settings = {"sparsity": n // 2, "A": np.ones((1, n)), "b": [n - 1.0]}
    return Q, c, settings


def enumerated(Q, c, A=None, b=None, A_eq=None, b_eq=None, sparsity=None):
    x = points(len(c))
    values = x @ c + np.einsum("ki,ij,kj->k", x, Q, x)
    is_met = np.ones(len(x), dtype=bool)
    if A is not None:
        is_met &= (x @ A.T <= b).all(axis=1)
    if A_eq is not None:
        is_met &= (x @ A_eq.T == b_eq).all(axis=1)
    if sparsity is not None:
        is_met &= x.sum(axis=1) <= sparsity
    return np.min(values[is_met], initial=np.inf)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_enumeration_finds_nothing_better(kind, seed):
    Q, c, settings = random_program(kind, seed)
    program = BinaryQP(Q, c, **settings)
    found = program.solve()
    best = enumerated(Q, c, **settings)
    if np.isinf(best):
        assert found.status is Status.INFEASIBLE
        assert found.x is None
        assert found.chosen == ()
        assert found.objective == found.lower_bound == found.gap == np.inf
        return
    assert found.status is Status.OPTIMAL
    assert found.solution.verify().ok
    assert set(found.x) <= {0, 1}
    assert found.x.dtype.kind == "i"
    assert found.objective == pytest.approx(c @ found.x + found.x @ Q @ found.x)
    # The search ends at a gap of 1e-4; a bound is never above the optimum.
    slack = 1e-4 * abs(found.objective) + 1e-8
    assert best - 1e-12 <= found.objective <= best + slack
    assert found.lower_bound <= best
    assert found.chosen == tuple(np.flatnonzero(found.x))


def test_some_equality_has_no_answer():
    program = BinaryQP(np.eye(3), np.zeros(3), A_eq=[[2, 4, 6]], b_eq=[5])
    found = program.solve()
    assert found.status is Status.INFEASIBLE
    assert found.solution.verify().ok


@pytest.mark.parametrize("kind", ["convex", "nonconvex"])
def test_the_problem_has_the_same_objective_at_all_points(kind):
    Q, c, _ = random_program(kind, 3)
    program = BinaryQP(Q, c)
    for x in points(len(c))[::7]:
        expected = c @ x + x @ Q @ x
        assert program.objective(x) == pytest.approx(expected, abs=1e-12)
        assert program.problem.objective(x) == pytest.approx(expected, abs=1e-12)
    assert np.linalg.eigvalsh(program.problem.Q)[0] >= 0
    assert repr(program) == f"BinaryQP(n={len(c)}, rows=0)"


def test_names_and_settings():
    program = BinaryQP(np.eye(2), [-3.0, 1.0], names=["left", "right"])
    found = program.solve(gap=0.0, node_limit=10)
    assert found.chosen == ("left",)
    assert found.objective == -2.0


def test_a_program_without_data():
    found = BinaryQP(np.zeros((2, 2)), np.zeros(2)).solve()
    assert found.objective == 0.0
    assert found.lower_bound <= 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Q": np.ones((2, 3))}, "`Q` must be square and not empty"),
        ({"Q": np.triu(np.ones((2, 2)))}, "`Q` must be symmetric: .* pass"),
        ({"Q": [[np.nan, 0], [0, 1]]}, r"`Q` must be finite: Q\[0, 0\]"),
        ({"c": [1.0]}, "`c` must have 2 entries, one per variable"),
        ({"A": [[1, 1]]}, "`b` is missing"),
        ({"sparsity": 3}, "`sparsity` must lie between 0 and n = 2"),
        ({"names": ["a"]}, "`names` must have 2 entries"),
    ],
)
def test_bad_input_gets_one_clear_error(changes, message):
    arguments = {"Q": np.eye(2), "c": np.ones(2)} | changes
    with pytest.raises(ProblemError, match=message):
        BinaryQP(**arguments)
