from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from cardqp import SparseQP, Status, Stop, solve
from cardqp.report import sentences
from cardqp.solution.claim import Claim, ClaimStatus
from tests.report.examples import report_data


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-1234.5, "−1,234"),
        (0.012345, "0.01235"),
        (12.0, "12.00"),
        (3e-9, "3.000e−09"),
        (2.5e8, "2.500e+08"),
        (np.inf, "–"),
        (np.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_for_people(value, shown):
    assert sentences.number(value) == shown


@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_rounded_down_and_objectives_up(seed):
    rng = np.random.default_rng(seed)
    solution = report_data().solution
    for value in rng.standard_normal(50) * 10.0 ** rng.integers(-8, 9, 50):
        shown = replace(solution, objective=value, lower_bound=value)
        low = Decimal(sentences.bound_of(shown).replace("−", "-"))
        high = Decimal(sentences.objective_of(shown).replace("−", "-"))
        exact = Decimal(float(value))
        assert low <= exact <= high
        assert high - low <= abs(exact) * Decimal("1.1e-5")


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.01 %"),
        (1e-4, "0.01 %"),
        (1.01e-4, "0.011 %"),
        (0.00543, "0.55 %"),
        (0.01, "1.0 %"),
        (0.861, "87 %"),
        (12.01, "1300 %"),
    ],
)
def test_shares_are_not_exceeded(share, shown):
    assert sentences.at_most(share) == shown.replace("1300", "1.3e+03")


def test_counts_and_times():
    assert sentences.plural(1, "branch", "es") == "1 branch"
    assert sentences.plural(1200, "branch", "es") == "1,200 branches"
    assert sentences.seconds(0.0123) == "0.012 s"
    assert sentences.seconds(1234.5) == "1,234 s"


def problem(**settings):
    given = {"eta": 1.0, "sparsity": 2} | settings
    return SparseQP(np.eye(4), [-4.0, -2.0, -1.0, -0.5], **given)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "choice of at most 2 features"),
        ({"sparsity": 1}, "choice of at most 1 feature"),
        ({"sparsity": None, "penalty": 0.1}, "choice of features"),
        (
            {"blocks": [0, 0, 1, 1]},
            "choice of at most 2 features (columns that belong together count as one)",
        ),
        ({"upper": 5.0}, "choice of at most 2 features that meets the constraints"),
        ({"lower": -5.0}, "choice of at most 2 features that meets the constraints"),
        ({"forced_in": [1]}, "choice of at most 2 features that meets the constraints"),
        (
            {"forced_out": [1]},
            "choice of at most 2 features that meets the constraints",
        ),
        (
            {"A": [[1.0, 1, 1, 1]], "b": [3.0]},
            "choice of at most 2 features that meets the constraints",
        ),
        (
            {"groups": [0, 0, 1, 1], "group_sparsity": 1},
            "choice of at most 2 features that meets the constraints",
        ),
    ],
)
def test_what_the_bound_is_about(settings, said):
    assert sentences.choices(problem(**settings)) == said


def test_an_optimum_is_called_one():
    solution = report_data().solution
    assert solution.status is Status.OPTIMAL
    first, second, third = sentences.certificate(solution)
    assert first.startswith("No choice of at most 4 features has a penalised mean")
    assert first.endswith(f"below {sentences.bound_of(solution)}.")
    assert second == (
        f"This one has {sentences.objective_of(solution)}: the best possible is at "
        "most 0.01 % lower."
    )
    assert third.startswith(f"Proved by {solution.n_nodes} branch")
    assert third.endswith("replayed from the data before it was claimed.")


def test_a_price_is_mentioned():
    solution = solve(problem(sparsity=None, penalty=0.25))
    assert (
        "error, with 0.25 added for each feature, below"
        in (sentences.certificate(solution)[0])
    )


def test_an_open_gap_is_called_open():
    solution = replace(
        report_data().solution, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT, gap=0.123
    )
    said = " ".join(sentences.certificate(solution))
    assert "the best possible is at most 13 % lower." in said
    assert "It is not proved to be the best: the time limit was reached." in said
    assert "What could help: use method" in said
    assert "replayed" not in said
    data = replace(report_data(), solution=solution)
    assert sentences.headline(data).endswith(
        "; another choice could have a penalised mean squared error up to 13 % smaller."
    )


def test_a_gap_that_cannot_be_measured_is_left_out():
    solution = replace(report_data().solution, status=Status.FEASIBLE, gap=np.inf)
    first, second, *_ = sentences.certificate(solution)
    assert first.endswith(f"of {sentences.objective_of(solution)}.")
    assert second.startswith("How far it is from the best possible is not known")


def test_no_bound_is_called_none():
    solution = replace(
        report_data().solution,
        status=Status.FEASIBLE,
        lower_bound=-np.inf,
        gap=np.inf,
    )
    said = " ".join(sentences.certificate(solution))
    assert "is not known: no bound was proved but that no error is negative." in said
    assert sentences.gap_of(solution) == "not known"
    data = replace(report_data(), solution=solution)
    assert sentences.headline(data).endswith(
        "how good other choices could be is not known."
    )


def test_no_answer():
    never = problem(A=[[1.0, 1, 1, 1], [-1.0, -1, -1, -1]], b=[-1.0, -1.0])
    solution = solve(never)
    assert solution.status is Status.INFEASIBLE
    first, second, third = sentences.certificate(solution)
    assert first == (
        "No choice of at most 2 features that meets the constraints exists."
    )
    assert second.startswith("A[0] @ x is at least 1 where -A[1] @ x is at least 1")
    assert "replayed" in third
    unknown = replace(solution, status=Status.UNKNOWN, stop=Stop.TIME_LIMIT)
    assert sentences.certificate(unknown)[0] == (
        "No choice of at most 2 features that meets the constraints was found, and it "
        "is not proved that there is none: the time limit was reached."
    )
    data = replace(report_data(), solution=solution, features=())
    assert sentences.headline(data) == (
        "No choice of at most 2 features that meets the constraints was found."
    )


def test_what_another_solver_says_is_not_called_proved():
    claim = Claim("scip 9", ClaimStatus.OPTIMAL, None, 0.5, 0.5, 0.0, 1.0, 3, "done")
    solution = replace(report_data().solution, claim=claim)
    last = sentences.certificate(solution)[-1]
    assert last == f"scip 9: {ClaimStatus.OPTIMAL.value}; that is not proved here."


@pytest.mark.parametrize(
    ("r2", "count", "start"),
    [
        (
            0.5432,
            4,
            "4 of 10 features explain 54.3 % of the variation of target in data that "
            "was left out (2 folds)",
        ),
        (
            0.5,
            1,
            "1 of 10 features explains 50 % of the variation of target in data that "
            "was left out (2 folds)",
        ),
        (
            -0.1,
            4,
            "4 of 10 features were chosen to predict target; in data that was left out "
            "none of its variation is explained (2 folds)",
        ),
        (None, 4, "4 of 10 features were chosen to predict target"),
        (np.nan, 1, "1 of 10 features was chosen to predict target"),
    ],
)
def test_the_headline_is_the_answer(r2, count, start):
    data = report_data()
    data = replace(
        data,
        r2_in_sample=0.99,
        r2_out_of_sample=r2,
        judged_by="2 folds",
        features=data.features[:count],
        target="target",
    )
    assert sentences.headline(data) == (
        f"{start}, and no other choice has a penalised mean squared error more than "
        "0.01 % smaller."
    )


def test_what_was_left_out_counts_more():
    data = replace(report_data(), r2_in_sample=0.9, r2_out_of_sample=0.8)
    assert "explain 80 % of the variation of" in sentences.headline(data)
    assert "(5-fold cross-validation), and no other" in sentences.headline(data)


def test_the_objective_is_said_with_its_numbers():
    data = report_data()
    assert sentences.objective(data) == (
        "The penalised mean squared error is minimised over every choice of at most 4 "
        "features: the mean of the squared residuals plus 0.1 times the sum of the "
        "squared coefficients (eta is 10, and the factor 1/eta, features being scaled "
        "to unit variance)."
    )
    free = replace(data, eta=np.inf)
    assert sentences.objective(free).startswith(
        "The mean squared error, without a ridge, is minimised over every choice"
    )
    assert "scaled" not in sentences.objective(replace(data, is_standardized=False))


def test_without_a_ridge_no_error_is_called_penalised():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
    solution = solve(SparseQP.from_regression(X, y, eta=None, sparsity=2))
    said = " ".join(sentences.certificate(solution))
    assert "has a mean squared error below" in said
    assert "penalised" not in said
