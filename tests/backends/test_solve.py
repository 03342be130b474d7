"""Other solvers behind ``solve`` and the command line."""

import json
import sys
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from cardqp import (
    BackendError,
    ParameterError,
    SparseQP,
    Status,
    Stop,
    backends,
    solve,
)
from cardqp.backends import Claim, ClaimStatus
from cardqp.cli.main import main
from cardqp.datasets import make_regression
from tests.backends.agreement import TOLERANCE
from tests.problems import KINDS, random_problem


@dataclass
class Oracle:
    """A solver that says what it is told to."""

    x: np.ndarray | None = None
    status: ClaimStatus = ClaimStatus.OPTIMAL
    bound: float = -np.inf
    asked: list[dict] = field(default_factory=list)

    def solve(self, problem, **settings):
        self.asked.append(settings | {"n": problem.n})
        x = self.x if self.x is None or len(self.x) == problem.n else None
        value = np.inf if x is None else problem.objective(x)
        return Claim("Oracle 1", self.status, x, value, self.bound, 0.0, 0.1, 7, "so")


@pytest.fixture
def problem():
    return SparseQP(np.eye(4), [-4.0, -3.0, -2.0, -1.0], eta=1.0, sparsity=2)


BEST, SECOND = np.array([1.0, 0.75, 0.0, 0.0]), np.array([1.0, 0.0, 0.5, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_branch_and_bound_and_scip_agree(kind, seed):
    pytest.importorskip("pyscipopt", reason="SCIP is not installed")
    problem = random_problem(kind, seed)
    own = solve(problem, gap=1e-7)
    other = solve(problem, gap=1e-7, backend="scip")
    assert other.verify().ok
    if own.status is Status.INFEASIBLE:
        assert other.x is None
        # The relaxation need not prove it; SCIP says so where it does not.
        is_claimed = other.claim is not None
        assert is_claimed or other.status is Status.INFEASIBLE
        assert not is_claimed or other.claim.status is ClaimStatus.INFEASIBLE
        return
    assert own.status is Status.OPTIMAL
    assert other.claim.status is ClaimStatus.OPTIMAL
    slack = TOLERANCE * max(1.0, abs(own.objective))
    assert abs(own.objective - other.objective) <= slack
    assert problem.feasibility(other.x).holds()
    assert other.lower_bound <= own.objective


def test_point_is_refitted_and_the_bound_is_ours(problem):
    liar = Oracle(x=2.0 * BEST, bound=-5.0)
    solution = solve(problem, backend=liar)
    assert np.allclose(solution.x, BEST)
    assert solution.status is Status.OPTIMAL  # by our own certificate
    assert solution.claim.bound == -5.0
    assert solution.lower_bound == pytest.approx(-3.125, rel=1e-4)
    assert [stage.name for stage in solution.stages] == ["bound", "search"]
    assert solution.stages[1].detail == "Oracle 1: so, bound -5"
    assert solution.to_dict()["claim"]["n_nodes"] == 7


def test_answer_is_the_solvers_even_if_a_better_one_is_known(problem):
    solution = solve(problem, backend=Oracle(x=SECOND, bound=-3.0))
    assert np.allclose(solution.x, SECOND)
    assert solution.status is Status.FEASIBLE
    assert solution.stop is Stop.COMPLETED
    assert solution.lower_bound == pytest.approx(-3.125, rel=1e-4)
    assert solution.claim.status is ClaimStatus.OPTIMAL


def test_wrong_bound_of_a_solver_is_a_complaint(problem):
    solution = solve(problem, backend=Oracle(x=BEST, bound=-3.0))
    assert solution.status is Status.FEASIBLE  # its own check did not pass
    found = solution.verify()
    assert not found.ok
    assert "Oracle 1 says that nothing is below -3.0" in found.complaints[0]


def test_point_that_breaks_the_rules_is_refused():
    rows = {"A": [[1.0, 1.0, 0.0]], "b": [-1.0]}
    problem = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1, **rows)
    solution = solve(problem, backend=Oracle(x=np.array([0.0, 0.0, 2.0])))
    assert solution.stages[-1].detail.endswith("its point is not feasible")
    assert problem.feasibility(solution.x).holds()  # ours


def test_infeasibility_is_not_believed(problem):
    liar = Oracle(status=ClaimStatus.INFEASIBLE, bound=np.inf)
    solution = solve(problem, backend=liar)
    assert np.allclose(solution.x, BEST)  # ours, where the solver has none
    assert solution.status is Status.FEASIBLE
    assert solution.claim.status is ClaimStatus.INFEASIBLE
    assert "says that nothing is below inf" in solution.verify().complaints[0]
    assert solution.lower_bound == pytest.approx(-3.125, rel=1e-4)


def test_what_is_proved_infeasible_is_not_asked():
    rows = {"A": [[1.0, 1.0], [-1.0, -1.0]], "b": [-1.0, -1.0]}
    problem = SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1, **rows)
    oracle = Oracle()
    solution = solve(problem, backend=oracle)
    assert solution.status is Status.INFEASIBLE
    assert oracle.asked == []


def test_settings_are_passed_on(problem):
    oracle = Oracle(x=BEST)
    settings = {"gap": 0.01, "time_limit": 5.0, "threads": 2}
    solve(problem, backend=oracle, start=SECOND, **settings)
    asked = oracle.asked[0]
    assert (asked["gap"], asked["threads"], asked["n"]) == (0.01, 2, 4)
    assert 0 < asked["time_limit"] <= 5.0
    assert np.allclose(asked["start"], SECOND)
    solve(problem, backend=oracle, time_limit=None)
    assert oracle.asked[1]["time_limit"] is None
    assert oracle.asked[1]["start"] is None


@pytest.mark.parametrize("method", ["best-response", "dual-program", "warm-start"])
def test_screening_leaves_the_reduced_problem_to_the_solver(problem, method):
    oracle = Oracle(x=BEST[:3])
    solution = solve(problem, backend=oracle, method=method)
    assert [asked["n"] for asked in oracle.asked] == [3]
    assert np.allclose(solution.x, BEST)
    assert solution.claim is None  # the solver knows nothing of the whole problem
    assert solution.stages[0].name == "bound"
    assert solution.stages[-1].name == "reduced"


def test_solver_that_gives_up_is_an_early_end(problem):
    solution = solve(
        problem, backend=Oracle(x=SECOND, status=ClaimStatus.FEASIBLE, bound=-9.0)
    )
    assert solution.stop is Stop.BACKEND
    assert solution.stop.is_early


def test_solver_that_gives_up_on_the_reduced_problem_is_an_early_end(problem):
    oracle = Oracle(x=SECOND[:3], status=ClaimStatus.FEASIBLE)
    solution = solve(problem, backend=oracle, method="best-response", gap=0.0)
    assert [asked["n"] for asked in oracle.asked] == [3]
    assert solution.stop.is_early


def test_solver_that_runs_out_of_time_says_so(problem):
    class Slow(Oracle):
        def solve(self, problem, **settings):
            time.sleep(settings["time_limit"] + 1e-3)
            return super().solve(problem, **settings)

    slow = Slow(x=SECOND, status=ClaimStatus.FEASIBLE)
    assert solve(problem, backend=slow, time_limit=0.3).stop is Stop.TIME_LIMIT
    done = Slow(x=SECOND, status=ClaimStatus.OPTIMAL)
    assert solve(problem, backend=done, time_limit=0.3).stop is Stop.COMPLETED


def test_solver_that_takes_the_interrupt_passes_it_on(problem):
    class Interrupted(Oracle):
        def solve(self, problem, **settings):
            return replace(super().solve(problem, **settings), is_interrupted=True)

    solver = Interrupted(x=SECOND, status=ClaimStatus.FEASIBLE)
    assert solve(problem, backend=solver).stop is Stop.INTERRUPTED


@pytest.mark.parametrize("time_limit", [60.0, None])
def test_solver_gets_no_time_once_the_callback_has_stopped(time_limit):
    data = make_regression(40, 40, sparsity=8, correlation=0.9, snr=0.5, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=1e3, sparsity=8)
    settings = {"time_limit": time_limit, "callback": lambda _: True}
    oracle = Oracle(status=ClaimStatus.UNKNOWN)
    assert solve(problem, backend=oracle, **settings).stop is Stop.CALLBACK
    assert oracle.asked[0]["time_limit"] == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "magic"}, "`backend` must be one of scip, gurobi, cvxpy:"),
        ({"backend": "highs"}, "HIGHS are linear"),
        ({"backend": 3}, "`backend` must be a name or a solver, such as"),
        ({"backend": backends.Scip}, "such as .* cardqp.backends.Scip()"),
        (
            {"backend": Oracle(), "method": "beck-hallak"},
            "`backend` is for methods that end in a search",
        ),
    ],
)
def test_bad_settings_are_refused(problem, settings, message):
    with pytest.raises(ParameterError, match=message):
        solve(problem, **settings)


@pytest.mark.parametrize(
    "make",
    [backends.Scip, backends.Gurobi, lambda **given: backends.Cvxpy("SCIP", **given)],
)
def test_parameters_are_a_mapping(make):
    with pytest.raises(ParameterError, match="`parameters` must be a mapping"):
        make(parameters=None)


def test_search_is_not_resumed_elsewhere(problem):
    earlier = solve(problem)
    with pytest.raises(ParameterError, match="`backend` must be None"):
        solve(problem, backend=Oracle(), resume=earlier)


def test_errors_of_solvers_reach_the_user(problem):
    class Broken:
        def solve(self, *_, **__):
            raise BackendError("the licence has expired; renew it.")

    with pytest.raises(BackendError, match="licence has expired"):
        solve(problem, backend=Broken())


def test_command_line_asks_scip(problem, tmp_path, capsys):
    pytest.importorskip("pyscipopt", reason="SCIP is not installed")
    problem.save(tmp_path / "problem.npz")
    file = str(tmp_path / "problem.npz")
    assert main(["solve", file, "--backend", "scip", "--formulation", "sos1"]) == 0
    assert "claimed      OPTIMAL by SCIP" in capsys.readouterr().out
    assert main(["solve", file, "--backend", "scip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claim"]["status"] == "OPTIMAL"


def test_command_line_says_what_is_missing(problem, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    problem.save(tmp_path / "problem.npz")
    assert main(["solve", str(tmp_path / "problem.npz"), "--backend", "scip"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "pip install 'cardqp[scip]'" in error


def test_formulation_needs_a_solver(problem, tmp_path, capsys):
    problem.save(tmp_path / "problem.npz")
    assert main(["solve", str(tmp_path / "problem.npz"), "--formulation", "sos1"]) == 2
    assert "`--formulation` is for another solver" in capsys.readouterr().err


def test_solvers_are_listed(capsys, monkeypatch):
    assert main(["backends"]) == 0
    text = capsys.readouterr().out
    for info in backends.installed():
        assert f"{info.name}  (" in text
    assert main(["backends", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed][:3] == ["scip", "gurobi", "cvxpy"]
    monkeypatch.setattr("cardqp.backends.catalogue._version", lambda _: None)
    assert main(["backends"]) == 0
    assert "not installed: pip install 'cardqp[gurobi]'" in capsys.readouterr().out
