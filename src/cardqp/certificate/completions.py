"""Bounds of branches with few remaining nonzeros, by enumeration of all supports.

On a support, the unconstrained problem ``min c'x + x'Gx`` gains a quarter of
``c'G^{-1}c``.  The gain of every support that contains the variables fixed in and some
undecided ones is computed here by symmetric elimination, one variable after the other
(docs/theory.md#completions).

Rounding: elimination of s variables is exact for a matrix that differs from G by a few
``s u sqrt(G_ii G_jj)`` in each entry.  If G lies above ``diag(least)``, this is at most
s times as much of ``max(G_jj / least_j)`` of G itself.  A matrix that is larger than G
by a share, and definite as its pivots are positive, has a gain that is smaller by no
more: see :func:`~cardqp.arithmetic.rounding.elimination_unit`.
"""

import numpy as np

from cardqp._compiled import MINUS_ONE, compiled, inner, inner_fast
from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT, elimination_unit
from cardqp.bounds.definiteness import condition, definite_diagonal
from cardqp.bounds.penalised_rows import PenalisedRows
from cardqp.problem import SparseQP

MOST_FREE = {2: 2000, 3: 400}
"""The most undecided variables for which two, or three, remaining nonzeros are
enumerated: about two million pairs, or ten million triples."""

MOST_PLACES = 3
"""The most remaining nonzeros for which supports are listed."""

PART = 50
"""About how many variables are tried together for one remaining nonzero."""

_NONE = np.zeros((0, MOST_PLACES), dtype=np.intp)


def gain_error(problem: SparseQP, size: int) -> float:
    """Return by what share the gain of a support of this size may exceed the computed.

    Infinite if ``G`` is not certainly positive definite.
    See docs/theory.md#completion-rounding.
    """
    return elimination_unit(size, problem.quadratic.formed) * gain_condition(problem)


def gain_condition(problem: SparseQP) -> float:
    """Return the condition of blocks of supports; infinite if it is not certain."""
    whole = condition(problem, definite_diagonal(problem))
    # Supports may count only if their block is above this share of its diagonal.
    is_ruled = problem.independence > 0.0
    return min(whole, 2.5 / problem.independence) if is_ruled else whole


@inner
def reduce(
    G: FloatArray, c: FloatArray, i: int, rest: FloatArray, slope: FloatArray
) -> float:
    """Eliminate variable i from those after it; return what it adds to the gain."""
    if not G[i, i] > 0:
        return np.inf
    for j in range(i + 1, len(c)):
        t = G[i, j] / G[i, i]
        slope[j] = c[j] - t * c[i]
        for k in range(j, len(c)):
            rest[j, k] = G[j, k] - t * G[i, k]
    return float(c[i] * c[i] / G[i, i])


@inner
def is_listed(skipped: IntArray, first: int, second: int, third: int) -> bool:
    """Return whether a support is in a list, which has one in each row.

    Supports are named by up to three positions, -1 standing for none.
    """
    for row in range(len(skipped)):
        if (
            skipped[row, 0] == first
            and skipped[row, 1] == second
            and skipped[row, 2] == third
        ):
            return True
    return False


@inner
def largest_single(
    G: FloatArray, c: FloatArray, first: int, skipped: IntArray
) -> float:
    """Return the most that one variable from ``first`` on adds to ``c'G^{-1}c``."""
    most = 0.0
    for j in range(first, len(c)):
        if not G[j, j] > 0:
            return np.inf
        gain = c[j] * c[j] / G[j, j]
        if gain > most and not is_listed(skipped, MINUS_ONE, MINUS_ONE, j):
            most = gain
    return most


@inner_fast
def largest_pair(
    G: FloatArray,
    c: FloatArray,
    first: int,
    least: float,
    skipped: IntArray,
    third: int,
    diagonal: FloatArray,
) -> float:
    """Return the most that two variables from ``first`` on add to ``c'G^{-1}c``.

    It is ``least`` if no pair adds more than that.  Pairs that are listed with the
    variable ``third`` are passed over.  ``diagonal`` is scratch space of length n, so
    that nothing is allocated here.
    """
    n, most = len(c), least
    for i in range(first, n):
        diagonal[i] = G[i, i]
        if not diagonal[i] > 0:
            return np.inf
    for i in range(first, n):
        inverse = 1.0 / diagonal[i]
        own = c[i] * c[i] * inverse
        # Division is what pairs cost most: a first pass without it finds out whether
        # any partner of i can beat the best pair so far, and few i have one.
        excess, room_left, volume = 0.0, np.inf, 0.0
        for j in range(i + 1, n):
            t = G[i, j] * inverse
            room, slope = diagonal[j] - t * G[i, j], c[j] - t * c[i]
            excess = max(excess, slope * slope - (most - own) * room)
            room_left, volume = min(room_left, room), volume + room
        if not (room_left > 0 and volume < np.inf):
            return np.inf
        if excess > 0:
            for j in range(i + 1, n):
                t = G[i, j] * inverse
                room, slope = diagonal[j] - t * G[i, j], c[j] - t * c[i]
                gain = own + slope * slope / room
                if gain > most and not is_listed(skipped, third, i, j):
                    most = gain
    return most


@compiled
def largest_gain(
    G: FloatArray, c: FloatArray, n_inside: int, remaining: int, skipped: IntArray
) -> float:
    """Return a quarter of the largest ``c'G^{-1}c`` over the supports of a branch.

    The first ``n_inside`` variables are in the support, with up to ``remaining`` of the
    others, which must be at most three, or as many as there are.  Supports whose last
    variables are a row of ``skipped``, in increasing order after as many -1 as lack to
    three, do not count.
    """
    n, total = len(c), 0.0
    rest, slope, diagonal = G.copy(), c.copy(), np.empty(n)
    # The gain never decreases when a support grows: where all fit, all are taken, and
    # otherwise supports of the largest size are enough.
    n_taken = n if remaining >= n - n_inside else n_inside
    for i in range(n_taken):
        total += reduce(rest, slope, i, rest, slope)
    if n_taken < n and remaining == 1:
        total += largest_single(rest, slope, n_inside, skipped)
    elif n_taken < n and remaining == 2:
        total += largest_pair(rest, slope, n_inside, 0.0, skipped, MINUS_ONE, diagonal)
    elif n_taken < n and remaining == 3:
        most, smaller, reduced = 0.0, rest.copy(), slope.copy()
        for i in range(n_inside, n - 2):
            own = reduce(rest, slope, i, smaller, reduced)
            pair = largest_pair(
                smaller, reduced, i + 1, most - own, skipped, i, diagonal
            )
            most = max(most, own + pair)
        total += most
    elif n_taken < n and remaining > 3:
        return np.inf
    return 0.25 * total if total == total else np.inf


def completion_bound(
    problem: SparseQP, fixed_in: IntArray, free: IntArray, remaining: int, error: float
) -> float:
    """Return a lower bound on the objective over all supports of a branch.

    They have the variables fixed in, and up to ``remaining`` free ones.  The ``error``
    is that of :func:`gain_error` for the largest of them.  The bound is ``inf`` if
    there is no support, and ``-inf`` if nothing is proved, as for problems with
    constraints or a penalty.
    """
    if remaining < 0:
        return np.inf
    is_plain = problem.is_unconstrained and problem.rule.penalty == 0
    if not (is_plain and _are_few(free, remaining)):
        return -np.inf
    parts = [free if remaining > 0 else free[:0]]
    if remaining == 1:
        # The last place is taken by one variable of one part: no part needs more of G
        # than its own block.
        parts = np.array_split(free, max(1, len(free) // PART))
    gain = max(_largest_gain(problem, fixed_in, part, remaining) for part in parts)
    return objective_with(problem, gain, error)


def objective_with(problem: SparseQP, gain: float, error: float) -> float:
    """Return the objective with a gain that is larger than this by an error at most."""
    gain *= 1.0 + error
    if not np.isfinite(gain):
        return -np.inf
    scale = abs(problem.constant) + gain
    return float(problem.constant - gain - COMPLETION_UNIT * scale)


def block_with_ridge(problem: SparseQP, index: IntArray) -> FloatArray:
    """Return the block of ``Q`` with the ridge on its diagonal."""
    G = problem.quadratic.block(index)
    G.flat[:: len(index) + 1] += problem.ridge[index]
    return G


def _largest_gain(
    problem: SparseQP, fixed_in: IntArray, free: IntArray, remaining: int
) -> float:
    """Return :func:`largest_gain` of the supports of a branch of the problem."""
    index = np.concatenate([fixed_in, free])
    G = block_with_ridge(problem, index)
    return largest_gain(G, problem.c[index], len(fixed_in), remaining, _NONE)


def penalised_bound(
    form: PenalisedRows,
    beta: FloatArray,
    fixed_in: IntArray,
    free: IntArray,
    listed: IntArray,
) -> float:
    """Return a lower bound on a branch but for some supports, by enumeration.

    Every support is bounded without its rows and bounds, at multipliers of the rows
    (docs/theory.md#row-completions).  Each row of ``listed`` has as many free variables
    as may be nonzero, at most ``MOST_PLACES``: these supports are not bounded here, nor
    those within them.  The bound is ``-inf`` if nothing is proved.
    """
    remaining = listed.shape[1]
    has_price = form.problem.rule.penalty != 0 or form.problem.blocks is not None
    if has_price or not _are_few(free, remaining) or not np.isfinite(form.reach):
        return -np.inf
    skipped = np.full((len(listed), MOST_PLACES), -1)
    skipped[:, MOST_PLACES - remaining :] = len(fixed_in) + np.sort(
        np.searchsorted(free, listed), axis=1
    )
    index = np.concatenate([fixed_in, free])
    objective = form.at(beta)
    G = form.G[np.ix_(index, index)]
    gain = largest_gain(G, objective.c[index], len(fixed_in), remaining, skipped)
    return objective.bound(gain)


def _are_few(free: IntArray, remaining: int) -> bool:
    """Return whether supports are few enough to be enumerated.

    The search does not enumerate more; a forged certificate must not make the checker
    do so.
    """
    return len(free) <= max(MOST_FREE.get(remaining, len(free)), remaining)
