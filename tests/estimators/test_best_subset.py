"""Best subset selection as an estimator, with what may be inferred from it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold, cross_val_score

from cardqp import BestSubset, all_subsets, stability_selection
from cardqp.exceptions import NotSolvedError, ParameterError, ProblemError
from tests.subsets.tables import enumerated, random_table


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7)) @ (np.eye(7) + 0.4 * rng.standard_normal((7, 7)))
    y = 1.0 + 2.0 * X[:, 2] - X[:, 5] + rng.standard_normal(80)
    return pd.DataFrame(X, columns=list("abcdefg")), y


@pytest.mark.parametrize("seed", range(6))
def test_a_size_that_is_asked_for_is_the_best_of_all(seed):
    table = random_table(seed, "plain")
    size = min(3, table.X.shape[1])
    model = BestSubset(n_nonzero_coefs=size).fit(table.X, table.y)
    rss, support = enumerated(table)[size][0]
    assert model.support_.tolist() == list(support)
    assert len(table.y) * model.objective_ == pytest.approx(rss, rel=1e-8)
    assert model.lower_bound_ <= model.objective_
    assert model.solution_.verify().ok
    residual = table.y - model.predict(table.X)
    assert residual @ residual == pytest.approx(rss, rel=1e-8)


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_measures_are_those_of_statsmodels(table, criterion):
    X, y = table
    model = BestSubset(7, criterion=criterion, n_best=2).fit(X, y)
    for subset in model.subsets_:
        chosen = sm.add_constant(X[list(subset.features)])
        fit = sm.OLS(y, chosen).fit()
        assert subset.rss == pytest.approx(fit.ssr, rel=1e-9)
        assert subset.measures["r2"] == pytest.approx(fit.rsquared)
        assert subset.measures["adjusted_r2"] == pytest.approx(fit.rsquared_adj)
        assert subset.measures["aic"] == pytest.approx(fit.aic)
        assert subset.measures["bic"] == pytest.approx(fit.bic)
        p, N = chosen.shape[1], len(y)
        aicc = fit.aic + 2 * p * (p + 1) / (N - p - 1)
        assert subset.measures["aicc"] == pytest.approx(aicc)
        whole = sm.OLS(y, sm.add_constant(X)).fit()
        cp = fit.ssr / whole.mse_resid - N + 2 * p
        assert subset.measures["cp"] == pytest.approx(cp)
    least = model.table_[criterion].min()
    chosen = model.table_[model.table_["size"] == model.n_nonzero_coefs_]
    assert chosen[criterion].min() == least
    assert list(model.get_feature_names_out()) == list(model.subsets_.best().features)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_standard_errors_are_those_of_statsmodels(table, fit_intercept):
    X, y = table
    model = BestSubset(4, fit_intercept=fit_intercept).fit(X, y)
    found, fit = model.inference(level=0.9), model.to_statsmodels(X, y)
    np.testing.assert_allclose(found.coef, fit.params, rtol=1e-8)
    np.testing.assert_allclose(found.standard_error, fit.bse, rtol=1e-8)
    np.testing.assert_allclose(found.t, fit.tvalues, rtol=1e-7)
    np.testing.assert_allclose(found.p_value, fit.pvalues, rtol=1e-6, atol=1e-300)
    interval = np.column_stack([found.lower, found.upper])
    np.testing.assert_allclose(interval, fit.conf_int(0.1), rtol=1e-7)
    assert found.degrees == fit.df_resid
    assert "the same rows chose them" in str(found)
    assert list(fit.params.index)[-1] == found.features[-1]


def test_weights_are_repeated_rows(table):
    X, y = table
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = BestSubset(5).fit(X, y, counts)
    repeated = BestSubset(5).fit(X.loc[X.index.repeat(counts)], np.repeat(y, counts))
    for a, b in zip(weighted.subsets_, repeated.subsets_, strict=True):
        assert a.features == b.features
        assert a.rss == pytest.approx(b.rss)
        assert a.measures == pytest.approx(b.measures)
    errors = [m.inference().standard_error for m in (weighted, repeated)]
    np.testing.assert_allclose(*errors, rtol=1e-8)
    fit = weighted.to_statsmodels(X, y, counts)
    np.testing.assert_allclose(
        fit.params.to_numpy()[1:], weighted.coef_[weighted.support_]
    )


def test_the_size_with_the_least_error_on_folds(table):
    X, y = table
    folds = KFold(4, shuffle=True, random_state=0)
    model = BestSubset(6, criterion="cv", cv=folds).fit(X, y)
    means = []
    null = [np.mean((y[test] - y[train].mean()) ** 2) for train, test in folds.split(X)]
    np.testing.assert_allclose(model.cv_errors_[0], null)
    for size in range(1, 7):
        scores = cross_val_score(
            BestSubset(n_nonzero_coefs=size),
            X,
            y,
            cv=folds,
            scoring="neg_mean_squared_error",
        )
        np.testing.assert_allclose(model.cv_errors_[size], -scores, rtol=1e-7)
        means.append(-scores.mean())
    assert model.n_nonzero_coefs_ == 1 + int(np.argmin(means))
    assert not hasattr(model, "partial_fit")
    found = model.subsets_
    assert found.best().support.tolist() == model.support_.tolist()
    assert found.table["cv"].tolist() == pytest.approx(model.cv_errors_.mean(axis=1))
    assert found.best("bic").measures["bic"] == found.table["bic"].min()
    with pytest.raises(ParameterError, match="`criterion` must be one of bic"):
        all_subsets(X, y).best("cv")


def test_errors_on_folds_have_the_unit_of_the_target(table):
    X, y = table
    small = BestSubset(4, criterion="cv", cv=4).fit(X, 1e-9 * y)
    large = BestSubset(4, criterion="cv", cv=4).fit(X, y)
    assert small.support_.tolist() == large.support_.tolist()
    assert small.n_nonzero_coefs_ > 0


@pytest.fixture(scope="module")
def noise():
    """Features that say nothing of the target."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((60, 5)), columns=list("abcde"))
    return X, 3.0 + rng.standard_normal(60)


def test_no_feature_may_be_the_best_choice(noise, tmp_path):
    X, y = noise
    model = BestSubset(3).fit(X, y)
    fit = sm.OLS(y, np.ones(60)).fit()
    assert (model.n_nonzero_coefs_, model.support_.tolist()) == (0, [])
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert model.objective_ == pytest.approx(fit.ssr / 60)
    assert model.status_ == "OPTIMAL"
    assert model.solution_.verify().ok
    found = model.inference()
    assert found.features == ("intercept",)
    np.testing.assert_allclose(found.standard_error, fit.bse)
    assert model.to_statsmodels(X, y).bic == pytest.approx(fit.bic)
    assert model.summary().intercept == pytest.approx(y.mean())
    assert model.split_inference(X, y, random_state=0).features == ("intercept",)
    ax = model.subsets_.plot(tmp_path / "subsets.png")
    assert len(ax.get_yticks()) == 4
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (60, 0)
    # A number that is asked for is another thing.
    assert len(BestSubset(n_nonzero_coefs=1).fit(X, y).support_) == 1


def test_neither_a_feature_nor_an_intercept(noise):
    X, y = noise[0], noise[1] - 3.0
    model = BestSubset(3, fit_intercept=False).fit(X, y)
    assert model.objective_ == pytest.approx(np.mean(y**2))
    assert not model.predict(X).any()
    assert model.inference().features == ()
    with pytest.raises(NotSolvedError, match="no feature was chosen"):
        model.to_statsmodels(X, y)


def test_rows_bit_by_bit(table):
    X, y = table
    whole, parts = BestSubset(4).fit(X, y), BestSubset(4)
    for rows in np.array_split(np.arange(len(y)), 4):
        parts.partial_fit(X.iloc[rows], y[rows])
    assert parts.support_.tolist() == whole.support_.tolist()
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8)


def test_resamples_repeat_the_choice(table):
    X, y = table
    found = BestSubset(3).bootstrap(X, y, n_resamples=40, random_state=0)
    assert found.coef.shape == (40, 7)
    assert found.frequency[[2, 5]].min() > 0.9
    low, high = found.interval[2]
    assert low < 2.0 < high
    first = found.to_dict()["feature"][:2]
    assert set(first) == {"c", "f"}
    assert "c " in str(found)


def test_a_split_infers_from_rows_that_did_not_choose(table):
    X, y = table
    found = BestSubset(3).split_inference(X, y, share=0.5, random_state=0)
    assert found.degrees == 40 - len(found.features)
    assert "other rows" in found.note
    noise = np.random.default_rng(3).standard_normal(len(y))
    many = [
        BestSubset(n_nonzero_coefs=1)
        .split_inference(X, noise, random_state=k)
        .p_value[1]
        for k in range(60)
    ]
    # Noise has uniform p-values then: half of them are above one half, about.
    assert 0.3 < np.mean(np.array(many) > 0.5) < 0.7


@pytest.mark.parametrize("noise", [1e-5, 1e-7, 0.0])
@pytest.mark.parametrize("kind", ["polynomial", "dependent", "few rows"])
def test_fits_that_are_nearly_perfect_are_proved(kind, noise):
    # Warnings are errors: nothing but rounding is open.
    rng = np.random.default_rng(0)
    X = {
        "polynomial": np.vander(np.linspace(1, 2, 60), 9)[:, :-1],
        "dependent": rng.standard_normal((60, 3)) @ rng.standard_normal((3, 8)),
        "few rows": rng.standard_normal((6, 8)),
    }[kind]
    y = 1.0 + X[:, 3] + X[:, 6] + noise * rng.standard_normal(len(X))
    model = BestSubset(3).fit(X, y)
    residual = y - model.predict(X)
    assert model.objective_ == pytest.approx(np.mean(residual**2), abs=1e-12)
    assert 0 <= model.lower_bound_ <= model.objective_ <= 1e-6 * y.var()
    assert model.gap_ <= 1e-4
    assert model.status_ == "OPTIMAL"
    assert model.solution_.verify().ok


@pytest.mark.parametrize("seed", [6, 28, 52])
def test_the_model_is_that_of_the_table_also_among_equals(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) @ (np.eye(6) + 0.5 * rng.standard_normal((6, 6)))
    X = np.column_stack([X, X[:, 0], 2.0 * X[:, 3]])
    model = BestSubset(5).fit(X, X[:, 0] + X[:, 3])
    best = model.subsets_.best()
    assert model.support_.tolist() == best.support.tolist()
    assert model.solution_.support.tolist() == best.support.tolist()
    np.testing.assert_array_equal(model.coef_, best.coef)
    assert model.solution_.verify().ok


def test_a_search_that_is_stopped_warns_once_and_ends_at_once(table):
    X, y = table
    solved = []

    def stop(progress):
        solved.append(progress.stage)
        return progress.stage == "subsets of 3"

    words = "^sizes above 2 are missing: the callback asked to stop; raise `time_limit`"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model = BestSubset(6).fit(X, y, callback=stop)
    assert len(caught) == 1
    assert solved[-1] == "subsets of 3"
    assert model.n_nonzero_coefs_ == 2
    # What the table proves is proved, though no time was left for a certificate.
    assert model.status_ == "OPTIMAL"
    assert model.lower_bound_ == pytest.approx(model.objective_)


class Unproved(BestSubset):
    """What it chooses is never proved."""

    def _missing(self, gap):
        return [*super()._missing(gap), "nothing is proved"]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_resamples_that_are_not_proved_are_counted_in_one_warning(table, n_jobs):
    X, y = table
    words = "^7 of 7 fits are not proved; the first of them: nothing is proved; raise"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        found = Unproved(2).bootstrap(
            X, y, n_resamples=7, n_jobs=n_jobs, random_state=0
        )
    assert len(caught) == 1
    assert found.coef.shape == (7, 7)
    with pytest.warns(ConvergenceWarning, match="^4 of 4 fits") as caught:
        stability_selection(Unproved(2), X, y, n_resamples=4, random_state=0)
    assert len(caught) == 1


def test_other_warnings_of_resamples_stay(table):
    class Loud(BestSubset):
        def fit(self, X, y, sample_weight=None, **settings):
            warnings.warn("heard", UserWarning, stacklevel=2)
            return super().fit(X, y, sample_weight, **settings)

    with pytest.warns(UserWarning, match="heard"):
        Loud(1).bootstrap(*table, n_resamples=2, random_state=0)


def test_what_cannot_be_inferred_is_said(table):
    X, y = table
    model = BestSubset(n_nonzero_coefs=4).fit(X[:5], y[:5])
    with pytest.raises(ProblemError, match="more rows than coefficients"):
        model.inference()
    with pytest.raises(NotFittedError):
        clone(model).inference()
    with pytest.raises(ParameterError, match="`criterion` must be"):
        BestSubset(criterion="r2").fit(X, y)
    with pytest.raises(ParameterError, match="`level` must be below 1"):
        model.split_inference(X, y, level=95)


def test_pictures_show_each_subset(table, tmp_path):
    X, y = table
    found = all_subsets(X, y, max_size=3, n_best=2)
    ax = found.plot(tmp_path / "subsets.png", criterion="cp")
    assert len(ax.get_yticks()) == len(found)
    best = found.best("cp").measures["cp"]
    label = float(ax.get_yticklabels()[0].get_text())
    assert label == pytest.approx(best, abs=0.01)
    ax = found.plot_criterion(tmp_path / "sizes.png", criterion="adjusted_r2")
    star = ax.get_lines()[-1].get_xydata()[0]
    assert star[0] == found.best("adjusted_r2").size
    assert (tmp_path / "subsets.png").stat().st_size > 1000
