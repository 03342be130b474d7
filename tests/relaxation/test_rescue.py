"""Where the kernel fails, branches are relaxed by cones."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import Status, solve
from cardqp.relaxation.relaxation import Relaxation
from tests.problems import enumerate_optimum, random_problem

KINDS = ["equality", "rows+bounds", "thresholds", "groups, rows", "equality+penalty"]


@pytest.fixture
def _failing_kernel(monkeypatch):
    """Whatever the kernel finds counts as a failure."""
    solve_by_kernel = Relaxation.solve

    def fail(self, subproblem, x, nu, effort, *clusters):
        relaxed = solve_by_kernel(
            self, subproblem, x, nu, replace(effort, chunks=1), *clusters
        )
        nothing = np.zeros_like(relaxed.tangent_point), np.zeros_like(relaxed.beta)
        return replace(
            relaxed, tangent_point=nothing[0], beta=nothing[1], has_worked=False
        )

    monkeypatch.setattr(Relaxation, "solve", fail)


@pytest.mark.usefixtures("_failing_kernel")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_cones_solve_what_the_kernel_does_not(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    solution = solve(problem, gap=1e-6)
    if np.isinf(optimum):
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert solution.lower_bound <= optimum + 1e-9 * abs(optimum)
    assert solution.verify().ok


@pytest.mark.usefixtures("_failing_kernel")
def test_stages_tell_of_it():
    details = [
        stage.detail
        for seed in range(6)
        for stage in solve(random_problem("equality", seed), gap=1e-6).stages
    ]
    assert any("relaxed by clarabel" in detail for detail in details)


def test_stages_are_silent_where_the_kernel_works():
    solution = solve(random_problem("equality", 0))
    assert "clarabel" not in " ".join(stage.detail for stage in solution.stages)
