"""The bound alone: what the root of the search by sweeps proves."""

from dataclasses import dataclass

from cardqp._iterate import Progress, Stop
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.tree import Phase, StreamedTree


@dataclass(frozen=True, slots=True)
class StreamedBound:
    """Bound a problem with very many columns, and grow no tree.

    Parameters
    ----------
    search : StreamedSearch
        The search whose root is taken.
    """

    search: StreamedSearch

    def init(self, tree: StreamedTree) -> StreamedTree:
        """A planted tree is its own initial state."""
        return tree

    def step(self, problem: StreamedTree, tree: StreamedTree) -> StreamedTree:
        """One sweep."""
        return self.search.step(problem, tree)

    def done(self, tree: StreamedTree) -> Stop | None:
        """Branches would come next, or are not needed."""
        is_rooted = tree.phase is Phase.TREE or self.search.done(tree) is not None
        return Stop.COMPLETED if is_rooted else None

    def progress(self, tree: StreamedTree, seconds: float) -> Progress:
        """As of the search."""
        return self.search.progress(tree, seconds)
