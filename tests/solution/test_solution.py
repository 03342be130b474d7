import json

import numpy as np
import pytest

from cardqp import NotSolvedError, SparseQP, Status, solve
from cardqp.bounds.gap import relative_gap
from tests.problems import random_problem


def test_gap_is_relative_to_the_objective():
    problem = random_problem("free", 0)
    solution = solve(problem, method="best-response")
    expected = (solution.objective - solution.lower_bound) / abs(solution.objective)
    assert solution.gap == pytest.approx(expected)


def test_gap_of_terms_that_cancel_is_relative_to_the_terms():
    problem = SparseQP(np.eye(2), [-4.0, 0.0], eta=1.0, sparsity=1, constant=2.0)
    x = np.array([1.0, 0.0])
    assert problem.objective(x) == 0.0
    assert relative_gap(problem, x, 0.0, -1e-12) == pytest.approx(1e-12 / 8e-8)
    assert relative_gap(problem, None, np.inf, 0.0) == np.inf
    assert relative_gap(problem, x, 0.0, -np.inf) == np.inf


def test_raise_for_status():
    problem = random_problem("infeasible", 0)
    with pytest.raises(NotSolvedError, match=r"INFEASIBLE: proved.*relax the rows"):
        solve(problem, method="exact").raise_for_status()
    solve(random_problem("free", 0), method="exact").raise_for_status()


@pytest.mark.parametrize("kind", ["free", "infeasible"])
def test_dictionary_is_json(kind):
    solution = solve(random_problem(kind, 0), method="exact")
    again = json.loads(json.dumps(solution.to_dict(), allow_nan=False))
    assert again["status"] == solution.status.name
    assert again["support"] == solution.support.tolist()
    assert len(again["values"]) == len(again["support"])


def test_every_status_has_advice():
    assert all(status.advice for status in Status)


def test_names_of_the_support():
    problem = SparseQP(
        np.eye(2), [-1.0, -9.0], eta=1.0, sparsity=1, names=["low", "high"]
    )
    solution = solve(problem, method="exact")
    assert solution.names == ("high",)
    assert "OPTIMAL" in repr(solution)
    assert solution.seconds > 0
