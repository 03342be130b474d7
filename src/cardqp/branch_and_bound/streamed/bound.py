"""The bound alone: what the root of the search by sweeps proves."""

from dataclasses import dataclass

from cardqp._iterate import Progress, Stop
from cardqp.branch_and_bound.streamed.search import SweepSearch
from cardqp.branch_and_bound.streamed.tree import Phase, SweepTree


@dataclass(frozen=True, slots=True)
class SweepBound:
    """Bound a problem with very many columns, and grow no tree.

    Parameters
    ----------
    search : SweepSearch
        The search whose root is taken.
    """

    search: SweepSearch

    def init(self, tree: SweepTree) -> SweepTree:
        """A planted tree is its own initial state."""
        return tree

    def step(self, problem: SweepTree, tree: SweepTree) -> SweepTree:
        """One sweep."""
        return self.search.step(problem, tree)

    def done(self, tree: SweepTree) -> Stop | None:
        """Branches would come next, or are not needed."""
        is_rooted = tree.phase is Phase.TREE or self.search.done(tree) is not None
        return Stop.COMPLETED if is_rooted else None

    def progress(self, tree: SweepTree, seconds: float) -> Progress:
        """As of the search."""
        return self.search.progress(tree, seconds)
