"""Searches that are stopped: the best point, a valid bound and its proof come back."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp._iterate import Stop
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.streamed import coarsen as module
from cardqp.branch_and_bound.streamed.coarsen import bound_open_nodes, coarsen
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.settings import CoarseningSettings
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.certificate import Certificate, Kind
from cardqp.pipeline import build_solution
from tests.problems import enumerate_optimum
from tests.streamed import exact, in_blocks, search_settings, stream_everything

SMALL = {
    "initial_columns": 2,
    "steepest_columns": 2,
    "replacements": 2,
    "single_columns": 2,
    "derivative_columns": 2,
    "root_columns": 2,
    "leaf_columns": 2,
    "batch_size": 4,
}
"""Working sets that leave columns out, and many passes."""

EXACT = exact(nodes=1, **SMALL)


def small_search(node_limit=None, **coarsening):
    """A search with small working sets, and other settings for what it leaves open."""
    found = search_settings(
        nodes=1, **SMALL, coarsening=CoarseningSettings(**coarsening)
    )
    return StreamedSearch(node_limit=node_limit, settings=found)


@pytest.fixture(scope="module")
def problem():
    """Hard enough for a hundred nodes."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 14)), rng.standard_normal(20)
    found = in_blocks(SparseQP.from_data(X, y, eta=50.0, sparsity=4), entries=100)
    load_for(found)
    return found


@pytest.fixture(scope="module")
def optimum(problem):
    return enumerate_optimum(problem)[0]


def grown(problem, n_nodes):
    """A search stopped after some nodes."""
    method = small_search(n_nodes)
    tree = method.initial_tree(problem)
    while method.done(tree) is None:
        method.step(tree, tree)
    assert tree.n_open > 2
    return tree


def assert_sound(solution, optimum):
    assert solution.certificate.is_streamed(solution.problem)
    assert solution.objective >= optimum * (1 - 1e-12)
    assert 0 < solution.lower_bound <= optimum * (1 + 1e-12)
    assert solution.verify().ok
    proved = solution.certificate.lower_bound(solution.problem)
    # More than that where nodes and some below them were bounded.
    assert solution.lower_bound * (1 - 1e-9) <= proved <= optimum * (1 + 1e-12)


def is_above(node, leaf):
    """Whether a node has no decisions but those of another one."""
    decided = np.flatnonzero(node.status)
    return (node.status[decided] == leaf.status[decided]).all()


@pytest.mark.parametrize("n_nodes", [8, 20, 40])
@pytest.mark.parametrize("most", [1, 2, 3, 5, 512])
def test_coarsened_nodes_hold_all_that_is_open(problem, n_nodes, most):
    tree = grown(problem, n_nodes)
    found = {node.position: node for node in coarsen(tree, most)}
    assert len(found) <= most
    for leaf in tree.open_nodes():
        wide = tree.widened(leaf)
        above = [node for node in found.values() if is_above(node, wide)]
        assert len(above) == 1
    if most == 512:
        assert {*found} == {node.position for node in tree.open_nodes()}
    if most == 1:
        assert {*found} == {0}


@pytest.mark.parametrize("n_nodes", [8, 20, 40])
@pytest.mark.parametrize("most", [2, 4, 8, 512])
def test_coarsened_trees_prove_their_bound(problem, optimum, n_nodes, most):
    tree = grown(problem, n_nodes)
    bound_open_nodes(small_search(first_nodes=most, max_untimed_nodes=most), tree)
    assert tree.root_bound * 1.001 < tree.lower_bound <= optimum
    certificate = tree.certificate
    proved = certificate.lower_bound(problem)
    assert proved == pytest.approx(tree.lower_bound, rel=1e-9)
    assert len(certificate.tree) == tree.n_created
    n_open = np.count_nonzero(
        (certificate.tree.kind == 0) & (certificate.tree.child == 0)
    )
    assert n_open == tree.n_open  # nothing is lost for a search that goes on


@pytest.mark.parametrize("which", ["pruned", "fixed"])
def test_bounds_are_no_better_than_those_of_pruned_nodes(problem, which):
    tree = grown(problem, 40)
    little = tree.root_bound * 1.0005
    if which == "pruned":
        tree.pruned_bound = little  # a leaf that was given up
    else:
        tree.fixing_cutoff, tree.has_fixed = little, True
    bound_open_nodes(small_search(), tree)
    assert tree.root_bound <= tree.lower_bound <= little


def test_more_nodes_prove_more(problem):
    bounds = []
    for most in (2, 4, 8, 512):
        tree = grown(problem, 40)
        bound_open_nodes(small_search(first_nodes=most, max_untimed_nodes=most), tree)
        bounds.append(tree.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] > 1.05 * bounds[0]


def test_first_few_nodes_then_more(problem, monkeypatch):
    tree, seen = grown(problem, 40), []
    monkeypatch.setattr(
        module, "coarsen", lambda tree, most: seen.append(most) or coarsen(tree, most)
    )
    bound_open_nodes(small_search(first_nodes=2, growth=2), tree)
    assert seen == [2, 4, 8, 16]
    assert len(coarsen(tree, 16)) == tree.n_open


def test_without_time_the_root_is_what_is_left(problem):
    tree = grown(problem, 20)
    tree.slowest_pass = 10.0
    bound_open_nodes(small_search(), tree, 39.0)
    assert tree.lower_bound == tree.root_bound
    assert tree.certificate.lower_bound(problem) == pytest.approx(tree.root_bound)


def test_what_takes_too_long_is_given_up(problem, monkeypatch):
    """The second batch of nodes would come too late."""
    tree = grown(problem, 40)
    late = SimpleNamespace(seconds=0.0, is_over=True)
    monkeypatch.setattr(module, "Watch", lambda _: late)
    n_passes = tree.n_passes
    bound_open_nodes(small_search(first_nodes=512), tree, 2.0)
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
    solution = solve(problem, method=EXACT, callback=stop_after(count, act))
    assert solution.stop is stop
    assert solution.status is Status.FEASIBLE
    assert_sound(solution, optimum)


@pytest.mark.parametrize("action", ["callback", "Ctrl-C"])
def test_what_is_open_is_bounded(problem, action):
    act, _ = ACTIONS[action]
    once = solve(problem, method=EXACT, callback=stop_after(40, act))
    twice = solve(problem, method=EXACT, callback=stop_after(40, interrupt_twice))
    assert once.lower_bound > twice.lower_bound * 1.001


@pytest.mark.parametrize("last", [1, 2, 10])
def test_a_second_interrupt_while_bounding_open_nodes(
    problem, optimum, monkeypatch, last
):
    """What was bounded before it is kept: by the tenth pass, two nodes."""
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
    method = exact(
        nodes=1, **SMALL | {"batch_size": 1, "coarsening": CoarseningSettings(2)}
    )
    callback = stop_after(40, first_interrupt)
    solution = solve(problem, method=method, callback=callback)
    assert len(calls) == last
    assert solution.stop is Stop.INTERRUPTED
    assert_sound(solution, optimum)
    proof = solution.certificate.tree
    inner = (proof.kind == Kind.POINT) & (proof.child > 0)
    assert np.count_nonzero(inner) == (0 if last < 10 else 2)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_second_interrupt_while_checking(problem, optimum, monkeypatch, is_late):
    """The answer has its bound, though it was not recomputed."""
    check, calls = Certificate.lower_bound, []

    def interrupted(certificate, *args):
        calls.append(1)
        interrupt()
        interrupt()
        return check(certificate, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Certificate, "lower_bound", interrupted)
        callback = stop_after(400 if is_late else 40, lambda: True)
        solution = solve(problem, method=EXACT, callback=callback)
    assert calls == [1]
    assert solution.stop is Stop.INTERRUPTED
    assert solution.status is Status.FEASIBLE
    assert_sound(solution, optimum)


def test_long_proofs_of_stopped_searches_are_not_replayed(problem, monkeypatch):
    monkeypatch.setattr(build_solution, "QUICK_PRODUCTS", 10.0)
    found = []
    monkeypatch.setattr(Certificate, "lower_bound", lambda *_: found.append(1))
    solution = solve(problem, method=EXACT, callback=stop_after(40, lambda: True))
    assert not found
    monkeypatch.undo()
    assert solution.verify().ok


def test_out_of_time(problem, optimum):
    solution = solve(problem, method=EXACT, time_limit=0.0)
    assert solution.stop is Stop.TIME_LIMIT
    assert_sound(solution, optimum)


def test_node_limit(problem, optimum):
    first, second = (solve(problem, method=EXACT, node_limit=k) for k in (5, 40))
    assert (first.n_nodes, second.n_nodes) == (5, 40)
    for solution in (first, second):
        assert solution.stop is Stop.NODE_LIMIT
        assert_sound(solution, optimum)
    assert second.lower_bound > first.lower_bound


@pytest.mark.parametrize("method", ["best-response", "dual-program"])
def test_a_second_interrupt_while_bounding_keeps_the_point(method, monkeypatch):
    stream_everything(monkeypatch, **SMALL)
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((9, 14)), rng.standard_normal(9)
    wide = in_blocks(SparseQP.from_data(X, y, eta=50.0, sparsity=3), entries=100)
    whole = solve(wide, method=method, level=3)

    def interrupt_the_bound(progress):
        if progress.stage.startswith("pass"):
            interrupt_twice()

    solution = solve(wide, method=method, level=3, callback=interrupt_the_bound)
    assert solution.stop is Stop.INTERRUPTED
    np.testing.assert_array_equal(solution.x, whole.x)
    assert_sound(solution, enumerate_optimum(wide)[0])
