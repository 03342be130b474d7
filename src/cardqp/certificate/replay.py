"""Replay the tree of a proof, many nodes at a time, and return the bound it proves.

The rules are those of Theorem 7 (docs/theory.md#theorem-7).  The code is written apart
from the search: it shares with it the problem's data and the theorems, none of the
loops.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import BoolArray, Float, FloatArray, IntArray
from cardqp.arithmetic.rounding import FIXING_SHARE, FIXING_UNIT, total_unit
from cardqp.bounds.farkas import proves_empty
from cardqp.bounds.penalised_rows import PenalisedRows
from cardqp.bounds.tangent_bound import SeparableBound, evaluate
from cardqp.certificate.completions import (
    completion_bound,
    gain_error,
    penalised_bound,
)
from cardqp.certificate.dual_proof import is_array
from cardqp.certificate.proof_tree import WITH_RECORD, Kind, ProofTree
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem, SupportRule

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
        1 for variables fixed in, -1 for those fixed out, 0 for undecided ones.
    lower_bound : float
        The bound that its ancestors prove for it.
    record : int
        The record of the nearest dual point on the way to the root, for a warm start;
        -1 if there is none.
    depth : int
        How many splits lead to it.
    """

    position: int
    status: IntArray
    lower_bound: float
    record: int = -1
    depth: int = 0


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
    """

    tree: ProofTree
    problem: SparseQP
    without_minorant: SparseQP
    original: SparseQP
    pruned_bound: float = np.inf
    open: list[OpenBranch] = field(default_factory=list)
    error: float = np.inf
    penalised: PenalisedRows | None = None
    n_seen: int = 0

    @property
    def least(self) -> float:
        """The least bound among all pruned and open nodes: that of the tree."""
        return min([self.pruned_bound, *(branch.lower_bound for branch in self.open)])

    def run(self, subproblem: Subproblem, lower_bound: float, threads: int = 1) -> None:
        """Follow all nodes from the root.

        Parameters
        ----------
        subproblem : Subproblem
            The variables that are fixed at the root of the tree.
        lower_bound : float
            The bound that the steps before the tree prove for it.
        threads : int
            How many threads follow subtrees at the same time.

        Raises
        ------
        ProblemError
            When the arrays of the tree contradict each other.
        """
        # All arrays are checked before any is used as an index: what is read from a
        # file may be anything.
        if not _have_kinds(self.tree):
            raise ProblemError("The arrays of a proof are not of the right kind.")
        if len(self.tree) == 0:
            return
        _check_arrays(self.tree, self.problem)
        self.error = gain_error(self.original, self.original.rule.limit)
        if (self.tree.kind == Kind.PENALISED).any():
            self.penalised = PenalisedRows.of(self.original)
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
        while 0 < len(stack) < enough:
            batch = stack[-BATCH:]
            del stack[-BATCH:]
            self.n_seen += len(batch)
            # Children come after their parents, so that there is no cycle; this limit
            # keeps nodes with two parents from being followed exponentially often.
            if self.n_seen > len(self.tree):
                raise ProblemError("A branch of a proof has two parents.")
            kinds = self.tree.kind[[branch.position for branch in batch]]
            evaluated = {Kind.POINT: self.problem, Kind.FULL: self.without_minorant}
            for i in np.flatnonzero(~np.isin(kinds, list(evaluated))):
                stack += self._take(batch[i], int(kinds[i]))
            for kind, problem in evaluated.items():
                points = [batch[i] for i in np.flatnonzero(kinds == kind)]
                if points:
                    stack += self._evaluate(points, problem)

    def _take(self, branch: OpenBranch, kind: int) -> list[OpenBranch]:
        """Bound a node that has no dual point, and return its children, if any."""
        if kind == Kind.PENALISED:
            return self._enumerate(branch)
        if kind == Kind.COMPLETED:
            self._prune(max(branch.lower_bound, self._complete(branch)))
        elif kind == Kind.RAY:
            self._prune(np.inf if self._is_empty(branch) else branch.lower_bound)
        elif self.tree.child[branch.position] > 0:
            raise ProblemError("A branch was split without a dual point.")
        else:
            self.open.append(branch)
        return []

    def _enumerate(self, branch: OpenBranch) -> list[OpenBranch]:
        """Bound the supports of a node without their rows, but for its children."""
        record = int(self.tree.record[branch.position])
        fixed_in = np.flatnonzero(branch.status > 0)
        free = np.flatnonzero(branch.status == 0)
        remaining = self.original.rule.limit - len(fixed_in)
        _, at = _entries(self.tree.fixed_end, np.array([record]))
        listed = self.tree.fixed[at].astype(np.intp) - 1
        if not 1 <= remaining < len(free) or len(listed) % remaining > 0:
            raise ProblemError("A branch lists supports that it does not have.")
        listed = np.sort(listed.reshape(-1, remaining), axis=1)
        first, count = int(self.tree.child[branch.position]), len(listed)
        is_free = (listed >= 0).all() and (branch.status[listed] == 0).all()
        is_once = (np.diff(listed, axis=1) > 0).all()
        has_room = count == 0 or branch.position < first <= len(self.tree) - count
        if not (is_free and is_once and has_room):
            raise ProblemError("A branch lists supports that it does not have.")
        if self.penalised is not None:
            beta = self.tree.beta[record]
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
                )
            )
        return children

    def _prune(self, bound: float) -> None:
        self.pruned_bound = min(self.pruned_bound, bound)

    def _complete(self, branch: OpenBranch) -> float:
        """Return the bound of a node by enumeration of its supports."""
        fixed_in = np.flatnonzero(branch.status > 0)
        free = np.flatnonzero(branch.status == 0)
        if Subproblem.of_status(branch.status, self.original.rule).is_empty:
            return np.inf
        remaining = self.original.rule.limit - self.original.rule.count(fixed_in)
        return completion_bound(self.original, fixed_in, free, remaining, self.error)

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
        row, at = _entries(self.tree.point_end, records)
        tangent_points[row, self.tree.index[at]] = self.tree.value[at]
        # Dual points are arbitrary numbers: what overflows proves nothing, see _Bounds.
        with np.errstate(over="ignore", invalid="ignore"):
            minorant = problem.quadratic.tangent(tangent_points)
            base, costs = evaluate(problem, minorant, self.tree.beta[records])
            bounds = _Bounds.of(base, costs, status, problem.rule)
        lower_bound = np.maximum(lower_bound, bounds.value)
        has_child = self.tree.child[position] > 0
        self._prune(lower_bound[~has_child].min(initial=np.inf))
        bounds = bounds.rows(has_child, lower_bound)
        fixed = self._fix(records[has_child], status[has_child], bounds)
        parents = [batch[i] for i in np.flatnonzero(has_child)]
        return self._split(parents, fixed, bounds)

    def _fix(self, records: IntArray, status: IntArray, bounds: "_Bounds") -> IntArray:
        """Fix the variables of each record, and return the status after that.

        The other side of each fixing is pruned by Theorem 2
        (docs/theory.md#theorem-2): reduced-cost fixing.
        """
        row, at = _entries(self.tree.fixed_end, records)
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
        self, parents: list[OpenBranch], status: IntArray, bounds: "_Bounds"
    ) -> list[OpenBranch]:
        """Return the children of nodes, with the bounds they inherit."""
        position = np.array([branch.position for branch in parents], dtype=np.intp)
        variable, row = self.tree.branch[position], np.arange(len(parents))
        is_split = variable >= 0
        if status[row[is_split], variable[is_split]].any():
            raise ProblemError("A branch decides a variable twice.")
        children = []
        for child, sides in enumerate((bounds.on, bounds.off)):
            after, lower_bound = status.copy(), bounds.value.copy()
            after[row[is_split], variable[is_split]] = 1 - 2 * child
            own = sides[row[is_split], variable[is_split]]
            lower_bound[is_split] = np.maximum(lower_bound[is_split], own)
            for i in row if child == 0 else row[is_split]:
                at = int(position[i])
                children.append(
                    OpenBranch(
                        int(self.tree.child[at]) + child,
                        after[i],
                        float(lower_bound[i]),
                        int(self.tree.record[at]),
                        parents[i].depth + int(is_split[i]),
                    )
                )
        return children


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds of several nodes, each at its own dual point.

    ``value`` holds the bound of each node: Theorem 1 (docs/theory.md#theorem-1).
    ``on`` and ``off`` hold, with one node in each row, the bounds with an undecided
    variable fixed in, or out: Theorem 2 (docs/theory.md#theorem-2).
    """

    value: FloatArray
    on: FloatArray
    off: FloatArray

    def rows(self, which: BoolArray, value: FloatArray) -> "_Bounds":
        """Select the bounds of some nodes, with better values in place of their own."""
        return _Bounds(value[which], self.on[which], self.off[which])

    @classmethod
    def of(
        cls, base: Float, costs: FloatArray, status: IntArray, rule: SupportRule
    ) -> "_Bounds":
        """Evaluate the bounds from base, costs and the status of the variables."""
        if rule.groups is not None or rule.blocks is not None:
            return cls._one_by_one(base, costs, status, rule)
        n, limit = status.shape[1], rule.limit
        fixed_in = np.where(status > 0, costs, 0.0)
        gains = np.where(status == 0, np.maximum(-costs, 0.0), 0.0)
        remaining = limit - np.count_nonzero(status > 0, axis=1)
        ranked = np.sort(gains, axis=1)[:, ::-1]
        padded = np.zeros((len(status), n + 2))
        padded[:, 1:-1] = ranked
        row, count = np.arange(len(status)), np.clip(remaining, 0, n)
        gained = np.where(np.arange(n) < count[:, None], ranked, 0.0).sum(axis=1)
        total = fixed_in.sum(axis=1) - gained
        size = np.abs(base) + np.abs(fixed_in).sum(axis=1) + gained
        value = base + total - total_unit(n) * size
        value = np.where(np.isnan(value), -np.inf, value)
        last, following = padded[row, count], padded[row, count + 1]
        start = (value - FIXING_UNIT * np.abs(value))[:, None]
        on = start + FIXING_SHARE * np.maximum(costs + last[:, None], 0.0)
        off = start + FIXING_SHARE * np.maximum(-costs - following[:, None], 0.0)
        # What is not a number proves nothing; what is beyond the limit is empty.
        on, off = (np.where(np.isnan(side), -np.inf, side) for side in (on, off))
        on[remaining <= 0] = np.inf
        is_empty = remaining < 0
        value[is_empty], off[is_empty] = np.inf, np.inf
        return cls(value, on, off)

    @classmethod
    def _one_by_one(
        cls, base: Float, costs: FloatArray, status: IntArray, rule: SupportRule
    ) -> "_Bounds":
        """Evaluate the bounds node by node, for rules with groups or blocks.

        The best exchange within groups does not vectorise over nodes.
        """
        value, on, off = np.empty(len(status)), costs.copy(), costs.copy()
        for i, decided in enumerate(status):
            subproblem = Subproblem.of_status(decided, rule)
            bound = SeparableBound(
                float(np.broadcast_to(base, len(status))[i]), costs[i]
            )
            value[i] = bound.value(subproblem)
            on[i], off[i] = bound.fixing_bounds(subproblem)
        return cls(value, on, off)


def _entries(ends: IntArray, records: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number of the record, and the position, of each of their entries.

    The entries of all records lie one after the other and end at ``ends``.
    """
    start = np.where(records > 0, ends[records - 1], 0)
    count = ends[records] - start
    row = np.repeat(np.arange(len(records)), count)
    before = np.cumsum(count) - count
    return row, np.arange(len(row)) - before[row] + start[row]


def _check_arrays(tree: ProofTree, problem: SparseQP) -> None:
    """Raise unless all lengths match and every number is within its range."""
    if not (_have_lengths(tree, problem) and _have_ranges(tree, problem)):
        raise ProblemError("The arrays of a proof do not fit together.")


def _have_kinds(tree: ProofTree) -> bool:
    kinds = {"value": ("f", 1), "beta": ("f", 2)}
    return all(
        is_array(array, *kinds.get(name, ("i", 1)))
        for name, array in tree.arrays().items()
    )


def _have_lengths(tree: ProofTree, problem: SparseQP) -> bool:
    n_records = len(tree.point_end)
    return (
        len(tree.branch) == len(tree.child) == len(tree.record) == len(tree)
        and tree.beta.shape == (n_records, len(problem.rows))
        and len(tree.fixed_end) == n_records
        and len(tree.index) == len(tree.value)
        and _is_cumulative(tree.point_end, len(tree.index))
        and _is_cumulative(tree.fixed_end, len(tree.fixed))
    )


def _have_ranges(tree: ProofTree, problem: SparseQP) -> bool:
    # In 64 bits: child + 1 and -fixed may overflow in the stored types.
    first, fixed = tree.child.astype(np.int64), tree.fixed.astype(np.int64)
    second = first + (tree.branch >= 0)
    has_record = np.isin(tree.kind, WITH_RECORD)
    rules = (
        tree.branch < problem.n,
        (first == 0) | (first > np.arange(len(tree))),
        second < len(tree),
        (tree.record >= 0) | ~has_record,
        tree.record < len(tree.point_end),
        (tree.index >= 0) & (tree.index < problem.n),
        (fixed != 0) & (fixed >= -problem.n) & (fixed <= problem.n),
        np.isfinite(tree.value),
        np.isfinite(tree.beta),
    )
    return all(bool(rule.all()) for rule in rules)


def _is_cumulative(ends: IntArray, total: int) -> bool:
    if len(ends) == 0:
        return total == 0
    return bool((np.diff(ends) >= 0).all() and ends[0] >= 0 and ends[-1] == total)
