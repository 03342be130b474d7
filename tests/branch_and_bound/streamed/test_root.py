"""The bound before the first pass: from the target alone."""

import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp._iterate import Stop
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from tests.problems import enumerate_optimum
from tests.streamed import exact

KINDS = {
    "free": {},
    "nonnegative": {"lower": 0.0},
    "bounds": {"lower": -0.4, "upper": 0.3},
    "price": {"penalty": 0.05, "sparsity": None},
    "price and bounds": {"penalty": 0.02, "lower": 0.0, "upper": 0.6},
    "forced": {"forced_in": [2, 3], "forced_out": [0, 5], "penalty": 0.3},
    "ridges": {"eta": np.linspace(0.5, 20.0, 9)},
    "all may be nonzero": {"sparsity": 9},
}


EXACT = exact()


@pytest.mark.parametrize("N", [1, 2, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_stopped_at_once(kind, N):
    rng = np.random.default_rng([N, list(KINDS).index(kind)])
    X, y = rng.standard_normal((N, 9)), rng.standard_normal(N)
    settings = {"eta": 4.0, "sparsity": 3} | KINDS[kind]
    problem = SparseQP.from_data(X, y, **settings)
    optimum, _ = enumerate_optimum(problem)
    for limits in ({"time_limit": 0.0}, {"callback": lambda _: True}):
        found = solve(problem, method=EXACT, **limits)
        # With one row the target is its own best residual.
        expected = (Stop.TIME_LIMIT, Stop.CALLBACK, *[Stop.GAP] * (N == 1))
        assert found.stop in expected
        assert 0.0 <= found.lower_bound <= optimum * (1 + 1e-12)
        assert found.lower_bound >= (problem.penalty or 0.0) * len(problem.forced_in)
        assert found.verify().ok


@pytest.mark.parametrize("kind", ["free", "nonnegative", "ridges"])
def test_it_is_positive_where_costs_are_squares(kind):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 9)), rng.standard_normal(30)
    settings = {"eta": 4.0, "sparsity": 3} | KINDS[kind]
    tree = StreamedTree.initial(SparseQP.from_data(X, y, **settings))
    assert 0.1 * tree.best.objective < tree.lower_bound
    # The bound that the residual form of Theorem 1 has at r = y.
    if kind == "free":
        v = 4.0 * (X.T @ y / 30) ** 2
        square = y @ y / 30
        expected = square**2 / (square + np.sort(v)[-3:].sum())
        assert tree.lower_bound == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_a_target_of_zeros(penalty):
    X = np.random.default_rng(2).standard_normal((8, 9))
    problem = SparseQP.from_data(X, np.zeros(8), eta=1.0, sparsity=2, penalty=penalty)
    found = solve(problem, method=EXACT, time_limit=0.0)
    assert found.objective == 0.0
    assert found.lower_bound == pytest.approx(0.0, abs=1e-300)


def test_the_best_of_many_scales():
    """With a price, a small scale proves something where a large one does not."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((10, 200)), rng.standard_normal(10)
    problem = SparseQP.from_data(X, y, eta=10.0, penalty=0.05)
    form = problem.quadratic
    found = RootBound.of_target(problem, form, DEFAULT_SETTINGS.coarse_scales)
    assert 0.0 < found.scale < 1.0
    assert found.value > 0.0
    stopped = solve(problem, method=EXACT, time_limit=1.0)
    assert found.value <= stopped.objective


def test_status_of_what_is_proved_at_once():
    problem = SparseQP.from_data(np.zeros((3, 5)), np.ones(3), eta=1.0, sparsity=2)
    found = solve(problem, method=EXACT, time_limit=0.0)
    assert found.status is Status.OPTIMAL
    assert found.objective == 1.0
