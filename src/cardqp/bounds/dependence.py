"""Linearly dependent columns of ``Q``, up to rounding, and what they mean.

Without a ridge, the objective is flat along a dependence or, where ``c`` is not in the
range of ``Q``, falls without end (docs/theory.md#no-ridge).
"""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import cholesky_defect, eigenvalue_margin
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor, QuadraticForm

VISIBLE = 1e-6
"""The least entry of a unit vector that counts as part of a dependence."""

WEAK_OR_BOUNDED = Phrase(
    "use a weak ridge, such as {}, or finite {} and {}",
    Setting("eta", 1e6),
    Setting("lower"),
    Setting("upper"),
)

BEYOND = 10.0
"""How far beyond rounding ``c`` must leave the range of ``Q`` to be told from it."""


def describe(problem: SparseQP) -> str:
    """The dependent columns of a problem where not all points count, in words."""
    names = [problem.name_of(int(j)) for j in dependent_columns(problem)]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" * (len(names) > 8))
    return (
        f"{shown}: supports count if the least eigenvalue of their block of Q, scaled "
        f"to unit diagonal, is at least {problem.independence:g}"
    )


def dependent_columns(problem: SparseQP) -> IntArray:
    """The variables that take part in a linear dependence of columns, up to rounding.

    With fewer rows of a factor than columns there is little to tell: all of them.
    """
    if is_wide(problem.quadratic):
        return np.arange(problem.n)
    _, directions = _flat_directions(problem)
    return np.flatnonzero((np.abs(directions) > VISIBLE).any(axis=1))


def is_wide(form: QuadraticForm) -> bool:
    """Whether a factor has fewer rows than columns."""
    return isinstance(form, Factor) and len(form.array) < form.n


def _flat_directions(problem: SparseQP) -> tuple[FloatArray, FloatArray]:
    """Directions in which the matrix, scaled to unit diagonal, hardly curves.

    The least eigenvalue and those that are no more than rounding; eigenvectors in
    columns.
    """
    unit = unit_curvature(problem)
    G = problem.quadratic.dense() + np.diag(problem.ridge)
    scaled = unit[:, None] * G * unit
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    is_flat = values <= cholesky_defect(problem.n) * max(float(values[-1]), 1.0)
    is_flat[0] = True
    return values[is_flat], vectors[:, is_flat]


def unit_curvature(problem: SparseQP) -> FloatArray:
    """The units in which curvatures are one, where there are any."""
    curvature = problem.quadratic.diagonal + problem.ridge
    return np.asarray(1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0)))


def refuse_unbounded(problem: SparseQP) -> None:
    """Raise if ``c`` leaves the range of ``Q`` by more than rounding.

    Along a direction ``v`` of curvature ``k`` the objective falls by
    ``(c'v)^2 / (4 k)``, which is at most what there is to gain in all where ``c`` is
    in the range: the constant for a regression, about the gains of single variables
    otherwise.
    """
    form, unit = problem.quadratic, unit_curvature(problem)
    slope = unit * problem.c
    gain = abs(problem.constant) + 0.25 * float(slope @ slope)
    if isinstance(form, Factor) and is_wide(form):
        columns = (form.array * unit).T
        rest = slope - columns @ np.linalg.lstsq(columns, slope, rcond=None)[0]
        along, curvatures = np.array([rest @ rest]), np.zeros(1)
    else:
        curvatures, directions = _flat_directions(problem)
        along = (slope @ directions) ** 2
    noise = eigenvalue_margin(problem.n)
    if (along > BEYOND * 4.0 * np.maximum(curvatures, noise) * gain).any():
        raise ProblemError(
            "eta",
            "must be a number where `c` is not in the range of `Q`",
            given="it is None, and the objective may be unbounded below",
            remedy=WEAK_OR_BOUNDED,
        )
