"""The state of the search: the working set, open branches, and the proof so far."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.certificate.sweeps import Points, SweepCertificate
from cardqp.columns import Columns
from cardqp.convex.support_qp import SupportFit
from cardqp.exceptions import ProblemError
from cardqp.gap import gap_unit
from cardqp.problem import SparseQP, lift
from cardqp.sparsity import Choice
from cardqp.wide.incumbent import first_fit
from cardqp.wide.working_set import WorkingSet


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
    x : (m,) array
        Where its relaxation starts, on the working set of that time.
    failures : int
        How often a sweep has reopened it without a column to add.
    """

    promise: float
    position: int
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    x: FloatArray
    failures: int = 0


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
    """

    problem: SparseQP
    form: Columns
    working: WorkingSet
    fit: SupportFit
    x: FloatArray
    objective: float
    gap_unit: float
    phase: Phase = Phase.SUPPORT
    floor: float = -np.inf
    n_rounds: int = 0
    n_nodes: int = 0
    n_sweeps: int = 1
    on: FloatArray = field(default_factory=lambda: np.zeros(0))
    off: FloatArray = field(default_factory=lambda: np.zeros(0))
    alive: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    inside: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    fixing_cutoff: float = np.inf
    root_points: list[tuple[IntArray, FloatArray, float]] = field(default_factory=list)
    heap: list[Node] = field(default_factory=list)
    waiting: list[Node] = field(default_factory=list)
    log: "TreeLog" = field(default_factory=lambda: TreeLog())
    closed: float = np.inf

    @classmethod
    def plant(cls, problem: SparseQP, start: FloatArray | None = None) -> "SweepTree":
        """The state before the first sweep but that of ``from_data``.

        Parameters
        ----------
        problem : SparseQP
            A problem whose form is :class:`cardqp.columns.Columns`.
        start : (n,) array, optional
            A feasible point.
        """
        form = problem.quadratic
        if not isinstance(form, Columns):
            raise ProblemError("`problem` must come from SparseQP.from_data.")
        working, fit = first_fit(problem, form, start)
        part = np.zeros(len(working.ids)) if fit.x is None else fit.x
        x = lift(part, working.ids, problem.n)
        objective = problem.value(x)
        unit = gap_unit(problem, x, objective)
        inside = problem.forced_in
        return cls(problem, form, working, fit, x, objective, unit, inside=inside)

    def offer(self, fit: SupportFit) -> None:
        """Keep a point of the working set if it is the best."""
        if fit.x is None or not fit.objective < self.objective:
            return
        x = lift(fit.x, self.working.ids, self.problem.n)
        objective = self.problem.value(x)
        if objective < self.objective:
            self.x, self.objective = x, objective
            self.gap_unit = gap_unit(self.problem, x, objective)

    def choice(self, node: Node) -> Choice:
        """A branch on the working set."""
        places, n = self.working.places, len(self.working.ids)
        status = np.zeros(n, dtype=np.int8)
        for sign, columns in (
            (-1, (*node.outside, *self.problem.forced_out)),
            (1, (*node.inside, *self.inside)),
        ):
            for column in columns:
                if int(column) in places:
                    status[places[int(column)]] = sign
        return Choice.of_status(status, self.working.reduced.rule)

    @property
    def account(self) -> str:
        """What was done, in words."""
        return f"{self.n_sweeps} sweeps, {self.n_nodes} nodes"

    @property
    def n_open(self) -> int:
        """Branches that are not closed."""
        return len(self.heap) + len(self.waiting)

    @property
    def lower_bound(self) -> float:
        """The bound proved so far."""
        if self.phase is not Phase.TREE or self.n_open or self.log.is_open:
            return self.floor
        return max(self.floor, min(self.closed, self.fixing_bound))

    @property
    def fixing_bound(self) -> float:
        """The bound of what Theorem 2 has ruled out."""
        is_decided = len(self.inside) > len(self.problem.forced_in)
        excluded = np.count_nonzero(~self.alive) > len(self.problem.forced_out)
        return self.fixing_cutoff if is_decided or excluded else np.inf

    @property
    def certificate(self) -> SweepCertificate:
        """The proof so far."""
        points = [(index, value) for index, value, _ in self.root_points]
        scales = [scale for _, _, scale in self.root_points]
        cutoff = self.fixing_cutoff if np.isfinite(self.fixing_cutoff) else 1e300
        return self.log.certificate(Points.stack(points, scales), cutoff)


@dataclass(slots=True)
class TreeLog:
    """The tree in the making: see :class:`cardqp.certificate.SweepCertificate`."""

    branch: list[int] = field(default_factory=lambda: [-1])
    child: list[int] = field(default_factory=lambda: [0])
    record: list[int] = field(default_factory=lambda: [-1])
    points: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def split(self, position: int, branch: int) -> int:
        """Split a branch; the number of the first child."""
        first = len(self.branch)
        self.branch[position], self.child[position] = branch, first
        self.branch += [-1, -1]
        self.child += [0, 0]
        self.record += [-1, -1]
        return first

    def settle(
        self, position: int, index: IntArray, value: FloatArray, scale: float
    ) -> None:
        """Give a leaf its dual point."""
        self.record[position] = len(self.points)
        self.points.append((index, value))
        self.scales.append(scale)

    @property
    def is_open(self) -> bool:
        """Whether a leaf has no dual point."""
        return any(
            b < 0 and r < 0 for b, r in zip(self.branch, self.record, strict=True)
        )

    def certificate(self, root: Points, cutoff: float) -> SweepCertificate:
        """The proof, with the points at the root."""
        branch, child, record = (
            np.array(a, dtype=np.int64) for a in (self.branch, self.child, self.record)
        )
        leaves = Points.stack(self.points, self.scales)
        return SweepCertificate(root, cutoff, branch, child, record, leaves).sealed()
