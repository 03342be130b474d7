"""The bound alone: the root of the streamed search, without branching."""

from dataclasses import dataclass

from cardqp._iterate import Progress, Stop
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.tree import Phase, StreamedTree


@dataclass(frozen=True, slots=True)
class StreamedBound:
    """Bound a problem whose columns are streamed by the root of a search.

    Parameters
    ----------
    search : StreamedSearch
        The search whose steps are taken until it would branch.
    """

    search: StreamedSearch

    def init(self, tree: StreamedTree) -> StreamedTree:
        """The tree, which is its own initial state."""
        return tree

    def step(self, problem: StreamedTree, tree: StreamedTree) -> StreamedTree:
        """Make one pass over the data."""
        return self.search.step(problem, tree)

    def done(self, tree: StreamedTree) -> Stop | None:
        """``COMPLETED`` once the root is bounded or the gap is closed."""
        is_rooted = tree.phase is Phase.TREE or self.search.done(tree) is not None
        return Stop.COMPLETED if is_rooted else None

    def progress(self, tree: StreamedTree, seconds: float) -> Progress:
        """The progress of the search."""
        return self.search.progress(tree, seconds)
