"""The last stage where there are very many columns: a search by sweeps, or a bound."""

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.streamed import SweepBound, SweepSearch, SweepTree, settle
from cardqp.heuristics.local_search import IMPROVEMENT
from cardqp.methods.context import Run

GRACE, LEAST_GRACE = 0.1, 0.4
"""The last share of the time that a search by sweeps has, and at least so many seconds,
are for bounding what it leaves open."""

PATIENCE = 1.0
"""At least so many seconds are for that after Ctrl-C."""


def search_by_sweeps(run: Run) -> tuple[SweepTree, Stop]:
    """Search the whole problem as one stage."""
    method = _search(run)

    def work() -> tuple[SweepTree, Stop]:
        tree = SweepTree.plant(run.problem, run.x, method.is_over)
        try:
            with run.watch.ending_early(GRACE):
                _, stop = iterate(method, tree, run.watch)
            settle(method, tree, _grace(run.watch))
        except KeyboardInterrupt:  # the second one: what there is, at once
            stop = Stop.INTERRUPTED
        return tree, stop

    def summary(done: tuple[SweepTree, Stop]) -> tuple[int, str]:
        return len(done[0].working.ids), done[0].account

    return run.stage("sweeps", work, run.problem.n, summary)


def bound_by_sweeps(run: Run, x: FloatArray) -> tuple[SweepTree, Stop]:
    """Bound the problem for a method's own point as one stage."""
    method, own = SweepBound(_search(run)), run.problem.value(x)

    def work() -> tuple[SweepTree, Stop]:
        tree = SweepTree.plant(run.problem, x, method.search.is_over)
        try:
            return iterate(method, tree, run.watch)
        except KeyboardInterrupt:  # the second one: the point, with what is proved
            return tree, Stop.INTERRUPTED

    def summary(done: tuple[SweepTree, Stop]) -> tuple[int, str]:
        tree, _ = done
        text = tree.account
        if tree.objective < own - IMPROVEMENT * abs(own):
            text += f", met a better point: {tree.objective:.6g}"
        return len(tree.working.ids), text

    return run.stage("bound", work, run.problem.n, summary)


def _grace(watch: Watch) -> float:
    """Seconds for bounding what a search leaves open."""
    if watch.stopped is Stop.TIME_LIMIT and watch.time_limit is not None:
        return max(watch.time_limit - watch.seconds, LEAST_GRACE)
    if watch.stopped is Stop.INTERRUPTED:
        return max(GRACE * watch.seconds, PATIENCE)
    return np.inf


def _search(run: Run) -> SweepSearch:
    return SweepSearch(run.gap, lambda: run.watch.is_over, run.search.node_limit)
