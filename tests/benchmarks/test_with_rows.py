import argparse
import math
import sys
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import with_rows
from benchmarks.peers.adapters import programs
from benchmarks.peers.environments import ADAPTERS, WITH_ROWS, NotInstallableError
from benchmarks.peers.referee import Verdict, judge
from benchmarks.peers.runner import Claim
from benchmarks.peers.tasks import Reference

import cardqp
from benchmarks import constrained
from cardqp.subproblems.support_qp import fit_support

LIMIT = 10.0
FORMS = [programs.big_m, programs.perspective, programs.separable]


def make_problem(**changes):
    """Weights that sum to one, with a threshold and a row for the return."""
    rng = np.random.default_rng(3)
    n = 6
    root = rng.standard_normal((n + 2, n))
    arguments = {
        "eta": 4.0,
        "sparsity": 3,
        "A": rng.uniform(0.0, 1.0, (1, n)),
        "b_lower": 0.2,
        "A_eq": np.ones((1, n)),
        "b_eq": 1.0,
        "lower": np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0]),
    }
    return cardqp.SparseQP(
        root.T @ root, rng.standard_normal(n), constant=5.0, **(arguments | changes)
    )


@pytest.fixture(scope="module")
def problem():
    return make_problem()


@pytest.fixture(scope="module")
def ours(problem):
    """The optimum by enumeration, which needs no compiled code to be loaded."""
    supports = combinations(range(problem.n), 3)
    fits = (fit_support(problem, np.array(support)) for support in supports)
    objective = min(fit.objective for fit in fits)
    return Reference(objective, objective)


def stored(problem, folder, objective=2.0):
    with_rows.save_task(folder / "task.npz", problem, objective, LIMIT)
    return programs.Problem.load(str(folder / "task.npz"))


def columns(program, x):
    """The columns of a sparse point, with cones as tight as they can be."""
    v = np.zeros(len(program.slope))
    v[: len(x)], v[len(x) : 2 * len(x)] = x, x != 0
    for row in program.rows:
        if row.is_equality and row.columns[-1] >= len(x):  # it defines a part
            v[row.columns[-1]] = row.coefficients[:-1] @ v[row.columns[:-1]]
    for cone in program.cones:
        v[cone.height] = cone.weight * v[cone.base] ** 2
    return v


def is_feasible(program, v):
    excess = [row.coefficients @ v[row.columns] - row.rhs for row in program.rows]
    is_equality = np.array([row.is_equality for row in program.rows])
    size = np.where(is_equality, np.abs(excess), excess)
    within = (v >= program.lower - 1e-9) & (v <= program.upper + 1e-9)
    return bool((size <= 1e-9).all() and within.all())


class TestPrograms:
    @pytest.mark.parametrize("form", FORMS)
    def test_every_form_has_the_objective_of_the_problem(self, problem, tmp_path, form):
        fit = fit_support(problem, np.array([0, 1, 4]))
        program = form(stored(problem, tmp_path))
        v = columns(program, fit.x)
        x = v[: problem.n]
        total = program.slope @ v + x @ program.form @ x + program.constant
        assert total / program.problem.unit == pytest.approx(fit.objective, rel=1e-9)
        assert is_feasible(program, v)
        np.testing.assert_array_equal(program.point(v), fit.x)
        plain = program.with_plain_cones()
        v = columns(plain, fit.x)
        again = plain.slope @ v + x @ plain.form @ x + plain.constant
        assert again == pytest.approx(total, rel=1e-12)

    @pytest.mark.parametrize("form", FORMS)
    def test_four_nonzeros_and_small_ones_are_forbidden(self, problem, tmp_path, form):
        program = form(stored(problem, tmp_path))
        for x in ([0.25, 0, 0.25, 0.25, 0.25, 0], [0.5, 0.05, 0.45, 0, 0, 0]):
            assert not is_feasible(program, columns(program, np.array(x)))

    def test_the_products_are_the_form(self, problem, tmp_path):
        program = programs.big_m(stored(problem, tmp_path))
        x = np.arange(1.0, 7.0)
        total = sum(factor * x[i] * x[j] for i, j, factor in program.products)
        assert total == pytest.approx(x @ program.form @ x, rel=1e-12)

    @pytest.mark.parametrize("form", FORMS[1:])
    def test_what_is_not_in_cones_stays_convex(self, problem, tmp_path, form):
        program = form(stored(problem, tmp_path))
        assert np.linalg.eigvalsh(program.form)[0] >= 0

    def test_the_best_known_objective_is_the_unit(self, problem, tmp_path):
        assert stored(problem, tmp_path, 4.0).unit == programs.UNIT / 4.0
        assert stored(problem, tmp_path, math.inf).unit == 1.0


class TestBounds:
    def test_the_budget_bounds_long_positions(self, problem, tmp_path):
        lower, upper = programs.bounds(stored(problem, tmp_path))
        np.testing.assert_array_equal(upper, 1.0)
        np.testing.assert_array_equal(lower, problem.lower)

    def test_one_short_position_is_bounded_by_the_others(self, tmp_path):
        lower = np.array([-np.inf, 0, 0, 0, 0, 0])
        upper = np.array([np.inf, 1, 1, 1, 1, 1])
        task = stored(
            make_problem(A=None, b_lower=None, lower=lower, upper=upper), tmp_path
        )
        lower, upper = programs.bounds(task)
        assert (lower[0], upper[0]) == (-4.0, 1.0)

    def test_without_bounds_there_is_no_big_m(self, tmp_path):
        task = stored(make_problem(A=None, b_lower=None, lower=None), tmp_path)
        assert np.isinf(programs.bounds(task)).all()
        with pytest.raises(programs.NoBoundsError):
            programs.big_m(task)
        assert len(programs.perspective(task).cones) == 6


ADAPTER = f"""
import sys
sys.path.insert(0, {str(ADAPTERS)!r})
import branching
import numpy as np

def solve(program, clock):
    {{body}}

branching.main(solve)
"""
ANSWER = """
    if program.cones:
        raise branching.TooLargeError
    n, s = len(program.problem.c), program.problem.sparsity
    with clock:
        values = np.append(np.arange(n) < s, np.arange(n) < s)
    return branching.Outcome(values, -1e20, False)
"""


@dataclass(frozen=True)
class Fake:
    adapter: Path


@pytest.fixture
def measure(problem, ours, tmp_path, monkeypatch):
    """The verdict on an adapter whose ``solve`` has the given body."""
    monkeypatch.setattr(with_rows, "interpreter", lambda *_: Path(sys.executable))

    def run(body):
        script = tmp_path / "adapter.py"
        script.write_text(ADAPTER.format(body=body.strip()))
        return with_rows.measure_peer(Fake(script), problem, ours, LIMIT, tmp_path)

    return run


class TestMeasure:
    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ("raise branching.TooLargeError", "size limit"),
            ("raise branching.NoLicenceError", "no licence"),
            ("raise ValueError('broken')", "failed: ValueError: broken"),
        ],
    )
    def test_without_an_answer_the_status_says_why(self, measure, body, status):
        verdict = measure(body)
        assert verdict.status == status
        assert math.isnan(verdict.seconds)

    def test_the_smaller_form_is_tried_next(self, measure, problem):
        verdict = measure(ANSWER)
        fit = fit_support(problem, np.arange(3))
        assert verdict.status == "open"
        assert verdict.objective == pytest.approx(fit.objective, rel=1e-12)
        assert math.isnan(verdict.bound)

    def test_what_cannot_be_installed_is_reported(self, measure, monkeypatch):
        def fail(*_):
            raise NotInstallableError("no such package")

        monkeypatch.setattr(with_rows, "interpreter", fail)
        assert measure(ANSWER).status == "not installable: no such package"


class TestReferee:
    @pytest.fixture
    def claim(self, problem):
        fit = fit_support(problem, np.array([0, 1, 4]))
        return Claim(fit.x, fit.objective, True, 1.0)

    def test_a_point_that_breaks_rows_is_fitted_again(self, problem, claim):
        reference = Reference(claim.bound, claim.bound)
        small = replace(claim, x=0.5 * claim.x)
        verdict = judge(problem, reference, small, LIMIT)
        assert verdict.objective == pytest.approx(claim.bound, rel=1e-12)
        assert verdict.status == "proved"

    @pytest.mark.parametrize(
        ("is_claimed", "status"), [(True, "wrong"), (False, "open")]
    )
    def test_no_point_is_no_proof(self, problem, claim, is_claimed, status):
        reference = Reference(claim.bound, claim.bound)
        nothing = replace(claim, x=np.zeros(6), claims_optimal=is_claimed)
        verdict = judge(problem, reference, nothing, LIMIT)
        assert verdict.status == status
        assert math.isnan(verdict.objective)


def test_every_peer_with_rows_has_an_adapter():
    assert all(peer.adapter.exists() for peer in WITH_ROWS.values())


def test_names_of_peers():
    assert constrained.peer_names("scip,copt") == ["scip", "copt"]
    assert constrained.peer_names("all") == list(WITH_ROWS)
    with pytest.raises(argparse.ArgumentTypeError, match="cplex"):
        constrained.peer_names("scip,baron")


def test_a_line_has_dashes_for_what_is_missing():
    cells = constrained.line("port1", "xpress", Verdict("size limit")).split()
    assert cells == ["port1", "xpress", "size", "limit", "-", "-", "-", "-", "-"]
    cells = constrained.line("port1", "scip", Verdict("open", 1.0, 2.0, 0.5, bound=1.0))
    assert cells.split()[2:] == ["open", "2", "1", "5.0e-01", "1.000", "-"]
