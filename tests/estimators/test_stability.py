"""Stability selection."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from cardqp import ParameterError, SparseRidge, stability_selection
from tests.estimators.data import regression


def run(**changes):
    X, y = regression()
    settings = {"n_resamples": 20, "random_state": 0} | changes
    return stability_selection(SparseRidge(3), X, y, **settings)


def test_what_matters_is_stable():
    found = run()
    assert found.support.tolist() == [1, 4, 7]
    assert found.mean_size == 3.0
    assert found.frequencies.sum() == pytest.approx(3.0)
    assert found.expected_false == pytest.approx(9.0 / (0.2 * 12))


def test_halves_of_a_pair_have_no_common_row():
    seen = []

    class Spy(SparseRidge):
        def fit(self, X, y):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

    X, y = regression(81)
    stability_selection(Spy(1), X, y, n_resamples=4, random_state=0)
    assert [len(rows) for rows in seen] == [40] * 4
    assert not seen[0] & seen[1]
    assert not seen[2] & seen[3]
    assert seen[0] & seen[2]


def test_the_same_seed_gives_the_same_answer_in_parallel():
    alone, together = run(n_resamples=4), run(n_resamples=4, n_jobs=2)
    np.testing.assert_array_equal(alone.frequencies, together.frequencies)


def test_names_and_text():
    X, y = regression()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    found = stability_selection(
        SparseRidge(3), frame, y, n_resamples=10, random_state=1
    )
    first = found.to_dict()["feature"][:3]
    assert set(first) == {"f1", "f4", "f7"}
    assert re.search(r"f1 +1\.00  stable", str(found))
    never = [n for n, f in zip(found.names, found.frequencies, strict=True) if f == 0]
    assert never
    assert not any(re.search(rf"^{name} ", str(found), re.M) for name in never)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_resamples": 3}, "`n_resamples` must be even"),
        ({"n_resamples": 0}, "`n_resamples` must be an integer, at least 1"),
        ({"threshold": 0.5}, "`threshold` must be above 0.5 and at most 1"),
        ({"threshold": "high"}, "`threshold` must be a positive number"),
    ],
)
def test_messages(changes, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        run(**changes)


def test_too_few_rows():
    X, y = regression(3)
    with pytest.raises(ParameterError, match="`y` must have four rows or more"):
        stability_selection(SparseRidge(1), X, y)


def test_estimators_that_do_not_select():
    with pytest.raises(ParameterError, match="`estimator` must have `get_support`"):
        stability_selection(LinearRegression(), *regression())
