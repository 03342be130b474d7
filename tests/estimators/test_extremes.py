"""Entries that cannot be used: masked ones, and numbers that overflow."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import (
    ProblemError,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
    stability_selection,
)
from tests.estimators.data import regression

X, Y = regression()
WEIGHTS = np.ones(len(Y))

FITS = {
    "one": lambda *rows, **more: SparseRidge(2).fit(*rows, **more),
    "parts": lambda *rows, **more: SparseRidge(2).partial_fit(*rows, **more),
    "folds": lambda *rows, **more: SparseRidgeCV([1, 2], cv=3).fit(*rows, **more),
    "path": lambda *rows, **more: SparseRidgePath([1, 2]).fit(*rows, **more),
}


def masked(array, *place):
    result = np.ma.array(array)
    result[place] = np.ma.masked
    return result


def refused(name):
    return pytest.raises(ProblemError, match=f"`{name}` must not be masked")


@pytest.fixture(scope="module")
def model():
    return SparseRidge(2).fit(X, Y)


@pytest.mark.parametrize("kind", FITS)
def test_masked_rows_are_refused(kind):
    fit = FITS[kind]
    for features in (masked(X, 3, 2), [*masked(X, 3, 2)]):
        with refused("X"):
            fit(features, Y)
    for target in (masked(Y, 3), list(masked(Y, 3))):
        with refused("y"):
            fit(X, target)
    with refused("sample_weight"):
        fit(X, Y, sample_weight=masked(WEIGHTS, 3))


def test_halves_of_masked_rows_are_refused():
    # The masked row is in one half of two only.
    for rows, name in (((masked(X, 0, 0), Y), "X"), ((X, masked(Y, 0)), "y")):
        with refused(name):
            stability_selection(SparseRidge(2), *rows, n_resamples=2)


def test_a_fitted_model_refuses_masked_rows(model):
    for ask in (model.predict, model.transform):
        with refused("X"):
            ask(masked(X, 3, 2))
    for ask in (model.score, model.summary):
        with refused("X"):
            ask(masked(X, 3, 2), Y)
        with refused("y"):
            ask(X, masked(Y, 3))
    with refused("sample_weight"):
        model.score(X, Y, masked(WEIGHTS, 3))


def test_masks_that_hide_nothing_are_fine(model):
    again = SparseRidge(2).fit(np.ma.array(X), np.ma.array(Y))
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"always_include": masked(np.array([0, 1]), 1)}, "always_include"),
        ({"blocks": masked(np.arange(12), 3)}, "blocks"),
        ({"coef_bounds": (masked(-np.ones(12), 1), 1.0)}, "coef_bounds lower"),
    ],
)
def test_masked_settings_are_refused(settings, name):
    with refused(name):
        SparseRidge(2, **settings).fit(X, Y)


def test_what_is_selected_keeps_its_names():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    chosen = SparseRidge(2).set_output(transform="pandas").fit(frame, Y)
    selected = chosen.transform(frame)
    pd.testing.assert_frame_equal(selected, frame.iloc[:, chosen.support_])


@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("n_samples", [80, 10])
@pytest.mark.parametrize("kind", FITS)
def test_numbers_that_overflow_are_named(kind, n_samples, convert):
    few, target = convert(X[:n_samples]), Y[:n_samples]
    fit = FITS[kind]
    with pytest.raises(ProblemError, match=r"`y` must be below 1e\+100: y\[\d+\] is "):
        fit(few, target * 1e150)
    with pytest.raises(ProblemError, match=r"`X.* must be below 1e\+100: X\[.*\] is "):
        fit(few * 1e150, target)
    with pytest.raises(ProblemError, match=r"`y` must have a mean square below 1e\+10"):
        fit(few, target * 1e90)


def test_weights_that_overflow_are_named():
    with pytest.raises(ProblemError, match=r"`sample_weight` must be below 1e\+100"):
        SparseRidge(2).fit(X, Y, sample_weight=WEIGHTS * 1e300)
