"""The state of the search: the proof so far, open branches, and the best point."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import Certificate, DualProof, ProofLog, RootStep
from cardqp.certificate.certificate import View
from cardqp.convex.support_qp import SupportFit
from cardqp.exact.incumbent import improve_by_swaps
from cardqp.exact.relaxation import Relaxation
from cardqp.exact.supports import Supports
from cardqp.gap import gap_unit
from cardqp.problem import SparseQP, lift

MOST_OPEN = 100_000
"""The search goes depth first while more branches than this are open."""


@dataclass(frozen=True, order=True, slots=True)
class Node:
    """An open branch; the least bound is processed first, deeper ones before others.

    ``index`` and ``value`` are the nonzeros of the point to start from, in scaled
    units; ``nu`` are the multipliers of the rows.
    """

    bound: float
    height: int
    position: int
    status: IntArray = field(compare=False)
    index: IntArray = field(compare=False)
    value: FloatArray = field(compare=False)
    nu: FloatArray = field(compare=False)


@dataclass(slots=True)
class Tree:
    """The state of the search.

    Attributes
    ----------
    problem : SparseQP
        The problem to be solved.
    view : View
        The problem as the steps at the root have left it.
    relaxation : Relaxation
        Its relaxation.
    x, nu : arrays
        Where the relaxation of the root starts.
    steps : list of RootStep
        The steps at the root.
    log : ProofLog or None
        The branches so far; None if no record is kept.
    heap, stack : lists of Node
        Open branches; those on the stack come first.
    best : SupportFit
        The best feasible point, with all variables of the problem.
    is_rooted : bool
        Whether the steps at the root are over.
    closed_bound : float
        The least bound among closed branches.
    closed_share : float
        The share of the tree that is closed, a branch at depth d counting 2^-d.
    gap_unit : float
        What a gap is relative to, given the best point.
    n_nodes, n_created : int
        Branches processed, and branches begun.
    tightened : float
        How many variables there were when a diagonal was last optimised.
    tried : set of bytes
        Supports that have been fitted.
    """

    problem: SparseQP
    view: View
    relaxation: Relaxation
    x: FloatArray
    nu: FloatArray
    best: SupportFit
    steps: list[RootStep] = field(default_factory=list)
    log: ProofLog | None = None
    heap: list[Node] = field(default_factory=list)
    stack: list[Node] = field(default_factory=list)
    supports: Supports | None = None
    is_rooted: bool = False
    closed_bound: float = np.inf
    closed_share: float = 0.0
    gap_unit: float = np.inf
    n_nodes: int = 0
    n_created: int = 0
    tightened: float = np.inf
    tried: set[bytes] = field(default_factory=set)

    def offer(self, fit: SupportFit) -> None:
        """Keep a feasible point of the view if it is the best."""
        if not fit.objective < self.best.objective:
            return
        fit = improve_by_swaps(self.view.exact, fit)
        if fit.x is None:
            return
        x = lift(fit.x, self.view.indices, self.problem.n)
        objective = self.problem.objective(x)
        if objective < self.best.objective:
            self.best = SupportFit(x, fit.beta, objective)
            self.gap_unit = gap_unit(self.problem, x, objective)

    def step_root(self, step: RootStep, view: View) -> None:
        """Take a step at the root."""
        self.steps.append(step)
        self.view = view

    def begin(self) -> None:
        """Begin the tree with what the steps at the root have left."""
        self.is_rooted = True
        self.supports = Supports.of(self.view.exact)
        self.n_created = 1
        if self.log is not None:
            self.log.open(1)
        index = np.flatnonzero(self.x)
        status = self.view.choice.status
        floor = self.view.floor
        self.push(Node(floor, 0, 0, status, index, self.x[index], self.nu))

    def push(self, node: Node) -> None:
        """Add an open branch."""
        if len(self.heap) < MOST_OPEN:
            heapq.heappush(self.heap, node)
        else:
            self.stack.append(node)

    def pop(self) -> Node:
        """Take the branch to be processed next."""
        return self.stack.pop() if self.stack else heapq.heappop(self.heap)

    @property
    def n_open(self) -> int:
        """How many branches are open."""
        return len(self.heap) + len(self.stack)

    @property
    def lower_bound(self) -> float:
        """The bound proved so far."""
        if not self.is_rooted:
            return min(self.view.closed, self.view.floor)
        least = min((node.bound for node in self.stack), default=np.inf)
        if self.heap:
            least = min(least, self.heap[0].bound)
        return min(self.view.closed, self.closed_bound, least)

    @property
    def certificate(self) -> Certificate | None:
        """The proof so far."""
        if self.log is None:
            return None
        return Certificate(tuple(self.steps), self.log.tree())


def first_step(problem: SparseQP, best: SupportFit) -> RootStep:
    """The bound that comes with a feasible point, or with zero."""
    anchor = np.zeros(problem.n) if best.x is None else best.x
    return RootStep(DualProof.at(anchor, best.beta))
