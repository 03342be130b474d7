import itertools
import json
import signal
from dataclasses import replace

import numpy as np
import pytest

from cardqp import (
    NotSolvedError,
    ParameterError,
    SparseQP,
    Status,
    Stop,
    alternatives,
    solve,
)
from cardqp.bounds.gap import gap_unit
from cardqp.datasets import make_regression
from cardqp.pipeline import partition
from tests.problems import KINDS, is_allowed, random_problem, support_optimum

ORACLE = 1e-6
"""Relative accuracy of the enumeration, which is that of nonnegative least squares, and
of the points: objectives this close count as equal."""

EXACT = 1e-9
"""A gap below which nothing is told apart here."""

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


def all_supports(problem):
    """Every support that is allowed, as a set, and the best objective on it."""
    labels = np.arange(problem.n) if problem.blocks is None else problem.blocks
    fixed_out = set(labels[problem.forced_out].tolist())
    switches = sorted(set(labels.tolist()) - fixed_out)
    most = len(switches) if problem.sparsity is None else problem.sparsity
    for size in range(min(most, len(switches)) + 1):
        for chosen in itertools.combinations(switches, size):
            support = np.flatnonzero(np.isin(labels, chosen)).tolist()
            if is_allowed(problem, support):
                value = support_optimum(problem, support)
                yield frozenset(support), value + size * (problem.penalty or 0.0)


def sets(found):
    return [frozenset(support.tolist()) for support in found.supports]


def regression(n=30, sparsity=4, seed=0, **settings):
    data = make_regression(100, n, sparsity=sparsity, correlation=0.8, seed=seed)
    return SparseQP.from_regression(
        data.X, data.y, eta=10.0, sparsity=sparsity, **settings
    )


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize(
    ("percent", "seed"), [(0.0, 0), (3.0, 1), (25.0, 2), (25.0, 4)]
)
def test_list_equals_enumeration(kind, percent, seed):
    problem = random_problem(kind, seed)
    truth = dict(all_supports(problem))
    optimum = min(truth.values())
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    found = alternatives(problem, percent, max_count=1000, gap=EXACT)
    assert found.verify().ok
    assert found.is_complete
    best = found.solutions[0]
    unit = gap_unit(problem, best.x, best.objective)
    close = ORACLE * max(unit, 1.0)
    limit = optimum + percent / 100.0 * unit
    listed = dict(zip(sets(found), (s.objective for s in found), strict=True))
    assert len(listed) == len(found)
    assert list(listed.values()) == sorted(listed.values())
    assert best.objective == pytest.approx(optimum, abs=close)
    for support, objective in listed.items():
        assert objective == pytest.approx(truth[support], abs=close)
        assert objective <= limit + close
        # Nothing is listed after a part of itself.
        parts = [listed[other] for other in listed if other < support]
        assert all(objective <= part + close for part in parts)
    for support, objective in truth.items():
        parts = [listed[other] for other in listed if other <= support]
        if objective < limit - close:
            assert parts
            assert min(parts) <= objective + close
        if not parts:
            assert found.lower_bound <= objective + close


def test_everything_is_listed_without_a_limit():
    problem = random_problem("free", 0).with_limits(sparsity=2)
    found = alternatives(problem, np.inf, max_count=1000, gap=EXACT)
    truth = dict(all_supports(problem))
    assert set(sets(found)) == set(truth)
    assert found.lower_bound == np.inf
    assert found.is_complete
    assert found.verify().ok


def test_equal_columns_are_interchangeable():
    base = regression(n=8, sparsity=3)
    order = [0, *range(8)]
    best = int(solve(base).support[0])
    order[0] = best
    problem = SparseQP(base.Q[np.ix_(order, order)], base.c[order], eta=10, sparsity=3)
    found = alternatives(problem, 0.0)
    twin = best + 1
    assert len(found) == 2
    assert {0, twin} <= set(found.shares())
    assert sets(found)[0] ^ sets(found)[1] == {0, twin}
    assert found.excess == pytest.approx((0.0, 0.0), abs=1e-9)
    assert found.is_complete


def test_supersets_are_not_listed_where_nonzeros_have_a_price():
    problem = SparseQP(np.eye(3), [-4.0, -3.9, -0.1], eta=1.0, penalty=0.01)
    found = alternatives(problem, 100.0)
    assert sets(found) == [{0, 1}, {0}, {1}, frozenset()]
    assert found.verify().ok


def test_supersets_are_not_listed_from_other_branches():
    # The third column is nearly the sum of the others: {2} beats {0, 2} and {1, 2}.
    X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.1]])
    problem = SparseQP.from_regression(X, [1.0, 0.8, 0.0], eta=1e4, penalty=0.025 / 3)
    truth = dict(all_supports(problem))
    assert truth[frozenset({0, 2})] < 1.3 * min(truth.values())
    found = alternatives(problem, 30.0)
    assert sets(found) == [{0, 1}, {2}]
    assert found.is_complete
    assert found.verify().ok


def test_limit_of_the_count_gives_the_objective_of_the_next_one():
    problem = regression()
    many = alternatives(problem, 50.0, max_count=8, gap=EXACT)
    few = alternatives(problem, 50.0, max_count=3, gap=EXACT)
    assert len(many) == 8
    assert many.stop is Stop.MAX_COUNT
    assert not many.is_complete
    assert sets(few) == sets(many)[:3]
    assert few.lower_bound == pytest.approx(many.solutions[3].objective, rel=1e-6)
    assert few.lower_bound <= many.solutions[3].objective
    assert few.verify().ok


def test_exact_limit_of_the_count_is_complete():
    problem = SparseQP(np.eye(3), [-4.0, -3.9, -1.0], eta=1.0, sparsity=1)
    found = alternatives(problem, 10.0, max_count=2)
    assert sets(found) == [{0}, {1}]
    assert found.is_complete


def test_optimal_solution_is_not_computed_again():
    problem = regression()
    optimum = solve(problem)
    expected = sets(alternatives(problem, 20.0, max_count=4))
    found = alternatives(optimum, 20.0, max_count=4)
    assert found.solutions[0] is optimum
    assert found.problem is problem
    assert sets(found) == expected


@pytest.mark.parametrize("change", ["guess", "loose", "no proof"])
def test_other_solutions_are_starts_only(change):
    problem = regression()
    source = {
        "guess": lambda: solve(problem, method="beck-hallak", node_limit=1),
        "loose": lambda: solve(problem, gap=0.5),
        "no proof": lambda: replace(solve(problem), certificate=None),
    }[change]()
    found = alternatives(source, 20.0, max_count=4)
    assert found.solutions[0] is not source
    assert found.verify().ok
    assert sets(found) == sets(alternatives(problem, 20.0, max_count=4))


def test_order_of_rounding_and_gap_is_told_by_the_objectives():
    found = alternatives(regression(n=40, seed=3), 30.0, gap=0.02)
    objectives = [s.objective for s in found]
    assert objectives == sorted(objectives)
    assert min(found.excess) == 0.0
    assert found.verify().ok


def test_names_and_plain_numbers():
    problem = regression(n=6, sparsity=2, names=list("abcdef"))
    found = alternatives(problem, 1000.0, max_count=4)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["names"] == [["abcdef"[j] for j in s] for s in data["supports"]]
    assert data["excess"][0] == 0.0
    assert data["excess"] == sorted(data["excess"])
    assert data["objective"] == [s.objective for s in found]
    assert set(data["shares"]) == {name for names in data["names"] for name in names}
    assert data["stop"] == "MAX_COUNT"
    assert sum(found.shares().values()) == pytest.approx(2.0)
    assert len(list(found)) == len(found) == 4
    assert "4 supports" in repr(found)


def test_table_says_what_leaves_and_enters():
    problem = SparseQP(
        np.eye(3), [-4.0, -3.9, -1.0], eta=1.0, sparsity=1, names=("a", "b", "c")
    )
    lines = str(alternatives(problem, 10.0)).splitlines()
    assert lines[1].split() == ["1", "-2", "0.00", "%", "a"]
    assert lines[2].split() == ["2", "-1.90125", "4.94", "%", "-a", "+b"]
    assert lines[3] == "All supports within 10 % are listed."
    few = str(alternatives(problem, 10.0, max_count=1)).splitlines()
    # 4.9375 % is proved up to the gap, and never rounded up.
    assert few[-1] in (
        "Only the best is listed; all others are 4.93 % above the optimum, or more.",
        "Only the best is listed; all others are 4.92 % above the optimum, or more.",
    )


def test_empty_support_has_a_row():
    problem = SparseQP(np.eye(2), [-1.0, -1.0], eta=1.0, sparsity=0)
    found = alternatives(problem)
    assert sets(found) == [frozenset()]
    assert found.is_complete
    assert "nothing" in str(found)
    assert found.shares() == {}
    assert found.verify().ok


def hard():
    data = make_regression(60, 60, sparsity=12, correlation=0.9, seed=2)
    return SparseQP.from_regression(data.X, data.y, eta=100.0, sparsity=12)


def test_time_limit_returns_what_is_known():
    found = alternatives(hard(), 50.0, max_count=10_000, time_limit=0.3)
    assert found.stop is Stop.TIME_LIMIT
    assert not found.is_complete
    assert found.lower_bound <= found.solutions[-1].objective
    assert found.lower_bound >= min(s.lower_bound for s in found)
    assert found.verify().ok


def test_no_time_leaves_the_best_point_alone():
    found = alternatives(hard(), time_limit=0.0)
    assert len(found) == 1
    assert found.solutions[0].status is Status.FEASIBLE
    assert found.branches == found.solutions
    assert found.stop is Stop.TIME_LIMIT
    assert "below this one" in str(found)
    assert found.verify().ok


@pytest.mark.parametrize("count", [1, 3, 10])
def test_callback_stops(count):
    seen = []
    found = alternatives(
        solve(regression()),
        50.0,
        callback=lambda p: seen.append(p.stage) or len(seen) == count,
    )
    assert len(seen) == count
    assert found.stop is Stop.CALLBACK
    assert seen[0] == "alternatives"
    assert found.lower_bound <= found.solutions[-1].objective
    assert found.verify().ok


def test_stopping_loses_no_bound():
    optimum, seen = solve(regression(n=60, sparsity=8)), []
    found = alternatives(
        optimum, 50.0, callback=lambda _: seen.append(1) or len(seen) == 2
    )
    # The parts of what is left have been bounded only roughly.
    assert found.lower_bound >= optimum.lower_bound
    assert found.verify().ok


def test_interrupt_stops():
    def press(_):
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    pressed = []
    found = alternatives(solve(regression()), 50.0, callback=press)
    assert found.stop is Stop.INTERRUPTED
    assert found.verify().ok


def test_full_searches_find_the_same(monkeypatch):
    expected = sets(alternatives(regression(), 14.0))
    monkeypatch.setattr(partition, "FEW", 1)
    found = alternatives(regression(), 14.0)
    assert sets(found) == expected
    assert found.verify().ok


def test_branch_that_stays_open_ends_the_list(monkeypatch):
    def shallow(*arguments, **_):
        return bounded(*arguments, root_only=True)

    bounded, optimum = partition.bounded, solve(regression())
    monkeypatch.setattr(partition, "FEW", 0)
    monkeypatch.setattr(partition, "bounded", shallow)
    found = alternatives(optimum, 50.0)
    assert found.stop is Stop.STALLED
    assert not found.is_complete
    assert found.verify().ok


def test_nothing_is_claimed_where_nothing_is_proved():
    Q = np.ones((3, 3)) + np.diag([0.0, 1e-20, 2e-20])
    found = alternatives(SparseQP(Q, [-1.0, -1.1, -0.9], eta=1e18, sparsity=1))
    assert len(found) == 1
    assert found.lower_bound == -np.inf
    assert str(found).endswith("Nothing is proved about other supports.")
    assert found.to_dict()["lower_bound"] is None


def test_infeasible_problem_is_refused():
    with pytest.raises(NotSolvedError, match="INFEASIBLE"):
        alternatives(random_problem("infeasible", 0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"percent": -1.0}, "`percent` must be a number, at least 0: it is -1.0"),
        ({"percent": np.nan}, "`percent` must be a number, at least 0: it is nan"),
        ({"max_count": 0}, "`max_count` must be an integer, at least 1: it is 0"),
        ({"gap": -0.1}, "`gap` must be a number, at least 0: it is -0.1"),
        ({"time_limit": -1}, "`time_limit` must be a number, at least 0: it is -1"),
        ({"source": 3}, "`source` must be a SparseQP or a Solution: it is a int"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ParameterError, match=message):
        alternatives(**{"source": regression()} | settings)


@pytest.fixture(scope="module")
def genuine():
    found = alternatives(regression(), 14.0)
    assert len(found) > 3
    assert all(len(support) == 4 for support in found.supports)
    assert found.is_complete
    return found


def less(found, field, index):
    items = list(getattr(found, field))
    del items[index]
    return replace(found, **{field: tuple(items)})


def changed(found, field, index, **changes):
    items = list(getattr(found, field))
    items[index] = replace(items[index], **changes)
    return replace(found, **{field: tuple(items)})


def moved(solution, **forced):
    return solution.problem.with_forced(**forced)


TAMPERINGS = {
    "a branch less": (
        lambda f: less(f, "branches", 0),
        "leave supports out",
    ),
    "no branches": (
        lambda f: replace(f, branches=()),
        "leave supports out",
    ),
    "a solution less": (
        lambda f: less(f, "solutions", 2),
        "leave supports out",
    ),
    "no optimum": (
        lambda f: less(f, "solutions", 0),
        "no solution is about the problem as a whole",
    ),
    "a solution twice": (
        lambda f: replace(f, solutions=(*f.solutions, f.solutions[-1])),
        "listed twice",
    ),
    "another order": (
        lambda f: replace(f, solutions=f.solutions[::-1]),
        "not in order",
    ),
    "another objective": (
        lambda f: changed(f, "solutions", 1, objective=f.solutions[0].objective),
        "solution 1: the objective is",
    ),
    "a higher bound": (
        lambda f: replace(f, lower_bound=f.lower_bound + 0.1),
        "the branches prove",
    ),
    "a higher bound of a branch": (
        lambda f: changed(f, "branches", 0, lower_bound=100.0),
        "branch 0: the certificate proves",
    ),
    "a larger branch": (
        lambda f: changed(f, "branches", 0, problem=f.problem),
        "branch 0: the certificate proves",
    ),
    "a smaller branch": (
        lambda f: changed(
            f,
            "branches",
            0,
            problem=moved(f.branches[0], forced_out=[_undecided(f.branches[0])]),
        ),
        "leave supports out",
    ),
    "another problem": (
        lambda f: replace(f, problem=f.problem.with_linear(constant=-1.0)),
        "solution 0: ",
    ),
    "a smaller problem": (
        lambda f: replace(f, problem=f.problem.restrict(np.arange(2))),
        "`forced_out` must hold indices between 0 and 1",
    ),
    "more percent": (
        lambda f: replace(f, percent=60.0),
        "not all supports within 60 % need be listed",
    ),
}


def _undecided(solution):
    forced = {*solution.problem.forced_in, *solution.problem.forced_out}
    return next(j for j in range(solution.problem.n) if j not in forced)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_noticed(genuine, name):
    assert genuine.verify().ok
    tamper, complaint = TAMPERINGS[name]
    complaints = tamper(genuine).verify().complaints
    assert any(complaint in each for each in complaints), complaints


def test_verification_says_what_is_proved(genuine):
    checked = genuine.verify(threads=2)
    assert checked.objective == pytest.approx(genuine.solutions[0].objective)
    assert checked.lower_bound >= genuine.lower_bound
    assert checked.feasibility.holds()
    with pytest.raises(ParameterError, match="`threads` must be an integer"):
        genuine.verify(threads=0)


def test_an_empty_list_proves_nothing():
    problem = SparseQP(np.eye(2), [-4.0, -3.0], eta=1.0, sparsity=1)
    empty = replace(alternatives(problem), solutions=())
    assert empty.verify().complaints == ("no solution is listed",)


@pytest.mark.parametrize(
    "settings", [{"penalty": 0.01}, {"sparsity": 2, "lower": [0.1, -1.0]}]
)
def test_supports_that_include_a_listed_one_are_named_in_the_claim(settings):
    problem = SparseQP(np.eye(2), [-4.0, 0.0], eta=1.0, **settings)
    found = alternatives(problem, percent=5)
    assert [support.tolist() for support in found.supports] == [[0]]
    assert found.claim == (
        "All supports within 5 % are listed, but for those that include a listed one."
    )
