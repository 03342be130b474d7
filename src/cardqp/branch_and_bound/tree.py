"""The state of the search: the proof so far, open branches, and the best point."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.certificate import Certificate, Kind, ProofLog, RootStep
from cardqp.certificate.certificate import PresolveState
from cardqp.heuristics.completed_supports import Supports
from cardqp.heuristics.local_search import improve, iterated_local_search
from cardqp.problem import SparseQP, lift
from cardqp.relaxation.relaxation import Relaxation
from cardqp.subproblems.support_qp import SupportFit


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
    kind: Kind = Kind.POINT


@dataclass(slots=True)
class Tree:
    """The state of the search.

    Attributes
    ----------
    problem : SparseQP
        The problem to be solved.
    view : PresolveState
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
    pruned_bound : float
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
    n_perturbations : int
        How often a better point was looked for around the best one.
    tightened : float
        How many variables there were when a diagonal was last optimised.
    split : float
        The same for a split by signs.
    tried : set of bytes
        Supports that have been fitted.
    settings : SearchSettings
        The settings of the search.
    """

    problem: SparseQP
    presolved: PresolveState
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
    pruned_bound: float = np.inf
    closed_share: float = 0.0
    estimate: float = np.nan
    gap_unit: float = np.inf
    n_nodes: int = 0
    n_created: int = 0
    n_by_cones: int = 0
    n_perturbations: int = 0
    tightened: float = np.inf
    split: float = np.inf
    tried: set[bytes] = field(default_factory=set)
    settings: SearchSettings = DEFAULT
    _relaxations: dict[Kind, Relaxation] = field(default_factory=dict)

    @classmethod
    def initial(
        cls,
        problem: SparseQP,
        presolved: PresolveState | None = None,
        settings: SearchSettings = DEFAULT,
    ) -> "Tree":
        """A tree before anything is known about it."""
        presolved = PresolveState.start(problem) if presolved is None else presolved
        x, nu = np.zeros(presolved.problem.n), np.zeros(len(problem.rows))
        nothing = SupportFit.nothing(problem)
        return cls(problem, presolved, nothing, x, nu, settings=settings)

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the problem as it is seen."""
        return self.relaxation_of(Kind.POINT)

    def relaxation_of(self, kind: Kind) -> Relaxation:
        """The relaxation whose dual points prove branches in a certain way.

        It is prepared when it is first needed.
        """
        if kind == Kind.FULL and not self.has_minorant:
            kind = Kind.POINT
        if kind not in self._relaxations:
            is_full = kind == Kind.FULL
            problem = (
                self.presolved.without_minorant if is_full else self.presolved.problem
            )
            self._relaxations[kind] = Relaxation.prepare(
                problem, is_reused=True, settings=self.settings.relaxation
            )
        return self._relaxations[kind]

    @property
    def kernel_fails(self) -> bool:
        """Whether the kernel has failed so often that it need not be asked."""
        is_often = self.n_by_cones >= self.settings.max_failures
        return is_often and 2 * self.n_by_cones > self.n_nodes

    @property
    def has_minorant(self) -> bool:
        """Whether a sparse minorant has taken the place of the problem."""
        return self.presolved.without_minorant is not self.presolved.problem

    def update_incumbent(
        self, fit: SupportFit, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Keep a feasible point of the presolved problem if it is the best.

        It is improved before, as long as there is time.
        """
        if not fit.objective < self.best.objective:
            return
        fit = improve(self.presolved.original, fit, is_over, self.settings.heuristics)
        if fit.x is None:
            return
        x = lift(fit.x, self.presolved.indices, self.problem.n)
        self.keep(SupportFit(x, fit.beta, self.problem.value(x)))

    def iterated_local_search(self, is_over: Callable[[], bool]) -> None:
        """Look for a better point around the best one, unless time is up."""
        x, presolved = self.best.x, self.presolved
        if x is None or np.count_nonzero(x[presolved.indices]) < np.count_nonzero(x):
            return  # it has variables that no better point has
        start = SupportFit(x[presolved.indices], self.best.beta, self.best.objective)
        found = iterated_local_search(
            presolved.original,
            start,
            self.n_perturbations,
            is_over,
            self.settings.heuristics,
        )
        self.n_perturbations += 1
        if found.x is not None and found.objective < self.best.objective:
            x = lift(found.x, presolved.indices, self.problem.n)
            self.keep(SupportFit(x, found.beta, self.problem.value(x)))

    def keep(self, fit: SupportFit) -> None:
        """Keep a feasible point of the problem if it is the best."""
        if fit.x is not None and fit.objective < self.best.objective:
            self.best = fit
            self.gap_unit = gap_unit(self.problem, fit.x, fit.objective)

    def step_root(self, step: RootStep, presolved: PresolveState) -> None:
        """Take a step at the root."""
        self.steps.append(step)
        if presolved.problem is not self.presolved.problem:
            self._relaxations = {}
        self.presolved = presolved

    def begin(self, accuracy: float) -> None:
        """Begin the tree with what the steps at the root have left.

        Dual points are kept in single precision if that costs less than the accuracy.
        """
        self.is_rooted = True
        self.supports = Supports.of(self.presolved.original, self.settings.heuristics)
        self.n_created = 1
        if self.keep_proof:
            self.log = self._new_log(accuracy)
            self.log.open(1)
        self.push(self.root())

    def root(self) -> Node:
        """The branch that the tree begins with."""
        entries = np.flatnonzero(self.x)
        values = self.x[entries] / self.relaxation.unit[entries]
        status, lower_bound = (
            self.presolved.subproblem.status,
            self.presolved.lower_bound,
        )
        return Node(lower_bound, 0, 0, status, entries, values, self.nu)

    def _new_log(self, accuracy: float) -> ProofLog:
        x, problem = self.best.x, self.presolved.problem
        single = False
        if x is not None and problem.is_unconstrained:
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
        return len(self.heap) >= self.settings.max_open

    @property
    def n_open(self) -> int:
        """How many branches are open."""
        return len(self.heap) + len(self.stack)

    @property
    def lower_bound(self) -> float:
        """The bound proved so far."""
        if not self.is_rooted:
            return min(self.presolved.pruned_bound, self.presolved.lower_bound)
        least = min((node.bound for node in self.stack), default=np.inf)
        if self.heap:
            least = min(least, self.heap[0].bound)
        return min(self.presolved.pruned_bound, self.pruned_bound, least)

    @property
    def certificate(self) -> Certificate | None:
        """The proof so far."""
        if not self.keep_proof:
            return None
        if self.log is None:
            return Certificate(tuple(self.steps))
        return Certificate(tuple(self.steps), self.log.tree())
