"""The state of the search: the working set, open branches, and the proof so far."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.branch_and_bound.streamed.incumbent import first_fit
from cardqp.branch_and_bound.streamed.leaves import Bounded, Branch, bound_branches
from cardqp.branch_and_bound.streamed.proof_log import SweepPoint, TreeLog
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.working_set import Sparse, WorkingSet
from cardqp.certificate.streamed import SweepCertificate
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, lift
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import Columns
from cardqp.subproblems.support_qp import SupportFit


class Phase(Enum):
    """What comes next."""

    SUPPORT = "support"
    ROOT = "root"
    TREE = "tree"


class Node(NamedTuple):
    """An open branch; the least promise is looked into first.

    Attributes
    ----------
    promise : float
        The bound on the working set of its parent: nothing is proved by it.
    position : int
        Its number in the tree.
    inside, outside : tuples of int
        Columns that splits have switched on and off.
    point : Sparse
        Its relaxed point; until it is relaxed, that of its parent.
    failures : int
        How often a sweep has reopened it without a column to add.
    """

    promise: float
    position: int
    fixed_in: tuple[int, ...]
    fixed_out: tuple[int, ...]
    point: Sparse
    failures: int = 0


class Settled(NamedTuple):
    """A tree without open leaves, and its bound, of a search that was stopped."""

    log: TreeLog
    bound: float


@dataclass(slots=True)
class SweepTree:
    """The state of the search.

    Attributes
    ----------
    problem, form
        The problem and its data.
    working : WorkingSet
        The columns that are looked at closely.
    x : (n,) array
        The best point; ``objective`` is its value.
    floor : float
        The bound of the root.
    on, off : (n,) arrays
        The best bounds with each variable switched on, and off.
    alive, inside : arrays
        Columns not proved zero, and columns proved nonzero or forced.
    inner : dict
        Branches that were split, by their numbers, with the points they had.
    settled : Settled or None
        What is proved where branches are left open.
    slowest : float
        The seconds of a sweep for branches, or at the root, at most.
    """

    problem: SparseQP
    form: Columns
    working: WorkingSet
    fit: SupportFit
    x: FloatArray
    objective: float
    gap_unit: float
    phase: Phase = Phase.SUPPORT
    root_bound: float = -np.inf
    n_rounds: int = 0
    n_nodes: int = 0
    n_sweeps: int = 1
    on: FloatArray = field(default_factory=lambda: np.zeros(0))
    off: FloatArray = field(default_factory=lambda: np.zeros(0))
    alive: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    fixed_in: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    fixing_cutoff: float = np.inf
    root_points: list[SweepPoint] = field(default_factory=list)
    heap: list[Node] = field(default_factory=list)
    waiting: list[Node] = field(default_factory=list)
    inner: dict[int, Node] = field(default_factory=dict)
    log: TreeLog = field(default_factory=TreeLog)
    pruned_bound: float = np.inf
    settled: Settled | None = None
    slowest: float = 0.0

    @classmethod
    def initial(
        cls,
        problem: SparseQP,
        start: FloatArray | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> "SweepTree":
        """The state before the first sweep but that of ``from_data``.

        Parameters
        ----------
        problem : SparseQP
            A problem whose form is :class:`cardqp.problem.streamed_form.Columns`.
        start : (n,) array, optional
            A feasible point.
        is_over : callable
            Whether time is up: the first support is then not improved.
        """
        form = problem.quadratic
        if not isinstance(form, Columns):
            raise ProblemError("problem", "must come from SparseQP.from_data")
        working, fit = first_fit(problem, form, start, is_over)
        part = np.zeros(len(working.ids)) if fit.x is None else fit.x
        x = lift(part, working.ids, problem.n)
        objective = problem.value(x)
        unit = gap_unit(problem, x, objective)
        fixed_in = problem.forced_in
        tree = cls(problem, form, working, fit, x, objective, unit, fixed_in=fixed_in)
        tree.on, tree.off = np.full((2, problem.n), -np.inf)
        tree.learn(fixed_in[:0], x[:0], RootBound.of_target(problem, form))
        return tree

    def learn(self, columns: IntArray, values: FloatArray, found: RootBound) -> None:
        """Take in what the residual at a point proves about the whole problem."""
        self.root_points.append(SweepPoint(columns, values, found.scale))
        on, off = found.bound.fixing_bounds(self.problem.root)
        np.maximum(self.on, on, out=self.on)
        np.maximum(self.off, off, out=self.off)
        self.root_bound = max(self.root_bound, found.value)

    def update_incumbent(self, fit: SupportFit) -> None:
        """Keep a point of the working set if it is the best."""
        if fit.x is None or not fit.objective < self.objective:
            return
        x = lift(fit.x, self.working.ids, self.problem.n)
        objective = self.problem.value(x)
        if objective < self.objective:
            self.x, self.objective = x, objective
            self.gap_unit = gap_unit(self.problem, x, objective)

    def subproblem(self, node: Node) -> Subproblem:
        """A branch on the working set."""
        places, n = self.working.places, len(self.working.ids)
        status = np.zeros(n, dtype=np.int8)
        for sign, columns in (
            (-1, (*node.fixed_out, *self.problem.forced_out)),
            (1, (*node.fixed_in, *self.fixed_in)),
        ):
            for column in columns:
                if int(column) in places:
                    status[places[int(column)]] = sign
        return Subproblem.of_status(status, self.working.reduced.rule)

    def sweep(self, nodes: Sequence[Node]) -> list[Bounded]:
        """Bound branches over all columns."""
        residuals = self.working.residuals([node.point for node in nodes])
        branches = [
            Branch(
                np.union1d(np.array(node.fixed_in, dtype=np.intp), self.fixed_in),
                np.array(node.fixed_out, dtype=np.intp),
                residual,
            )
            for node, residual in zip(nodes, residuals.T, strict=True)
        ]
        with self.sweeping():
            return bound_branches(self.problem, self.form, self.alive, branches)

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Count a sweep and take its time."""
        start = time.perf_counter()
        yield
        self.n_sweeps += 1
        self.slowest = max(self.slowest, time.perf_counter() - start)

    def dual_point(self, node: Node, found: Bounded) -> SweepPoint:
        """What proves the bound of a branch."""
        ids = self.working.ids[node.point.places]
        return SweepPoint(ids, node.point.values, found.scale)

    def close(self, node: Node, found: Bounded) -> None:
        """Leave a branch with the bound that was found."""
        # In this order whatever happens in between.
        self.pruned_bound = min(self.pruned_bound, max(found.bound, self.root_bound))
        self.log.prune(node.position, self.dual_point(node, found))

    @property
    def account(self) -> str:
        """What was done, in words."""
        return f"{self.n_sweeps} sweeps, {self.n_nodes} nodes"

    @property
    def n_open(self) -> int:
        """Branches that are not closed."""
        return len(self.heap) + len(self.waiting)

    @property
    def is_complete(self) -> bool:
        """Whether all is closed."""
        is_grown = self.phase is Phase.TREE and self.n_open == 0
        return is_grown and not self.log.is_open

    @property
    def lower_bound(self) -> float:
        """The bound proved so far."""
        if self.is_complete:
            return max(self.root_bound, min(self.pruned_bound, self.fixing_bound))
        return self.root_bound if self.settled is None else self.settled.bound

    @property
    def fixing_bound(self) -> float:
        """The bound of what Theorem 2 has ruled out."""
        is_decided = len(self.fixed_in) > len(self.problem.forced_in)
        excluded = np.count_nonzero(~self.alive) > len(self.problem.forced_out)
        return self.fixing_cutoff if is_decided or excluded else np.inf

    @property
    def is_recorded(self) -> bool:
        """Whether the certificate proves all of the bound: it always does."""
        return True

    @property
    def certificate(self) -> SweepCertificate:
        """The proof so far."""
        cutoff = self.fixing_cutoff if np.isfinite(self.fixing_cutoff) else 1e300
        log = TreeLog()  # leaves that are open prove no more than the root
        if self.is_complete:
            log = self.log
        elif self.settled is not None:
            log = self.settled.log
        return log.certificate(self.root_points, cutoff)
