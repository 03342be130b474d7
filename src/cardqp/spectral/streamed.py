r"""Principal components of very many columns, by sweeps over the data.

For any ``P`` with orthonormal columns, :math:`X^\top P P^\top X / N` lies below
:math:`Q = X^\top X / N`: levels are valid whether or not the components have converged.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import component_unit
from cardqp.exceptions import ParameterError
from cardqp.problem.streamed_form import Columns
from cardqp.spectral.level import Margin, skewness

EXACT_ROWS = 1000
"""Up to so many rows, or more if that is less work, ``XX'`` is formed and decomposed.
Beyond, a range is found by power steps from random vectors."""

POWER_STEPS = 4
"""Each takes a sweep, and four operations for each number and vector."""

SPARE = 10
"""Random vectors beyond the components that are wanted, which then come out better."""

MOST_BYTES = 4e9
"""The largest array of components that is made."""

SHRINK = 1e-9
"""The share of a level that is given up: errors of the components then count with
their squares only."""

NOTHING = 1e-280
"""Smaller eigenvalues count as zero: numbers lose digits below."""


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Leading eigenvalues, in descending order, eigenvectors, and what they cost."""

    values: FloatArray
    vectors: FloatArray
    margin: Margin


def components(form: Columns, count: int) -> Components:
    """The leading components of ``X'X / N``.

    Exact where there are few rows.  Otherwise those within a range that holds the
    leading ones nearly.

    Parameters
    ----------
    form : Columns
        The data.
    count : int
        How many are wanted, at most as many as rows and columns.

    Raises
    ------
    ParameterError
        When they would not fit into memory.
    """
    _check_size(form, count)
    basis = _basis(form, count)
    products = form.correlate(basis)
    rotation = np.linalg.eigh(products.T @ products)[1][:, ::-1][:, :count]
    vectors = products @ rotation
    lengths = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    vectors /= np.where(lengths > 0, lengths, 1.0)
    values = lengths**2 / form.n_samples
    values[values < NOTHING] = 0.0
    return Components(values, vectors, _margin(form, basis, rotation))


def _check_size(form: Columns, count: int) -> None:
    each = 8.0 * (form.n + form.n_samples)
    if each * count > MOST_BYTES:
        raise ParameterError(
            f"`level` must be at most {int(MOST_BYTES / each)} for so many columns: "
            f"{count} eigenvectors take {each * count / 1e9:.2g} GB; name a lower one."
        )


def _basis(form: Columns, count: int) -> FloatArray:
    """Orthonormal columns that span the leading left singular vectors, or nearly."""
    width = min(count + SPARE, form.n, form.n_samples)
    if _is_exact(form.n_samples, width):
        return np.ascontiguousarray(np.linalg.eigh(form.outer)[1][:, -count:])
    start = np.random.default_rng(0).standard_normal((form.n_samples, width))
    basis = np.linalg.qr(start)[0]
    for _ in range(POWER_STEPS):
        basis = np.linalg.qr(form.apply_outer(basis))[0]
    return basis


def _is_exact(n_samples: int, width: int) -> bool:
    """Whether ``XX'`` is formed: it is small, and that is not much more work."""
    few = max(EXACT_ROWS, 4 * POWER_STEPS * width)
    return n_samples <= few and 8.0 * n_samples**2 <= MOST_BYTES


def _margin(form: Columns, basis: FloatArray, rotation: FloatArray) -> Margin:
    """What pays for rounding in products, and for bases that are not orthonormal.

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
