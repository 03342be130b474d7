"""The data of a problem, checked once and never changed, and derived quantities."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cardqp._typing import ArrayLike, BoolArray, FloatArray, IntArray
from cardqp.arithmetic.compensated import accurate_sum, products
from cardqp.problem import validation as check
from cardqp.problem.feasibility import Feasibility
from cardqp.problem.independence import is_independent
from cardqp.problem.quadratic import QuadraticForm
from cardqp.problem.rows import Rows
from cardqp.problem.sparsity import Blocks, Groups, Subproblem, SupportRule


@dataclass(frozen=True, eq=False, repr=False)
class ProblemData:
    """Checked data of a problem, with the quantities derived from them.

    :class:`~cardqp.SparseQP` says what the fields mean, and how to make a problem.
    """

    quadratic: QuadraticForm
    c: FloatArray
    eta: FloatArray
    sparsity: int | None
    penalty: float | None
    rows: Rows
    lower: FloatArray
    upper: FloatArray
    forced_in: IntArray
    forced_out: IntArray
    groups: IntArray | None
    group_sparsity: IntArray | None
    blocks: IntArray | None
    constant: float
    names: tuple[str, ...] | None
    independence: float = 0.0
    """If positive, only points with independent nonzeros count: where the least
    eigenvalue of ``Q`` plus the ridge, scaled to unit diagonal, is at least this."""

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.quadratic.n

    @property
    def Q(self) -> FloatArray:
        """The matrix of the quadratic form."""
        return self.quadratic.dense()

    @cached_property
    def ridge(self) -> FloatArray:
        """The ridge ``1/eta``, one entry per variable; zero where there is none."""
        ridge: FloatArray = 1.0 / self.eta
        ridge.setflags(write=False)
        return ridge

    @property
    def A(self) -> FloatArray:
        """Matrix of the inequality rows."""
        return self.rows.matrix[~self.rows.is_equality]

    @property
    def b(self) -> FloatArray:
        """Right-hand side of the inequality rows."""
        return self.rows.rhs[~self.rows.is_equality]

    @property
    def A_eq(self) -> FloatArray:
        """Matrix of the equality rows."""
        return self.rows.matrix[self.rows.is_equality]

    @property
    def b_eq(self) -> FloatArray:
        """Right-hand side of the equality rows."""
        return self.rows.rhs[self.rows.is_equality]

    @cached_property
    def rule(self) -> SupportRule:
        """The support rule: how many nonzeros, at what penalty."""
        limit = self.n if self.sparsity is None else self.sparsity
        groups = None
        if self.groups is not None and self.group_sparsity is not None:
            groups = Groups(self.groups, self.group_sparsity)
            limit = min(limit, groups.most)
        blocks = None if self.blocks is None else Blocks.of(self.blocks)
        if blocks is not None:
            limit = min(limit, len(blocks.sizes))
        return SupportRule(
            limit, self.penalty or 0.0, self.forced_in, self.forced_out, groups, blocks
        )

    @property
    def root(self) -> Subproblem:
        """The branch of all supports, in which only forced variables are decided."""
        nothing = Subproblem.of_status(np.zeros(self.n, dtype=np.int8), self.rule)
        return nothing.decide(self.forced_in, self.forced_out)

    def support_of(self, x: FloatArray) -> IntArray:
        """The support of a point: its nonzeros, their blocks, and what is forced in."""
        nonzeros = np.flatnonzero(x)
        if self.blocks is not None:
            nonzeros = np.flatnonzero(Blocks.of(self.blocks).closed(x != 0))
        if len(self.forced_in) == 0:
            return nonzeros
        return np.union1d(nonzeros, self.forced_in)

    @cached_property
    def is_unconstrained(self) -> bool:
        """Whether there are neither rows nor bounds nor groups nor blocks."""
        unbounded = np.isinf(self.lower).all() and np.isinf(self.upper).all()
        is_plain = self.groups is None and self.blocks is None
        return len(self.rows) == 0 and is_plain and bool(unbounded)

    @cached_property
    def is_semicontinuous(self) -> BoolArray:
        """Mask of the variables that are zero or beyond a threshold."""
        return (self.lower > 0) | (self.upper < 0)

    @cached_property
    def signs(self) -> IntArray:
        """1 for variables that are never negative, -1 for never positive, 0 else."""
        return (self.lower >= 0).astype(np.int8) - (self.upper <= 0)

    def name_of(self, index: int) -> str:
        """The name of a variable, or ``x[index]``."""
        return f"x[{index}]" if self.names is None else self.names[index]

    def objective(self, x: ArrayLike) -> float:
        """The objective at ``x``, constant and penalty included.

        Terms that cancel cost no digits: products are exact and summed up at once.
        """
        point = check.vector("x", x, self.n)
        support = np.flatnonzero(point)
        part = point[support]
        penalty = np.array([self.rule.penalty])
        count = np.array([self._n_penalised(point)])
        weights = np.concatenate([self.c[support], self.ridge[support], penalty])
        first = np.concatenate([part, part, count])
        second = np.concatenate([np.ones(len(part)), part, [1.0]])
        terms = products(weights, first, second), self.quadratic.terms(point)
        total = accurate_sum(np.concatenate([*terms, [self.constant]]))
        return self.value(point) if np.isnan(total) else total

    def value(self, x: FloatArray) -> float:
        """The objective at a point that is not checked, in plain floating point."""
        smooth = self.c @ x + self.quadratic.value(x) + self.ridge @ (x * x)
        return float(self.constant + smooth + self.price(x))

    def price(self, x: FloatArray) -> float:
        """The penalty that is paid at a point."""
        return self.rule.penalty * self._n_penalised(x)

    def _n_penalised(self, x: FloatArray) -> float:
        """Number of nonzeros, or blocks, that the penalty is paid for."""
        return float(self.rule.count(self.support_of(x))) if self.penalty else 0.0

    def terms_at(self, x: FloatArray) -> float:
        """Size of the terms that make up the objective at ``x``."""
        curved = self.quadratic.value(x) + self.ridge @ (x * x)
        return self._terms(x, float(curved))

    def accurate_terms_at(self, x: FloatArray) -> float:
        """The same where curvature cancels: added up as the objective is."""
        support = np.flatnonzero(x)
        part = x[support]
        ridge = products(self.ridge[support], part, part)
        curved = accurate_sum(np.concatenate([ridge, self.quadratic.terms(x)]))
        return self.terms_at(x) if np.isnan(curved) else self._terms(x, curved)

    def _terms(self, x: FloatArray, curved: float) -> float:
        fixed = abs(self.constant) + self.rule.penalty * self._n_penalised(x)
        return float(fixed + np.abs(self.c) @ np.abs(x) + abs(curved))

    def magnitude(self, x: FloatArray) -> float:
        """Size of the terms that make up the objective, at ``x`` or near it."""
        return self.terms_at(x) + self.single_gain

    @cached_property
    def single_gain(self) -> float:
        """The most that one variable alone can take off the objective, unbounded."""
        curvature, is_curved = self._curvature
        gains = np.where(is_curved, self.c**2 / (4.0 * curvature), 0.0)
        return float(gains.max(initial=0.0))

    @cached_property
    def gain_within_bounds(self) -> float:
        """The most that one variable within its bounds can take off the objective."""
        curvature, is_curved = self._curvature
        x = np.clip(self.c / (-2.0 * curvature), self.lower, self.upper)
        gains = np.where(is_curved, -x * (self.c + curvature * x), 0.0)
        return float(gains.max(initial=0.0))

    @property
    def _curvature(self) -> tuple[FloatArray, BoolArray]:
        """The curvature of each variable, 1 where there is none, and where it is."""
        curvature = self.quadratic.diagonal + self.ridge
        is_curved = curvature > 0
        return np.where(is_curved, curvature, 1.0), is_curved

    def feasibility(self, x: ArrayLike) -> Feasibility:
        """The largest violation of each kind of constraint at ``x``."""
        point = check.vector("x", x, self.n)
        found = self.violations(point)
        return replace(found, is_independent=self.is_independent(point))

    def violations(self, x: FloatArray) -> Feasibility:
        """The largest violations at a point whose shape and type are not checked."""
        yardstick = self.rows.magnitude(x)
        relative = self.rows.violation(x) / np.where(yardstick > 0, yardstick, 1.0)
        is_equality = self.rows.is_equality
        excess = np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)
        is_off = x == 0
        is_off[self.forced_in] = False
        excess[is_off] = 0.0
        excess[self.forced_out] = np.abs(x[self.forced_out])
        beyond = excess / np.where(x != 0, np.abs(x), 1.0)
        beyond[(x == 0) & (excess > 0)] = np.inf  # forced in, below its threshold
        return Feasibility(
            rows=float(relative[~is_equality].max(initial=0.0)),
            equalities=float(relative[is_equality].max(initial=0.0)),
            bounds=float(beyond.max(initial=0.0)),
            cardinality=self.rule.excess(self.support_of(x)),
        )

    def is_allowed(self, x: FloatArray) -> bool:
        """Whether the nonzeros of a point within its bounds keep to the sparsity rule.

        Variables that are forced in must be within their bounds at zero, too.
        """
        if self.rule.excess(self.support_of(x)) > 0:
            return False
        if len(self.forced_in) + len(self.forced_out) == 0:
            return True
        zeros = self.forced_in[x[self.forced_in] == 0]
        is_left_out = x[self.forced_out] == 0
        return bool(is_left_out.all() and not self.is_semicontinuous[zeros].any())

    def is_independent(self, x: FloatArray) -> bool:
        """Whether a point counts: its nonzeros are independent, or need not be."""
        nonzeros = np.flatnonzero(x)
        if self.independence == 0.0 or len(nonzeros) == 0:
            return True
        G = self.quadratic.block(nonzeros) + np.diag(self.ridge[nonzeros])
        return is_independent(G, self.independence)
