"""What all variables of a branch gain together, and how exactly that is known.

A search that drops one variable after the other begins here
(docs/theory.md#dropping-rounding).
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import dropped_gain_unit, inverse_residual_unit
from cardqp.problem import SparseQP

MOST_VARIABLES = 200
"""The most variables of a branch that is searched: memory grows with their cube."""

LARGEST_ERROR = 1e-3
"""The largest relative error of a gain with which a search begins; what is proved about
errors holds as long as they are small."""


@dataclass(frozen=True, slots=True)
class FullGain:
    """All variables of a branch together: where the search begins.

    Attributes
    ----------
    G, c : arrays
        The matrix ``Q + diag(ridge)`` and the linear cost.
    H : (n, n) array
        About the inverse of ``G``, symmetric.
    b : (n,) array
        The coefficients ``H c``.
    gain : float
        ``c'H c``.
    share, error : float
        The true gain of what is left after variables are dropped, times one less the
        ``share``, is at most the computed one and the ``error``.
    """

    G: FloatArray
    c: FloatArray
    H: FloatArray
    b: FloatArray
    gain: float
    share: float
    error: float

    @classmethod
    def of(cls, problem: SparseQP, index: IntArray) -> "FullGain | None":
        """Prepare some variables; None if rounding would be too much.

        See docs/theory.md#dropping-rounding.
        """
        if not 0 < len(index) <= MOST_VARIABLES:
            return None
        ridge, form, c = problem.ridge[index], problem.quadratic, problem.c[index]
        G = form.block(index)
        G.flat[:: len(index) + 1] += ridge
        G = 0.5 * (G + G.T)
        H = _inverse(G)
        if H is None:
            return None
        lacking = np.maximum(form.psd_violation[index] - ridge, 0.0)
        share, unit, doubt = _errors(G, H, form.formed, lacking)
        if not max(share, unit, doubt) < LARGEST_ERROR:
            return None
        b = H @ c
        gain = float(c @ b)
        return cls(G, c, H, b, gain, share, unit * abs(gain))

    def threshold(self, gain: float) -> float:
        """The computed gain up to which no true one exceeds the given gain."""
        return gain * (1.0 - self.share) - self.error


def _inverse(G: FloatArray) -> FloatArray | None:
    """The inverse of a definite matrix, symmetric; None if there is none."""
    factor, failed = scipy.linalg.lapack.dpotrf(G.T, lower=1, clean=0)
    if failed != 0:
        return None
    H, failed = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed != 0:
        return None
    half = np.tril(H)
    half.flat[:: len(G) + 1] *= 0.5
    return np.asarray(half + half.T)


def _errors(
    G: FloatArray, H: FloatArray, formed: int, lacking: FloatArray
) -> tuple[float, float, float]:
    """The errors of the inverse, and of what is computed from it by dropping.

    Both are relative to the gain.  ``inflation`` is the sum of the roots of variance
    inflation factors ``G_jj H_jj``.  The third number is below one only if ``G``, which
    ``diag(lacking)`` makes semidefinite, is definite (Proposition R11).
    """
    n, root = len(G), np.sqrt(G.diagonal())
    inflation = float((root * np.sqrt(np.maximum(H.diagonal(), 0.0))).sum())
    size = root * (np.abs(H) @ root)
    residual = (np.abs(np.eye(n) - G @ H) @ root) / root
    unit = inverse_residual_unit(n, formed)
    share = float(residual.max() + unit * (1.0 + size.sum()))
    doubt = float(2.0 * (lacking / G.diagonal()).max() * (1.0 + size.max()))
    return share, dropped_gain_unit(n) * (1.0 + inflation) ** 2, doubt
