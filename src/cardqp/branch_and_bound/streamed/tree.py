"""The state of the streamed search: what it has beyond that of every search."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.branch_and_bound.search_tree import Node, SearchTree
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.branch_and_bound.streamed.incumbent import initial_fit
from cardqp.branch_and_bound.streamed.node_bounds import (
    NodeBound,
    NodeResidual,
    bound_nodes,
)
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.certificate import Certificate, DualPoint, Kind, ProofLog, RootStep
from cardqp.exceptions import ProblemError
from cardqp.heuristics.local_search import improve
from cardqp.problem import SparseQP, lift
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import StreamedForm
from cardqp.subproblems.support_qp import SupportFit


def streamed_form(problem: SparseQP) -> StreamedForm:
    """The data of a problem that are streamed; ``ProblemError`` if there are none."""
    form = problem.quadratic
    if not isinstance(form, StreamedForm):
        raise ProblemError("problem", "must come from SparseQP.from_data")
    return form


class SplitNode(NamedTuple):
    """A node that was split, with the point it had, and the numbers of its children."""

    node: Node
    children: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class StreamedTree(SearchTree):
    """The state of the streamed search.

    The status of a node is about the columns that the working set had when it was
    opened: during the tree columns join the set at its end, and none leaves it.

    Attributes
    ----------
    form : StreamedForm
        The data.
    working : WorkingSet
        The columns that relaxations know of.
    fit : SupportFit
        The point whose support is improved, on the working set.
    is_improved : bool
        Whether no swap with any column improves it any more.
    root_bound : float
        The lower bound of the root.
    n_root_passes, n_passes : int
        Passes at the root and in all, with that of ``from_data``.
    on, off : (n,) arrays
        The best bounds of Theorem 2 with each variable switched on, and off.
    unfixed : (n,) bool array
        Columns that are neither forced out nor proved zero.
    fixed_in : int array
        Columns that are forced in or proved nonzero.
    fixing_cutoff : float
        The cutoff that Theorem 2 was applied with.
    has_fixed : bool
        Whether it has fixed anything.
    start : SparsePoint
        The relaxed point of the root, on the working set.
    pending : list of Node
        Leaves that wait for a pass over the data, with their relaxed points.
    failures : dict
        How often a pass has reopened a node although there was no column to add.
    split_nodes : dict of SplitNode
        Nodes that were split, by their numbers.
    open_bound : float
        A bound of all that is open: see :mod:`.coarsen`.
    slowest_pass : float
        The seconds that the slowest pass has taken.
    """

    form: StreamedForm
    working: WorkingSet
    fit: SupportFit
    is_improved: bool = False
    root_bound: float = -np.inf
    n_root_passes: int = 0
    n_passes: int = 1
    on: FloatArray
    off: FloatArray
    unfixed: BoolArray
    fixed_in: IntArray
    fixing_cutoff: float = np.inf
    has_fixed: bool = False
    start: SparsePoint
    pending: list[Node] = field(default_factory=list)
    failures: dict[int, int] = field(default_factory=dict)
    split_nodes: dict[int, SplitNode] = field(default_factory=dict)
    open_bound: float = -np.inf
    slowest_pass: float = 0.0

    @classmethod
    def initial(
        cls,
        problem: SparseQP,
        start: FloatArray | None = None,
        is_over: Callable[[], bool] = lambda: False,
        settings: SearchSettings = DEFAULT,
    ) -> "StreamedTree":
        """The state before the search has made a pass over the data.

        The start, if there is one, is feasible.  Once time is up, the first support is
        not improved.
        """
        form, streamed = streamed_form(problem), settings.streamed
        working, fit = initial_fit(problem, form, streamed, start, is_over)
        tree = cls.of(problem, working, settings)
        tree.fit = fit
        part = np.zeros(len(working.columns)) if fit.x is None else fit.x
        tree.keep_inside(SupportFit(part, fit.beta, fit.objective))
        at_target = RootBound.of_target(problem, form, streamed.coarse_scales)
        tree.record_root_bound(SparsePoint.of(np.zeros(0)), at_target)
        return tree

    @classmethod
    def of(
        cls, problem: SparseQP, working: WorkingSet, settings: SearchSettings
    ) -> "StreamedTree":
        """The state in which nothing is known but a working set."""
        on, off = np.full((2, problem.n), -np.inf)
        nothing = SupportFit.nothing(problem)
        return cls(
            problem=problem,
            best=nothing,
            settings=settings,
            form=working.form,
            working=working,
            fit=nothing,
            on=on,
            off=off,
            unfixed=~problem.root.fixed_out,
            fixed_in=problem.forced_in,
            start=SparsePoint.of(np.zeros(0)),
        )

    def record_root_bound(self, point: SparsePoint, found: RootBound) -> None:
        """Record what the residual of a point proves about the whole problem."""
        columns = self.working.columns[point.positions]
        proof = DualPoint(columns, point.values, np.zeros(0), found.scale)
        self.add_root_steps([RootStep(proof)], found.value)
        on, off = found.bound.fixing_bounds(self.problem.root)
        np.maximum(self.on, on, out=self.on)
        np.maximum(self.off, off, out=self.off)

    def add_root_steps(self, steps: Sequence[RootStep], bound: float) -> None:
        """Add steps whose first one proves a bound of the whole problem."""
        # The best bound comes first, since it holds for what later ones fix.
        place = 0 if bound > self.root_bound else len(self.steps)
        self.steps[place:place] = steps
        self.root_bound = max(self.root_bound, bound)

    def fix_variables(self, cutoff: float) -> None:
        """Fix variables whose other value has a bound beyond the cutoff (Theorem 2)."""
        root = self.problem.root
        is_out = root.undecided & (self.on >= cutoff)
        is_in = root.undecided & ~is_out & (self.off >= cutoff)
        self.unfixed = ~root.fixed_out & ~is_out
        self.fixed_in = np.union1d(np.flatnonzero(is_in), self.problem.forced_in)
        self.fixing_cutoff, self.has_fixed = cutoff, bool((is_in | is_out).any())

    def begin(self) -> None:
        """Open the root node, and the log if a proof is kept."""
        self.is_rooted = True
        if self.keep_proof:
            self.log = ProofLog(0, self.problem.n)
        self.open_root()

    def update_incumbent(
        self, fit: SupportFit, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Update the incumbent by a point of the working set.

        A better point is first improved by local search, as long as there is time.
        """
        if fit.objective < self.best.objective:
            heuristics = self.settings.heuristics
            self.keep_inside(improve(self.working.reduced, fit, is_over, heuristics))

    def keep_inside(self, fit: SupportFit) -> None:
        """Keep a point of the working set if it is better than the incumbent."""
        if fit.x is not None:
            x = lift(fit.x, self.working.columns, self.problem.n)
            # The fit has its objective from a rounded Gram matrix; the data decide.
            self.keep(SupportFit(x, fit.beta, self.problem.value(x)))

    def root(self) -> Node:
        """The root node, with the point that it was relaxed at."""
        columns = self.working.columns
        status = np.zeros(len(columns), dtype=np.int8)
        status[~self.unfixed[columns]] = -1
        status[np.isin(columns, self.fixed_in)] = 1
        return Node(self.root_bound, 0, 0, status, *self.start, np.zeros(0))

    def widened(self, node: Node) -> Node:
        """The node with the columns that have joined the working set since."""
        n_new = len(self.working.columns) - len(node.status)
        return node._replace(status=np.pad(node.status, (0, n_new))) if n_new else node

    def subproblem(self, node: Node) -> Subproblem:
        """The subproblem of a node on the working set."""
        status = self.widened(node).status
        return Subproblem.of_status(status, self.working.reduced.rule)

    def bound_nodes(self, nodes: Sequence[Node]) -> list[NodeBound]:
        """Bound nodes over all columns, in one pass over the data."""
        points = [SparsePoint(node.entries, node.values) for node in nodes]
        residuals, columns = self.working.residuals(points), self.working.columns
        asked = [
            NodeResidual(
                columns[np.flatnonzero(node.status > 0)],
                columns[np.flatnonzero(node.status < 0)],
                residual,
            )
            for node, residual in zip(nodes, residuals.T, strict=True)
        ]
        settings = self.settings.streamed
        with self.timed_pass():
            return bound_nodes(self.problem, self.form, self.unfixed, asked, settings)

    @contextmanager
    def timed_pass(self) -> Iterator[None]:
        """Count a pass over the data and take its time."""
        start = time.perf_counter()
        yield
        self.n_passes += 1
        self.slowest_pass = max(self.slowest_pass, time.perf_counter() - start)

    def prune(self, node: Node, found: NodeBound) -> None:
        """Make a node a leaf with the bound that was found."""
        # The bound comes first: a second Ctrl-C may end this in between.
        self.pruned_bound = min(self.pruned_bound, max(found.bound, self.root_bound))
        self.closed_share += 2.0**node.height
        self.record(node, found)

    def record(self, node: Node, found: NodeBound) -> None:
        """Write the dual point of a node into the proof."""
        if self.log is not None:
            columns = self.working.columns[node.entries]
            point = DualPoint(columns, node.values, np.zeros(0), found.scale)
            self.log.record_point(node.position, Kind.POINT, point)

    def open_nodes(self) -> list[Node]:
        """The nodes that are not pruned."""
        return [*self.pending, *self.stack, *self.heap]

    @property
    def stage(self) -> str:
        """How many passes there were, for the progress report."""
        return f"pass {self.n_passes}"

    @property
    def n_ready(self) -> int:
        """The number of nodes that can be processed before the next pass."""
        return len(self.heap) + len(self.stack)

    @property
    def n_open(self) -> int:
        """The number of nodes that are not pruned."""
        return self.n_ready + len(self.pending)

    @property
    def lower_bound(self) -> float:
        """The lower bound that is proved so far."""
        if self.is_rooted and self.n_open == 0:
            return max(self.root_bound, self.closed_bound)
        return max(self.root_bound, min(self.closed_bound, self.open_bound))

    @property
    def closed_bound(self) -> float:
        """The bound of what was pruned, or ruled out by Theorem 2."""
        return min(self.pruned_bound, self.fixing_cutoff if self.has_fixed else np.inf)

    @property
    def certificate(self) -> Certificate:
        """The proof so far; if nodes are not recorded, the points of the root."""
        # Before there are nodes nothing is fixed; at the bound nothing is lost by it.
        is_applied = np.isfinite(self.fixing_cutoff)
        cutoff = self.fixing_cutoff if is_applied else self.root_bound
        steps = tuple(replace(step, cutoff=cutoff) for step in self.steps)
        return Certificate(steps, self.proof)
