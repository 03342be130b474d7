"""The last stage where there are very many columns: a search by sweeps, or a bound."""

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.streamed import (
    StreamedBound,
    StreamedSearch,
    StreamedTree,
    bound_open_nodes,
)
from cardqp.heuristics.local_search import IMPROVEMENT
from cardqp.methods.context import SolveContext

GRACE, LEAST_GRACE = 0.1, 0.4
"""The last share of the time that a search by sweeps has, and at least so many seconds,
are for bounding what it leaves open."""

PATIENCE = 1.0
"""At least so many seconds are for that after Ctrl-C."""


def search_streamed(context: SolveContext) -> tuple[StreamedTree, Stop]:
    """Search the whole problem as one stage."""
    method = _search(context)

    def work() -> tuple[StreamedTree, Stop]:
        tree = StreamedTree.initial(context.problem, context.x, method.is_over)
        try:
            with context.watch.ending_early(GRACE):
                _, stop = iterate(method, tree, context.watch)
            bound_open_nodes(method, tree, _grace(context.watch))
        except KeyboardInterrupt:  # the second one: what there is, at once
            stop = Stop.INTERRUPTED
        return tree, stop

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        return len(done[0].working.ids), done[0].summary

    return context.stage("search", work, context.problem.n, summary)


def bound_streamed(context: SolveContext, x: FloatArray) -> tuple[StreamedTree, Stop]:
    """Bound the problem for a method's own point as one stage."""
    method, own = StreamedBound(_search(context)), context.problem.value(x)

    def work() -> tuple[StreamedTree, Stop]:
        tree = StreamedTree.initial(context.problem, x, method.search.is_over)
        try:
            return iterate(method, tree, context.watch)
        except KeyboardInterrupt:  # the second one: the point, with what is proved
            return tree, Stop.INTERRUPTED

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        tree, _ = done
        text = tree.summary
        if tree.objective < own - IMPROVEMENT * abs(own):
            text += f", met a better point: {tree.objective:.6g}"
        return len(tree.working.ids), text

    return context.stage("bound", work, context.problem.n, summary)


def _grace(watch: Watch) -> float:
    """Seconds for bounding what a search leaves open."""
    if watch.stopped is Stop.TIME_LIMIT and watch.time_limit is not None:
        return max(watch.time_limit - watch.seconds, LEAST_GRACE)
    if watch.stopped is Stop.INTERRUPTED:
        return max(GRACE * watch.seconds, PATIENCE)
    return np.inf


def _search(context: SolveContext) -> StreamedSearch:
    return StreamedSearch(
        context.gap, lambda: context.watch.is_over, context.search.node_limit
    )
