"""The state that every search has: open nodes, the proof so far, the incumbent."""

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.certificate import Certificate, Kind, ProofLog, ProofTree, RootStep
from cardqp.problem import SparseQP
from cardqp.relaxation.scaled_data import NO_CLUSTERS, ClusterData
from cardqp.subproblems.support_qp import SupportFit


class Node(NamedTuple):
    """An open node, in the order of the search.

    As a tuple it compares by the least bound, then by the greatest depth, so that ties
    are followed down to a leaf; numbers are distinct, so that no array is compared.

    Attributes
    ----------
    bound : float
        A lower bound on the node, inherited from its parent.  Where columns are
        streamed, it is an estimate, by those of the working set.
    height : int
        Minus its depth.
    position : int
        Its number in the order of creation.
    status : (n,) int8 array
        1 for variables switched on, -1 for those switched off, 0 for undecided ones.
    entries, values : arrays
        The nonzeros of the warm start, in scaled units in memory.
    nu : array
        The row multipliers of the warm start.
    kind : Kind
        Which relaxation to solve first, that with the sparse minorant or that without:
        the one with the better bound for the parent.
    clusters : ClusterData
        Clusters of which at least one variable must be switched on.
    """

    bound: float
    height: int
    position: int
    status: IntArray
    entries: IntArray
    values: FloatArray
    nu: FloatArray
    kind: Kind = Kind.POINT
    clusters: ClusterData = NO_CLUSTERS

    @property
    def fixed_in(self) -> IntArray:
        """The variables that are switched on."""
        return np.flatnonzero(self.status > 0)

    @property
    def free(self) -> IntArray:
        """The undecided variables."""
        return np.flatnonzero(self.status == 0)


@dataclass(slots=True, kw_only=True)
class SearchTree(ABC):
    """The state of a search, whatever relaxes and proves its nodes.

    Attributes
    ----------
    problem : SparseQP
        The problem to be solved.
    best : SupportFit
        The incumbent, with all variables of the problem.
    gap_unit : float
        What a gap is relative to, given the incumbent.
    settings : SearchSettings
        The settings of the search.
    steps : list of RootStep
        The steps at the root.
    is_rooted : bool
        Whether these are over.
    heap, stack : lists of Node
        Nodes to be processed; those on the stack come first.
    log : ProofLog or None
        The proof of the nodes so far; None before the first, and if none is kept.
    keep_proof : bool
        Whether to keep a proof.
    pruned_bound : float
        The least bound among pruned nodes.
    closed_share : float
        The share of the tree that is done, a node at depth d counting 2^-d.
    estimate : float
        The estimated number of nodes in all; not a number before that.
    n_nodes, n_created : int
        Nodes processed, and nodes created.
    nodes_per_second : float
        Nodes processed per second after the root, in the last run.
    tried : set of bytes
        Supports that have been fitted.
    """

    problem: SparseQP
    best: SupportFit
    gap_unit: float = np.inf
    settings: SearchSettings = DEFAULT
    steps: list[RootStep] = field(default_factory=list)
    is_rooted: bool = False
    heap: list[Node] = field(default_factory=list)
    stack: list[Node] = field(default_factory=list)
    log: ProofLog | None = None
    keep_proof: bool = True
    pruned_bound: float = np.inf
    closed_share: float = 0.0
    estimate: float = np.nan
    n_nodes: int = 0
    n_created: int = 0
    nodes_per_second: float = 0.0
    tried: set[bytes] = field(default_factory=set)

    @property
    @abstractmethod
    def stage(self) -> str:
        """What the search does, for the progress report."""

    @property
    @abstractmethod
    def lower_bound(self) -> float:
        """The lower bound that is proved so far."""

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """The proof of that bound, or of a part of it."""

    @abstractmethod
    def root(self) -> Node:
        """The root node."""

    def keep(self, fit: SupportFit) -> None:
        """Update the incumbent by a feasible point of the problem as it is."""
        if fit.x is None or not self.problem.is_independent(fit.x):
            return
        if fit.objective < self.best.objective:
            self.best = fit
            self.gap_unit = gap_unit(self.problem, fit.x, fit.objective)

    def push(self, node: Node) -> None:
        """Add an open node: to the heap, or to the stack while that is full."""
        # Depth first keeps the number of open nodes, and so memory, within bounds.
        if len(self.heap) < self.settings.max_open:
            heapq.heappush(self.heap, node)
        else:
            self.stack.append(node)

    def pop(self) -> Node:
        """Remove and return the node to be processed next."""
        return self.stack.pop() if self.stack else heapq.heappop(self.heap)

    @property
    def n_open(self) -> int:
        """The number of open nodes."""
        return len(self.heap) + len(self.stack)

    @property
    def least_open(self) -> float:
        """The least bound of an open node."""
        least = min((node.bound for node in self.stack), default=np.inf)
        return min(least, self.heap[0].bound) if self.heap else least

    def drop_proof(self) -> None:
        """Forget the nodes of the proof: only the steps at the root are left."""
        self.keep_proof, self.log = False, None

    def open_root(self) -> None:
        """Open the root node, in the log as well."""
        self.n_created = 1
        if self.log is not None:
            self.log.open(1)
        self.push(self.root())

    @property
    def is_recorded(self) -> bool:
        """Whether the certificate proves all of the bound, not only the root's part."""
        return self.keep_proof or self.n_created == 0

    @property
    def proof(self) -> ProofTree:
        """The nodes of the proof so far; none if they are not recorded."""
        return ProofTree.empty() if self.log is None else self.log.tree()
