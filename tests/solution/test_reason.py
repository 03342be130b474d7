"""Why a problem is infeasible, in words."""

import json

import numpy as np
import pytest

from cardqp import NotSolvedError, SparseQP, Status, solve
from cardqp.report.sentences import certificate
from cardqp.solution.reason import RowName, Words, shown, why_infeasible
from tests.problems import random_problem

ONES = np.ones((1, 8))
BUDGET = {"A_eq": ONES, "b_eq": 1.0}
TENTHS = {"lower": 0.0, "upper": 0.1}
MEAN = np.linspace(0.01, 0.08, 8)[None]


def problem(sparsity=5, **settings):
    return SparseQP(np.eye(8), np.zeros(8), eta=1.0, sparsity=sparsity, **settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {**BUDGET, "lower": 0.0, "upper": 0.15},
            "A_eq[0] @ x is at most 0.75 (5 x 0.15) with at most 5 nonzeros within the "
            "bounds, and must be 1; it takes 7 nonzeros or more",
        ),
        (
            {**BUDGET, **TENTHS},
            "A_eq[0] @ x is at most 0.8 (8 x 0.1) within the bounds, and must be 1",
        ),
        (
            {"A": ONES, "b_lower": 1.0, **TENTHS},
            "-A[0] @ x is at most 0.8 (8 x 0.1) within the bounds, and must be at "
            "least 1",
        ),
        (
            {**BUDGET, "lower": 0.4, "upper": 1.0, "forced_in": [0, 1, 2]},
            "A_eq[0] @ x is at least 1.2 (3 x 0.4) within the bounds, and must be 1",
        ),
        (
            {**BUDGET, "lower": 0.6, "upper": 0.9},
            "A_eq[0] @ x is at most 0.9 with 1 nonzero and at least 1.2 with more, and "
            "must be 1",
        ),
        (
            {**BUDGET, "lower": 0.4, "upper": 0.45},
            "A_eq[0] @ x is at most 0.9 with 2 nonzeros or fewer and at least 1.2 with "
            "more, and must be 1",
        ),
        (
            {**BUDGET, "lower": 1.5, "upper": 2.0},
            "A_eq[0] @ x is at least 1.5 with any nonzero, and must be 1",
        ),
        (
            {**BUDGET, "lower": 0.0, "upper": 0.4, "groups": [0] * 8}
            | {"group_sparsity": 2},
            "A_eq[0] @ x is at most 0.8 within the bounds and limits of groups, and "
            "must be 1",
        ),
        (
            {**BUDGET, "lower": 0.0, "upper": 0.2, "blocks": [0, 0, 1, 1, 2, 2, 3, 3]}
            | {"sparsity": 2},
            "A_eq[0] @ x is at most 0.8 with at most 2 blocks within the bounds, and "
            "must be 1; it takes 3 blocks or more",
        ),
        (
            {**BUDGET, "A": MEAN, "b_lower": 0.1, "lower": 0.0, "upper": 0.5},
            "-A[0] @ x is at most 0.075 within the bounds where A_eq[0] @ x is 1, and "
            "must be at least 0.1",
        ),
        (
            {"A": ONES, "b": -1.0, "A_eq": ONES, "b_eq": 1.0},
            "A[0] @ x is at least 1 where A_eq[0] @ x is 1, and must be at most -1",
        ),
        (
            {"A": np.zeros((1, 8)), "b": -0.5},
            "A[0] @ x is at least 0, and must be at most -0.5",
        ),
    ],
)
def test_words(settings, reason):
    solution = solve(problem(**settings))
    assert solution.status is Status.INFEASIBLE
    assert solution.reason == reason
    assert f"; {reason}; relax the rows" in str(refusal(solution))
    assert solution.to_dict()["reason"] == reason
    json.dumps(solution.to_dict(), allow_nan=False)
    first, second, _ = certificate(solution)
    assert first.endswith("exists.")
    assert second[1:] == f"{reason[1:]}."


def refusal(solution):
    with pytest.raises(NotSolvedError) as caught:
        solution.raise_for_status()
    return caught.value


def test_words_of_a_model():
    names = (
        RowName("the cost"),
        RowName("the gain", is_turned=True),
        RowName("the sum"),
    )
    words = Words("tool", "tools", names, n_auxiliary=1)
    limits = {
        "A": np.vstack([ONES, MEAN]),
        "b": [9.0, np.inf],
        "b_lower": [-np.inf, 0.3],
    }
    assert why_infeasible(problem(4, lower=0.0, upper=1.0, **limits), words) == (
        "the gain is at most 0.26 with at most 3 tools within the bounds, and must "
        "be at least 0.3; it takes 4 tools or more"
    )


def test_feasible_and_unsolved_problems_have_no_reason():
    assert solve(problem(**BUDGET)).reason == ""
    assert "reason" not in solve(problem(**BUDGET)).to_dict()
    assert why_infeasible(problem(**BUDGET)) == ""


def test_what_takes_many_rows_is_not_explained():
    n = 6
    cycle = np.eye(n) - np.roll(np.eye(n), 1, axis=1)
    never = SparseQP(
        np.eye(n), np.zeros(n), eta=1.0, sparsity=n, A=cycle, b=-np.ones(n)
    )
    solution = solve(never)
    assert solution.status is Status.INFEASIBLE
    assert solution.reason == ""
    assert "(no point meets the constraints); relax the rows" in str(refusal(solution))


@pytest.mark.parametrize("seed", range(5))
def test_reasons_of_random_problems(seed):
    solution = solve(random_problem("infeasible", seed))
    assert solution.status is Status.INFEASIBLE
    assert " must be " in solution.reason


def test_numbers_are_rounded_to_the_safe_side():
    assert shown(0.12341, 1.0, is_upper=True) == "0.1235"
    assert shown(0.12349, 0.0, is_upper=False) == "0.1234"
    assert shown(0.30000000000000004, 1.0, is_upper=True) == "0.3"
    assert shown(0.99999, 1.0, is_upper=True) == "0.99999"
    assert shown(-2.00001, -2.0, is_upper=True) == "-2.00001"
    assert shown(1234567.0, 2e6, is_upper=True) == "1.235e+06"
