"""The state of the streamed search: working set, open nodes, and the proof so far."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.branch_and_bound.streamed.incumbent import initial_fit
from cardqp.branch_and_bound.streamed.node_bounds import (
    NodeBound,
    NodeResidual,
    bound_nodes,
)
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.certificate import (
    Certificate,
    DualPoint,
    Kind,
    ProofLog,
    ProofTree,
    RootStep,
)
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, lift
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import StreamedForm
from cardqp.subproblems.support_qp import SupportFit


class Phase(Enum):
    """Phase of the search: improve the support, bound the root, or branch."""

    SUPPORT = "support"
    ROOT = "root"
    TREE = "tree"


class Node(NamedTuple):
    """An open node.  Nodes are ordered by their estimated bounds: best first.

    Attributes
    ----------
    estimated_bound : float
        The bound on the working set when its parent was relaxed.  It is an estimate:
        columns outside the working set are left out.
    position : int
        Its number in the tree.
    fixed_in, fixed_out : tuples of int
        Columns that splits have switched on and off.
    point : SparsePoint
        Its relaxed point; until it is relaxed, that of its parent.
    failures : int
        How often a pass has reopened it although there was no column to add.
    """

    estimated_bound: float
    position: int
    fixed_in: tuple[int, ...]
    fixed_out: tuple[int, ...]
    point: SparsePoint
    failures: int = 0


class CoarsenedTree(NamedTuple):
    """A tree cut off so that no leaf is open, and its bound: see :mod:`.coarsen`."""

    proof: ProofTree
    bound: float


@dataclass(slots=True)
class StreamedTree:
    """The state of the streamed search.

    Attributes
    ----------
    problem, form
        The problem and its data.
    working : WorkingSet
        The columns that relaxations know of.
    fit : SupportFit
        The point whose support is improved, on the working set.
    x : (n,) array
        The incumbent.
    objective, gap_unit : float
        Its value, and the magnitude that gaps are relative to.
    phase : Phase
        The kind of step that comes next.
    root_bound : float
        The lower bound of the root.
    n_root_passes, n_passes, n_nodes : int
        Passes at the root and in all, with that of ``from_data``, and processed nodes.
    on, off : (n,) arrays
        The best bounds of Theorem 2 with each variable switched on, and off.
    unfixed : (n,) bool array
        Columns that are neither forced out nor proved zero.
    fixed_in : int array
        Columns that are forced in or proved nonzero.
    fixing_cutoff : float
        The cutoff that Theorem 2 was applied with.
    root_points : list of DualPoint
        Dual points of the root, the best one first.
    heap, pending : lists of Node
        Nodes to be relaxed, and leaves that wait for a pass over the data.
    split_nodes : dict
        Nodes that were split, by their numbers, with the points they had.
    log : ProofLog
        The tree, for the certificate.
    pruned_bound : float
        The smallest bound of a pruned leaf.
    coarsened : CoarsenedTree or None
        The proof of a search that was stopped with open nodes.
    slowest_pass : float
        The seconds that the slowest pass has taken.
    """

    problem: SparseQP
    form: StreamedForm
    working: WorkingSet
    fit: SupportFit
    x: FloatArray
    objective: float
    gap_unit: float
    phase: Phase = Phase.SUPPORT
    root_bound: float = -np.inf
    n_root_passes: int = 0
    n_nodes: int = 0
    n_passes: int = 1
    on: FloatArray = field(default_factory=lambda: np.zeros(0))
    off: FloatArray = field(default_factory=lambda: np.zeros(0))
    unfixed: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    fixed_in: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    fixing_cutoff: float = np.inf
    root_points: list[DualPoint] = field(default_factory=list)
    heap: list[Node] = field(default_factory=list)
    pending: list[Node] = field(default_factory=list)
    split_nodes: dict[int, Node] = field(default_factory=dict)
    log: ProofLog = field(default_factory=lambda: ProofLog(0))
    pruned_bound: float = np.inf
    coarsened: CoarsenedTree | None = None
    slowest_pass: float = 0.0

    @classmethod
    def initial(
        cls,
        problem: SparseQP,
        start: FloatArray | None = None,
        is_over: Callable[[], bool] = lambda: False,
        settings: StreamedSettings = DEFAULT_SETTINGS,
    ) -> "StreamedTree":
        """The state before the search has made a pass over the data.

        Parameters
        ----------
        problem : SparseQP
            A problem whose form is :class:`cardqp.problem.streamed_form.StreamedForm`.
        start : (n,) array, optional
            A feasible point.
        is_over : callable
            Whether time is up: the first support is then not improved.
        settings : StreamedSettings
            Settings of the search.
        """
        form = problem.quadratic
        if not isinstance(form, StreamedForm):
            raise ProblemError("problem", "must come from SparseQP.from_data")
        working, fit = initial_fit(problem, form, settings, start, is_over)
        part = np.zeros(len(working.columns)) if fit.x is None else fit.x
        x = lift(part, working.columns, problem.n)
        objective = problem.value(x)
        unit = gap_unit(problem, x, objective)
        fixed_in = problem.forced_in
        tree = cls(problem, form, working, fit, x, objective, unit, fixed_in=fixed_in)
        tree.on, tree.off = np.full((2, problem.n), -np.inf)
        tree.log.open(1)
        at_target = RootBound.of_target(problem, form, settings.coarse_scales)
        tree.record_root_bound(fixed_in[:0], x[:0], at_target)
        return tree

    def record_root_bound(
        self, columns: IntArray, values: FloatArray, found: RootBound
    ) -> None:
        """Record what the residual of a point proves about the whole problem."""
        # The best bound comes first, since it holds for what later ones fix.
        place = 0 if found.value > self.root_bound else len(self.root_points)
        point = DualPoint(columns, values, np.zeros(0), found.scale)
        self.root_points.insert(place, point)
        on, off = found.bound.fixing_bounds(self.problem.root)
        np.maximum(self.on, on, out=self.on)
        np.maximum(self.off, off, out=self.off)
        self.root_bound = max(self.root_bound, found.value)

    def update_incumbent(self, fit: SupportFit) -> None:
        """Keep a point of the working set if it is better than the incumbent."""
        if fit.x is None or not fit.objective < self.objective:
            return
        x = lift(fit.x, self.working.columns, self.problem.n)
        # The objective of the fit comes from a rounded Gram matrix; the data decide.
        objective = self.problem.value(x)
        if objective < self.objective:
            self.x, self.objective = x, objective
            self.gap_unit = gap_unit(self.problem, x, objective)

    def subproblem(self, node: Node) -> Subproblem:
        """The subproblem of a node on the working set."""
        position_of, n = self.working.position_of, len(self.working.columns)
        status = np.zeros(n, dtype=np.int8)
        for sign, columns in (
            (-1, (*node.fixed_out, *self.problem.forced_out)),
            (1, (*node.fixed_in, *self.fixed_in)),
        ):
            for column in columns:
                if int(column) in position_of:
                    status[position_of[int(column)]] = sign
        return Subproblem.of_status(status, self.working.reduced.rule)

    def bound_nodes(
        self, nodes: Sequence[Node], settings: StreamedSettings
    ) -> list[NodeBound]:
        """Bound nodes over all columns, in one pass over the data."""
        residuals = self.working.residuals([node.point for node in nodes])
        asked = [
            NodeResidual(
                np.union1d(np.array(node.fixed_in, dtype=np.intp), self.fixed_in),
                np.array(node.fixed_out, dtype=np.intp),
                residual,
            )
            for node, residual in zip(nodes, residuals.T, strict=True)
        ]
        with self.timed_pass():
            return bound_nodes(self.problem, self.form, self.unfixed, asked, settings)

    @contextmanager
    def timed_pass(self) -> Iterator[None]:
        """Count a pass over the data and take its time."""
        start = time.perf_counter()
        yield
        self.n_passes += 1
        self.slowest_pass = max(self.slowest_pass, time.perf_counter() - start)

    def dual_point(self, node: Node, found: NodeBound) -> DualPoint:
        """The dual point that proves the bound of a node."""
        columns = self.working.columns[node.point.positions]
        return DualPoint(columns, node.point.values, np.zeros(0), found.scale)

    def prune(self, node: Node, found: NodeBound) -> None:
        """Make a node a leaf with the bound that was found."""
        # The bound comes first: a second Ctrl-C may end this in between.
        self.pruned_bound = min(self.pruned_bound, max(found.bound, self.root_bound))
        self.log.record_point(node.position, Kind.POINT, self.dual_point(node, found))

    @property
    def summary(self) -> str:
        """Passes and nodes, for the report of the stage."""
        return f"{self.n_passes} passes, {self.n_nodes} nodes"

    @property
    def n_open(self) -> int:
        """The number of nodes that are not pruned."""
        return len(self.heap) + len(self.pending)

    @property
    def is_complete(self) -> bool:
        """Whether every leaf is pruned."""
        is_grown = self.phase is Phase.TREE and self.n_open == 0
        return is_grown and not self.log.tree().is_open

    @property
    def lower_bound(self) -> float:
        """The lower bound that is proved so far."""
        if self.is_complete:
            return max(self.root_bound, min(self.pruned_bound, self.fixing_bound))
        return self.root_bound if self.coarsened is None else self.coarsened.bound

    @property
    def fixing_bound(self) -> float:
        """The bound of supports that Theorem 2 has ruled out; ``inf`` if none are."""
        is_decided = len(self.fixed_in) > len(self.problem.forced_in)
        excluded = np.count_nonzero(~self.unfixed) > len(self.problem.forced_out)
        return self.fixing_cutoff if is_decided or excluded else np.inf

    @property
    def is_recorded(self) -> bool:
        """Whether the certificate proves all of the bound: it always does."""
        return True

    @property
    def certificate(self) -> Certificate:
        """The certificate of the bound that is proved so far."""
        # Before branching nothing is fixed; at the bound itself nothing is lost by it.
        is_fixed = np.isfinite(self.fixing_cutoff)
        cutoff = self.fixing_cutoff if is_fixed else self.root_bound
        steps = tuple(RootStep(point, cutoff=cutoff) for point in self.root_points)
        if self.is_complete:
            return Certificate(steps, self.log.tree())
        if self.coarsened is not None:
            return Certificate(steps, self.coarsened.proof)
        return Certificate(steps)  # open leaves have the bound of the root
