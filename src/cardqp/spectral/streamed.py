r"""Principal components of very many columns, in a few passes over the data.

For any ``P`` with orthonormal columns, :math:`X^\top P P^\top X / N` lies below
:math:`Q = X^\top X / N`: levels are valid whether or not the components have converged.
With many rows ``P`` comes from power iterations on a random block (Halko, Martinsson
and Tropp, SIAM Review 53, 2011), with few from the eigenvectors of ``XX'``.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import component_unit
from cardqp.exceptions import ParameterError
from cardqp.problem.streamed_form import StreamedForm
from cardqp.spectral.level import Margin, skewness

MAX_EXACT_ROWS = 1000
"""Up to so many rows, or more if that is less work, ``XX'`` is formed and decomposed,
which is exact.  Beyond, a range is found by power iterations."""

POWER_STEPS = 4
"""Power iterations.  Each takes a pass, and four operations per entry and vector."""

OVERSAMPLING = 10
"""Oversampling: random vectors beyond the components that are wanted.  Five or ten
is what Halko, Martinsson and Tropp recommend."""

MAX_BYTES = 4e9
"""The most bytes that components may take."""

SHRINK = 1e-9
"""The share of a level that is given up, so that rounding errors of the components
count with their squares only: see :func:`_margin`."""

SMALLEST_EIGENVALUE = 1e-280
"""Smaller eigenvalues count as zero: squares of their factors would underflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Leading eigenvalues, in descending order, their eigenvectors and the margin."""

    values: FloatArray
    vectors: FloatArray
    margin: Margin


def components(form: StreamedForm, count: int) -> Components:
    """Compute the leading components of ``X'X / N``, so many of them.

    They are exact, up to rounding, where there are few rows.  Otherwise they are those
    of the data projected on a range that nearly holds the leading ones.  Raises
    ``ParameterError`` if they would not fit into memory.
    """
    _check_size(form, count)
    basis = _basis(form, count)
    products = form.correlate(basis)
    rotation = np.linalg.eigh(products.T @ products)[1][:, ::-1][:, :count]
    vectors = products @ rotation
    lengths = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    vectors /= np.where(lengths > 0, lengths, 1.0)
    values = lengths**2 / form.n_samples
    values[values < SMALLEST_EIGENVALUE] = 0.0
    return Components(values, vectors, _margin(form, basis, rotation))


def _check_size(form: StreamedForm, count: int) -> None:
    each = 8.0 * (form.n + form.n_samples)
    if each * count > MAX_BYTES:
        raise ParameterError(
            "level",
            f"must be at most {int(MAX_BYTES / each)} for so many columns",
            given=f"{count} eigenvectors take {each * count / 1e9:.2g} GB",
            remedy="name a lower one",
        )


def _basis(form: StreamedForm, count: int) -> FloatArray:
    """Orthonormal vectors that span the leading left singular vectors, or nearly."""
    width = min(count + OVERSAMPLING, form.n, form.n_samples)
    if _is_exact(form.n_samples, width):
        return np.ascontiguousarray(np.linalg.eigh(form.outer)[1][:, -count:])
    # A fixed seed: the same data have the same levels, and so the same certificates.
    start = np.random.default_rng(0).standard_normal((form.n_samples, width))
    basis = np.linalg.qr(start)[0]
    for _ in range(POWER_STEPS):
        basis = np.linalg.qr(form.apply_outer(basis))[0]
    return basis


def _is_exact(n_samples: int, width: int) -> bool:
    """Whether ``XX'`` is formed: it is small, or cheaper than power iterations."""
    few = max(MAX_EXACT_ROWS, 4 * POWER_STEPS * width)
    return n_samples <= few and 8.0 * n_samples**2 <= MAX_BYTES


def _margin(form: StreamedForm, basis: FloatArray, rotation: FloatArray) -> Margin:
    """The margin for rounding in products, and for bases that are not orthonormal.

    See the end of ``docs/theory.md#theorem-4``.

    With computed ``F = H + E``, where ``H'H`` is below ``(1 + skew) Q``, and any ``t``,
    ``|Fx|^2 <= (1 + t) |Hx|^2 + (1 + 1/t) |Ex|^2``.  Each row of ``E'``, that of column
    ``j``, has length ``sqrt(m) (N + m + 16) u |X_j| / sqrt(N)`` at most.
    """
    N, width = basis.shape
    skewed = float((1.0 + skewness(basis)[-1]) * (1.0 + skewness(rotation)[-1]))
    unit = component_unit(N, width)
    squared_error = width * unit**2 * float(form.diagonal.sum())
    # With t half of what is given up, (1 + 1/t) is less than 3 / SHRINK; the rest is
    # for products that are rounded to nothing and for this sum itself.
    psd_violation = 8.0 * squared_error / SHRINK
    share = 1.0 / ((1.0 + SHRINK) * skewed)
    return Margin(share, np.full(rotation.shape[1], psd_violation))
