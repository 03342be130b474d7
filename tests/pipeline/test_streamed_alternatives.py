"""Alternatives of streamed problems, against all supports and those in memory."""

import itertools

import numpy as np
import pytest

from cardqp import SparseQP, alternatives, solve
from cardqp._iterate import Stop
from cardqp.branch_and_bound.streamed.size import is_streamed
from cardqp.pipeline import alternatives as module
from cardqp.problem.streamed_form import StreamedForm
from tests.problems import support_optimum
from tests.streamed import exact, in_blocks, settings

KINDS = {
    "free": {},
    "nonnegative": {"lower": 0.0},
    "bounds": {"lower": -0.4, "upper": 0.3},
    "forced": {"forced_in": [2], "forced_out": [0, 5]},
    "weak ridge": {"eta": 500.0},
}


@pytest.fixture(autouse=True)
def _streamed(monkeypatch):
    monkeypatch.setattr(module, "is_streamed", lambda p: is_streamed(p, settings()))


def make(kind, seed):
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    X = rng.standard_normal((25, 9)) + rng.standard_normal((25, 1))
    y = X[:, :3] @ rng.standard_normal(3) + 0.5 * rng.standard_normal(25)
    limits = {"eta": 4.0, "sparsity": 3} | KINDS[kind]
    return in_blocks(SparseQP.from_data(X, y, **limits), entries=50)


def all_supports(problem):
    """Objectives of all supports, best first: one more nonzero never costs anything."""
    free = np.setdiff1d(np.arange(problem.n), problem.forced_out).tolist()
    sizes = range(problem.sparsity + 1)
    chosen = itertools.chain(*(itertools.combinations(free, k) for k in sizes))
    forced = {*problem.forced_in.tolist()}
    allowed = [support for support in chosen if forced <= {*support}]
    return sorted((support_optimum(problem, list(s)), s) for s in allowed)


@pytest.mark.parametrize("kind", ["free", "forced", "weak ridge"])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_all_there_are(kind, seed):
    problem = make(kind, seed)
    truth = all_supports(problem)
    found = alternatives(problem, percent=10, max_count=100, gap=1e-6)
    assert all(isinstance(s.problem.quadratic, StreamedForm) for s in found)
    assert found.is_complete
    most = truth[0][0] * 1.1
    expected = {chosen for value, chosen in truth if value <= most}
    assert {tuple(support.tolist()) for support in found.supports} == expected
    assert found.verify().ok


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_in_memory(kind, monkeypatch):
    problem = make(kind, 7)
    found = alternatives(problem, percent=20, max_count=100, gap=1e-6)
    monkeypatch.undo()
    plain = alternatives(problem, percent=20, max_count=100, gap=1e-6)
    assert not any(isinstance(s.problem.quadratic, StreamedForm) for s in plain)
    assert len(found) == len(plain)
    for mine, theirs in zip(found, plain, strict=True):
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-5)
    assert found.verify().ok


def test_a_solution_to_start_from_is_not_computed_again(monkeypatch):
    problem = make("free", 2)
    best = solve(problem, method=exact())
    calls = []
    monkeypatch.setattr(module, "bounded", lambda *_: calls.append(1))
    found = alternatives(best, percent=5)
    assert not calls
    assert found.solutions[0] is best


def test_the_best_few():
    problem = make("free", 3)
    found = alternatives(problem, percent=np.inf, max_count=4)
    assert found.stop is Stop.MAX_COUNT
    truth = all_supports(problem)
    expected = [value for value, _ in truth[:4]]
    objectives = [solution.objective for solution in found]
    assert objectives == pytest.approx(expected, rel=1e-4)
    assert found.lower_bound == pytest.approx(truth[4][0], rel=1e-3)
    assert found.verify().ok
