"""Texts and dates where numbers must be: messages name the columns and what helps."""

import numpy as np
import pandas
import polars
import pytest

from cardqp import (
    BestSubset,
    ProblemError,
    SparseQP,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
)
from cardqp.estimators import stability_selection
from cardqp.gram import GramAccumulator

FITS = {
    "SparseRidge": SparseRidge(1).fit,
    "SparseRidgeCV": SparseRidgeCV([1, 2]).fit,
    "SparseRidgePath": SparseRidgePath([1, 2]).fit,
    "BestSubset": BestSubset(2).fit,
    "partial_fit": SparseRidge(1).partial_fit,
    "stability_selection": lambda X, y: stability_selection(SparseRidge(1), X, y),
    "from_regression": lambda X, y: SparseQP.from_regression(X, y, eta=1, sparsity=1),
    "update": lambda X, y: GramAccumulator().update(X, y),
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.standard_normal((20, 2)), columns=["a", "b"])
    return X, pandas.Series(rng.standard_normal(20), name="size")


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_columns_of_text(table, fit):
    X, y = table
    message = (
        r"^`X` must hold numbers: column `city` holds texts such as '(Oslo|Rome)'; "
        r"leave them out, or encode them by pandas.get_dummies\(X, columns=\['city'"
        r"\]\) or cardqp.tables.TableEncoder, which reads dates, too\.$"
    )
    with pytest.raises(ProblemError, match=message):
        fit(X.assign(city=["Oslo", "Rome"] * 10), y)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_labels_as_target(table, fit):
    X, y = table
    labels = pandas.Series(np.where(y > 0, "yes", "no"), name="churn")
    message = (
        r"^`y` must hold numbers: column `churn` holds texts, such as '(yes|no)' and "
        r"'(no|yes)'; for a label against all others use \(y == '\1'\).astype\(float\)"
    )
    with pytest.raises(ProblemError, match=message):
        fit(X, labels)


def test_the_remedies_help(table):
    X, y = table
    X = X.assign(city=["Oslo", "Rome"] * 10)
    found = pandas.get_dummies(X, columns=["city"])
    SparseRidge(1).fit(found, (y > 0).astype(float))


def test_all_odd_columns_are_named(table):
    X, y = table
    cities = pandas.Categorical(["Oslo", "Rome"] * 10)
    days = pandas.date_range("2024-01-01", periods=20)
    X = X.assign(city=cities, when=days, waited=days - days[0], mixed=[1, "x"] * 10)
    with pytest.raises(ProblemError) as caught:
        SparseRidge(1).fit(X, y)
    assert caught.value.given == (
        "column `city` holds texts such as 'Oslo', column `when` holds dates, column "
        "`waited` holds durations, column `mixed` holds texts such as 'x'"
    )
    with pytest.raises(ProblemError, match=r"column `c4` holds texts .*, and 3 more"):
        SparseRidge(1).fit(pandas.DataFrame({f"c{j}": ["x"] * 20 for j in range(8)}), y)


def test_polars_and_predictions(table):
    X, y = table
    with pytest.raises(ProblemError, match="column `city` holds texts such as 'Oslo'"):
        SparseRidge(1).fit(polars.from_pandas(X.assign(city="Oslo")), y)
    model = SparseRidge(1).fit(X, y)
    with pytest.raises(ProblemError, match="column `b` holds texts such as 'Oslo'"):
        model.predict(X.assign(b="Oslo"))
    with pytest.raises(ProblemError, match="`y` must hold numbers: it holds texts"):
        model.score(X, ["yes", "no"] * 10)


def test_numbers_in_text_are_numbers(table):
    X, y = table
    model = SparseRidge(1).fit(X.astype(str), y)
    assert np.array_equal(model.coef_, SparseRidge(1).fit(X, y).coef_)
