r"""Which small principal submatrices of a symmetric matrix may be indefinite.

The matrix has ones on its diagonal.  What is not listed is positive semidefinite up to
:data:`ROUNDING`: for every set of variables that is passed over, the submatrix plus
that number on its diagonal is semidefinite.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

ROUNDING = 1e-13
"""More than rounding makes of a determinant of three by three numbers of at most one,
or of a Cholesky factorisation of four by four."""

MOST_SETS = 300_000
"""The most sets that are listed."""

AT_ONCE = 1 << 15
"""About how many sets are looked at together."""


class UndecidedError(Exception):
    """Too many supports would have to be computed in balls."""


def indefinite_sets(r: FloatArray, size: int) -> IntArray:
    """Return sets of one to four variables, those that are definite left out.

    Parameters
    ----------
    r : (n, n) array
        The finite matrix but for its diagonal, which is one; zero here.
    size : int
        How many variables the sets have.

    Returns
    -------
    (k, size) array
        The sets, each in increasing order and once.
    """
    if size == 1:
        return np.empty((0, 1), np.intp)
    if size == 2:
        return np.argwhere(np.triu(~(np.abs(r) <= 1.0), 1))
    if size == 3:
        return indefinite_triples(r)
    if size == 4:
        return indefinite_quadruples(r)
    raise UndecidedError


def indefinite_triples(r: FloatArray) -> IntArray:
    r"""Return the triples of variables that may be indefinite.

    Let :math:`a, b, c` be the entries of a triple, :math:`|a|` the largest.  If that is
    at most one, the triple is semidefinite if and only if its determinant
    :math:`1 + 2abc - a^2 - b^2 - c^2` is not negative.  So it is enough to look at
    each pair that may be the one with the largest entry of an indefinite triple; there
    is no third variable for it if
    :math:`a^2 + b'^2 + c'^2 + 2|a|b'c' \lt 1` for the largest :math:`b', c'` of the
    other entries in its rows, which are no larger than :math:`|a|` for that triple.
    """
    found = [np.empty((0, 3), np.intp)]
    for i, j in _chunks(_leading_pairs(np.abs(r)), len(r)):
        a, b, c = r[i, j][:, None], r[i], r[j]
        is_leading = (np.abs(b) <= np.abs(a)) & (np.abs(c) <= np.abs(a))
        left = (1.0 - a * a) * (1.0 - b * b) - (c - a * b) ** 2
        is_definite = (left >= ROUNDING) & (np.abs(a) < 1.0)
        row, last = _places(is_leading & ~is_definite, i, j)
        found.append(np.sort(np.column_stack([i[row], j[row], last])))
        _refuse_more(found)
    return _each_once(found, len(r))


def _leading_pairs(size: FloatArray) -> IntArray:
    """Return the pairs with the largest entry of a triple that may be indefinite."""
    if len(size) < 3:
        return np.empty((0, 2), np.intp)
    second, top = np.partition(size, -2, axis=1)[:, -2:].T
    other = np.minimum(size, np.where(size >= top[:, None], second[:, None], size))
    largest = size**2 + other**2 + other.T**2 + 2.0 * size * other * other.T
    return np.argwhere(np.triu(~(largest < 1.0 - ROUNDING), 1))


def indefinite_quadruples(r: FloatArray) -> IntArray:
    r"""Return the sets of four variables that may be indefinite.

    **Strong parts.**  Let :math:`r^f` have the entries of :math:`r` times :math:`f` off
    its diagonal, which stays one.  If :math:`r^f_{AA}` is semidefinite for all sets
    :math:`A \subset T` of :math:`m` among :math:`K` variables, for
    :math:`f = (K-1)/(m-1)`, then so is :math:`r_{TT}`: each variable is in
    :math:`\binom{K-1}{m-1}` of these sets, each pair in
    :math:`\binom{K-2}{m-2} = \binom{K-1}{m-1}/f`, so that

    .. math::
        \sum_A x_A^\top r^f_{AA} x_A = \tbinom{K-1}{m-1}\, x^\top r_{TT}\, x .

    So an indefinite set of four has a triple that is indefinite for :math:`f = 3/2`.
    (If that has only been seen to be semidefinite up to a number on the diagonal, so
    is :math:`r_{TT}`, by the same sum.)  Such triples are completed by all fourth
    variables.  A Cholesky factorisation in floats that runs to its end, with pivots
    1, :math:`1 - a^2`, and so on, is that of a matrix that differs by less than
    ``ROUNDING`` (Higham, Theorem 10.3).
    """
    found = [np.empty((0, 4), np.intp)]
    for i, j, k in _chunks(indefinite_triples(1.5 * r), len(r)):
        row, last = _places(_is_doubtful(r, i, j, k), i, j, k)
        found.append(np.sort(np.column_stack([i[row], j[row], k[row], last])))
        _refuse_more(found)
    return _each_once(found, len(r))


def _is_doubtful(
    r: FloatArray, i: IntArray, j: IntArray, k: IntArray
) -> NDArray[np.bool_]:
    """Whether triples and each variable may be indefinite, by Cholesky factorisations.

    Triples often have the same first two variables: these are eliminated once.
    """
    _, first, pair = np.unique(i * len(r) + j, return_index=True, return_inverse=True)
    a, p = r[i[first], j[first]][:, None], r[i[first]]
    with np.errstate(invalid="ignore", divide="ignore"):
        # What has no root is passed on as not a number.
        q = (r[j[first]] - a * p) / np.sqrt(1.0 - a * a)
    left, case = 1.0 - p * p - q * q, np.arange(len(k))
    third = left[pair, k]
    s = r[k]
    for row in (p, q):
        product = row[pair]
        product *= product[case, k][:, None]
        s -= product
    s *= s
    room = left[pair]
    room *= third[:, None]
    s += ROUNDING
    return np.asarray(~(s < room) | ~(third > ROUNDING)[:, None])


def _chunks(sets: IntArray, n: int) -> Iterator[IntArray]:
    """Yield some sets at a time, so that they have not too many extensions."""
    count = max(1, AT_ONCE // max(n, 1))
    for start in range(0, len(sets), count):
        yield sets[start : start + count].T


def _places(
    is_wanted: NDArray[np.bool_], *chosen: IntArray
) -> tuple[IntArray, IntArray]:
    """Return rows and columns of what is wanted, but for those that are chosen."""
    rows = np.arange(len(is_wanted))
    for members in chosen:
        is_wanted[rows, members] = False
    return np.divmod(np.flatnonzero(is_wanted), is_wanted.shape[1])


def _refuse_more(found: list[IntArray]) -> None:
    if sum(map(len, found)) > MOST_SETS:
        raise UndecidedError


def _each_once(found: list[IntArray], n: int) -> IntArray:
    """Return increasing sets of numbers below n, those that are equal once."""
    sets = np.concatenate(found)
    names = sets @ (n ** np.arange(sets.shape[1])[::-1])
    return np.asarray(sets[np.unique(names, return_index=True)[1]])
