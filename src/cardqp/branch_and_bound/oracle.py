"""What a search asks of whatever relaxes and proves the nodes of its tree."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from cardqp.branch_and_bound.search_tree import Node, SearchTree
from cardqp.relaxation.relaxation import Effort

T_contra = TypeVar("T_contra", bound=SearchTree, contravariant=True)


class Outcome(Protocol[T_contra]):
    """What processing a node has found."""

    def commit(self, tree: T_contra, is_over: Callable[[], bool]) -> None:
        """Write it into the tree; points are improved while time lasts."""

    def open(self, first: int) -> list[Node]:
        """The children as open nodes, numbered from ``first`` on."""


class Processor(Protocol[T_contra]):
    """Processes nodes; it does not change the tree, and may run in several threads."""

    @property
    def effort(self) -> Effort:
        """When to stop solving relaxations."""

    def process_all(self, nodes: list[Node]) -> Sequence[Outcome[T_contra]]:
        """Process some nodes: prune them, solve them, or branch."""

    @property
    def n_per_task(self) -> int:
        """The most nodes that are handed to a thread at once."""


class Oracle(Protocol[T_contra]):
    """Relaxes the nodes of a tree and proves them."""

    def step_root(self) -> None:
        """Take a step before there are nodes."""

    def is_turn_due(self) -> bool:
        """Whether something else comes before the next batch of nodes."""

    def take_turn(self) -> None:
        """Do that."""

    def most_together(self) -> int:
        """The most nodes that may be processed before the next turn."""

    def processor(self) -> Processor[T_contra]:
        """What processes the next batch of nodes."""

    def follow_up(self, n_before: int) -> None:
        """Do what is due after a batch, given how many nodes there were before it."""
