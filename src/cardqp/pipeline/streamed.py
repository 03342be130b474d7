"""The last stage of ``solve`` where the columns are streamed: a search, or a bound."""

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.streamed.bound import StreamedBound
from cardqp.branch_and_bound.streamed.coarsen import bound_open_nodes
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.settings import (
    DEFAULT_SETTINGS,
    CoarseningSettings,
    StreamedSettings,
)
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.heuristics.local_search import IMPROVEMENT
from cardqp.methods.context import SolveContext


def search_streamed(
    context: SolveContext, settings: StreamedSettings = DEFAULT_SETTINGS
) -> tuple[StreamedTree, Stop]:
    """Search the whole problem as one stage.

    Returns
    -------
    tree : StreamedTree
        Incumbent, bound and certificate.
    stop : Stop
        Why the search ended.
    """
    method, coarsening = _search(context, settings), settings.coarsening

    def work() -> tuple[StreamedTree, Stop]:
        tree = method.initial_tree(context.problem, context.x)
        try:
            # What is left open is bounded within the time limit.
            with context.watch.ending_early(coarsening.time_share):
                _, stop = iterate(method, tree, context.watch)
            bound_open_nodes(method, tree, _seconds_left(context.watch, coarsening))
        except KeyboardInterrupt:  # the second one: what there is, at once
            stop = Stop.INTERRUPTED
        return tree, stop

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        return len(done[0].working.columns), done[0].summary

    return context.stage("search", work, context.problem.n, summary)


def bound_streamed(
    context: SolveContext,
    x: FloatArray,
    settings: StreamedSettings = DEFAULT_SETTINGS,
) -> tuple[StreamedTree, Stop]:
    """Bound the problem for the point ``x`` of a method as one stage.

    Returns
    -------
    tree : StreamedTree
        Bound and certificate; its incumbent may be better than ``x``.
    stop : Stop
        Why it ended.
    """
    method = StreamedBound(_search(context, settings))
    own = context.problem.value(x)

    def work() -> tuple[StreamedTree, Stop]:
        tree = method.search.initial_tree(context.problem, x)
        try:
            return iterate(method, tree, context.watch)
        except KeyboardInterrupt:  # the second one: the point, with what is proved
            return tree, Stop.INTERRUPTED

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        tree, _ = done
        text = tree.summary
        if tree.objective < own - IMPROVEMENT * abs(own):
            text += f", met a better point: {tree.objective:.6g}"
        return len(tree.working.columns), text

    return context.stage("bound", work, context.problem.n, summary)


def _seconds_left(watch: Watch, settings: CoarseningSettings) -> float:
    """Seconds for bounding what a search leaves open."""
    if watch.stopped is Stop.TIME_LIMIT and watch.time_limit is not None:
        return max(watch.time_limit - watch.seconds, settings.min_seconds)
    if watch.stopped is Stop.INTERRUPTED:
        share = settings.time_share * watch.seconds
        return max(share, settings.min_seconds_interrupted)
    return np.inf


def _search(context: SolveContext, settings: StreamedSettings) -> StreamedSearch:
    return StreamedSearch(
        context.gap,
        lambda: context.watch.is_over,
        context.search.node_limit,
        settings,
    )
