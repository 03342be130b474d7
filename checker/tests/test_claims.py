"""What is claimed of a point, apart from bounds."""

import math

import numpy as np
import pytest

from cardqp_check import check
from example import problem_arrays, run_arrays, write

NO_PROOF = {
    "lower_bound": np.array(-np.inf),
    "gap": np.array(np.inf),
    "status": np.array("FEASIBLE"),
}


def claimed(folder, x, objective, problem, **start):
    """The verdict on a point alone: nothing is said to be proved."""
    x = np.array(x, dtype=float)
    run = run_arrays() | NO_PROOF | {"x": x, "support": np.flatnonzero(x)} | start
    run["objective"] = np.array(objective)
    del run["root.count"]
    return check(*write(folder, problem_arrays() | problem, run))


def row(entries, b, equal):
    """The arrays of one row."""
    suffix = "_eq" if equal else ""
    return {"A" + suffix: np.array([entries], float), "b" + suffix: np.array([b])}


ALLOWED = {
    "two": ([1.0, 0.5, 0.0], -5.0, {"sparsity": np.array(2)}),
    "an equality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 1.0, True)),
    "nearly an equality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 1.000001, True)),
    "an inequality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 2.0, False)),
    "a penalty": ([1.0, 0.0, 0.0], -3.5, {"penalty": np.array(0.5)}),
    "forced in, for a penalty": (
        [1.0, 0.0, 0.0],
        -3.0,
        {"penalty": np.array(0.5), "sparsity": np.array(2), "forced_in": np.array([1])},
    ),
    "a block": ([1.0, 0.5, 0.0], -5.0, {"blocks": np.array([7, 7, 9])}),
    "a block, for one penalty": (
        [1.0, 0.5, 0.0],
        -4.5,
        {"blocks": np.array([7, 7, 9]), "penalty": np.array(0.5)},
    ),
    "groups": (
        [1.0, 0.5, 0.0],
        -5.0,
        {"groups": np.array([0, -1, 0]), "group_sparsity": np.array([1])}
        | {"sparsity": np.array(2)},
    ),
    "a bound": ([1.0, 0.0, 0.0], -4.0, {"upper": np.array([0.9999995, 1.0, 1.0])}),
}

FORBIDDEN = {
    "two": ([1.0, 0.5, 0.0], -5.0, {}),
    "less than an equality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 1.00001, True)),
    "more than an equality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 0.99999, True)),
    "more than an inequality": ([1.0, 0.0, 0.0], -4.0, row([1, 0, 0], 0.9, False)),
    "no penalty": ([1.0, 0.0, 0.0], -4.0, {"penalty": np.array(0.5)}),
    "no penalty for what is forced in": (
        [1.0, 0.0, 0.0],
        -3.5,
        {"penalty": np.array(0.5), "sparsity": np.array(2), "forced_in": np.array([1])},
    ),
    "forced in, without a place": ([1.0, 0.0, 0.0], -4.0, {"forced_in": np.array([1])}),
    "forced out": ([1.0, 0.0, 0.0], -4.0, {"forced_out": np.array([0])}),
    "a block that is forced out": (
        [1.0, 0.0, 0.0],
        -4.0,
        {"blocks": np.array([7, 7, 9]), "forced_out": np.array([1])},
    ),
    "two blocks": ([1.0, 0.5, 0.0], -5.0, {"blocks": np.array([7, 9, 9])}),
    "a full group": (
        [1.0, 0.5, 0.0],
        -5.0,
        {"groups": np.array([0, 0, -1]), "group_sparsity": np.array([1])}
        | {"sparsity": np.array(2)},
    ),
    "an upper bound": ([1.0, 0.0, 0.0], -4.0, {"upper": np.array([0.9, 1.0, 1.0])}),
    "a lower bound": ([1.0, 0.0, 0.0], -4.0, {"lower": np.array([1.1, 0.0, 0.0])}),
    "a threshold at zero": (
        [1.0, 0.0, 0.0],
        -4.0,
        {"lower": np.array([0.0, 0.5, 0.0]), "forced_in": np.array([1])}
        | {"sparsity": np.array(2)},
    ),
    "no ridge": ([1.0, 0.0, 0.0], -5.0, {}),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_points_that_are_feasible(tmp_path, name):
    verdict = claimed(tmp_path, *ALLOWED[name])
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("name", FORBIDDEN)
def test_points_that_are_not(tmp_path, name):
    assert not claimed(tmp_path, *FORBIDDEN[name]).ok


@pytest.mark.parametrize(
    ("difference", "is_independent"), [(2.0**-13, True), (2.0**-15, False)]
)
def test_only_points_with_independent_nonzeros_count(
    tmp_path, difference, is_independent
):
    """The least eigenvalue is the difference of diagonal and product."""
    Q = np.array(
        [[1.0, 1.0 - difference, 0.0], [1.0 - difference, 1.0, 0.0], [0, 0, 1]]
    )
    problem = {"Q": Q, "eta": np.full(3, np.inf), "c": np.zeros(3)}
    problem["sparsity"] = np.array(2)
    x = [1.0, -1.0, 0.0]
    start = {"start.factor": np.array(0.5), "start.added": np.full(3, 1e-6)}
    objective = 2 * difference
    assert claimed(tmp_path, x, objective, problem).ok
    verdict = claimed(tmp_path, x, objective, problem, **start)
    assert verdict.ok == is_independent, str(verdict)


def test_no_more_than_is_proved_may_be_claimed(tmp_path):
    paths = write(tmp_path, problem_arrays(), run_arrays())
    proved = check(*paths).lower_bound
    for bound in (proved, math.nextafter(proved, math.inf)):
        run = {"lower_bound": np.array(bound), "gap": np.array(1e-9)}
        verdict = check(*write(tmp_path, problem_arrays(), run_arrays() | run))
        assert verdict.ok == (bound == proved)


def test_the_unit_of_gaps(tmp_path):
    """An objective of zero: what one variable gains counts, within its bounds."""
    problem = problem_arrays() | {"constant": np.array(4.0)}
    run = run_arrays() | {"objective": np.array(0.0), "root.count": np.array(1)}
    # The unit is 1e-8 of the terms, 4 + 8 + 4.
    for bound, is_within in ((-1.5e-9, True), (-1.7e-9, False)):
        claims = {"lower_bound": np.array(bound), "tolerance": np.array(0.01)}
        claims["gap"] = np.array(np.inf)
        verdict = check(*write(tmp_path, problem, run | claims))
        assert verdict.ok == is_within, str(verdict)
