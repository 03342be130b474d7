"""Replay the tree of a proof, many nodes at a time, and return the bound it proves.

The rules are those of Theorem 7 (docs/theory.md#theorem-7).  The code is written apart
from the search: it shares with it the problem's data and the theorems, none of the
loops.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.farkas import proves_empty
from cardqp.bounds.node_ridges import MinorantRest, NodeRidges
from cardqp.bounds.penalised_rows import PenalisedRows
from cardqp.bounds.tangent_bound import evaluate
from cardqp.certificate.branch_bounds import BranchBounds
from cardqp.certificate.completions import (
    MOST_PLACES,
    completion_bound,
    gain_error,
    penalised_bound,
)
from cardqp.certificate.dropping import searched_bound
from cardqp.certificate.dual_point import points_in_pass, residual_bounds
from cardqp.certificate.proof_arrays import check_arrays, entries, have_kinds
from cardqp.certificate.proof_tree import Kind, ProofTree
from cardqp.certificate.required import add_cluster, labels_of, propagate
from cardqp.certificate.strong_parts import cut_off_bound
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import StreamedForm

BATCH = 256
"""How many nodes are evaluated together, so that NumPy's overhead hardly counts."""

SHARES = 8
"""Shares of the tree for each thread.  Subtrees differ in size by orders of magnitude,
so that one share each would leave most threads idle."""


@dataclass(frozen=True, slots=True)
class OpenBranch:
    """A node whose own proof has not been evaluated.

    Attributes
    ----------
    position : int
        Its number in the tree.
    status : (n,) int8 array
        1 for variables fixed in, -1 for those fixed out, 0 for undecided ones; empty
        where data are streamed, since many open nodes would not fit into memory.
    lower_bound : float
        The bound that its ancestors prove for it.
    record : int
        The record of the nearest dual point on the way to the root, for a warm start;
        -1 if there is none.
    depth : int
        How many splits lead to it.
    required : (n,) int16 array, optional
        The number of the required cluster of each variable, -1 for none.
    """

    position: int
    status: IntArray
    lower_bound: float
    record: int = -1
    depth: int = 0
    required: IntArray | None = None

    @property
    def fixed_in(self) -> IntArray:
        """The variables that are in every support."""
        return np.flatnonzero(self.status > 0)

    @property
    def free(self) -> IntArray:
        """The undecided variables."""
        return np.flatnonzero(self.status == 0)


@dataclass(slots=True)
class Replay:
    """The replay of a tree, and the bounds that it has proved so far.

    Attributes
    ----------
    tree : ProofTree
        The nodes.
    problem, without_minorant : SparseQP
        The problem at which dual points are evaluated, perhaps a sparse minorant, and
        the problem that the minorant replaced.
    original : SparseQP
        The problem at which completions are evaluated.
    uncut : SparseQP
        The problem that is searched by dropping variables.
    pruned_bound : float
        The least bound among pruned nodes.
    open : list of OpenBranch
        Nodes that the search left open.
    error : float
        By what share the gain of a support may exceed the computed one.
    penalised : PenalisedRows or None
        The form at which supports are enumerated without their rows, if any are.
    n_seen : int
        Nodes that have been followed.
    rest : MinorantRest or None
        What the minorant leaves of the form, by which nodes raise its ridge.
    ridges : NodeRidges or None
        The ridges of the minorant in nodes, made of the rest.
    is_streamed : bool
        Whether dual points are evaluated by their residuals, many in a pass over the
        data.
    """

    tree: ProofTree
    problem: SparseQP
    without_minorant: SparseQP
    original: SparseQP
    uncut: SparseQP
    pruned_bound: float = np.inf
    open: list[OpenBranch] = field(default_factory=list)
    error: float = np.inf
    penalised: PenalisedRows | None = None
    n_seen: int = 0
    rest: MinorantRest | None = None
    ridges: NodeRidges | None = None
    is_streamed: bool = False

    @property
    def least(self) -> float:
        """The least bound among all pruned and open nodes: that of the tree."""
        return min([self.pruned_bound, *(branch.lower_bound for branch in self.open)])

    def run(self, subproblem: Subproblem, lower_bound: float, threads: int = 1) -> None:
        """Follow all nodes from the root, for which the steps before prove a bound.

        Raises ``ProblemError`` if the arrays of the tree contradict each other.
        """
        # All arrays are checked before any is used as an index: what is read from a
        # file may be anything.
        if not have_kinds(self.tree):
            raise ProblemError("The arrays of a proof are not of the right kind.")
        if len(self.tree) == 0:
            return
        check_arrays(self.tree, self.problem, is_streamed=self.is_streamed)
        if self.is_streamed:
            # Passes have threads of their own.
            threads = 1
        else:
            self.error = gain_error(self.original, self.original.rule.limit)
        if (self.tree.kind == Kind.PENALISED).any():
            self.penalised = PenalisedRows.of(self.original)
        if self.rest is not None:
            self.ridges = NodeRidges.of(self.rest, self.problem)
        stack = [OpenBranch(0, subproblem.status, lower_bound)]
        self._follow(stack, BATCH if threads > 1 else np.inf)
        if stack:
            self._share(stack, threads)

    def _share(self, stack: list[OpenBranch], threads: int) -> None:
        """Follow nodes in several threads, and merge what they prove."""
        count = SHARES * threads
        shares = [replace(self, pruned_bound=np.inf, open=[]) for _ in range(count)]
        with ThreadPoolExecutor(threads) as executor:
            work = [stack[first::count] for first in range(count)]
            list(executor.map(Replay._follow, shares, work))
        for share in shares:
            self._prune(share.pruned_bound)
            self.open += share.open

    def _follow(self, stack: list[OpenBranch], enough: float = np.inf) -> None:
        """Follow nodes and their descendants until ``enough`` wait on the stack."""
        if self.is_streamed:
            self._follow_in_passes(stack)
        while 0 < len(stack) < enough:
            batch = self._pop(stack, BATCH)
            kinds = self.tree.kind[[branch.position for branch in batch]]
            evaluated = {Kind.POINT: self.problem, Kind.FULL: self.without_minorant}
            for i in np.flatnonzero(~np.isin(kinds, list(evaluated))):
                stack += self._take(batch[i], int(kinds[i]))
            for kind, problem in evaluated.items():
                points = [batch[i] for i in np.flatnonzero(kinds == kind)]
                if points:
                    stack += self._evaluate(points, problem)

    def _follow_in_passes(self, stack: list[OpenBranch]) -> None:
        """Follow nodes until so many need a dual point that a pass is worth it.

        Only these, and what waits on the way down to them, are in memory.
        """
        form, waiting = self.problem.quadratic, list[OpenBranch]()
        if not isinstance(form, StreamedForm):
            raise ProblemError("Only data that are streamed are read in passes.")
        while stack or waiting:
            for branch in self._pop(stack, 1):
                kind = int(self.tree.kind[branch.position])
                if kind == Kind.POINT:
                    waiting.append(branch)
                elif kind == Kind.INHERITED:
                    stack += self._take(branch, kind)
                else:
                    raise ProblemError("Streamed data are bounded by residuals only.")
            if len(waiting) == points_in_pass(form) or not stack:
                stack += self._evaluate_in_pass(waiting, form)
                waiting = []

    def _pop(self, stack: list[OpenBranch], count: int) -> list[OpenBranch]:
        """Take nodes from the end of the stack."""
        batch = stack[-count:]
        del stack[-count:]
        self.n_seen += len(batch)
        # Children come after their parents, so that there is no cycle; this limit
        # keeps nodes with two parents from being followed exponentially often.
        if self.n_seen > len(self.tree):
            raise ProblemError("A branch of a proof has two parents.")
        return batch

    def _take(self, branch: OpenBranch, kind: int) -> list[OpenBranch]:
        """Bound a node that has no dual point, and return its children, if any."""
        if kind == Kind.PENALISED:
            return self._enumerate(branch)
        if kind in (Kind.COMPLETED, Kind.CUT_OFF, Kind.SEARCHED):
            self._prune(max(branch.lower_bound, self._bound_supports(branch, kind)))
        elif kind == Kind.RAY:
            self._prune(np.inf if self._is_empty(branch) else branch.lower_bound)
        elif self.tree.child[branch.position] > 0:
            return self._inherit(branch)
        elif self.is_streamed:
            self.open.append(replace(branch, status=branch.status[:0]))
        else:
            self.open.append(branch)
        return []

    def _inherit(self, branch: OpenBranch) -> list[OpenBranch]:
        """Return the children of a node without a proof of its own."""
        side = np.broadcast_to(-np.inf, (1, len(branch.status)))
        bounds = BranchBounds(np.array([branch.lower_bound]), side, side)
        return self._split([branch], branch.status[None], bounds)

    def _enumerate(self, branch: OpenBranch) -> list[OpenBranch]:
        """Bound the supports of a node without their rows, but for its children."""
        record = int(self.tree.record[branch.position])
        fixed_in, free = branch.fixed_in, branch.free
        remaining = self.original.rule.limit - len(fixed_in)
        _, at = entries(self.tree.fixed_end, np.array([record]))
        listed = self.tree.fixed[at].astype(np.intp) - 1
        fits = 1 <= remaining <= MOST_PLACES and remaining < len(free)
        if not fits or len(listed) % remaining > 0:
            raise ProblemError("A branch lists supports that it does not have.")
        listed = np.sort(listed.reshape(-1, remaining), axis=1)
        first, count = int(self.tree.child[branch.position]), len(listed)
        is_free = (listed >= 0).all() and (branch.status[listed] == 0).all()
        is_once = (np.diff(listed, axis=1) > 0).all()
        has_room = count == 0 or branch.position < first <= len(self.tree) - count
        if not (is_free and is_once and has_room):
            raise ProblemError("A branch lists supports that it does not have.")
        bound, beta = -np.inf, self.tree.beta[record]
        if self.penalised is not None:
            bound = penalised_bound(self.penalised, beta, fixed_in, free, listed)
        self._prune(max(branch.lower_bound, bound))
        children = []
        for child, support in enumerate(listed):
            status = np.where(branch.status > 0, branch.status, -1).astype(np.int8)
            status[support] = 0
            children.append(
                replace(
                    branch,
                    position=first + child,
                    status=status,
                    depth=branch.depth + 1,
                    # Without what is required the branch is larger: no harm is done.
                    required=None,
                )
            )
        return children

    def _prune(self, bound: float) -> None:
        self.pruned_bound = min(self.pruned_bound, bound)

    def _bound_supports(self, branch: OpenBranch, kind: int) -> float:
        """Return the bound of a node by its supports.

        All are enumerated, or those that may be low; or better ones are searched for.
        """
        problem, fixed_in, free = self.original, branch.fixed_in, branch.free
        if Subproblem.of_status(branch.status, problem.rule).is_empty:
            return np.inf
        remaining = problem.rule.limit - problem.rule.count(fixed_in)
        if kind == Kind.COMPLETED:
            return completion_bound(problem, fixed_in, free, remaining, self.error)
        _, numbers = self.tree.point(int(self.tree.record[branch.position]))
        cutoff = float(numbers[0])
        if kind == Kind.CUT_OFF:
            return cut_off_bound(problem, fixed_in, free, remaining, cutoff, self.error)
        error = self.error
        if self.uncut is not problem:
            error = gain_error(self.uncut, self.uncut.rule.limit)
        n_steps = float(numbers[1])
        return searched_bound(self.uncut, fixed_in, free, cutoff, n_steps, error)

    def _is_empty(self, branch: OpenBranch) -> bool:
        """Return whether the Farkas ray of a node proves it empty."""
        ray = self.tree.beta[self.tree.record[branch.position]]
        subproblem = Subproblem.of_status(branch.status, self.problem.rule)
        return proves_empty(self.problem, ray, subproblem)

    def _evaluate(self, batch: list[OpenBranch], problem: SparseQP) -> list[OpenBranch]:
        """Bound nodes at their dual points and return their children."""
        position = np.array([branch.position for branch in batch])
        status = np.array([branch.status for branch in batch])
        lower_bound = np.array([branch.lower_bound for branch in batch])
        records = self.tree.record[position]
        tangent_points = np.zeros(status.shape)
        row, at = entries(self.tree.point_end, records)
        tangent_points[row, self.tree.index[at]] = self.tree.value[at]
        # Dual points are arbitrary numbers: what overflows proves nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            minorant = problem.quadratic.tangent(tangent_points)
            ridge = self._ridge(problem, status)
            base, costs = evaluate(problem, minorant, self.tree.beta[records], ridge)
            labels = labels_of([branch.required for branch in batch], problem.n)
            bounds = BranchBounds.of(base, costs, status, problem.rule, labels)
        lower_bound = np.maximum(lower_bound, bounds.value)
        has_child = self.tree.child[position] > 0
        self._prune(lower_bound[~has_child].min(initial=np.inf))
        parents = [batch[i] for i in np.flatnonzero(has_child)]
        return self._open(parents, bounds.rows(has_child, lower_bound))

    def _evaluate_in_pass(
        self, batch: list[OpenBranch], form: StreamedForm
    ) -> list[OpenBranch]:
        """Bound nodes at the residuals of their points, and return their children.

        Of the bounds with one more variable fixed, which take much memory, there are
        those of nodes with children only.
        """
        records = self.tree.record[[branch.position for branch in batch]]
        points = [self.tree.dual_point(int(record)) for record in records]
        parents: list[OpenBranch] = []
        found: list[tuple[float, FloatArray, FloatArray]] = []
        bounds = residual_bounds(self.problem, form, points)
        for branch, bound in zip(batch, bounds, strict=True):
            subproblem = Subproblem.of_status(branch.status, self.problem.rule)
            floor = max(branch.lower_bound, bound.value(subproblem))
            if self.tree.child[branch.position] > 0:
                parents.append(branch)
                found.append((floor, *bound.fixing_bounds(subproblem)))
            else:
                self._prune(floor)
        if not parents:
            return []
        value, on, off = (np.array(part) for part in zip(*found, strict=True))
        return self._open(parents, BranchBounds(value, on, off))

    def _open(
        self, parents: list[OpenBranch], bounds: BranchBounds
    ) -> list[OpenBranch]:
        """Fix what nodes fix at their points, and return their children."""
        if not parents:
            return []
        position = [parent.position for parent in parents]
        status = np.array([parent.status for parent in parents])
        fixed = self._fix(self.tree.record[position], status, bounds)
        return self._split(parents, fixed, bounds)

    def _ridge(self, problem: SparseQP, status: IntArray) -> FloatArray | None:
        """Return the ridge in each node; None if it is the problem's own."""
        if self.ridges is None or problem is not self.problem:
            return None
        return np.array([self.ridges.at(decided) for decided in status])

    def _fix(
        self, records: IntArray, status: IntArray, bounds: BranchBounds
    ) -> IntArray:
        """Fix the variables of each record, and return the status after that.

        The other side of each fixing is pruned by Theorem 2
        (docs/theory.md#theorem-2): reduced-cost fixing.
        """
        row, at = entries(self.tree.fixed_end, records)
        fixed = self.tree.fixed[at]
        index, sign = np.abs(fixed) - 1, np.sign(fixed)
        n_decided = np.count_nonzero(status) + len(fixed)
        status[row, index] = sign
        if np.count_nonzero(status) != n_decided:
            raise ProblemError("A branch decides a variable twice.")
        pruned_bound = np.where(sign > 0, bounds.off[row, index], bounds.on[row, index])
        self._prune(np.maximum(bounds.value[row], pruned_bound).min(initial=np.inf))
        return status

    def _split(
        self, parents: list[OpenBranch], status: IntArray, bounds: BranchBounds
    ) -> list[OpenBranch]:
        """Return the children of nodes, with the bounds they inherit."""
        children = []
        for i, parent in enumerate(parents):
            variable = int(self.tree.branch[parent.position])
            floor = float(bounds.value[i])
            if variable < -1:
                pair = self._split_on_cluster(parent, status[i], floor, -2 - variable)
            elif variable == -1:
                pair = [self._child(parent, 0, status[i], parent.required, floor)]
            else:
                floors = [floor, floor]
                if parent.status[variable] == 0:
                    # Theorem 2 is about variables that were not decided before.
                    sides = bounds.on[i, variable], bounds.off[i, variable]
                    floors = [max(float(side), floor) for side in sides]
                pair = self._split_on_variable(parent, status[i], floors, variable)
            children += pair
        return children

    def _split_on_variable(
        self, parent: OpenBranch, status: IntArray, floors: list[float], variable: int
    ) -> list[OpenBranch]:
        """Return the children of a node with a variable fixed in, and fixed out."""
        children = []
        for number, value in enumerate((1, -1)):
            after, floor = status.copy(), floors[number]
            if status[variable] == -value:
                # It has been decided the other way: no support is left.
                floor = np.inf
            else:
                after[variable] = value
            children.append(self._child(parent, number, after, parent.required, floor))
        return children

    def _split_on_cluster(
        self, parent: OpenBranch, status: IntArray, floor: float, cluster: int
    ) -> list[OpenBranch]:
        """Return the children of a node with a cluster required, and all of it out."""
        members, required = self.tree.cluster_of(cluster), parent.required
        is_taken = required is not None and (required[members] >= 0).any()
        if status[members].any() or is_taken:
            raise ProblemError("A cluster has a variable that is not free.")
        with_one, without = add_cluster(required, members, len(status)), status.copy()
        without[members] = -1
        return [
            self._child(parent, 0, status, with_one, floor),
            self._child(parent, 1, without, required, floor),
        ]

    def _child(
        self,
        parent: OpenBranch,
        number: int,
        status: IntArray,
        required: IntArray | None,
        floor: float,
    ) -> OpenBranch:
        """Return a child of a node, after what its required clusters imply."""
        if required is not None:
            status, required, is_empty = propagate(
                status, required, self.problem.rule.limit
            )
            floor = np.inf if is_empty else floor
        at, record = parent.position, int(self.tree.record[parent.position])
        return OpenBranch(
            int(self.tree.child[at]) + number,
            status,
            floor,
            record if record >= 0 else parent.record,
            parent.depth + int(self.tree.branch[at] != -1),
            required,
        )
