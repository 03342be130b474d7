"""Constraints: linear rows and bounds."""

import numpy as np

from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ProblemError
from cardqp.problem.validation.arrays import (
    LARGEST,
    entries,
    number_or_entries,
    numeric_array,
    real_array,
    refuse,
    shaped,
)


def rows(
    suffix: str, matrix: ArrayLike | None, rhs: ArrayLike | None, n: int
) -> tuple[FloatArray, FloatArray]:
    """A pair ``A, b`` (or ``A_eq, b_eq``), empty when both are None."""
    matrix_name, rhs_name = f"A{suffix}", f"b{suffix}"
    if matrix is None and rhs is None:
        return np.zeros((0, n)), np.zeros(0)
    if matrix is None or rhs is None:
        given, missing = (
            (matrix_name, rhs_name) if rhs is None else (rhs_name, matrix_name)
        )
        raise ProblemError(
            missing, "is missing", given=f"`{given}` was given without it"
        )
    A = real_array(matrix_name, matrix, 2)
    rule = f"must have {n} columns, one per variable"
    shaped(A.shape[1] == n, matrix_name, rule, A)
    size = np.abs(A).max(axis=1, initial=0.0)[:, None]
    refuse(
        matrix_name,
        size,
        (size > 0) & (size < 1 / LARGEST),
        f"must have rows of zeros or of size {1 / LARGEST:g} at least",
        "rescale the row",
    )
    return A, right_hand_side(rhs_name, rhs, len(A))


def right_hand_side(name: str, value: ArrayLike, count: int) -> FloatArray:
    """A finite number for each of ``count`` rows."""
    b = real_array(name, value if np.ndim(value) else [value], 1)
    entries(name, b, count, f"row of `A{name[1:]}`")
    return b


def two_sided(
    matrix: ArrayLike | None,
    least: ArrayLike | None,
    most: ArrayLike | None,
    n: int,
) -> tuple[FloatArray, FloatArray]:
    """Rows ``b_lower <= A x <= b`` as inequalities; infinite sides are left out."""
    if least is None:
        return rows("", matrix, most, n)
    if matrix is None:
        raise ProblemError("A", "is missing", given="`b_lower` was given without it")
    if most is None:
        most = np.full(np.shape(np.atleast_1d(least)), np.inf)
    low, high = (
        numeric_array(name, np.atleast_1d(side), 1)
        for name, side in (("b_lower", least), ("b", most))
    )
    if len(low) != len(high):
        raise ProblemError(
            "b_lower",
            "must have as many entries as `b`",
            given=f"{len(low)}, not {len(high)}",
        )
    crossed = np.flatnonzero(~(low <= high))
    if len(crossed):
        i = crossed[0]
        raise ProblemError(
            "b_lower",
            "must not exceed `b`",
            given=f"b_lower[{i}] = {low[i]}, b[{i}] = {high[i]}",
            remedy="use -inf and inf for none",
        )
    A, _ = rows("", matrix, np.zeros(len(high)), n)
    below, above = np.isfinite(high), np.isfinite(low)
    both = np.vstack([A[below], -A[above]])
    return both, real_array("b", np.concatenate([high[below], -low[above]]), 1)


def bounds(
    lower: ArrayLike | None, upper: ArrayLike | None, n: int, prefix: str = ""
) -> tuple[FloatArray, FloatArray]:
    """Bounds, of the nonzeros if they have no other name; None means unbounded."""
    below, above = f"{prefix}lower", f"{prefix}upper"
    low = _bound(below, lower, n, -np.inf)
    high = _bound(above, upper, n, np.inf)
    crossed = np.flatnonzero(low > high)
    if len(crossed):
        j = crossed[0]
        raise ProblemError(
            below,
            f"must not exceed `{above}`",
            given=f"{below}[{j}] = {low[j]} > {above}[{j}] = {high[j]}",
        )
    infinite = np.flatnonzero((low == np.inf) | (high == -np.inf))
    if len(infinite):
        j = infinite[0]
        raise ProblemError(
            None,
            f"`{below}` and `{above}` must leave room for finite numbers",
            given=f"{below}[{j}] = {low[j]}, {above}[{j}] = {high[j]}",
        )
    return low, high


def _bound(name: str, value: ArrayLike | None, n: int, default: float) -> FloatArray:
    array = number_or_entries(name, default if value is None else value, n)
    size = np.abs(array)
    refuse(name, array, np.isnan(array), "must not be NaN", f"use {default} for none")
    refuse(
        name,
        array,
        ((size > 0) & (size < 1 / LARGEST)) | ((size > LARGEST) & (size < np.inf)),
        f"must be 0, infinite, or between {1 / LARGEST:g} and {LARGEST:g} in size",
        "rescale it",
    )
    return array
