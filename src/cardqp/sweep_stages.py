"""The last stage where there are very many columns: a search by sweeps, or a bound."""

from cardqp._iterate import Stop, iterate
from cardqp._typing import FloatArray
from cardqp.exact.incumbent import IMPROVEMENT
from cardqp.run import Run
from cardqp.wide import SweepBound, SweepSearch, SweepTree


def search_by_sweeps(run: Run) -> tuple[SweepTree, Stop]:
    """Search the whole problem as one stage."""
    method = _search(run)

    def work() -> tuple[SweepTree, Stop]:
        tree, stop = iterate(method, SweepTree.plant(run.problem, run.x), run.watch)
        method.settle(tree)
        return tree, stop

    def summary(done: tuple[SweepTree, Stop]) -> tuple[int, str]:
        return len(done[0].working.ids), done[0].account

    return run.stage("sweeps", work, run.problem.n, summary)


def bound_by_sweeps(run: Run, x: FloatArray) -> tuple[SweepTree, Stop]:
    """Bound the problem for a method's own point as one stage."""
    method, own = SweepBound(_search(run)), run.problem.value(x)

    def work() -> tuple[SweepTree, Stop]:
        return iterate(method, SweepTree.plant(run.problem, x), run.watch)

    def summary(done: tuple[SweepTree, Stop]) -> tuple[int, str]:
        tree, _ = done
        text = tree.account
        if tree.objective < own - IMPROVEMENT * abs(own):
            text += f", met a better point: {tree.objective:.6g}"
        return len(tree.working.ids), text

    return run.stage("bound", work, run.problem.n, summary)


def _search(run: Run) -> SweepSearch:
    return SweepSearch(run.gap, lambda: run.watch.is_over, run.search.node_limit)
