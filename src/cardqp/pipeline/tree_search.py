"""Branch and bound on a whole problem as one stage, in memory or streamed."""

from dataclasses import fields

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.restore import restore
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.branch_and_bound.streamed.coarsen import bound_open_nodes
from cardqp.branch_and_bound.streamed.restore import restore_streamed
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.settings import CoarseningSettings
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.branch_and_bound.tree import Tree
from cardqp.exceptions import ProblemError
from cardqp.heuristics.local_search import IMPROVEMENT
from cardqp.methods.context import SolveContext, explore, search
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm
from cardqp.solution import Solution


def search_whole(
    context: SolveContext, *, root_only: bool = False
) -> tuple[Tree | StreamedTree, Stop]:
    """Search the problem of a context, or bound it for the point that there is.

    The tree has incumbent, bound and certificate; with ``root_only`` it ends before
    there are nodes.
    """
    problem, x = context.problem, context.x
    if isinstance(problem.quadratic, StreamedForm):
        return _search_streamed(context, root_only=root_only)
    name = "bound" if root_only else "search"
    return search(context, problem, name, x, root_only=root_only)


def restored(
    problem: SparseQP, solution: Solution, settings: SearchSettings = DEFAULT
) -> Tree | StreamedTree:
    """The tree of an earlier solution of a problem, after replaying what it proves."""
    certificate, state = solution.certificate, (solution.n_nodes, solution.x)
    if certificate is None:
        raise ProblemError(None, "it has no certificate")
    if certificate.is_streamed(problem):
        return restore_streamed(problem, certificate, *state, settings)
    return restore(problem, certificate, *state, settings)


def go_on(
    context: SolveContext, tree: Tree | StreamedTree
) -> tuple[Tree | StreamedTree, Stop]:
    """Go on with the search of a tree, as one stage."""
    if isinstance(tree, StreamedTree):
        return _search_streamed(context, tree)
    return explore(context, context.search, "search", lambda: tree)


def _search_streamed(
    context: SolveContext, tree: StreamedTree | None = None, *, root_only: bool = False
) -> tuple[StreamedTree, Stop]:
    """Search streamed data, from the start or going on with a tree."""
    shared = {part.name: getattr(context.search, part.name) for part in fields(Driver)}
    method = StreamedSearch(**shared | {"root_only": root_only})
    own = np.inf
    if root_only and context.x is not None:
        own = context.problem.value(context.x)

    def work() -> tuple[StreamedTree, Stop]:
        start = tree
        if start is None:
            start = method.initial_tree(context.problem, context.x)
        return _grow(method, start, context.watch)

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        text = f"{done[0].n_passes} passes, {done[0].n_nodes} nodes"
        found = done[0].best.objective
        if found < own - IMPROVEMENT * abs(own) < np.inf:
            text += f", met a better point: {found:.6g}"
        return len(done[0].working.columns), text

    name = "bound" if root_only else "search"
    return context.stage(name, work, context.problem.n, summary)


def _grow(
    method: StreamedSearch, tree: StreamedTree, watch: Watch
) -> tuple[StreamedTree, Stop]:
    """Search a tree, and bound what is left open within the time limit."""
    coarsening = tree.settings.streamed.coarsening
    try:
        if method.root_only:
            return iterate(method, tree, watch)
        with watch.ending_early(coarsening.time_share):
            _, stop = iterate(method, tree, watch)
        bound_open_nodes(method, tree, _seconds_left(watch, coarsening))
    except KeyboardInterrupt:  # the second one: what there is, at once
        stop = Stop.INTERRUPTED
    return tree, stop


def _seconds_left(watch: Watch, settings: CoarseningSettings) -> float:
    """Seconds for bounding what a search leaves open."""
    if watch.stopped is Stop.TIME_LIMIT and watch.time_limit is not None:
        return max(watch.time_limit - watch.seconds, settings.min_seconds)
    if watch.stopped is Stop.INTERRUPTED:
        share = settings.time_share * watch.seconds
        return max(share, settings.min_seconds_interrupted)
    return np.inf
