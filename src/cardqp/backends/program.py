r"""One mixed-integer program for every solver.

In units of its own, chosen such that curvatures are about one and good objectives about
a thousand, the program is

.. math::
    \min\; |F y|^2 + w^\top t + g^\top y + \text{price} \sum_k z_k + \text{constant}

over ``y``, binary switches ``z``, and where :math:`w > 0` heights ``t`` with
:math:`y_j^2 \le t_j z_j` (the perspective of the square), subject to rows, to bounds
:math:`\ell_j z_j \le y_j \le u_j z_j`, to limits on sums of switches, and to
:math:`z_j = 0 \Rightarrow y_j = 0` where bounds do not say so.

Solvers stop at absolute tolerances, near 1e-6.  In natural units, say variances of
1e-4, these are percents of the objective: hence the units, and the constant as a part
of the objective that gaps are relative to.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.backends import bounds, known
from cardqp.convex.support_qp import SupportFit
from cardqp.problem import SparseQP
from cardqp.quadratic import Factor
from cardqp.rows import Rows, power_of_two

Formulation = Literal["perspective", "sos1", "indicator", "big-m"]
FORMULATIONS: tuple[Formulation, ...] = get_args(Formulation)

UNIT = 1000.0
"""A good objective in the program's units."""

SHARE = 0.999
"""How much of the least eigenvalue joins the ridge; the form stays convex."""

LOOSE = 1e3
"""Bounds beyond this, in the program's units, let switched-off variables leak through
the tolerances of solvers."""

NEGLIGIBLE = 1e-13
"""Eigenvalues below this share of the largest are rounding errors of zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """At most ``most`` of some switches are on."""

    switches: IntArray
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A problem in units that suit solvers.

    Attributes
    ----------
    problem : SparseQP
        What it stands for.
    formulation : str
        How variables are switched off.
    scale : (n,) array
        ``x = scale * y``; powers of two.
    unit : float
        The objective is multiplied by it; a power of two.
    factor : (k, n) array
        The ``F`` of the form.
    weights : (n,) array
        What the squares of the cones cost; zeros unless there are cones.
    slope : (n,) array
        The linear cost of ``y``.
    price, constant : float
        The cost of a switch, and of everything.
    rows : Rows
        Linear rows in ``y``, scaled to unit length.
    lower, upper : (n,) arrays
        Bounds of ``y`` when switched on; infinite where there are none.
    switch : (n,) int array
        The switch of each variable.
    is_on, is_off : (m,) bool arrays
        Switches that are decided.
    limits : tuple of Limit
        Limits on sums of switches.
    start : (n,) array or None
        A feasible ``y``.
    """

    problem: SparseQP
    formulation: Formulation
    scale: FloatArray
    unit: float
    factor: FloatArray
    weights: FloatArray
    slope: FloatArray
    price: float
    constant: float
    rows: Rows
    lower: FloatArray
    upper: FloatArray
    switch: IntArray
    is_on: BoolArray
    is_off: BoolArray
    limits: tuple[Limit, ...]
    start: FloatArray | None

    @property
    def n_switches(self) -> int:
        """How many switches there are."""
        return len(self.is_on)

    @property
    def has_cones(self) -> bool:
        """Whether the ridge is in cones."""
        return self.formulation == "perspective"

    @property
    def form(self) -> FloatArray:
        """The matrix of the form, ``F'F``."""
        return self.factor.T @ self.factor

    @property
    def is_free(self) -> BoolArray:
        """Which variables have a switch that is not decided."""
        return ~(self.is_on | self.is_off)[self.switch]

    @property
    def column_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of ``y`` whatever its switch."""
        on, off = self.is_on[self.switch], self.is_off[self.switch]
        low = np.where(on, self.lower, np.minimum(self.lower, 0.0))
        high = np.where(on, self.upper, np.maximum(self.upper, 0.0))
        return np.where(off, 0.0, low), np.where(off, 0.0, high)

    @property
    def linked_below(self) -> IntArray:
        """Variables with ``lower * z <= y``; a lower bound of zero holds anyway."""
        is_linked = np.isfinite(self.lower) & (self.lower != 0)
        return np.flatnonzero(self.is_free & is_linked)

    @property
    def linked_above(self) -> IntArray:
        """Variables with ``y <= upper * z``."""
        is_linked = np.isfinite(self.upper) & (self.upper != 0)
        return np.flatnonzero(self.is_free & is_linked)

    @property
    def unlinked(self) -> IntArray:
        """Variables that bounds do not switch off, or not tightly."""
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        is_loose = size > LOOSE
        if self.formulation == "big-m":
            is_loose[:] = False
        return np.flatnonzero(self.is_free & is_loose)

    @property
    def start_switches(self) -> FloatArray:
        """The switches of the start."""
        z = np.zeros(self.n_switches)
        if self.start is not None:
            support = self.problem.support_of(self.scale * self.start)
            z[self.switch[support]] = 1.0
        return z

    @property
    def impossible_row(self) -> int | None:
        """A row without variables that does not hold, if there is one."""
        is_blank = ~self.rows.matrix.any(axis=1)
        wrong = is_blank & (self.rows.violation(np.zeros(len(self.scale))) > 0)
        return int(wrong.argmax()) if wrong.any() else None

    def point(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """The ``x`` of a solver's answer, zero where it is switched off."""
        return np.where(z[self.switch] > 0.5, self.scale * y, 0.0)


def build(
    problem: SparseQP, formulation: Formulation, start: FloatArray | None
) -> Program:
    """Write a problem as a mixed-integer program.

    Parameters
    ----------
    problem : SparseQP
        Any problem.
    formulation : {"perspective", "sos1", "indicator", "big-m"}
        How variables are switched off.
    start : (n,) array or None
        A point whose support is a good guess.

    Raises
    ------
    ParameterError
        When ``"big-m"`` is asked for and no valid bounds can be proved.
    """
    first = known.fit_start(problem, start)
    fit = known.find_point(problem, first)
    lower, upper = _bounds(problem, formulation, fit)
    size = known.size_of_objective(problem, fit)
    unit = float(power_of_two(np.array([UNIT / size]))[0])
    curvature = unit * (problem.quadratic.diagonal + problem.ridge)
    scale = 1.0 / power_of_two(np.sqrt(curvature))
    factor, weights = _split(problem, unit, scale, formulation == "perspective")
    switch, is_on, is_off = _switches(problem)
    rows = problem.rows
    return Program(
        problem=problem,
        formulation=formulation,
        scale=scale,
        unit=unit,
        factor=factor,
        weights=weights,
        slope=unit * scale * problem.c,
        price=unit * (problem.penalty or 0.0),
        constant=unit * problem.constant,
        rows=Rows(rows.matrix * scale, rows.rhs, rows.is_equality).scaled()[0],
        lower=lower / scale,
        upper=upper / scale,
        switch=switch,
        is_on=is_on,
        is_off=is_off,
        limits=_limits(problem, len(is_on)),
        start=None if first.x is None else first.x / scale,
    )


def _bounds(
    problem: SparseQP, formulation: Formulation, fit: SupportFit
) -> bounds.Bounds:
    """Bounds of nonzeros, as many as there are."""
    implied = bounds.implied_by_rows(problem)
    if formulation != "big-m":
        return implied
    value = known.improved(problem, fit).objective
    return bounds.implied_by_value(problem, implied, value)


def _split(
    problem: SparseQP, unit: float, scale: FloatArray, has_cones: bool
) -> tuple[FloatArray, FloatArray]:
    """The factor of the form, and the weights of the cones.

    With cones, the least eigenvalue of the form joins the ridge.
    """
    form, root = problem.quadratic, np.sqrt(unit)
    ridge = unit * scale * scale * problem.ridge
    weights = ridge if has_cones else np.zeros(problem.n)
    if isinstance(form, Factor) and len(form.array) < problem.n:
        factor = root * form.array * scale
        if has_cones:
            return factor, weights
        return np.vstack([factor, np.diag(np.sqrt(ridge))]), weights
    Q = unit * scale[:, None] * form.dense() * scale
    values, vectors = np.linalg.eigh(Q + np.diag(ridge - weights))
    spare = max(SHARE * float(values[0]), 0.0) if has_cones else 0.0
    left = values - spare
    kept = left > NEGLIGIBLE * values[-1]
    factor = np.sqrt(left[kept])[:, None] * vectors[:, kept].T
    return factor, weights + (spare if has_cones else 0.0)


def _switches(problem: SparseQP) -> tuple[IntArray, BoolArray, BoolArray]:
    """The switch of each variable, and which are on or off in any case."""
    labels = np.arange(problem.n) if problem.blocks is None else problem.blocks
    switch = np.unique(labels, return_inverse=True)[1]
    is_on = np.zeros(int(switch.max()) + 1, dtype=bool)
    is_off = is_on.copy()
    is_on[switch[problem.forced_in]] = True
    is_off[switch[problem.forced_out]] = True
    return switch, is_on, is_off


def _limits(problem: SparseQP, n_switches: int) -> tuple[Limit, ...]:
    """Limits on all switches and on those of groups, unless they hold anyway."""
    found = [Limit(np.arange(n_switches), problem.rule.limit)]
    if problem.groups is not None and problem.group_sparsity is not None:
        for group, most in enumerate(problem.group_sparsity):
            found.append(Limit(np.flatnonzero(problem.groups == group), int(most)))
    return tuple(limit for limit in found if limit.most < len(limit.switches))
