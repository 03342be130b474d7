"""Best response and dual program where the data stay where they are."""

import numpy as np
import pytest

from cardqp import (
    ParameterError,
    ProblemError,
    SparseQP,
    Status,
    Stop,
    solve,
    spectrum,
)
from cardqp.problem import memory_copy
from cardqp.problem.streamed_form import StreamedForm
from tests.branch_and_bound.streamed.test_search import KINDS, random_problem
from tests.problems import enumerate_optimum
from tests.streamed import in_blocks, stream_everything

METHODS = ["best-response", "dual-program"]


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Few columns are streamed, and a copy of all of them is too large."""
    stream_everything(monkeypatch)
    monkeypatch.setattr(memory_copy, "copy_size", lambda _: np.inf)


def in_memory(problem, monkeypatch, **options):
    with monkeypatch.context() as patch:
        stream_everything(patch, min_columns=10**9)
        patch.setattr(memory_copy, "copy_size", lambda _: 0.0)
        return solve(problem, **options)


def wide_problem(seed=0, n=14, **settings):
    """Correlated columns that are explained by few components."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 3)) @ rng.standard_normal((3, n))
    X += 0.5 * rng.standard_normal((10, n))
    y = X[:, 2] - X[:, 9] + 0.5 * rng.standard_normal(10)
    problem = SparseQP.from_data(X, y, **{"eta": 2.0, "sparsity": 3} | settings)
    return in_blocks(problem, entries=50)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_points_are_those_in_memory_and_bounds_hold(kind, seed, method, monkeypatch):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    options = {"method": method, "level": 2}
    found = solve(problem, **options)
    plain = in_memory(problem, monkeypatch, **options)
    assert found.objective == pytest.approx(plain.objective, rel=1e-9)
    unit = max(abs(optimum), 1e-9)
    assert found.lower_bound <= optimum + 1e-12 * unit
    assert found.certificate.is_streamed(found.problem)
    assert found.verify().ok
    if found.status is Status.OPTIMAL:
        # The optimum comes from another order of sums.
        assert found.objective <= optimum + 1.01e-4 * unit


@pytest.mark.parametrize("method", METHODS)
def test_no_copy_is_made(method, monkeypatch):
    most = []
    take = StreamedForm.take

    def counted(form, support):
        most.append(len(support))
        return take(form, support)

    monkeypatch.setattr(StreamedForm, "take", counted)
    problem = in_blocks(wide_problem(n=4000), entries=10_000)
    found = solve(problem, method=method, level=2)
    assert found.certificate.is_streamed(found.problem)
    assert isinstance(found.problem.quadratic, StreamedForm)
    assert max(most) < 2000


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_point_is_the_method_s_own(method):
    """A better one that the bound meets is told, not taken."""
    told = 0
    for seed in range(30):
        problem = wide_problem(seed)
        found = solve(problem, method=method, level=1)
        assert [stage.name for stage in found.stages][:3] == [
            "spectrum",
            "level",
            "screening",
        ]
        best = solve(problem).objective
        last = found.stages[-1]
        is_best = found.objective <= best * (1 + 1e-9)
        if last.name == "bound":
            assert ("met a better point" in last.detail) == (not is_best)
            told += not is_best
        if not is_best:
            assert found.status is Status.FEASIBLE
            assert found.stop is Stop.COMPLETED
        assert found.lower_bound <= best
    assert told > 0


def test_candidates_beyond_memory_are_as_good_as_all(monkeypatch):
    monkeypatch.setattr(memory_copy, "MOST_BYTES", 100)
    problem = wide_problem(sparsity=None, penalty=1e-3)
    found = solve(problem, method="dual-program", level=4)
    assert [stage.name for stage in found.stages][-2:] == ["screening", "search"]
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("method", METHODS)
def test_a_spectrum_at_hand(method):
    problem = wide_problem()
    known = spectrum(problem, 4)
    fewer = problem.with_limits(sparsity=2)
    found = solve(fewer, method=method, level=3, spectrum=known)
    assert found.objective == solve(fewer, method=method, level=3).objective


def test_many_rows_are_worth_a_matrix(monkeypatch):
    monkeypatch.setattr(memory_copy, "copy_size", lambda _: 0.0)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=2)
    found = solve(problem, method="best-response", level=2)
    assert not found.certificate.is_streamed(found.problem)


def test_time_is_up():
    problem = wide_problem()
    found = solve(problem, method="dual-program", level=2, time_limit=0.0)
    assert found.stop is Stop.TIME_LIMIT
    assert 0.0 <= found.lower_bound <= enumerate_optimum(problem)[0]
    assert found.verify().ok


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"method": "beck-hallak"}),
        ({}, {"method": "block-decomposition"}),
        ({}, {"method": "warm-start"}),
        ({}, {"method": "safe-screening"}),
        ({"lower": 0.1}, {"method": "dual-program"}),
    ],
)
def test_what_needs_a_copy_says_so(settings, options):
    with pytest.raises(ProblemError, match="`X` must fit into memory for this"):
        solve(wide_problem(**settings), **options)


def test_a_level_is_needed_where_not_all_fit(monkeypatch):
    monkeypatch.setattr("cardqp.spectral.streamed.MAX_BYTES", 8.0 * 24 * 5)
    with pytest.raises(ParameterError, match="`level` must be at most 5 for so many"):
        solve(wide_problem(), method="best-response")
