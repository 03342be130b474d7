"""Pages about models that were fitted in Python, and what they compare with."""

import html
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict

from cardqp import (
    BestSubset,
    NotSolvedError,
    ParameterError,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
)
from cardqp.estimators.reporting import FittedModel
from cardqp.estimators.rivals import RIDGES, arena, first_of_lasso, ridge_path
from cardqp.gram import moments, moments_of_parts
from cardqp.regression.design_settings import read_design
from cardqp.regression.out_of_sample import choose_quickly, out_of_sample_errors
from tests.estimators.data import regression

X, Y = regression()
FRAME = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


def told(path):
    page = path.read_text(encoding="utf-8").split("</style>")[1]
    return html.unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize(
    "model",
    [
        SparseRidge(3),
        SparseRidge(3, refit=True),
        SparseRidge(3, eta=None),
        SparseRidgeCV(range(1, 5), cv=4),
        SparseRidgePath(range(1, 5)),
    ],
    ids=lambda model: repr(model)[:40],
)
def test_every_estimator_has_a_page(model, tmp_path):
    model.fit(FRAME, pd.Series(Y, name="wage"))
    model.report(tmp_path / "page.html")
    said = told(tmp_path / "page.html")
    assert "3 of 12 features explain" in said
    assert "-fold cross-validation" in said.split("How well it predicts")[0]
    assert "of the variation of wage in data that was left out" in said
    assert all(f"column {j}" in said for j in model.support_)
    assert "all features, with a ridge" in said
    assert "the first features of the lasso" in said
    assert f"{model!r}.fit(X, y)" in said
    assert ("error, without a ridge, is" in said) == (model.eta is None)
    assert ("With --no-ridge" in said) == model.refit
    is_automatic = model.eta is not None
    assert ("chosen by these data" in said) == is_automatic
    if isinstance(model, SparseRidgeCV):
        assert "4-fold cross-validation, which chose the size as well" in said
    else:
        assert ("features but not the ridge being chosen in" in said) == is_automatic


def test_best_subsets_have_a_page(tmp_path):
    model = BestSubset(max_size=4).fit(FRAME, pd.Series(Y, name="wage"))
    model.report(tmp_path / "page.html", title="My title")
    said = told(tmp_path / "page.html")
    assert "My title" in said
    assert "The best subsets of every size" in said
    assert "bootstrap and split_inference of cardqp.BestSubset repeat" in said
    assert "`" not in said
    assert "to predict wage" in said
    with pytest.raises(ParameterError, match="`X` must be left out"):
        model.report(tmp_path / "page.html", FRAME, Y)


def test_other_rows_judge_if_there_are_any(tmp_path):
    model = SparseRidge(3).fit(FRAME[:60], Y[:60])
    model.report(tmp_path / "page.html", FRAME[60:], Y[60:])
    r2 = model.score(FRAME[60:], Y[60:])
    assert f"explain {100 * r2:.3g} % of the variation of y" in told(
        tmp_path / "page.html"
    )
    assert "(20 rows)" in told(tmp_path / "page.html")


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_features_without_names_and_sparse_ones(kind, tmp_path):
    SparseRidge(3).fit(kind(X), Y).report(tmp_path / "page.html")
    assert "x[4]" in told(tmp_path / "page.html")


def test_rows_are_not_pickled_and_not_kept_of_parts(tmp_path):
    model = SparseRidge(3).fit(X, Y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.coef_, model.coef_)
    assert len(pickle.dumps(model)) < X.nbytes + 10_000
    model.partial_fit(X, Y)
    for each in (restored, model):
        with pytest.raises(NotSolvedError, match="A page needs the rows of the fit"):
            each.report(tmp_path / "page.html")


def of(rows, folds=5, **settings):
    model = SparseRidge(3).fit(*rows)
    sample, _ = model._fitted_rows
    given = {"eta": model.eta_, "size": 3, "refit": False} | settings
    return arena(sample, folds and KFold(folds), None, **given)


def test_ridges_are_those_of_scikit_learn():
    for data in (X, np.hstack([X, X**2, X**3])[:30]):
        y = Y[: len(data)]
        Z = (data - data.mean(axis=0)) / data.std(axis=0)
        for eta, coef in list(zip(RIDGES, ridge_path(moments(data, y)), strict=True)):
            other = Ridge(alpha=len(y) / eta).fit(Z, y)
            np.testing.assert_allclose(
                coef, other.coef_ / data.std(axis=0), rtol=1e-4, atol=1e-8
            )


def test_errors_out_of_sample_are_those_of_predictions():
    folds = list(KFold(4).split(X))
    parts = moments_of_parts(X, Y, None, [test for _, test in folds])
    scale = X.std(axis=0).mean()

    def fit(rows):
        G = rows.gram + np.eye(12) * scale
        return [np.linalg.solve(G, rows.cross), np.zeros(12)]

    ridge, mean = out_of_sample_errors(parts, fit)
    other = Ridge(alpha=60 * scale)
    predicted = cross_val_predict(other, X, Y, cv=KFold(4))
    assert ridge == pytest.approx(np.mean((Y - predicted) ** 2), rel=1e-8)
    means = np.concatenate([np.full(len(t), Y[s].mean()) for s, t in folds])
    assert mean == pytest.approx(np.mean((Y - means) ** 2), rel=1e-8)


def test_features_are_chosen_anew_in_each_fold():
    rng = np.random.default_rng(0)
    noise, target = rng.standard_normal((40, 300)), rng.standard_normal(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseRidge(5, eta=100.0, standardize=True, time_limit=1.0)
        model.fit(noise, target)
    sample, _ = model._fitted_rows
    fitted = FittedModel(model, sample, tuple(map(str, range(300))))
    # What is found in noise explains the rows that it was found in, and no others.
    assert fitted.r2_in_sample() > 0.5
    assert fitted.r2_by_folds() < 0.1


@pytest.mark.parametrize("eta", [20.0, np.inf])
def test_quick_choices_are_good(eta):
    design = read_design(12, None, always_include=None, blocks=None)
    for size in range(1, 6):
        coef = choose_quickly(design, moments(X, Y), eta, size, refit=False)
        ridge = None if np.isinf(eta) else eta
        best = SparseRidge(size, eta=ridge, standardize=True).fit(X, Y)
        np.testing.assert_allclose(coef, best.coef_, rtol=1e-5, atol=1e-8)


def test_the_lasso_takes_what_matters_first():
    assert first_of_lasso(moments(X, Y), 3).tolist() == [1, 4, 7]
    assert len(first_of_lasso(moments(X, Y), 1)) == 1
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((80, 200))])
    assert first_of_lasso(moments(wide, Y), 3).tolist() == [1, 4, 7]


def test_rivals_are_judged_like_the_model():
    ridge, lasso = of((X, Y)).rivals()
    assert (ridge.n_features, lasso.n_features) == (12, 3)
    # Here the lasso takes the same features: its numbers are those of the model.
    own = of((X, Y)).own_r2()
    assert lasso.r2_out_of_sample == pytest.approx(own, abs=0.02)
    assert ridge.r2_in_sample > SparseRidge(3).fit(X, Y).score(X, Y)
    assert 0.5 < ridge.r2_out_of_sample < ridge.r2_in_sample


def test_few_rows_are_not_split():
    few = of((X[:8], Y[:8]), folds=None)
    assert not few.is_cross_validated
    assert few.own_r2() is None
    assert [each.r2_out_of_sample for each in few.rivals()] == [None]
