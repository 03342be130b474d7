"""The metric of the accelerated steps: what is put in the place of ``2 Q``."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from cardqp._typing import FloatArray
from cardqp.relaxation.settings import RelaxationSettings


@dataclass(frozen=True, slots=True)
class Metric:
    """A variable metric: the identity times a constant, plus terms of rank one.

    ``lipschitz I + sum_i sigma_i direction_i direction_i'`` is a matrix above ``2 Q``.
    A few eigenvalues far above all others would make the steps of a proximal gradient
    method tiny; rank-one terms take care of them at the price of one scalar equation
    each (Becker & Fadili 2012; Becker, Fadili & Ochs 2019; docs/theory.md#metric).  On
    a subset of the variables the metric stays above.

    Attributes
    ----------
    lipschitz : float
        The constant.
    directions : (k, n) array
        The directions, one in each row.
    sigma : (k,) array
        Their weights.
    """

    lipschitz: float
    directions: FloatArray
    sigma: FloatArray

    @classmethod
    def choose(
        cls,
        matrix: FloatArray,
        is_gram: bool,
        least: float,
        settings: RelaxationSettings,
        *,
        plain: bool = False,
    ) -> "Metric":
        """Choose a metric with at most one term of rank one, or ``plain`` without.

        The ``matrix`` is that of the form, or its transposed factor.  The constant is
        at least twice ``least``: longer steps than the ridge allows would make the
        proximal step as hard as the whole problem.
        """
        first, second, direction = _leading_pair(
            matrix, is_gram, settings.eigenvalue_tolerance
        )
        if plain or first <= settings.dominance * max(second, least):
            nothing = np.zeros((1, len(matrix)))
            return cls(2.0 * max(first, least), nothing, np.zeros(1))
        base = 2.0 * max(second, least)
        return cls(base, direction[None, :], np.array([2.0 * first - base]))

    @classmethod
    def choose_many(
        cls,
        matrix: FloatArray,
        is_gram: bool,
        least: float,
        ridge: float,
        n_rows: int,
        settings: RelaxationSettings,
    ) -> "Metric":
        """Choose a metric with as many terms of rank one as pay.

        The number of iterations is taken to grow with the root of the condition number:
        the largest eigenvalue that is left over a typical ``ridge``.  The cost of an
        iteration grows with the square of the number of terms and rows, by the Newton
        system.
        """
        form = matrix if is_gram else matrix @ matrix.T
        values, vectors = scipy.linalg.eigh(form, driver="evd", check_finite=False)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        count = np.arange(min(settings.max_metric_terms, len(values) - 1) + 1)
        least, above = max(ridge, least), 1.0 + settings.eigenvalue_tolerance
        steps = settings.base_iterations + np.sqrt(
            np.maximum(values[count] / least, 1.0)
        )
        cost = 1.0 + settings.term_cost * (count + n_rows) ** 2
        terms = int(np.argmin(steps * cost))
        base = 2.0 * max(above * float(values[terms]), least)
        sigma = np.maximum(2.0 * above * values[:terms] - base, 0.0)
        return cls(base, np.ascontiguousarray(vectors[:, :terms].T), sigma)


def _leading_pair(
    matrix: FloatArray, is_gram: bool, tolerance: float
) -> tuple[float, float, FloatArray]:
    """The two largest eigenvalues, raised a little, and the first eigenvector.

    They are raised by twice the tolerance, so that the metric is above ``2 Q`` although
    Lanczos iterations approach eigenvalues from below.
    """
    rows, columns = matrix.shape
    # F'F and FF' have the same nonzero eigenvalues: take the smaller of the two.
    small = matrix if is_gram else matrix.T @ matrix
    if not is_gram and columns > rows:
        small = matrix @ matrix.T
    if len(small) == 0:
        return 0.0, 0.0, np.zeros(rows)
    values, vectors = _top_two(small, tolerance)
    direction = np.ascontiguousarray(vectors[:, -1])
    if not is_gram and columns <= rows:
        direction = matrix @ direction
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    above = 1.0 + 2.0 * tolerance
    return above * float(values[-1]), above * float(values[0]), direction


def _top_two(matrix: FloatArray, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """The two largest eigenvalues in increasing order, and their eigenvectors."""
    # Below this size a full decomposition is as fast.
    if len(matrix) > 32:
        start = np.random.default_rng(0).standard_normal(len(matrix))
        try:
            values, vectors = scipy.sparse.linalg.eigsh(
                matrix, k=2, v0=start, tol=tolerance, ncv=12
            )
            return values, vectors
        except scipy.sparse.linalg.ArpackError:
            pass  # a full decomposition does it
    values, vectors = np.linalg.eigh(matrix)
    keep = [-2, -1] if len(matrix) > 1 else [-1, -1]
    return values[keep] * [len(matrix) > 1, 1], vectors[:, keep]
