"""The least objective on one support, in balls.

A ball is a number of many digits with a radius, and what is computed with balls
contains what would be computed with any numbers in them (Arb, by python-flint).
"""

import math
from collections.abc import Sequence
from typing import Protocol

from flint import arb, arb_mat, ctx

from cardqp_check.rounding import below
from cardqp_check.submatrices import IntArray


class Form(Protocol):
    """The function ``kappa + c'x + x'Gx``, in balls of so many bits."""

    @property
    def kappa(self) -> arb: ...
    @property
    def c(self) -> Sequence[arb]: ...
    @property
    def G(self) -> arb_mat: ...
    @property
    def precision(self) -> int: ...


def lower_float(value: arb) -> float:
    """Return a float that no number in the ball is below."""
    return below(value) if value.is_finite() else -math.inf


def objective(form: Form, support: IntArray) -> float:
    """Return the least objective on a support, rounded down; -inf if that is unknown.

    Elimination of ``i`` leaves ``G_jk - G_ij G_ik / G_ii``, ``c_j - G_ij c_i / G_ii``
    and the constant less ``c_i^2 / (4 G_ii)``; this needs a positive ``G_ii``.
    """
    for precision in (form.precision, 4 * form.precision):
        with ctx.workprec(precision):
            value = lower_float(_eliminate_all(form, [int(j) for j in support]))
        if value > -math.inf:
            return value
    return -math.inf


def _eliminate_all(form: Form, index: list[int]) -> arb:
    """Return ``kappa - c'G^{-1}c / 4`` on some variables; -inf if G is not definite."""
    G = [[form.G[i, j] for j in index] for i in index]
    c, constant = [form.c[i] for i in index], form.kappa
    for i in range(len(index)):
        if not G[i][i] > 0:
            return arb.neg_inf()
        constant -= c[i] * c[i] / (4 * G[i][i])
        for j in range(i + 1, len(index)):
            t = G[i][j] / G[i][i]
            c[j] -= t * c[i]
            for k in range(j, len(index)):
                G[j][k] -= t * G[i][k]
    return constant


def upper_distance(exact: arb, value: float) -> float:
    """Return a bound on how far a float is from a ball's numbers."""
    return -lower_float(-abs(exact - value))
