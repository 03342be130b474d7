"""The rules for problem data: each rule has one message, raised here and only here."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.linalg
import scipy.sparse

from cardqp._typing import UNIT_ROUNDOFF, ArrayLike, BoolArray, FloatArray, IntArray
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.quadratic import Factor, Gram

LARGEST = 1e100
"""Entries beyond this, or divisors below its inverse, would overflow when squared."""

SYMMETRY_TOLERANCE = 1e-8
"""Largest accepted |Q - Q'| relative to |Q|: more is a mistake, not rounding."""

CONVEXITY_TOLERANCE = 1e-9
"""Most negative accepted eigenvalue relative to the largest: data rounded on file."""


def real_array(name: str, value: ArrayLike, ndim: int) -> FloatArray:
    """A read-only float64 copy of ``value``, contiguous and finite."""
    array = numeric_array(name, value, ndim)
    refuse(
        name,
        array,
        ~np.isfinite(array),
        "must be finite",
        "remove or impute such entries",
    )
    refuse(
        name, array, np.abs(array) > LARGEST, f"must be below {LARGEST:g}", "rescale it"
    )
    return array


def refuse(
    name: str, array: FloatArray, wrong: BoolArray, rule: str, remedy: str
) -> None:
    """Raise for the first wrong entry, if there is one."""
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = ", ".join(str(i) for i in where)
        raise ProblemError(
            f"`{name}` {rule}: {name}[{place}] is {array[where]}; {remedy}."
        )


def numeric_array(name: str, value: ArrayLike, ndim: int) -> FloatArray:
    """Like ``real_array``, but infinities may pass (bounds)."""
    if scipy.sparse.issparse(value):
        value = value.toarray()
    if np.ma.is_masked(value):
        raise ProblemError(f"`{name}` must not be masked: fill in the masked entries.")
    try:
        raw = np.asarray(value)
        raw = raw.astype(np.float64) if raw.dtype == object else raw
    except (TypeError, ValueError, OverflowError) as err:
        raise ProblemError(
            f"`{name}` must hold numbers: {err}; convert it to floats first."
        ) from err
    if raw.dtype.kind == "c":
        raise ProblemError(
            f"`{name}` must be real: its dtype is {raw.dtype}; pass {name}.real."
        )
    if raw.dtype.kind not in "fiub":
        raise ProblemError(
            f"`{name}` must hold numbers: its dtype is {raw.dtype}; "
            "convert it to floats first."
        )
    if ndim == 0 and raw.ndim > 0:
        raise ProblemError(
            f"`{name}` must be a single number: its shape is {raw.shape}."
        )
    if raw.ndim != ndim:
        raise ProblemError(
            f"`{name}` must have {ndim} dimension{'s' * (ndim > 1)}: "
            f"its shape is {raw.shape}."
        )
    array = np.array(raw, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array


def data_matrix(name: str, value: Any) -> Any:
    """A matrix of real numbers of any type, as it is: neither copied nor read."""
    is_array = isinstance(value, np.ndarray) or hasattr(value, "dask")
    is_array = is_array or scipy.sparse.issparse(value)
    data = value if is_array else np.asarray(value)
    if data.ndim != 2 or data.dtype.kind not in "biuf":
        raise ProblemError(
            f"`{name}` must be a matrix of real numbers: it has {data.ndim} dimensions "
            f"and the type {data.dtype}."
        )
    return data


def quadratic_matrix(value: ArrayLike, name: str = "Q") -> Gram:
    """A symmetric positive semidefinite matrix, with the proof of how nearly it is."""
    Q = square_matrix(name, value)
    return Gram(Q, convexity_defect(Q, name))


def square_matrix(name: str, value: ArrayLike) -> FloatArray:
    """A finite symmetric matrix of any size but none."""
    M = real_array(name, value, 2)
    if M.shape[0] != M.shape[1] or M.shape[0] == 0:
        raise ProblemError(
            f"`{name}` must be square and not empty: its shape is {M.shape}."
        )
    return _symmetrised(name, M)


def symmetric_matrix(name: str, value: ArrayLike, n: int) -> FloatArray:
    """A finite symmetric ``(n, n)`` matrix."""
    M = real_array(name, value, 2)
    if M.shape != (n, n):
        raise ProblemError(
            f"`{name}` must have the shape ({n}, {n}): its shape is {M.shape}."
        )
    return _symmetrised(name, M)


def _symmetrised(name: str, M: FloatArray) -> FloatArray:
    """A square matrix without the rounding that keeps it from being symmetric."""
    skew = float(np.abs(M - M.T).max())
    if skew > SYMMETRY_TOLERANCE * float(np.abs(M).max()):
        raise ProblemError(
            f"`{name}` must be symmetric: max |{name} - {name}.T| is {skew:.1e}; "
            f"pass ({name} + {name}.T) / 2."
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
    computed only if it breaks down.
    """
    n = len(Q)
    curvature = np.where(Q.diagonal() != 0, np.abs(Q.diagonal()), np.any(Q, axis=0))
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    scaled = unit[:, None] * Q * unit
    shift = (n + 4) * UNIT_ROUNDOFF * n
    short = 2.1 * shift
    try:
        scipy.linalg.cholesky(scaled + shift * np.eye(n), check_finite=False)
    except scipy.linalg.LinAlgError:
        eigenvalues = scipy.linalg.eigvalsh(scaled, check_finite=False)
        if eigenvalues[0] < -CONVEXITY_TOLERANCE * max(eigenvalues[-1], 0.0) - short:
            _refuse_indefinite(Q, name)
        short += max(-float(eigenvalues[0]), 0.0)
    return short * curvature


def _refuse_indefinite(Q: FloatArray, name: str) -> NoReturn:
    smallest = float(scipy.linalg.eigvalsh(Q, check_finite=False)[0])
    raise ProblemError(
        f"`{name}` must be positive semidefinite: its smallest eigenvalue is "
        f"{smallest:.3g}; add at least {-smallest:.3g} to its diagonal."
    )


def factor_matrix(value: ArrayLike, name: str = "F") -> Factor:
    """The factor ``F`` of ``Q = F'F``."""
    F = real_array(name, value, 2)
    if F.shape[1] == 0:
        raise ProblemError(
            f"`{name}` must have columns, one per variable: its shape is {F.shape}."
        )
    return Factor(F)


def specific_variance(value: ArrayLike, n: int, *, has_ridge: bool) -> FloatArray:
    """What variables have for themselves in a factor model."""
    psi = vector("psi", value, n)
    if has_ridge:
        refuse("psi", psi, psi < 0, "must not be negative", "correct it")
    else:
        remedy = "correct it, or add a ridge by `eta`"
        refuse("psi", psi, ~(psi > 1 / LARGEST), "must be positive", remedy)
    return psi


def vector(name: str, value: ArrayLike, n: int, owner: str = "variable") -> FloatArray:
    """A finite vector of length ``n``, with one entry for each of its owners."""
    array = real_array(name, value, 1)
    if len(array) != n:
        raise ProblemError(
            f"`{name}` must have {n} entries, one per {owner}: it has {len(array)}."
        )
    return array


def inverse_ridge(eta: ArrayLike, n: int) -> FloatArray:
    """The vector ``eta``, positive."""
    value = numeric_array("eta", np.full(n, eta) if np.ndim(eta) == 0 else eta, 1)
    if len(value) != n:
        raise ProblemError(
            f"`eta` must be a number or have {n} entries: it has {len(value)}."
        )
    refuse(
        "eta",
        value,
        ~((value > 1 / LARGEST) & (value < LARGEST)),
        f"must be positive, between {1 / LARGEST:g} and {LARGEST:g}",
        "a larger eta means a weaker ridge 1/eta",
    )
    return value


def sparsity(value: Any, n: int) -> int | None:
    """An integer between 0 and ``n``, or None."""
    if value is None:
        return None
    if not is_integer(value):
        raise ProblemError(f"`sparsity` must be an integer: it is {value!r}.")
    if not 0 <= value <= n:
        raise ProblemError(f"`sparsity` must lie between 0 and n = {n}: it is {value}.")
    return int(value)


def forced_in(
    value: ArrayLike | None, n: int, limit: int | None, blocks: IntArray | None = None
) -> IntArray:
    """Distinct indices of variables, no more than may be nonzero, in order."""
    unique = indices("forced_in", value, n)
    count, what = len(unique), "variables"
    if blocks is not None:
        count, what = len(np.unique(blocks[unique])), "blocks"
        unique = whole_blocks(unique, blocks)
    if limit is not None and count > limit:
        raise ProblemError(
            f"`forced_in` must leave room: it names {count} {what}, and "
            f"`sparsity` is {limit}."
        )
    return unique


def whole_blocks(variables: IntArray, blocks: IntArray) -> IntArray:
    """All variables that share a switch with some."""
    return np.flatnonzero(np.isin(blocks, blocks[variables]))


def blocks(
    labels: ArrayLike | None,
    n: int,
    lower: FloatArray,
    upper: FloatArray,
    *,
    has_groups: bool,
) -> IntArray | None:
    """The block of each variable, or None."""
    if labels is None:
        return None
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ProblemError(
            f"`blocks` must give the block of each of the {n} variables as an integer: "
            f"its shape is {given.shape}, its type {given.dtype}."
        )
    if has_groups:
        raise ProblemError(
            "`blocks` and `groups` exclude each other: give limits of groups for "
            "variables with switches of their own, or share switches without them."
        )
    if ((lower > 0) | (upper < 0)).any():
        raise ProblemError(
            "`blocks` need bounds that 0 is between: variables of a block are zero "
            "together, thresholds are for variables with switches of their own."
        )
    result = given.astype(np.intp)
    result.setflags(write=False)
    return result


def forced_out(
    value: ArrayLike | None, n: int, inside: IntArray, blocks: IntArray | None = None
) -> IntArray:
    """Distinct indices of variables that are not forced in, in order."""
    unique = indices("forced_out", value, n)
    if blocks is not None:
        unique = whole_blocks(unique, blocks)
    both = np.intersect1d(unique, inside)
    if len(both):
        raise ProblemError(
            f"`forced_out` must not name what `forced_in` names: both name {both[0]}."
        )
    return unique


def groups(
    labels: ArrayLike | None, limits: ArrayLike | None, n: int, inside: IntArray
) -> tuple[IntArray | None, IntArray | None]:
    """The group of each variable and the limit of each group, or neither."""
    if labels is None and limits is None:
        return None, None
    if labels is None or limits is None:
        raise ProblemError(
            "`groups` and `group_sparsity` belong together: give both or neither."
        )
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu" or (given < -1).any():
        raise ProblemError(
            f"`groups` must give the group of each of the {n} variables, counted from "
            f"0, or -1 for none: it is {labels!r}."
        )
    count = int(given.max(initial=-1)) + 1
    allowed = np.asarray(limits)
    if allowed.dtype.kind not in "iu" or (allowed < 0).any() or allowed.ndim > 1:
        raise ProblemError(
            "`group_sparsity` must be a count, or one for each group: it is "
            f"{limits!r}."
        )
    if allowed.ndim == 0 and count > n:
        raise ProblemError(
            f"`groups` must be below {n}, the number of variables, where "
            f"`group_sparsity` is one count for all: one of them is {count - 1}; "
            "number the groups from 0 on."
        )
    if allowed.ndim == 1 and len(allowed) < count:
        raise ProblemError(
            f"`group_sparsity` must have an entry for each of the {count} groups: it "
            f"has {len(allowed)}."
        )
    each = np.full(count, allowed) if allowed.ndim == 0 else allowed.copy()
    used = np.bincount(given[inside] + 1, minlength=len(each) + 1)[1:]
    if (over := np.flatnonzero(used > each)).size:
        raise ProblemError(
            f"`forced_in` must leave room: it names {used[over[0]]} variables of group "
            f"{over[0]}, whose `group_sparsity` is {each[over[0]]}."
        )
    if count == 0:
        return None, None
    pair = given.astype(np.intp), each.astype(np.intp)
    for array in pair:
        array.setflags(write=False)
    return pair


def indices(name: str, value: ArrayLike | None, n: int) -> IntArray:
    """Distinct indices of variables in order."""
    given = np.atleast_1d(np.asarray([] if value is None else value))
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ProblemError(
            f"`{name}` must be a list of indices, counted from 0: it is {value!r}."
        )
    if ((given < 0) | (given >= n)).any():
        raise ProblemError(
            f"`{name}` must hold indices between 0 and {n - 1}: it is {value!r}."
        )
    unique = np.unique(given.astype(np.intp))
    if len(unique) < len(given):
        raise ProblemError(f"`{name}` must name no variable twice: it is {value!r}.")
    return unique


def penalty(value: Any) -> float | None:
    """A finite number that is not negative, or None."""
    if value is None:
        return None
    number = scalar("penalty", value)
    if number < 0:
        raise ProblemError(
            f"`penalty` must not be negative: it is {number}; it is the price of "
            "each nonzero."
        )
    return number


def scalar(name: str, value: Any) -> float:
    """A finite real number."""
    return float(real_array(name, value, 0))


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
        raise ProblemError(f"`{missing}` is missing: `{given}` was given without it.")
    A = real_array(matrix_name, matrix, 2)
    if A.shape[1] != n:
        raise ProblemError(
            f"`{matrix_name}` must have {n} columns, one per variable: "
            f"its shape is {A.shape}."
        )
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
    if len(b) != count:
        raise ProblemError(
            f"`{name}` must have {count} entries, one per row of "
            f"`A{name[1:]}`: it has {len(b)}."
        )
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
        raise ProblemError("`A` is missing: `b_lower` was given without it.")
    if most is None:
        most = np.full(np.shape(np.atleast_1d(least)), np.inf)
    low, high = (
        numeric_array(name, np.atleast_1d(side), 1)
        for name, side in (("b_lower", least), ("b", most))
    )
    if len(low) != len(high):
        raise ProblemError(
            f"`b_lower` must have as many entries as `b`: {len(low)}, not {len(high)}."
        )
    crossed = np.flatnonzero(~(low <= high))
    if len(crossed):
        i = crossed[0]
        raise ProblemError(
            f"`b_lower` must not exceed `b`: b_lower[{i}] = {low[i]}, b[{i}] = "
            f"{high[i]}; use -inf and inf for none."
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
            f"`{below}` must not exceed `{above}`: {below}[{j}] = {low[j]} > "
            f"{above}[{j}] = {high[j]}."
        )
    infinite = np.flatnonzero((low == np.inf) | (high == -np.inf))
    if len(infinite):
        j = infinite[0]
        raise ProblemError(
            f"`{below}` and `{above}` must leave room for finite numbers: "
            f"{below}[{j}] = {low[j]}, {above}[{j}] = {high[j]}."
        )
    return low, high


def _bound(name: str, value: ArrayLike | None, n: int, default: float) -> FloatArray:
    if value is None or np.ndim(value) == 0:
        value = np.full(n, default if value is None else value)
    array = numeric_array(name, value, 1)
    if len(array) != n:
        raise ProblemError(
            f"`{name}` must be a number or have {n} entries: it has {len(array)}."
        )
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


def names(
    value: Sequence[str] | None, n: int, owner: str = "variable"
) -> tuple[str, ...] | None:
    """One distinct name for each owner, or None."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ProblemError(f"`names` must be a list of names: it is {value!r}.")
    result = tuple(str(name) for name in value)
    if len(result) != n:
        raise ProblemError(
            f"`names` must have {n} entries, one per {owner}: it has {len(result)}."
        )
    if len(set(result)) < n:
        twice = next(name for name in result if result.count(name) > 1)
        raise ProblemError(f"`names` must be distinct: {twice!r} occurs twice.")
    return result


def at_least(name: str, value: Any, least: float) -> None:
    """A setting of a method that has a smallest value."""
    if not _is_number(value) or not value >= least:
        raise ParameterError(
            f"`{name}` must be a number, at least {least:g}: it is {value!r}."
        )


def positive(name: str, value: Any) -> None:
    """A setting of a method that must be larger than zero."""
    if not _is_number(value) or not value > 0:
        raise ParameterError(f"`{name}` must be a positive number: it is {value!r}.")


def count(name: str, value: Any) -> None:
    """A setting of a method that counts something, at least one."""
    if not is_integer(value) or value < 1:
        raise ParameterError(
            f"`{name}` must be an integer, at least 1: it is {value!r}."
        )


def seed(value: Any) -> None:
    """What decides all that is random."""
    if not is_integer(value) or value < 0:
        raise ParameterError(f"`seed` must be an integer, at least 0: it is {value!r}.")


def whole(name: str, value: Any) -> None:
    """A whole number, zero or more."""
    if not is_integer(value) or value < 0:
        raise ParameterError(
            f"`{name}` must hold integers, at least 0: it holds {value!r}."
        )


def instance(name: str, value: Any, kind: type) -> None:
    """An argument that must be one of our own objects."""
    if not isinstance(value, kind):
        raise ParameterError(
            f"`{name}` must be a {kind.__name__}: it is a {type(value).__name__}."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def level(value: Any, largest: int) -> int:
    """A level of the hierarchy between 1 and ``largest``."""
    if not is_integer(value):
        raise ParameterError(f"`level` must be an integer: it is {value!r}.")
    if not 1 <= value <= largest:
        raise ParameterError(
            f"`level` must lie between 1 and {largest}, the number of eigenvectors "
            f"at hand: it is {value}."
        )
    return int(value)
