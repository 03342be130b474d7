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
from cardqp.problem import SparseQP
from cardqp.problem.rows import Rows

Formulation = Literal["perspective", "sos1", "indicator", "big-m"]
FORMULATIONS: tuple[Formulation, ...] = get_args(Formulation)

LOOSE = 1e3
"""Bounds beyond this, in the program's units, let switched-off variables leak through
the tolerances of solvers."""


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
        The problem that the program states.
    formulation : str
        How variables are switched off.
    scale : (n,) array
        ``x = scale * y``; powers of two.
    unit : float
        The objective is multiplied by it; a power of two.
    factor : (k, n) array
        The ``F`` of the form.
    weights : (n,) array
        Costs of the squares in the cones; zeros unless there are cones.
    slope : (n,) array
        The linear cost of ``y``.
    price, constant : float
        The cost of a switch, and the constant of the objective.
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
        """Number of switches."""
        return len(self.is_on)

    @property
    def has_cones(self) -> bool:
        """Whether the ridge is modelled by cones."""
        return self.formulation == "perspective"

    @property
    def form(self) -> FloatArray:
        """The matrix of the form, ``F'F``."""
        return self.factor.T @ self.factor

    @property
    def is_undecided(self) -> BoolArray:
        """Mask of the variables whose switch is not decided."""
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
        return np.flatnonzero(self.is_undecided & is_linked)

    @property
    def linked_above(self) -> IntArray:
        """Variables with ``y <= upper * z``."""
        is_linked = np.isfinite(self.upper) & (self.upper != 0)
        return np.flatnonzero(self.is_undecided & is_linked)

    @property
    def unlinked(self) -> IntArray:
        """Variables that bounds do not switch off, or not tightly."""
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        is_loose = size > LOOSE
        if self.formulation == "big-m":
            is_loose[:] = False
        return np.flatnonzero(self.is_undecided & is_loose)

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
