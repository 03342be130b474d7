"""Settings of the search: their ranges, and that they reach the code they are for."""

from dataclasses import fields

import numpy as np
import pytest

from cardqp import Exact, ParameterError, SparseQP, solve
from cardqp.datasets import make_regression
from cardqp.methods import (
    AscentSettings,
    BarrierSettings,
    DiagonalSettings,
    FunctionSettings,
    HeuristicSettings,
    JointSettings,
    RelaxationSettings,
    RootSettings,
    SearchSettings,
    SplittingSettings,
    SupergradientSettings,
    TrackingSettings,
)
from tests.searches import by_branching

ALL = (
    AscentSettings,
    BarrierSettings,
    DiagonalSettings,
    FunctionSettings,
    HeuristicSettings,
    JointSettings,
    RelaxationSettings,
    RootSettings,
    SearchSettings,
    SplittingSettings,
    SupergradientSettings,
    TrackingSettings,
)


@pytest.mark.parametrize("kind", ALL)
def test_every_field_is_checked(kind):
    for setting in fields(kind):
        for wrong in ("many", np.nan, -1):
            with pytest.raises(ParameterError, match=f"`{setting.name}` must be"):
                kind(**{setting.name: wrong})


@pytest.mark.parametrize("kind", ALL)
def test_every_field_is_documented(kind):
    for setting in fields(kind):
        assert setting.name in kind.__doc__


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (SearchSettings, {"pruning_share": 1.5}, "between 0 and 1: it is 1.5"),
        (SearchSettings, {"batch_size": 0}, "an integer, at least 1: it is 0"),
        (SearchSettings, {"root": SearchSettings()}, "a RootSettings: it is a Search"),
        (SearchSettings, {"local_search_after": 300}, "a list of integers: it is 300"),
        (AscentSettings, {"increase": 0.5}, "a number, at least 1: it is 0.5"),
        (BarrierSettings, {"first": 0.0}, "a positive number: it is 0.0"),
        (Exact, {"settings": {}}, "a SearchSettings: it is a dict"),
    ],
)
def test_messages(kind, wrong, message):
    with pytest.raises(ParameterError, match=message):
        kind(**wrong)


def test_settings_are_values():
    assert SearchSettings() == SearchSettings()
    assert hash(Exact()) == hash(Exact(SearchSettings()))


@pytest.fixture(scope="module")
def problem():
    data = make_regression(60, 30, sparsity=5, correlation=0.9, snr=0.5, seed=3)
    return SparseQP.from_regression(data.X, data.y, eta=100.0, sparsity=5)


@pytest.mark.parametrize(
    "changed",
    [
        {"splitting": SplittingSettings(DiagonalSettings(max_variables=0))},
        {"relaxation": RelaxationSettings(chunk=2)},
        {"heuristics": HeuristicSettings(max_completion_variables=1)},
    ],
)
def test_settings_change_the_search_and_not_its_answer(problem, changed):
    usual = solve(problem, method=by_branching())
    found = solve(problem, method=by_branching(**changed))
    assert found.objective == pytest.approx(usual.objective, rel=usual.tolerance)
    assert found.verify().ok
    assert found.n_nodes != usual.n_nodes


def test_a_resumed_search_follows_the_new_settings(problem):
    first = solve(problem, node_limit=10)
    usual = solve(problem, method=by_branching(), resume=first)
    short = by_branching(relaxation=RelaxationSettings(chunk=2))
    found = solve(problem, method=short, resume=first)
    assert found.n_nodes > usual.n_nodes
    assert found.verify().ok
