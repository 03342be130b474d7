"""The last stage of ``solve`` where the columns are streamed: a search, or a bound."""

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.branch_and_bound.streamed.coarsen import bound_open_nodes
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.settings import CoarseningSettings
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.heuristics.local_search import IMPROVEMENT
from cardqp.methods.context import SolveContext


def search_streamed(
    context: SolveContext, settings: SearchSettings, *, root_only: bool = False
) -> tuple[StreamedTree, Stop]:
    """Search the whole problem as one stage, or bound it for the point that there is.

    Parameters
    ----------
    context : SolveContext
        The call of ``solve``.
    settings : SearchSettings
        Tuning of the search.
    root_only : bool
        Whether to stop before there are nodes.

    Returns
    -------
    tree : StreamedTree
        Incumbent, bound and certificate.
    stop : Stop
        Why the search ended.
    """
    shared = {part.name: getattr(context.search, part.name) for part in fields(Driver)}
    method = StreamedSearch(**shared | {"settings": settings, "root_only": root_only})
    return explore_streamed(
        context, method, lambda: method.initial_tree(context.problem, context.x)
    )


def explore_streamed(
    context: SolveContext, method: StreamedSearch, make_tree: Callable[[], StreamedTree]
) -> tuple[StreamedTree, Stop]:
    """Search a tree as one stage, and return it with the reason it ended."""
    own = np.inf
    if method.root_only and context.x is not None:
        own = context.problem.value(context.x)

    def summary(done: tuple[StreamedTree, Stop]) -> tuple[int, str]:
        tree, _ = done
        text = f"{tree.n_passes} passes, {tree.n_nodes} nodes"
        if tree.best.objective < own - IMPROVEMENT * abs(own) < np.inf:
            text += f", met a better point: {tree.best.objective:.6g}"
        return len(tree.working.columns), text

    return context.stage(
        "bound" if method.root_only else "search",
        lambda: _grow(method, make_tree(), context.watch),
        context.problem.n,
        summary,
    )


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
