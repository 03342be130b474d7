import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from cardqp import NotSolvedError, ParameterError, ProblemError
from cardqp.models import Portfolio, SparseMeanVariance


def returns(periods=60, n=6):
    return np.random.default_rng(2).normal(0.01, 0.05, (periods, n))


@parametrize_with_checks([SparseMeanVariance()])
def test_scikit_learn_accepts_it(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("needs SCIPY_ARRAY_API")
    check(estimator)


def test_weights_are_those_of_the_portfolio():
    X = returns()
    model = SparseMeanVariance(3, risk_aversion=4.0, max_weights=0.5).fit(X)
    answer = Portfolio(
        returns=X, max_assets=3, risk_aversion=4.0, maximum_position=0.5
    ).solve()
    np.testing.assert_array_equal(model.weights_, answer.weights)
    np.testing.assert_allclose(model.predict(X), X @ model.weights_)
    earned = X @ model.weights_
    assert model.score(X) == pytest.approx(earned.mean() / earned.std(ddof=1))
    assert model.n_features_in_ == 6
    assert not hasattr(model, "feature_names_in_")
    assert model.solution_.gap <= 1e-4


def test_weights_limits():
    X = returns()
    least = SparseMeanVariance(3, min_weights=0.3).fit(X).weights_
    assert (least[least != 0] >= 0.3 - 1e-9).all()
    short = SparseMeanVariance(
        4, min_weights=None, max_weights=None, risk_aversion=1.0
    ).fit(X)
    assert (short.weights_ < 0).any()


def test_names_come_from_frames():
    frame = pd.DataFrame(returns(), columns=list("abcdef"))
    model = SparseMeanVariance(2).fit(frame)
    assert list(model.feature_names_in_) == list("abcdef")
    assert set(model.solution_.named()) <= set("abcdef")


def test_parameters_are_stored_as_given():
    model = SparseMeanVariance(3, risk_aversion=2.0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert set(model.get_params()) == {
        *("max_assets", "risk_aversion", "target_return", "min_weights"),
        *("max_weights", "ridge", "time_limit", "gap"),
    }


def test_pipeline_and_searches():
    X = returns()
    pipe = make_pipeline(FunctionTransformer(), SparseMeanVariance(2))
    folds = KFold(3)
    scores = cross_val_score(pipe, X, cv=folds)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(
        SparseMeanVariance(risk_aversion=3.0), {"max_assets": [1, 3]}, cv=folds
    ).fit(X)
    assert search.best_params_["max_assets"] in (1, 3)
    assert search.best_estimator_.weights_.sum() == pytest.approx(1.0)


def test_unsolved_is_told(monkeypatch):
    X = np.random.default_rng(0).normal(0.0, 0.05, (60, 20))
    with pytest.raises(
        NotSolvedError, match=r"INFEASIBLE: proved.*; the expected return"
    ):
        SparseMeanVariance(5, target_return=9.0).fit(X)
    solve = Portfolio.solve
    monkeypatch.setattr(
        Portfolio, "solve", lambda self, **given: solve(self, node_limit=1, **given)
    )
    with pytest.warns(ConvergenceWarning, match="raise `time_limit` or `gap`"):
        SparseMeanVariance(5).fit(X)


def test_messages():
    with pytest.raises(ParameterError, match="`min_weights` must be None or at least"):
        SparseMeanVariance(min_weights=-0.1).fit(returns())
    with pytest.raises(ProblemError, match="`max_assets` must be an integer"):
        SparseMeanVariance(max_assets="all").fit(returns())
    with pytest.raises(NotFittedError):
        SparseMeanVariance().predict(returns())
    model = SparseMeanVariance().fit(returns())
    assert np.isnan(model.score(returns()[:1]))


def test_missing_scikit_learn_is_explained():
    code = (
        "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None\n"
        "import cardqp.models\n"
        "cardqp.models.Portfolio\n"
        "try:\n    cardqp.models.SparseMeanVariance\n"
        "except ImportError as err:\n    print(err)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install cardqp[sklearn]" in run.stdout


def test_models_are_loaded_on_first_use():
    code = (
        "import sys, cardqp; cardqp.models; "
        "print([m for m in ('numpy', 'sklearn') if m in sys.modules]); "
        "cardqp.models.Portfolio; print('sklearn' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["[]", "False"]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = sys.modules["cardqp.models"].nonsense


def test_masked_returns_are_refused():
    X = np.ma.array(returns())
    X[3, 2] = np.ma.masked
    fitted = SparseMeanVariance().fit(returns())
    for ask in (SparseMeanVariance().fit, fitted.predict, fitted.score):
        with pytest.raises(ProblemError, match="`X` must not be masked"):
            ask(X)


def test_prices_are_refused():
    prices = 100.0 + np.cumsum(np.random.default_rng(0).normal(size=(40, 5)), axis=0)
    with pytest.raises(ValueError, match="are these prices"):
        SparseMeanVariance(max_assets=2).fit(prices)
