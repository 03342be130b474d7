"""Gurobi, as far as its free licence goes."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from cardqp import BackendError, ParameterError
from cardqp.backends import ClaimStatus, Gurobi, gurobi
from cardqp.exceptions import BackendNotFoundError
from tests.backends.agreement import QUICKLY, assert_agrees, hard_problem, truth
from tests.problems import KINDS


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    problem, _ = truth("free", 0)
    with pytest.raises(BackendNotFoundError, match=r"pip install 'cardqp\[gurobi\]'"):
        Gurobi().solve(problem, **QUICKLY)


def test_unknown_formulations():
    with pytest.raises(ParameterError, match="for Gurobi: it is 'conic'"):
        Gurobi("conic")


@pytest.fixture
def is_restricted(gurobipy):
    """Whether there is no licence but the one that comes with the package."""
    with (
        gurobipy.Env(params={"OutputFlag": 0}) as env,
        gurobipy.Model(env=env) as model,
    ):
        x = model.addMVar(201)
        model.setObjective(x @ x)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            return True
    return False


@pytest.mark.usefixtures("gurobipy")
class TestInstalled:
    @pytest.mark.parametrize("formulation", ["perspective", "sos1", "indicator"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_agreement_with_enumeration(self, kind, formulation):
        problem, optimum = truth(kind, 1)
        assert_agrees(Gurobi(formulation).solve(problem, **QUICKLY), problem, optimum)

    @pytest.mark.parametrize("kind", ["free", "rows", "blocks", "thresholds, budget"])
    def test_proved_bounds(self, kind):
        problem, optimum = truth(kind, 1)
        assert_agrees(Gurobi("big-m").solve(problem, **QUICKLY), problem, optimum)

    def test_a_start_is_passed_on(self):
        problem = hard_problem()
        root = Gurobi(parameters={"NodeLimit": 0, "Heuristics": 0, "SolutionLimit": 1})
        better = Gurobi().solve(problem, **QUICKLY | {"time_limit": 1.0})
        cold = root.solve(problem, **QUICKLY)
        assert better.objective < cold.objective
        warm = root.solve(problem, **QUICKLY | {"start": better.x})
        assert warm.status is ClaimStatus.FEASIBLE
        assert warm.objective <= better.objective * (1 + 1e-6)

    def test_a_time_limit_leaves_the_best_point(self):
        claim = Gurobi().solve(hard_problem(), **QUICKLY | {"time_limit": 0.5})
        assert claim.status is ClaimStatus.FEASIBLE
        assert claim.message == "TIME_LIMIT"
        assert claim.solver.startswith("Gurobi ")
        assert claim.bound < claim.objective < np.inf

    def test_parameters_are_gurobis_own(self):
        problem, _ = truth("free", 0)
        with pytest.raises(ParameterError, match="must be Gurobi's own: 'NoSuch' = 1"):
            Gurobi(parameters={"NoSuch": 1}).solve(problem, **QUICKLY)

    def test_the_size_limit(self, is_restricted):
        if not is_restricted:
            pytest.skip("there is a licence")
        with pytest.raises(BackendError, match="accepts 200 columns") as info:
            Gurobi().solve(hard_problem(70), **QUICKLY)
        assert info.value.__cause__ is not None


@pytest.mark.parametrize(
    ("name", "n", "message"),
    [
        ("SIZE_LIMIT_EXCEEDED", 90, 'licence or use formulation="indicator".'),
        ("SIZE_LIMIT_EXCEEDED", 900, 'of 900 variables exceeds: .* or use "scip".'),
        ("NO_LICENSE", 9, 'found no valid licence .* use "scip"'),
        ("OUT_OF_MEMORY", 9, "Gurobi failed: .*error 10001"),
    ],
)
def test_errors_are_explained(gurobipy, name, n, message):
    errno = getattr(gurobipy.GRB.Error, name)
    with pytest.raises(BackendError, match=message):
        raise gurobi._explained(SimpleNamespace(errno=errno), n)
