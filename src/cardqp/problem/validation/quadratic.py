"""The quadratic cost: a convex matrix or its factor, and the ridge."""

from typing import NoReturn

import numpy as np
import scipy.linalg

from cardqp._typing import ArrayLike, FloatArray
from cardqp.arithmetic.rounding import cholesky_defect, cholesky_shift
from cardqp.exceptions import ProblemError
from cardqp.problem.quadratic import Factor, Gram
from cardqp.problem.validation.arrays import (
    LARGEST,
    number_or_entries,
    real_array,
    refuse,
    shaped,
    vector,
)

SYMMETRY_TOLERANCE = 1e-8
"""Largest accepted |Q - Q'| relative to |Q|: more is a mistake, not rounding."""

CONVEXITY_TOLERANCE = 1e-9
"""Most negative accepted eigenvalue relative to the largest: data rounded on file."""


def quadratic_matrix(value: ArrayLike, name: str = "Q") -> Gram:
    """A symmetric positive semidefinite matrix, with the proof of how nearly it is."""
    Q = symmetric_matrix(name, value)
    return Gram(Q, convexity_defect(Q, name))


def factor_matrix(value: ArrayLike, name: str = "F") -> Factor:
    """The factor ``F`` of ``Q = F'F``."""
    F = real_array(name, value, 2)
    shaped(F.shape[1] > 0, name, "must have columns, one per variable", F)
    return Factor(F)


def square(name: str, M: FloatArray) -> None:
    """Refuse a matrix that is not square, or has no entries."""
    is_met = M.shape[0] == M.shape[1] > 0
    shaped(is_met, name, "must be square and not empty", M)


def symmetric_matrix(name: str, value: ArrayLike, n: int | None = None) -> FloatArray:
    """A finite symmetric matrix, not empty, or ``(n, n)`` if its size is known.

    Rounding that keeps it from being symmetric is taken away.
    """
    M = real_array(name, value, 2)
    if n is None:
        square(name, M)
    else:
        shaped(M.shape == (n, n), name, f"must have the shape ({n}, {n})", M)
    skew = float(np.abs(M - M.T).max())
    if skew > SYMMETRY_TOLERANCE * float(np.abs(M).max()):
        raise ProblemError(
            name,
            "must be symmetric",
            given=f"max |{name} - {name}.T| is {skew:.1e}",
            remedy=f"pass ({name} + {name}.T) / 2",
        )
    if skew > 0:
        M = (M + M.T) / 2
        M.setflags(write=False)
    return M


def convexity_defect(Q: FloatArray, name: str = "Q") -> FloatArray:
    """A vector ``d`` with ``Q + diag(d)`` positive semidefinite, or an error.

    A Cholesky factorisation of ``S + shift I``, with ``S`` the matrix scaled to unit
    diagonal, that runs to its end proves ``S >= -(shift + its backward error)``; the
    error is at most ``(n + 1) u`` times the trace (Demmel 1989).  Eigenvalues are
    computed only if it breaks down.  They tell how much more is missing, which another
    factorisation has to confirm: their own error is not known.
    """
    n = len(Q)
    curvature = np.abs(Q.diagonal())
    if not curvature.all():
        curvature = np.where(curvature != 0, curvature, np.any(Q, axis=0))
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    scaled = unit[:, None] * Q
    scaled *= unit
    short, missing, shift = cholesky_defect(n), 0.0, cholesky_shift(n)
    if not is_definite(scaled, shift):
        eigenvalues = scipy.linalg.eigvalsh(scaled, check_finite=False)
        accepted = CONVEXITY_TOLERANCE * max(eigenvalues[-1], 0.0) + short
        if not eigenvalues[0] >= -accepted:
            smallest = scipy.linalg.eigvalsh(Q, check_finite=False)[0]
            refuse_indefinite(name, float(smallest))
        missing, step = max(-float(eigenvalues[0]), 0.0), shift
        while not is_definite(scaled, missing + shift):
            missing, step = missing + step, 2.0 * step
    return (short + missing) * curvature


def is_definite(matrix: FloatArray, shift: float) -> bool:
    """Whether a symmetric matrix, its diagonal shifted, has a Cholesky factor."""
    shifted = matrix.copy()
    shifted[np.diag_indices(len(matrix))] += shift
    try:
        # Its transpose is stored by columns, so that it is factored in place.
        scipy.linalg.cholesky(
            shifted.T, lower=True, overwrite_a=True, check_finite=False
        )
    except scipy.linalg.LinAlgError:
        return False
    return True


def refuse_indefinite(name: str, smallest: float) -> NoReturn:
    """Raise an error that names the smallest eigenvalue of a matrix."""
    raise ProblemError(
        name,
        "must be positive semidefinite",
        given=f"its smallest eigenvalue is {smallest:.3g}",
        remedy=f"add at least {-smallest:.3g} to its diagonal",
    )


def inverse_ridge(eta: ArrayLike | None, n: int) -> FloatArray:
    """The vector ``eta``, positive; infinite where there is no ridge."""
    value = number_or_entries("eta", np.inf if eta is None else eta, n)
    refuse(
        "eta",
        value,
        ~((value > 1 / LARGEST) & ((value < LARGEST) | np.isinf(value))),
        f"must be positive, between {1 / LARGEST:g} and {LARGEST:g}, or None",
        "a larger eta means a weaker ridge 1/eta, and None means no ridge",
    )
    return value


def specific_variance(value: ArrayLike, n: int, *, has_ridge: bool) -> FloatArray:
    """The vector ``psi`` of specific variances in a factor model."""
    psi = vector("psi", value, n)
    if has_ridge:
        refuse("psi", psi, psi < 0, "must not be negative", "correct it")
    else:
        remedy = "correct it, or add a ridge by `eta`"
        refuse("psi", psi, ~(psi > 1 / LARGEST), "must be positive", remedy)
    return psi
