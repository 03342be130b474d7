"""A proof for very many columns: a tree whose leaves are bounded by sweeps.

Written apart from the search: it shares with it the data and the theorem, none of the
loops.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.residual_bound import Residual
from cardqp.certificate.dual_proof import is_array
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import Columns

MOST_ENTRIES = 2**25
"""Products of columns and residuals, or entries of these, that are held at a time."""


class Leaf(NamedTuple):
    """A branch that is not split: what is switched on and off, and its dual point."""

    fixed_in: tuple[int, ...]
    fixed_out: tuple[int, ...]
    record: int


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Dual points: residuals ``y - Xx`` at sparse points ``x``, and their scales.

    Attributes
    ----------
    end : (R,) int array
        Where the entries of each point end.
    index, value : arrays
        Nonzeros of the points, one after the other.
    scale : (R,) array
        The number ``t`` of each.
    """

    end: IntArray
    index: IntArray
    value: FloatArray
    scale: FloatArray

    @classmethod
    def stack(
        cls, points: Sequence[tuple[IntArray, FloatArray]], scales: Sequence[float]
    ) -> "Points":
        """Points given by their nonzeros."""
        index = [np.asarray(i, dtype=np.int64) for i, _ in points]
        value = [np.asarray(v, dtype=np.float64) for _, v in points]
        return cls(
            np.cumsum([len(i) for i in index], dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *index]),
            np.concatenate([np.zeros(0), *value]),
            np.asarray(scales, dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.end)

    def arrays(self) -> tuple[IntArray | FloatArray, ...]:
        """All arrays."""
        return self.end, self.index, self.value, self.scale

    def is_sound(self, n: int) -> bool:
        """Whether the arrays are points of ``n`` variables."""
        if not (is_array(self.end, "i", 1) and is_array(self.index, "i", 1)):
            return False
        if not (is_array(self.value, "f", 1) and is_array(self.scale, "f", 1)):
            return False
        ends = np.concatenate([[0], self.end, [len(self.index)]])
        fixed_in = (self.index >= 0) & (self.index < n)
        return bool(
            len(self.scale) == len(self.end)
            and len(self.value) == len(self.index)
            and (np.diff(ends) >= 0).all()
            and ends[-1] == (self.end[-1] if len(self.end) else 0)
            and fixed_in.all()
            and np.isfinite(self.value).all()
            and np.isfinite(self.scale).all()
            and (self.scale >= 0).all()
        )

    def residual(self, number: int, form: Columns) -> Residual:
        """The dual point as a vector."""
        begin = self.end[number - 1] if number else 0
        part = slice(begin, self.end[number])
        fitted = form.combine(self.index[part], self.value[part])
        return Residual.of(form, form.target - fitted)


@dataclass(frozen=True, slots=True, eq=False)
class SweepCertificate:
    """Points at the root, and a tree of branches with a point for each leaf.

    Attributes
    ----------
    root : Points
        Dual points of the whole problem.
    cutoff : float
        Variables are decided by Theorem 2 where their other value costs this much.
    branch : (M,) int array
        The variable that the children of a node switch on (first) and off; -1 at a
        leaf.
    child : (M,) int array
        The first child; the second one follows.  0 at a leaf.
    record : (M,) int array
        The dual point of a leaf; -1 if it has none, as open ones do.
    leaves : Points
        These dual points.
    digest : str
        A fingerprint of all arrays: what was damaged proves nothing.
    """

    root: Points
    cutoff: float
    branch: IntArray
    child: IntArray
    record: IntArray
    leaves: Points
    digest: str = ""

    def sealed(self) -> "SweepCertificate":
        """The same with its fingerprint."""
        return replace(self, digest=self.fingerprint())

    def fingerprint(self) -> str:
        """What the digest should be."""
        found = hashlib.sha256(np.float64(self.cutoff).tobytes())
        own = (self.branch, self.child, self.record)
        for array in (*self.root.arrays(), *own, *self.leaves.arrays()):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def __len__(self) -> int:
        return len(self.branch)

    # Other certificates are replayed in threads; sweeps have their own.
    def lower_bound(self, problem: SparseQP, threads: int = 1) -> float:  # noqa: ARG002
        """What is proved about a problem, from its data alone.

        One sweep is made for the points at the root and one for those of the leaves,
        or a few if there are many.
        """
        form = problem.quadratic
        if not isinstance(form, Columns) or not self._is_sound(problem.n):
            return -np.inf
        if len(problem.rows) or not (problem.groups is None and problem.blocks is None):
            return -np.inf  # the theorem is about single columns
        if not form.is_regression(problem.c, problem.constant):
            return -np.inf  # and about the error of predicting the target
        leaves = list(self._walk())
        if not self._is_partition(leaves):
            return -np.inf
        # What is too large for numbers proves nothing, and need not be mentioned.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._least(problem, form, leaves)

    def _least(self, problem: SparseQP, form: Columns, leaves: list[Leaf]) -> float:
        """The bound of the worst leaf."""
        floor, subproblem = self._decide(problem, form)
        bounds = [floor for leaf in leaves if leaf.record < 0]
        for bound in self._bounds(problem, form, subproblem, leaves):
            bounds.append(max(bound, floor))
        least = min(bounds)
        is_decided = np.any(subproblem.status != problem.root.status)
        return min(least, max(self.cutoff, floor)) if is_decided else least

    def _is_sound(self, n: int) -> bool:
        if not all(is_array(a, "i", 1) for a in (self.branch, self.child, self.record)):
            return False
        size = len(self.branch)
        if len(self.child) != size or len(self.record) != size or size == 0:
            return False
        is_split = self.branch >= 0
        after = self.child > np.arange(size)
        first = self.child[is_split]
        children = np.concatenate([first, first + 1])
        return bool(
            self.digest == self.fingerprint()
            and np.isfinite(self.cutoff)
            and self.root.is_sound(n)
            and self.leaves.is_sound(n)
            and (self.branch < n).all()
            and (after & (self.child < size - 1))[is_split].all()
            and len(np.unique(children)) == len(children)
            and (self.record < len(self.leaves)).all()
        )

    def _walk(self) -> Iterator[Leaf]:
        """All leaves of the tree."""
        stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(0, (), ())]
        while stack:
            at, fixed_in, fixed_out = stack.pop()
            branch, child = int(self.branch[at]), int(self.child[at])
            if branch < 0:
                yield Leaf(fixed_in, fixed_out, int(self.record[at]))
            else:
                stack.append((child, (*fixed_in, branch), fixed_out))
                stack.append((child + 1, fixed_in, (*fixed_out, branch)))

    def _is_partition(self, leaves: list[Leaf]) -> bool:
        """Whether leaves are disjoint and hold every support: shares sum to one.

        Splits make it so; it is checked all the same.
        """
        if any(
            len({*leaf.fixed_in, *leaf.fixed_out})
            < len(leaf.fixed_in) + len(leaf.fixed_out)
            for leaf in leaves
        ):
            return False
        depths = [len(leaf.fixed_in) + len(leaf.fixed_out) for leaf in leaves]
        deepest = max(depths)
        shares = [1 << (deepest - depth) for depth in depths]
        return sum(shares) == 1 << deepest

    def _decide(self, problem: SparseQP, form: Columns) -> tuple[float, Subproblem]:
        """The bound at the root, and what Theorem 2 leaves to be decided."""
        floor, root = -np.inf, problem.root
        status = root.status.copy()
        numbers = range(len(self.root))
        for number, residual, products in self._products(form, self.root, numbers):
            scale = float(self.root.scale[number])
            bound = residual.bound(problem, form, products, scale)
            floor = max(floor, bound.value(root))
            on, off = bound.fixing_bounds(root)
            status[root.undecided & (on >= self.cutoff)] = -1
            status[root.undecided & (off >= self.cutoff) & (status == 0)] = 1
        return floor, Subproblem.of_status(status, problem.rule)

    def _bounds(
        self,
        problem: SparseQP,
        form: Columns,
        subproblem: Subproblem,
        leaves: list[Leaf],
    ) -> Iterator[float]:
        """What the dual points of leaves prove."""
        by_record: dict[int, list[Leaf]] = {}
        for leaf in leaves:
            if leaf.record >= 0:
                by_record.setdefault(leaf.record, []).append(leaf)
        numbers = list(by_record)
        for number, residual, products in self._products(form, self.leaves, numbers):
            scale = float(self.leaves.scale[number])
            bound = residual.bound(problem, form, products, scale)
            for leaf in by_record[number]:
                fixed_in, fixed_out = (
                    np.array(some, dtype=np.intp)
                    for some in (leaf.fixed_in, leaf.fixed_out)
                )
                yield bound.value(subproblem.decide(fixed_in, fixed_out))

    def _products(
        self, form: Columns, points: Points, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Residual, FloatArray]]:
        """Residuals of points and ``X'r``, as many in one sweep as memory allows."""
        batch = max(MOST_ENTRIES // max(form.n, 2 * form.n_samples), 1)
        for first in range(0, len(numbers), batch):
            some = numbers[first : first + batch]
            residuals = [points.residual(number, form) for number in some]
            R = np.column_stack([residual.finite for residual in residuals])
            products = form.correlate(R)
            for column, (number, residual) in enumerate(
                zip(some, residuals, strict=True)
            ):
                yield number, residual, products[:, column]
