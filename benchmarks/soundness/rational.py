"""A problem as rational numbers, and what is exactly true of a point."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import cardqp
from cardqp.problem.quadratic import Factor, QuadraticForm
from cardqp.problem.streamed_form import StreamedForm

Vector = list[Fraction]
Matrix = list[Vector]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Point:
    """What is exactly true of a point.

    Attributes
    ----------
    objective : Fraction
        With constant and penalty.
    terms : Fraction
        The sum of the absolute values of what the objective is made of.
    magnitude : Fraction
        The same where the quadratic form counts as one term, and prices are left out.
    row, bound : Fraction
        The largest violation of a row, relative to its own terms, and of a bound,
        relative to the variable; infinite violations are 1.
    complaint : str
        Which limit or forced variable is not respected; empty if all are.
    """

    objective: Fraction
    terms: Fraction
    magnitude: Fraction
    row: Fraction
    bound: Fraction
    complaint: str

    def is_feasible(self, tolerance: float) -> bool:
        """Whether all constraints hold, rows and bounds to a relative tolerance."""
        return not self.complaint and max(self.row, self.bound) <= tolerance


@dataclass(frozen=True)
class Exact:
    """A problem whose data are rational numbers; None is a bound that there is not."""

    Q: Matrix
    size: Matrix
    ridge: Vector
    c: Vector
    constant: Fraction
    price: Fraction
    A: Matrix
    b: Vector
    is_equality: list[bool]
    lower: list[Fraction | None]
    upper: list[Fraction | None]
    limit: int
    inside: frozenset[int]
    outside: frozenset[int]
    groups: list[int]
    group_limits: list[int]
    blocks: list[int]

    @classmethod
    def of(cls, problem: cardqp.SparseQP) -> "Exact":
        """The problem, by its data attributes alone."""
        n = problem.n
        Q, size = _quadratic(problem.quadratic)
        c, constant = _linear(problem)
        has_groups = problem.groups is not None
        blocks = range(n) if problem.blocks is None else problem.blocks
        return cls(
            Q=Q,
            size=size,
            ridge=_vector(problem.ridge),
            c=c,
            constant=constant,
            price=Fraction(problem.penalty or 0.0),
            A=[_vector(row) for row in problem.rows.matrix],
            b=_vector(problem.rows.rhs),
            is_equality=[bool(e) for e in problem.rows.is_equality],
            lower=[Fraction(v) if np.isfinite(v) else None for v in problem.lower],
            upper=[Fraction(v) if np.isfinite(v) else None for v in problem.upper],
            limit=n if problem.sparsity is None else problem.sparsity,
            inside=frozenset(map(int, problem.forced_in)),
            outside=frozenset(map(int, problem.forced_out)),
            groups=[int(g) for g in problem.groups] if has_groups else [-1] * n,
            group_limits=list(map(int, problem.group_sparsity)) if has_groups else [],
            blocks=[int(b) for b in blocks],
        )

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.c)

    def support_of(self, x: Vector) -> set[int]:
        """Nonzeros, what shares their switches, and what is forced in."""
        on = {self.blocks[j] for j in range(self.n) if x[j] or j in self.inside}
        return {j for j in range(self.n) if self.blocks[j] in on}

    def count(self, support: set[int] | frozenset[int]) -> int:
        """How many switches are on."""
        return len({self.blocks[j] for j in support})

    def complaint(self, support: set[int] | frozenset[int]) -> str:
        """Which limit a support does not respect; empty if it is allowed."""
        if self.count(support) > self.limit:
            return f"{self.count(support)} switches are on, {self.limit} are allowed"
        if both := support & self.outside:
            return f"{sorted(both)} are forced out"
        used = Counter(self.groups[j] for j in support)
        for g, most in enumerate(self.group_limits):
            if used[g] > most:
                return f"{used[g]} of group {g} are on, {most} are allowed"
        return ""

    def look(self, point: np.ndarray) -> Point:
        """What is true of a point of floats."""
        x = _vector(point)
        some = [j for j in range(self.n) if x[j]]
        linear = [self.c[j] * x[j] for j in some]
        curved = sum((self.Q[i][j] * x[i] * x[j] for i in some for j in some), ZERO)
        size = (self.size[i][j] * abs(x[i] * x[j]) for i in some for j in some)
        ridge = sum((self.ridge[j] * x[j] ** 2 for j in some), ZERO)
        support = self.support_of(x)
        fixed = self.price * self.count(support)
        plain = abs(self.constant) + sum(map(abs, linear), ZERO) + ridge
        return Point(
            objective=self.constant + sum(linear, ZERO) + curved + ridge + fixed,
            terms=plain + sum(size, ZERO) + fixed,
            magnitude=plain + abs(curved),
            row=self._row_violation(x, some),
            bound=self._bound_violation(x),
            complaint=self.complaint(support),
        )

    def _row_violation(self, x: Vector, some: list[int]) -> Fraction:
        worst = ZERO
        for row, b, is_equality in zip(self.A, self.b, self.is_equality, strict=True):
            parts = [row[j] * x[j] for j in some]
            excess = sum(parts, ZERO) - b
            excess = abs(excess) if is_equality else max(excess, ZERO)
            if excess:
                worst = max(worst, excess / (sum(map(abs, parts), ZERO) + abs(b)))
        return worst

    def _bound_violation(self, x: Vector) -> Fraction:
        worst = ZERO
        for j in range(self.n):
            if not x[j] and j not in self.inside:
                continue
            low, high = self.lower[j], self.upper[j]
            below = ZERO if low is None else max(low - x[j], ZERO)
            above = ZERO if high is None else max(x[j] - high, ZERO)
            if below or above:
                worst = max(worst, (below + above) / (abs(x[j]) or below + above))
        return worst

    def single_gain(self) -> Fraction:
        """The most that one variable alone can take off, within its bounds."""
        return max([ZERO, *map(self._gain, range(self.n))])

    def _gain(self, j: int) -> Fraction:
        curvature = self.Q[j][j] + self.ridge[j]
        if curvature <= 0:
            return ZERO
        x = -self.c[j] / (2 * curvature)
        x = x if self.lower[j] is None else max(x, self.lower[j])
        x = x if self.upper[j] is None else min(x, self.upper[j])
        return -x * (self.c[j] + curvature * x)


def _vector(values: np.ndarray) -> Vector:
    return [Fraction(float(v)) for v in values]


def _linear(problem: cardqp.SparseQP) -> tuple[Vector, Fraction]:
    """Linear costs and the constant; those of a regression are what its data say."""
    form = problem.quadratic
    if not isinstance(form, StreamedForm) or not form.is_regression(
        problem.c, problem.constant
    ):
        return _vector(problem.c), Fraction(problem.constant)
    y, share = _vector(form.target), Fraction(1, len(form.target))
    columns = zip(*map(_vector, _dense(form)), strict=True)
    products = [sum((a * b for a, b in zip(x, y, strict=True)), ZERO) for x in columns]
    return [-2 * share * v for v in products], share * sum((v * v for v in y), ZERO)


def _dense(form: StreamedForm) -> np.ndarray:
    return form.X.toarray() if hasattr(form.X, "toarray") else np.asarray(form.X)


def _quadratic(form: QuadraticForm) -> tuple[Matrix, Matrix]:
    """The matrix, and the sums of absolute values that its entries are made of."""
    if isinstance(form, StreamedForm):
        dense = _dense(form)
        share = Fraction(1, dense.shape[0])
        return _gram([_vector(row) for row in dense], share)
    array = [_vector(row) for row in form.array]
    if isinstance(form, Factor):
        return _gram(array, Fraction(1))
    return array, [[abs(v) for v in row] for row in array]


def _gram(F: Matrix, share: Fraction) -> tuple[Matrix, Matrix]:
    """``share F'F``, and the same for absolute values."""
    columns = list(zip(*F, strict=True)) if F else []

    def product(u: Vector, v: Vector) -> Fraction:
        return share * sum((a * b for a, b in zip(u, v, strict=True)), ZERO)

    sizes = [[abs(v) for v in column] for column in columns]
    return (
        [[product(u, v) for v in columns] for u in columns],
        [[product(u, v) for v in sizes] for u in sizes],
    )
