"""Solvers behind CVXPY, of which SCIP is always there."""

import sys

import numpy as np
import pytest

from cardqp import BackendError, ParameterError, SparseQP
from cardqp.backends import ClaimStatus, Cvxpy
from cardqp.backends.dialects import DIALECTS
from cardqp.exceptions import BackendNotFoundError
from tests.backends.agreement import QUICKLY, assert_agrees, hard_problem, truth
from tests.problems import KINDS

cvxpy = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
pytest.importorskip("pyscipopt", reason="SCIP is not installed")


@pytest.mark.parametrize("kind", KINDS)
def test_the_perspective_agrees_with_enumeration(kind):
    problem, optimum = truth(kind, 0)
    assert_agrees(Cvxpy("SCIP").solve(problem, **QUICKLY), problem, optimum)


@pytest.mark.parametrize(
    "kind", ["free", "rows", "blocks, forced", "thresholds, budget"]
)
def test_proved_bounds_agree_with_enumeration(kind):
    problem, optimum = truth(kind, 0)
    assert_agrees(Cvxpy("SCIP", "big-m").solve(problem, **QUICKLY), problem, optimum)


def test_bounds_are_used_where_they_can_be_proved_only():
    twins = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = SparseQP(twins, [-2.0, -2.0, -1.0], eta=1e15, sparsity=2)
    claim = Cvxpy("SCIP").solve(problem, **QUICKLY)
    assert claim.objective == pytest.approx(-1.25, rel=1e-4)
    with pytest.raises(ParameterError, match="curvature"):
        Cvxpy("SCIP", "big-m").solve(problem, **QUICKLY)


def test_gaps_are_relative_to_the_constant_as_well():
    problem = hard_problem().with_linear(constant=1e4)
    claim = Cvxpy("SCIP").solve(problem, **QUICKLY | {"gap": 0.01})
    assert claim.status is ClaimStatus.OPTIMAL
    assert claim.message == "gaplimit"
    assert claim.gap <= 0.01
    assert claim.bound > 9e3


def test_a_time_limit_leaves_the_best_point():
    claim = Cvxpy("SCIP").solve(hard_problem(), **QUICKLY | {"time_limit": 1.5})
    assert claim.status is ClaimStatus.FEASIBLE
    assert claim.message == "timelimit"
    assert claim.bound < claim.objective
    assert claim.solver.startswith("SCIP by CVXPY ")


def test_no_time_for_a_point():
    none = Cvxpy("SCIP", parameters={"limits/time": 0.0})
    claim = none.solve(hard_problem(), **QUICKLY | {"time_limit": 1e-3})
    assert claim.status is ClaimStatus.UNKNOWN
    assert claim.x is None


def test_parameters_are_passed_on():
    one_node = Cvxpy("SCIP", parameters={"limits/nodes": 1})
    claim = one_node.solve(hard_problem(15), **QUICKLY)
    assert claim.message == "nodelimit"
    assert claim.n_nodes == 1


def test_failures_keep_their_cause():
    problem, _ = truth("free", 0)
    wrong = Cvxpy("SCIP", parameters={"no/such": 1})
    with pytest.raises(
        BackendError, match=r"SCIP failed behind CVXPY, .*no/such"
    ) as info:
        wrong.solve(problem, **QUICKLY)
    assert info.value.__cause__ is not None


def test_failures_before_time_is_up_are_failures(monkeypatch):
    def fail(*_, **__):
        raise cvxpy.SolverError("no licence")

    monkeypatch.setattr(cvxpy.Problem, "solve", fail)
    problem, _ = truth("free", 0)
    for limit in (30.0, None):
        with pytest.raises(BackendError, match="SolverError: no licence"):
            Cvxpy("SCIP").solve(problem, **QUICKLY | {"time_limit": limit})


@pytest.mark.parametrize("solver", DIALECTS)
def test_settings_in_each_dialect(solver, monkeypatch):
    seen = {}

    def note(_, **settings):
        seen.update(settings)
        raise cvxpy.SolverError

    monkeypatch.setattr(cvxpy.Problem, "solve", note)
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: list(DIALECTS))
    monkeypatch.setattr("cardqp.backends.cvxpy._quiet_gurobi", lambda: "quiet")
    problem, _ = truth("free", 0)
    with pytest.raises(BackendError):
        Cvxpy(solver, parameters={"own": 7}).solve(problem, **QUICKLY)
    dialect = DIALECTS[solver]
    assert seen.get("env") == ("quiet" if solver == "GUROBI" else None)
    assert seen["solver"] == solver
    inner = seen if dialect.under is None else seen[dialect.under]
    assert inner[dialect.gap] == QUICKLY["gap"]
    assert 0 < inner[dialect.time] <= QUICKLY["time_limit"]
    assert inner["own"] == 7
    assert dialect.threads is None or inner[dialect.threads] == 1


@pytest.mark.parametrize("formulation", ["perspective", "big-m"])
def test_a_start_worse_than_the_bounds_allow(formulation):
    problem = SparseQP(np.diag([1.0, 1e-4]), [-10.0, -0.01], eta=1e9, sparsity=1)
    settings = QUICKLY | {"start": [0.0, 1.0]}
    claim = Cvxpy("SCIP", formulation).solve(problem, **settings)
    assert claim.status is ClaimStatus.OPTIMAL
    assert claim.objective == pytest.approx(-25.0, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_of_any_kind(kind):
    problem, optimum = truth(kind, 1)
    start = np.random.default_rng(0).standard_normal(problem.n)
    claim = Cvxpy("SCIP").solve(problem, **QUICKLY | {"start": start})
    assert_agrees(claim, problem, optimum)


@pytest.mark.usefixtures("gurobipy")
def test_gurobi_gets_the_start():
    problem = hard_problem(15)
    limits = {"NodeLimit": 0, "Heuristics": 0, "SolutionLimit": 1}
    first = Cvxpy("GUROBI", "big-m", parameters=limits)
    better = Cvxpy("GUROBI", "big-m").solve(problem, **QUICKLY)
    assert better.objective < first.solve(problem, **QUICKLY).objective
    warm = first.solve(problem, **QUICKLY | {"start": better.x})
    assert warm.objective <= better.objective * (1 + 1e-6)


def test_unknown_solvers():
    with pytest.raises(ParameterError, match=r"one of SCIP, .*: it is 'OSQP'"):
        Cvxpy("OSQP")


@pytest.mark.parametrize("formulation", ["sos1", "indicator"])
def test_formulations_that_cvxpy_lacks(formulation):
    with pytest.raises(ParameterError, match='"perspective", "big-m" for CVXPY'):
        Cvxpy("SCIP", formulation)


def test_a_solver_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: [])
    problem, _ = truth("free", 0)
    with pytest.raises(BackendNotFoundError, match=r"finds no MOSEK: .*install mosek"):
        Cvxpy("MOSEK").solve(problem, **QUICKLY)


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    problem, _ = truth("free", 0)
    with pytest.raises(BackendNotFoundError, match=r"pip install 'cardqp\[cvxpy\]'"):
        Cvxpy("SCIP").solve(problem, **QUICKLY)
