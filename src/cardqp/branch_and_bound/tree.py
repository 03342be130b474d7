"""The state of the search: the proof so far, open branches, and the best point."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.certificate import Certificate, Kind, ProofLog, RootStep
from cardqp.certificate.certificate import View
from cardqp.heuristics.completed_supports import Supports
from cardqp.heuristics.local_search import improve, shake
from cardqp.problem import SparseQP, lift
from cardqp.relaxation.relaxation import Relaxation
from cardqp.subproblems.support_qp import SupportFit

MOST_OPEN = 100_000
"""The search goes depth first while more branches than this are open."""


FAILURES = 4
"""So many relaxations that fail, and every second one, are too many."""


class Node(NamedTuple):
    """An open branch; the least bound is processed first, deeper ones before others.

    Attributes
    ----------
    bound : float
        What is known of the branch.
    height : int
        Minus its depth.
    position : int
        Its number, which no other branch has.
    status : (n,) int8 array
        1 for variables switched on, -1 for those switched off, 0 for the free.
    entries, values : arrays
        The nonzeros of the point to start from, in scaled units.
    nu : array
        Multipliers of the rows.
    look : Kind
        Which problem to relax first: the one that did better for the parent.
    """

    bound: float
    height: int
    position: int
    status: IntArray
    entries: IntArray
    values: FloatArray
    nu: FloatArray
    look: Kind = Kind.POINT


@dataclass(slots=True)
class Tree:
    """The state of the search.

    Attributes
    ----------
    problem : SparseQP
        The problem to be solved.
    view : View
        The problem as the steps at the root have left it.
    best : SupportFit
        The best feasible point, with all variables of the problem.
    x, nu : arrays
        Where the relaxation of the root starts, in the problem's units, and the
        multipliers of its rows, scaled.
    steps : list of RootStep
        The steps at the root.
    log : ProofLog or None
        The branches so far; None before the first, and if no record is kept.
    keep_proof : bool
        Whether to keep a record.
    heap, stack : lists of Node
        Open branches; those on the stack come first.
    is_rooted : bool
        Whether the steps at the root are over.
    closed_bound : float
        The least bound among closed branches.
    closed_share : float
        The share of the tree that is closed, a branch at depth d counting 2^-d.
    estimate : float
        How many branches there will be, if that was estimated.
    gap_unit : float
        What a gap is relative to, given the best point.
    n_nodes, n_created, n_by_cones : int
        Branches processed, branches begun, and branches that were relaxed by cones,
        mostly because the kernel failed.
    n_shaken : int
        How often a better point was looked for around the best one.
    tightened : float
        How many variables there were when a diagonal was last optimised.
    split : float
        The same for a split by signs.
    tried : set of bytes
        Supports that have been fitted.
    """

    problem: SparseQP
    view: View
    best: SupportFit
    x: FloatArray
    nu: FloatArray
    steps: list[RootStep] = field(default_factory=list)
    log: ProofLog | None = None
    keep_proof: bool = True
    heap: list[Node] = field(default_factory=list)
    stack: list[Node] = field(default_factory=list)
    supports: Supports | None = None
    is_rooted: bool = False
    closed_bound: float = np.inf
    closed_share: float = 0.0
    estimate: float = np.nan
    gap_unit: float = np.inf
    n_nodes: int = 0
    n_created: int = 0
    n_by_cones: int = 0
    n_shaken: int = 0
    tightened: float = np.inf
    split: float = np.inf
    tried: set[bytes] = field(default_factory=set)
    _relaxations: dict[Kind, Relaxation] = field(default_factory=dict)

    @classmethod
    def plant(cls, problem: SparseQP, view: View | None = None) -> "Tree":
        """A tree before anything is known about it."""
        view = View.start(problem) if view is None else view
        x, nu = np.zeros(view.problem.n), np.zeros(len(problem.rows))
        return cls(problem, view, SupportFit.nothing(problem), x, nu)

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the problem as it is seen."""
        return self.relaxation_of(Kind.POINT)

    def relaxation_of(self, look: Kind) -> Relaxation:
        """The relaxation whose dual points prove branches in a certain way.

        It is prepared when it is first needed.
        """
        if look == Kind.FULL and not self.has_two_looks:
            look = Kind.POINT
        if look not in self._relaxations:
            is_full = look == Kind.FULL
            problem = self.view.full if is_full else self.view.problem
            self._relaxations[look] = Relaxation.prepare(problem, is_reused=True)
        return self._relaxations[look]

    @property
    def kernel_fails(self) -> bool:
        """Whether the kernel has failed so often that it need not be asked."""
        return self.n_by_cones >= FAILURES and 2 * self.n_by_cones > self.n_nodes

    @property
    def has_two_looks(self) -> bool:
        """Whether a sparse minorant has taken the place of the problem."""
        return self.view.full is not self.view.problem

    def offer(
        self, fit: SupportFit, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Keep a feasible point of the view if it is the best.

        It is improved before, as long as there is time.
        """
        if not fit.objective < self.best.objective:
            return
        fit = improve(self.view.exact, fit, is_over)
        if fit.x is None:
            return
        x = lift(fit.x, self.view.indices, self.problem.n)
        self.keep(SupportFit(x, fit.beta, self.problem.value(x)))

    def shake(self, is_over: Callable[[], bool]) -> None:
        """Look for a better point around the best one, unless time is up."""
        x, view = self.best.x, self.view
        if x is None or np.count_nonzero(x[view.indices]) < np.count_nonzero(x):
            return  # it has variables that no better point has
        start = SupportFit(x[view.indices], self.best.beta, self.best.objective)
        found = shake(view.exact, start, self.n_shaken, is_over)
        self.n_shaken += 1
        if found.x is not None and found.objective < self.best.objective:
            x = lift(found.x, view.indices, self.problem.n)
            self.keep(SupportFit(x, found.beta, self.problem.value(x)))

    def keep(self, fit: SupportFit) -> None:
        """Keep a feasible point of the problem if it is the best."""
        if fit.x is not None and fit.objective < self.best.objective:
            self.best = fit
            self.gap_unit = gap_unit(self.problem, fit.x, fit.objective)

    def step_root(self, step: RootStep, view: View) -> None:
        """Take a step at the root."""
        self.steps.append(step)
        if view.problem is not self.view.problem:
            self._relaxations = {}
        self.view = view

    def begin(self, accuracy: float) -> None:
        """Begin the tree with what the steps at the root have left.

        Dual points are kept in single precision if that costs less than the accuracy.
        """
        self.is_rooted = True
        self.supports = Supports.of(self.view.exact)
        self.n_created = 1
        if self.keep_proof:
            self.log = self._new_log(accuracy)
            self.log.open(1)
        self.push(self.root())

    def root(self) -> Node:
        """The branch that the tree begins with."""
        entries = np.flatnonzero(self.x)
        values = self.x[entries] / self.relaxation.unit[entries]
        status, floor = self.view.choice.status, self.view.floor
        return Node(floor, 0, 0, status, entries, values, self.nu)

    def _new_log(self, accuracy: float) -> ProofLog:
        x, problem = self.best.x, self.view.problem
        single = False
        if x is not None and problem.is_free:
            size, loss = np.abs(x).max(initial=0.0), self.problem.magnitude(x)
            reach = (np.abs(problem.c) / problem.ridge).max()
            fits = size > 1e-25 and reach < 1e25
            single = fits and 2.0**-24 * loss <= accuracy
        return ProofLog(len(problem.rows), problem.n, single=bool(single))

    def push(self, node: Node) -> None:
        """Add an open branch."""
        if not self.heap_is_full:
            heapq.heappush(self.heap, node)
        else:
            self.stack.append(node)

    def pop(self) -> Node:
        """Take the branch to be processed next."""
        return self.stack.pop() if self.stack else heapq.heappop(self.heap)

    @property
    def heap_is_full(self) -> bool:
        """Whether the search goes depth first."""
        return len(self.heap) >= MOST_OPEN

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
        if not self.keep_proof:
            return None
        if self.log is None:
            return Certificate(tuple(self.steps))
        return Certificate(tuple(self.steps), self.log.tree())
