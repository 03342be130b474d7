"""The proof of a streamed search: a tree with a dual point for each leaf.

A dual point is stored as the sparse point whose residual it is: a few numbers instead
of one for each row.  The replay recomputes residuals, their products with all columns
and the bounds from the data.  It shares with the search the data and Theorem 3
(``docs/theory.md#theorem-3``), none of the loops.
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
from cardqp.problem.streamed_form import StreamedForm

MAX_ENTRIES = 2**25
"""The most numbers, in residuals or in their products with all columns, that the
replay holds at a time: 256 MB."""


class Leaf(NamedTuple):
    """A leaf of the tree: its fixed variables, and the number of its dual point."""

    fixed_in: tuple[int, ...]
    fixed_out: tuple[int, ...]
    record: int


@dataclass(frozen=True, slots=True, eq=False)
class ResidualPoints:
    """Dual points, given as residuals ``y - Xx`` of sparse points ``x``, with scales.

    Attributes
    ----------
    end : (R,) int array
        Where the entries of each point end.
    index, value : arrays
        Nonzeros of the points, one after the other.
    scale : (R,) array
        The factor ``t`` that each residual is multiplied with.
    """

    end: IntArray
    index: IntArray
    value: FloatArray
    scale: FloatArray

    @classmethod
    def stack(
        cls, points: Sequence[tuple[IntArray, FloatArray]], scales: Sequence[float]
    ) -> "ResidualPoints":
        """Pack points, given by indices and values of nonzeros, into flat arrays."""
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
        """The arrays in the order of the fields, which the fingerprint relies on."""
        return self.end, self.index, self.value, self.scale

    def is_sound(self, n: int) -> bool:
        """Whether the arrays are well-formed points of ``n`` variables."""
        if not (is_array(self.end, "i", 1) and is_array(self.index, "i", 1)):
            return False
        if not (is_array(self.value, "f", 1) and is_array(self.scale, "f", 1)):
            return False
        ends = np.concatenate([[0], self.end, [len(self.index)]])
        in_range = (self.index >= 0) & (self.index < n)
        return bool(
            len(self.scale) == len(self.end)
            and len(self.value) == len(self.index)
            and (np.diff(ends) >= 0).all()
            and ends[-1] == (self.end[-1] if len(self.end) else 0)
            and in_range.all()
            and np.isfinite(self.value).all()
            and np.isfinite(self.scale).all()
            and (self.scale >= 0).all()
        )

    def residual(self, number: int, form: StreamedForm) -> Residual:
        """The residual of a point, computed from the data."""
        begin = self.end[number - 1] if number else 0
        part = slice(begin, self.end[number])
        fitted = form.combine(self.index[part], self.value[part])
        return Residual.of(form, form.target - fitted)


@dataclass(frozen=True, slots=True, eq=False)
class StreamedCertificate:
    """The proof of a bound: dual points of the root, and a tree with one per leaf.

    Attributes
    ----------
    root : ResidualPoints
        Dual points of the whole problem.
    cutoff : float
        Variables are fixed by Theorem 2 where the bound with the other value is at
        least this large.
    branch : (M,) int array
        The variable that the children of a node switch on (first) and off; -1 at a
        leaf.
    child : (M,) int array
        The first child; the second one follows.  0 at a leaf.
    record : (M,) int array
        The dual point of a leaf; -1 if it has none and the bound of the root counts.
    leaves : ResidualPoints
        Dual points of the leaves.
    digest : str
        SHA-256 of all arrays: a certificate that was damaged proves nothing.
    """

    root: ResidualPoints
    cutoff: float
    branch: IntArray
    child: IntArray
    record: IntArray
    leaves: ResidualPoints
    digest: str = ""

    def sealed(self) -> "StreamedCertificate":
        """The certificate with the digest that fits its arrays."""
        return replace(self, digest=self.fingerprint())

    def fingerprint(self) -> str:
        """SHA-256 of the arrays as they are."""
        found = hashlib.sha256(np.float64(self.cutoff).tobytes())
        own = (self.branch, self.child, self.record)
        for array in (*self.root.arrays(), *own, *self.leaves.arrays()):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def __len__(self) -> int:
        return len(self.branch)

    # Passes have threads of their own; other certificates are replayed in `threads`.
    def lower_bound(self, problem: SparseQP, threads: int = 1) -> float:  # noqa: ARG002
        """The bound that is proved about a problem, recomputed from its data.

        It is ``-inf`` for a certificate that was damaged, or that is not about this
        kind of problem.  One pass over the data is made for the points of the root and
        one for those of the leaves, or a few if there are many.
        """
        form = problem.quadratic
        if not isinstance(form, StreamedForm) or not self._is_sound(problem.n):
            return -np.inf
        if len(problem.rows) or not (problem.groups is None and problem.blocks is None):
            return -np.inf  # Theorem 3 is about single columns
        if not form.is_regression(problem.c, problem.constant):
            return -np.inf  # and about the squared error of the target
        leaves = list(self._walk())
        if not self._is_partition(leaves):
            return -np.inf
        # Overflow ends in a bound of -inf, which is no reason to warn.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._least(problem, form, leaves)

    def _least(
        self, problem: SparseQP, form: StreamedForm, leaves: list[Leaf]
    ) -> float:
        """The smallest bound of a leaf, or of what Theorem 2 has ruled out."""
        root_bound, subproblem = self._fix_variables(problem, form)
        bounds = [root_bound for leaf in leaves if leaf.record < 0]
        for bound in self._bounds(problem, form, subproblem, leaves):
            bounds.append(max(bound, root_bound))
        least = min(bounds)
        # Supports that Theorem 2 has ruled out are in no leaf: they have the cutoff
        # (docs/theory.md#many-columns).
        has_fixings = np.any(subproblem.status != problem.root.status)
        return min(least, max(self.cutoff, root_bound)) if has_fixings else least

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
        """Iterate over the leaves of the tree."""
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
        """Whether leaves are disjoint and hold every support.

        A leaf at depth ``d`` holds a share of ``2^-d`` of all supports, and the shares
        sum to one.  A tree of splits cannot do otherwise; that no leaf is lost is
        checked all the same, in integers.
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

    def _fix_variables(
        self, problem: SparseQP, form: StreamedForm
    ) -> tuple[float, Subproblem]:
        """The bound of the root, and the subproblem that Theorem 2 leaves."""
        root_bound, root = -np.inf, problem.root
        status = root.status.copy()
        numbers = range(len(self.root))
        for number, residual, products in self._products(form, self.root, numbers):
            scale = float(self.root.scale[number])
            bound = residual.bound(problem, form, products, scale)
            root_bound = max(root_bound, bound.value(root))
            on, off = bound.fixing_bounds(root)
            status[root.undecided & (on >= self.cutoff)] = -1
            status[root.undecided & (off >= self.cutoff) & (status == 0)] = 1
        return root_bound, Subproblem.of_status(status, problem.rule)

    def _bounds(
        self,
        problem: SparseQP,
        form: StreamedForm,
        subproblem: Subproblem,
        leaves: list[Leaf],
    ) -> Iterator[float]:
        """Bounds of leaves at their dual points."""
        # Leaves may share a point, whose products with the columns are computed once.
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
        self, form: StreamedForm, points: ResidualPoints, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Residual, FloatArray]]:
        """Iterate over points: number, residual ``r`` and ``X'r``.

        One pass over the data serves as many points as memory allows.
        """
        batch = max(MAX_ENTRIES // max(form.n, 2 * form.n_samples), 1)
        for first in range(0, len(numbers), batch):
            some = numbers[first : first + batch]
            residuals = [points.residual(number, form) for number in some]
            R = np.column_stack([residual.finite_vector for residual in residuals])
            products = form.correlate(R)
            for column, (number, residual) in enumerate(
                zip(some, residuals, strict=True)
            ):
                yield number, residual, products[:, column]
