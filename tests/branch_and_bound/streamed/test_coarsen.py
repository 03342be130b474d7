"""Searches that are stopped: the best point, a valid bound and its proof come back."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp._iterate import Stop
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.streamed import (
    StreamedSearch,
    StreamedTree,
    bound_open_nodes,
    search,
    size,
)
from cardqp.branch_and_bound.streamed import coarsen as fold
from cardqp.branch_and_bound.streamed.coarsen import coarsen
from cardqp.certificate import StreamedCertificate
from cardqp.pipeline import build_solution as conclusion
from tests.problems import enumerate_optimum


@pytest.fixture(autouse=True)
def small_working_sets(monkeypatch):
    """Working sets that leave columns out, and many sweeps."""
    for name in ("FIRST", "REPLACEMENTS", "ALONE", "SLOPED", "STEEPEST"):
        monkeypatch.setattr(f"cardqp.branch_and_bound.streamed.incumbent.{name}", 2)
    monkeypatch.setattr(search, "ADDED", 2)
    monkeypatch.setattr(search, "PER_LEAF", 2)
    monkeypatch.setattr(search, "BATCH", 4)
    monkeypatch.setattr("cardqp.problem.streamed_form.BLOCK", 100)
    monkeypatch.setattr(size, "FEWEST", 0)


@pytest.fixture(scope="module")
def problem():
    """Hard enough for a hundred branches."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 14)), rng.standard_normal(20)
    found = SparseQP.from_data(X, y, eta=50.0, sparsity=4)
    load_for(found)
    return found


@pytest.fixture(scope="module")
def optimum(problem):
    return enumerate_optimum(problem)[0]


def grown(problem, n_nodes):
    """A search stopped after some branches."""
    method, tree = StreamedSearch(node_limit=n_nodes), StreamedTree.initial(problem)
    while method.done(tree) is None:
        method.step(tree, tree)
    assert tree.n_open > 2
    return tree


def assert_sound(solution, optimum):
    assert isinstance(solution.certificate, StreamedCertificate)
    assert solution.objective >= optimum * (1 - 1e-12)
    assert 0 < solution.lower_bound <= optimum * (1 + 1e-12)
    assert solution.verify().ok
    proved = solution.certificate.lower_bound(solution.problem)
    assert proved == pytest.approx(solution.lower_bound, rel=1e-9)


@pytest.mark.parametrize("n_nodes", [5, 20, 40])
@pytest.mark.parametrize("most", [1, 2, 3, 5, 512])
def test_folded_branches_hold_all_that_is_open(problem, n_nodes, most):
    tree = grown(problem, n_nodes)
    found = {node.position: node for node in coarsen(tree, most)}
    assert len(found) <= most
    for leaf in (*tree.pending, *tree.heap):
        above = [
            node
            for node in found.values()
            if {*node.fixed_in} <= {*leaf.fixed_in}
            and {*node.fixed_out} <= {*leaf.fixed_out}
        ]
        assert len(above) == 1
    if most == 512:
        assert {*found} == {n.position for n in (*tree.pending, *tree.heap)}
    if most == 1:
        assert {*found} == {0}


@pytest.mark.parametrize("n_nodes", [5, 20, 40])
@pytest.mark.parametrize("most", [2, 4, 8, 512])
def test_settled_trees_prove_their_bound(problem, optimum, n_nodes, most, monkeypatch):
    tree = grown(problem, n_nodes)
    monkeypatch.setattr(fold, "FEW", most)
    monkeypatch.setattr(fold, "UNTIMED", most)
    bound_open_nodes(StreamedSearch(), tree)
    assert tree.root_bound * 1.001 < tree.lower_bound <= optimum
    certificate = tree.certificate
    proved = certificate.lower_bound(problem)
    assert proved == pytest.approx(tree.lower_bound, rel=1e-9)
    is_leaf = certificate.branch < 0
    assert (certificate.record[is_leaf] >= 0).all()
    assert len(certificate.leaves) == np.count_nonzero(is_leaf)


@pytest.mark.parametrize("which", ["closed", "fixed"])
def test_settled_bounds_are_no_better_than_what_was_closed(problem, which):
    tree = grown(problem, 40)
    little = tree.root_bound * 1.0005
    if which == "closed":
        tree.pruned_bound = little  # a leaf that was given up
    else:
        tree.unfixed[-1] = False
        tree.fixing_cutoff = little
    bound_open_nodes(StreamedSearch(), tree)
    assert tree.root_bound <= tree.lower_bound <= little


def test_more_branches_prove_more(problem, monkeypatch):
    bounds = []
    for most in (2, 4, 8, 512):
        tree = grown(problem, 40)
        monkeypatch.setattr(fold, "FEW", most)
        monkeypatch.setattr(fold, "UNTIMED", most)
        bound_open_nodes(StreamedSearch(), tree)
        bounds.append(tree.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] > 1.05 * bounds[0]


def test_first_few_branches_then_more(problem, monkeypatch):
    tree, seen = grown(problem, 40), []
    monkeypatch.setattr(fold, "FEW", 2)
    monkeypatch.setattr(fold, "GROWTH", 2)
    monkeypatch.setattr(
        fold, "coarsen", lambda tree, most: seen.append(most) or coarsen(tree, most)
    )
    bound_open_nodes(StreamedSearch(), tree)
    assert seen == [2, 4, 8, 16]
    assert len(coarsen(tree, 16)) == tree.n_open


def test_without_time_the_root_is_what_is_left(problem):
    tree = grown(problem, 20)
    tree.slowest_pass = 10.0
    bound_open_nodes(StreamedSearch(), tree, 39.0)
    assert tree.lower_bound == tree.root_bound
    assert len(tree.certificate) == 1
    assert tree.certificate.lower_bound(problem) == pytest.approx(tree.root_bound)


def test_what_takes_too_long_is_given_up(problem, monkeypatch):
    """The second batch of branches would come too late."""
    tree = grown(problem, 40)
    monkeypatch.setattr(fold, "FEW", 512)
    late = SimpleNamespace(seconds=0.0, is_over=True)
    monkeypatch.setattr(fold, "Watch", lambda _: late)
    n_passes = tree.n_passes
    bound_open_nodes(StreamedSearch(), tree, 2.0)
    assert tree.n_passes == n_passes + 1
    assert tree.lower_bound == tree.root_bound


def stop_after(count, action):
    calls = []

    def callback(_):
        calls.append(1)
        return action() if len(calls) == count else None

    return callback


def interrupt():
    signal.raise_signal(signal.SIGINT)


def interrupt_twice():
    interrupt()
    interrupt()


ACTIONS = {
    "callback": (lambda: True, Stop.CALLBACK),
    "Ctrl-C": (interrupt, Stop.INTERRUPTED),
    "Ctrl-C twice": (interrupt_twice, Stop.INTERRUPTED),
}


@pytest.mark.parametrize("count", [1, 2, 4, 8, 12, 20, 40])
@pytest.mark.parametrize("action", ACTIONS)
def test_stopped_anywhere(problem, optimum, action, count):
    act, stop = ACTIONS[action]
    solution = solve(problem, callback=stop_after(count, act))
    assert solution.stop is stop
    assert solution.status is Status.FEASIBLE
    assert_sound(solution, optimum)


@pytest.mark.parametrize("action", ["callback", "Ctrl-C"])
def test_what_is_open_is_settled(problem, action):
    act, _ = ACTIONS[action]
    once = solve(problem, callback=stop_after(40, act))
    twice = solve(problem, callback=stop_after(40, interrupt_twice))
    assert once.lower_bound > twice.lower_bound * 1.001
    assert len(twice.certificate) == 1


@pytest.mark.parametrize("last", [1, 2, 10])
def test_a_second_interrupt_while_settling(problem, optimum, monkeypatch, last):
    """What was bounded before it is kept: by the tenth pass, two branches."""
    bound_nodes, calls, is_bounding = StreamedTree.bound_nodes, [], []

    def interrupted(tree, nodes):
        calls.append(len(nodes))
        if is_bounding and len(calls) == last:
            interrupt()
        return bound_nodes(tree, nodes)

    def first_interrupt():
        interrupt()
        is_bounding.append(True)
        calls.clear()

    monkeypatch.setattr(StreamedTree, "bound_nodes", interrupted)
    monkeypatch.setattr(search, "BATCH", 1)
    monkeypatch.setattr(fold, "FEW", 2)
    solution = solve(problem, callback=stop_after(40, first_interrupt))
    assert len(calls) == last
    assert solution.stop is Stop.INTERRUPTED
    assert_sound(solution, optimum)
    assert len(solution.certificate) == (1 if last < 10 else 3)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_second_interrupt_while_checking(problem, optimum, monkeypatch, is_late):
    """The answer has its bound, though it was not recomputed."""
    check, calls = StreamedCertificate.lower_bound, []

    def interrupted(certificate, *args):
        calls.append(1)
        interrupt()
        interrupt()
        return check(certificate, *args)

    with monkeypatch.context() as patch:
        patch.setattr(StreamedCertificate, "lower_bound", interrupted)
        callback = stop_after(400 if is_late else 40, lambda: True)
        solution = solve(problem, callback=callback)
    assert calls == [1]
    assert solution.stop is Stop.INTERRUPTED
    assert solution.status is Status.FEASIBLE
    assert_sound(solution, optimum)


def test_long_proofs_of_stopped_searches_are_not_replayed(problem, monkeypatch):
    monkeypatch.setattr(conclusion, "QUICK_PRODUCTS", 10.0)
    found = []
    monkeypatch.setattr(StreamedCertificate, "lower_bound", lambda *_: found.append(1))
    solution = solve(problem, callback=stop_after(40, lambda: True))
    assert not found
    monkeypatch.undo()
    assert solution.verify().ok


def test_out_of_time(problem, optimum):
    solution = solve(problem, time_limit=0.0)
    assert solution.stop is Stop.TIME_LIMIT
    assert_sound(solution, optimum)


def test_node_limit(problem, optimum):
    first, second = (solve(problem, node_limit=k) for k in (5, 40))
    assert (first.n_nodes, second.n_nodes) == (5, 40)
    for solution in (first, second):
        assert solution.stop is Stop.NODE_LIMIT
        assert_sound(solution, optimum)
    assert second.lower_bound > first.lower_bound


@pytest.mark.parametrize("method", ["best-response", "dual-program"])
def test_a_second_interrupt_while_bounding_keeps_the_point(method):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((9, 14)), rng.standard_normal(9)
    wide = SparseQP.from_data(X, y, eta=50.0, sparsity=3)
    whole = solve(wide, method=method, level=3)

    def interrupt_the_bound(progress):
        if progress.stage.startswith("pass"):
            interrupt_twice()

    solution = solve(wide, method=method, level=3, callback=interrupt_the_bound)
    assert solution.stop is Stop.INTERRUPTED
    np.testing.assert_array_equal(solution.x, whole.x)
    assert_sound(solution, enumerate_optimum(wide)[0])
