"""SCIP: agreement with enumeration, limits, starts, refusals."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.backends import ClaimStatus, Scip
from cardqp.backends.program import FORMULATIONS
from cardqp.exceptions import BackendNotFoundError, ParameterError
from cardqp.heuristics.local_search import first_support
from cardqp.problem.quadratic import Gram
from cardqp.subproblems.support_qp import fit_support
from tests.backends.agreement import QUICKLY, assert_agrees, hard_problem, truth
from tests.problems import KINDS, rebuilt

pytest.importorskip("pyscipopt", reason="SCIP is not installed")


@pytest.mark.parametrize("seed", range(5, 7))
@pytest.mark.parametrize("kind", KINDS)
def test_the_perspective_agrees_with_enumeration(kind, seed):
    problem, optimum = truth(kind, seed)
    assert_agrees(Scip().solve(problem, **QUICKLY), problem, optimum)


OTHERS = [(kind, "sos1") for kind in KINDS[::2]]
OTHERS += [(kind, "big-m") for kind in KINDS[1::2]]
OTHERS += [(kind, "indicator") for kind in KINDS[::3]]


@pytest.mark.parametrize(("kind", "formulation"), OTHERS)
def test_other_formulations_agree_with_enumeration(kind, formulation):
    problem, optimum = truth(kind, 1)
    assert_agrees(Scip(formulation).solve(problem, **QUICKLY), problem, optimum)


def test_without_a_point_bounds_are_not_proved():
    problem, _ = truth("infeasible", 0)
    with pytest.raises(ParameterError, match="needs bounds or a feasible point"):
        Scip("big-m").solve(problem, **QUICKLY)


UNITS = ["penalty", "equality", "rows+bounds", "thresholds, budget"]


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("kind", UNITS)
def test_units_of_the_objective_do_not_matter(kind, unit):
    problem, optimum = truth(kind, 2)
    form = Gram(unit * problem.Q, np.zeros(problem.n))
    scaled = rebuilt(
        problem.with_quadratic(form),
        c=unit * problem.c,
        eta=problem.eta / unit,
        constant=unit * problem.constant,
        penalty=None if problem.penalty is None else unit * problem.penalty,
    )
    claim = Scip().solve(scaled, **QUICKLY)
    assert claim.objective == pytest.approx(unit * optimum, rel=1e-5)
    assert claim.bound == pytest.approx(unit * optimum, rel=1e-5)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_units_of_variables_do_not_matter(unit):
    problem, optimum = truth("rows+bounds", 2)
    changed = SparseQP(
        problem.Q * unit**2,
        problem.c * unit,
        eta=problem.eta / unit**2,
        sparsity=problem.sparsity,
        A=problem.A * unit,
        b=problem.b,
        lower=problem.lower / unit,
        upper=problem.upper / unit,
        constant=problem.constant,
    )
    assert_agrees(Scip().solve(changed, **QUICKLY), changed, optimum)


def test_variances_in_natural_units():
    rng = np.random.default_rng(1)
    problem = SparseQP.from_factor_model(
        0.01 * rng.standard_normal((4, 20)) + 0.01,
        1e-4 * rng.uniform(0.5, 2.0, 20),
        np.zeros(20),
        sparsity=5,
        A_eq=np.ones((1, 20)),
        b_eq=[1.0],
        lower=0.05,
        upper=0.5,
    )
    claim = Scip().solve(problem, **QUICKLY | {"gap": 1e-4})
    assert claim.status is ClaimStatus.OPTIMAL
    assert claim.gap <= 1e-4
    assert claim.objective == pytest.approx(problem.objective(claim.x), rel=1e-5)
    assert problem.feasibility(claim.x).holds(1e-5)


def test_a_claim_says_where_it_comes_from():
    problem, _ = truth("bounds", 0)
    claim = Scip().solve(problem, **QUICKLY)
    assert claim.solver.startswith("SCIP ")
    assert claim.message in ("optimal", "gaplimit")
    assert claim.seconds > 0
    assert claim.n_nodes >= 1


FIRST = {"limits/nodes": 1, "limits/solutions": 1}
"""SCIP ends with the first point that it has."""


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_is_passed_on(formulation):
    problem = hard_problem()
    start = np.zeros(problem.n)
    start[first_support(problem)] = 1.0
    expected = fit_support(problem, first_support(problem)).objective
    first = Scip(formulation, FIRST)
    assert first.solve(problem, **QUICKLY).objective > expected * 1.01
    warm = first.solve(problem, **QUICKLY | {"start": start})
    assert warm.status is ClaimStatus.FEASIBLE
    assert warm.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", ["blocks, rows", "thresholds, forced", "groups, rows"])
def test_a_start_of_any_kind_is_a_solution(kind, formulation):
    problem, optimum = truth(kind, 0)
    found = Scip().solve(problem, **QUICKLY)
    first = Scip(formulation, FIRST | {"presolving/maxrounds": 0})
    again = first.solve(problem, **QUICKLY | {"start": found.x})
    assert again.objective == pytest.approx(optimum, rel=1e-5)


def test_a_start_that_cannot_be_completed_is_left_out():
    problem, optimum = truth("equality", 0)
    claim = Scip().solve(problem, **QUICKLY | {"start": np.zeros(problem.n)})
    assert_agrees(claim, problem, optimum)


def test_a_time_limit_leaves_the_best_point():
    problem = hard_problem()
    claim = Scip().solve(problem, **QUICKLY | {"time_limit": 1.0})
    assert claim.status is ClaimStatus.FEASIBLE
    assert claim.message == "timelimit"
    assert claim.seconds < 10.0
    assert claim.bound < claim.objective
    assert 0 < claim.gap < np.inf


def test_no_time_for_a_point():
    claim = Scip(parameters={"limits/time": 0.0}).solve(hard_problem(), **QUICKLY)
    assert claim.status is ClaimStatus.UNKNOWN
    assert claim.x is None
    assert (claim.objective, claim.bound, claim.gap) == (np.inf, -np.inf, np.inf)


def test_no_time_limit():
    problem, optimum = truth("free", 0)
    claim = Scip().solve(problem, **QUICKLY | {"time_limit": None})
    assert_agrees(claim, problem, optimum)


def test_a_row_without_variables_that_cannot_hold():
    problem = SparseQP(
        np.eye(2), np.ones(2), eta=1.0, sparsity=1, A=[[1, 1], [0, 0]], b=[1, -1]
    )
    claim = Scip().solve(problem, **QUICKLY)
    assert claim.status is ClaimStatus.INFEASIBLE
    assert claim.message == "row 1 has no variables and does not hold"


def test_a_row_without_variables_that_holds():
    problem = SparseQP(
        np.eye(2), [-4.0, 1.0], eta=1.0, sparsity=1, A=[[0.0, 0.0]], b=[1.0]
    )
    assert Scip().solve(problem, **QUICKLY).objective == pytest.approx(-2.0)


INTERRUPTED = """
from cardqp.backends import Scip
from tests.backends.agreement import hard_problem
import numpy as np
problem = hard_problem()
start = np.zeros(problem.n)
start[:8] = 1.0
print("ready", flush=True)
settings = dict(gap=1e-6, time_limit=30.0, start=start, threads=1)
claim = Scip().solve(problem, **settings)
print(claim.status.name, claim.message, claim.x is not None, claim.is_interrupted)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to other processes")
def test_an_interrupt_leaves_the_best_point():
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout.readline().strip() == "ready"
    time.sleep(2.0)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=30)
    assert out.splitlines()[-1] == "FEASIBLE userinterrupt True True"


def test_parameters_are_scips_own():
    problem, _ = truth("free", 0)
    with pytest.raises(ParameterError, match="must be SCIP's own: 'no/such' = 1"):
        Scip(parameters={"no/such": 1}).solve(problem, **QUICKLY)


def test_unknown_formulations():
    with pytest.raises(ParameterError, match="\"big-m\" for SCIP: it is 'conic'"):
        Scip("conic")


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    problem, _ = truth("free", 0)
    with pytest.raises(BackendNotFoundError, match=r"pip install 'cardqp\[scip\]'"):
        Scip().solve(problem, **QUICKLY)
