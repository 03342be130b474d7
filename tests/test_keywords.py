"""Unknown names of arguments: all that is public says which one was meant."""

import copy
import enum
import inspect
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cardqp
from cardqp import (
    ParameterError,
    SearchSettings,
    SparseQP,
    SparseRidge,
    all_subsets,
    alternatives,
    best_response,
    hierarchy,
    path,
    solve,
    spectrum,
)
from cardqp._keywords import about_unknown, did_you_mean
from cardqp.exceptions import CallError, CardQPError
from cardqp.models import IndexTracking, Portfolio, SparseControl, SparseMeanVariance

Q, C = np.diag([2.0, 1.0, 1.0]), np.array([-4.0, -2.0, -1.0])
PROBLEM = SparseQP(Q, C, eta=1.0, sparsity=1)

RESULTS = (
    *("Alternatives", "Descent", "Hierarchy", "Path", "Progress", "SafeScreening"),
    *("Screening", "Solution", "Spectrum", "Subsets", "BinarySolution"),
    *("ControlStep", "Frontier", "PortfolioSolution", "TrackingSolution"),
    *("BackendInfo", "Claim"),
)
PROTOCOLS = ("Backend", "Method")
WITHOUT_ARGUMENTS = ("PerspectiveScreening", "installed", "find")


def callables():
    """All that users call, by name: no results, errors, enumerations or protocols."""
    left_out = {*RESULTS, *PROTOCOLS, *WITHOUT_ARGUMENTS}
    for module in (cardqp, cardqp.models, cardqp.methods, cardqp.backends):
        for name in module.__all__:
            value = getattr(module, name)
            is_kind = inspect.isclass(value) and issubclass(
                value, Exception | enum.Enum
            )
            if callable(value) and not is_kind and name not in left_out:
                yield name, value


@pytest.mark.parametrize(("name", "value"), list(callables()))
def test_everything_public_corrects_names(name, value):
    parameters = inspect.signature(value).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        assert name == "frontier"  # hands its settings to `solve`
        return
    known = max((p.name for p in parameters), key=len)
    with pytest.raises(CallError, match=f"did you mean `{known}`"):
        value(**{known[:-1]: 1})
    with pytest.raises(CallError, match=f"unknown argument 'zzz': {name} takes `"):
        value(zzz=1)


def test_frontier_hands_names_on():
    portfolio = Portfolio([0.1, 0.2], np.eye(2), max_assets=1)
    with pytest.raises(CallError, match="did you mean `time_limit`"):
        cardqp.models.frontier(portfolio, timelimit=3.0)
    with pytest.raises(CallError, match="did you mean `gap`"):
        portfolio.solve(tol=1e-3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        cardqp.models.frontier(time_limit=3.0)


def test_the_error_is_what_python_users_expect():
    with pytest.raises(TypeError) as caught:
        SparseQP(Q, C, eta=1.0, sparsty=3)
    assert isinstance(caught.value, CardQPError)
    assert str(caught.value) == "unknown argument 'sparsty': did you mean `sparsity`?"
    assert caught.value.__suppress_context__
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied) is CallError
    assert str(copied) == str(caught.value)


@pytest.mark.parametrize(
    ("function", "given", "meant"),
    [
        (SparseQP, {"k": 3}, "`sparsity`?"),
        (SparseQP, {"max_features": 3}, "`sparsity`?"),
        (SparseQP, {"n_nonzero_coefs": 3}, "`sparsity`?"),
        (SparseQP, {"Sparsity": 3}, "`sparsity`?"),
        (SparseQP, {"alpha": 3}, "`eta`? The ridge is 1/eta: a larger eta shrinks"),
        (SparseQP, {"lambda_": 3}, "`eta`? The ridge is 1/eta"),
        (SparseQP, {"ridge": 3}, "`eta`? The ridge is 1/eta"),
        (SparseQP, {"etta": 3}, "`eta`?"),
        (SparseQP, {"lambda_0": 3}, "`penalty`?"),
        (SparseQP, {"P": 3}, "`Q`? The objective has x'Qx without a half: Q = P/2."),
        (SparseQP, {"q": 3}, "`c`?"),
        (SparseQP, {"G": 3, "h": 1}, "`A`? unknown argument 'h': did you mean `b`?"),
        (SparseQP, {"lb": 3}, "`lower`?"),
        (SparseQP, {"bounds": 3}, "`lower` or `upper`?"),
        (SparseQP, {"always_include": 3}, "`forced_in`?"),
        (SparseRidge, {"sparsity": 3}, "`n_nonzero_coefs`?"),
        (SparseRidge, {"cardinality": 3}, "`n_nonzero_coefs`?"),
        (SparseRidge, {"alpha": 3}, "`eta`? The ridge is 1/eta"),
        (SparseRidge, {"lb": 3}, "`coef_bounds`? It is a pair"),
        (SparseRidge, {"normalize": 3}, "`standardize`?"),
        (cardqp.SparseRidgeCV, {"folds": 3}, "`cv`?"),
        (cardqp.BestSubset, {"k": 3}, "`n_nonzero_coefs` or `max_size`?"),
        (all_subsets, {"nvmax": 3}, "`max_size`?"),
        (all_subsets, {"nbest": 3}, "`n_best`?"),
        (solve, {"timeout": 3}, "`time_limit`?"),
        (solve, {"max_time": 3}, "`time_limit`?"),
        (solve, {"n_jobs": 3}, "`threads`?"),
        (solve, {"verbose": True}, "`callback`? callback=print shows"),
        (best_response, {"k": 3}, "`level`?"),
        (Portfolio, {"k": 3}, "`max_assets`?"),
        (Portfolio, {"eta": 3}, "`ridge`? The ridge is 1/eta."),
        (Portfolio, {"gamma": 3}, "`risk_aversion`?"),
        (Portfolio, {"prices": 3}, "`returns`? Returns are prices.pct_change()"),
        (Portfolio, {"max_weight": 3}, "`maximum_position`?"),
        (SparseMeanVariance, {"maximum_position": 3}, "`max_weights`?"),
        (IndexTracking, {"cardinality": 3}, "`max_assets`?"),
        (SparseControl, {"sparsity": 3}, "`max_actuations`?"),
        (SparseControl, {"k": 3}, "`max_actuations_per_stage`?"),
    ],
)
def test_words_of_other_packages(function, given, meant):
    with pytest.raises(CallError) as caught:
        function(**given)
    assert f"did you mean {meant}" in str(caught.value)


def test_a_slip_has_no_remark():
    assert about_unknown("f", ["etta"], ["eta"]).endswith("did you mean `eta`?")
    assert about_unknown("f", ["eta"], ["eta"]) == ""


def test_ambiguous_words_are_not_guessed():
    """Some call the aversion to risk lambda, others the ridge."""
    with pytest.raises(CallError, match="Portfolio takes `mean`"):
        Portfolio(max_assets=2, lambda_=3)


@pytest.mark.parametrize(
    "make",
    [SparseQP.from_regression, SparseQP.from_data, SparseQP.from_factor],
)
def test_class_methods_know_the_settings_of_their_class(make):
    with pytest.raises(CallError, match="did you mean `eta`"):
        make(Q, C, alpha=1.0, sparsity=2)
    with pytest.raises(CallError, match="did you mean `sparsity`"):
        make(Q, C, eta=1.0, sparsty=2)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
        make(Q, C, sparsity=2)


def test_other_type_errors_stay_as_they_are():
    @did_you_mean
    def broken(*, size=1):
        return len(size)

    with pytest.raises(TypeError, match="has no len") as caught:
        broken(size=3)
    assert type(caught.value) is TypeError
    with pytest.raises(TypeError, match="takes 0 positional arguments") as caught:
        broken(3)
    assert type(caught.value) is TypeError

    @did_you_mean
    def outer(*, siz):
        return broken(siz=siz)

    with pytest.raises(CallError, match="'siz': did you mean `size`"):
        outer(siz=3)


def test_signatures_copies_and_pickles_are_as_without():
    assert "sparsity" in inspect.signature(SparseQP).parameters
    assert next(iter(inspect.signature(solve).parameters)) == "problem"
    assert solve.__name__ == "solve"
    assert solve.__module__ == "cardqp.pipeline.solve"
    assert solve.__doc__.startswith("Find a good sparse point")
    assert pickle.loads(pickle.dumps(solve)) is solve
    model = SparseRidge(3, eta=2.0)
    assert clone(model).get_params() == model.get_params()
    assert copy.deepcopy(model).eta == 2.0
    with pytest.raises(TypeError, match="did you mean `few_remaining`"):
        replace(SearchSettings(), few_remain=3)


@pytest.mark.parametrize("model", [SparseRidge(), SparseMeanVariance()])
def test_parameters_by_name(model):
    name = next(iter(model.get_params()))
    assert model.set_params(**{name: None}) is model
    with pytest.raises(ValueError, match=f"did you mean `{name}`"):
        model.set_params(**{f"{name}s": 3})


def test_parameters_of_steps():
    pipeline = make_pipeline(StandardScaler(), SparseRidge())
    pipeline.set_params(sparseridge__n_nonzero_coefs=2)
    assert pipeline[-1].n_nonzero_coefs == 2
    with pytest.raises(ParameterError, match="did you mean `n_nonzero_coefs`"):
        pipeline.set_params(sparseridge__sparsity=2)
    search = GridSearchCV(SparseRidge(), {"alpha": [1.0]})
    with pytest.raises(ParameterError, match="did you mean `eta`"):
        search.fit(np.eye(10), np.arange(10.0))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (solve, (Q, C)),
        (solve, (Q,)),
        (solve, (Q.tolist(), C)),
        (path, (Q, C)),
        (alternatives, (Q, C)),
        (hierarchy, (Q, C)),
        (spectrum, (Q, C)),
        (best_response, (Q, C)),
        (cardqp.dual_program, (Q, C)),
        (cardqp.warm_start, (Q, C)),
        (cardqp.safe_screen, (Q, C)),
        (cardqp.beck_hallak, (Q, C)),
        (cardqp.block_decomposition, (Q, C)),
    ],
)
def test_arrays_are_no_problem(function, arguments):
    with pytest.raises(ParameterError) as caught:
        function(*arguments)
    assert "must be a SparseQP" in str(caught.value)
    assert "make one by `cardqp.SparseQP(Q, c, eta=..., sparsity=...)`" in str(
        caught.value
    )


def test_arrays_with_the_settings_of_a_problem():
    with pytest.raises(ParameterError, match=r"make one by `cardqp.SparseQP\(Q, c"):
        solve(Q, C, eta=1.0, sparsity=1)
