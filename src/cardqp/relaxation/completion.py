"""Compiled: the best completion of a support by one or two variables, by enumeration.

Variables that are switched on are eliminated by a Schur complement; for the rest, with
``G = Q + diag(ridge)`` reduced in this way, one variable gains ``c_j^2 / G_jj`` (a
quarter of it), two gain a ratio of two by two determinants
(docs/theory.md#completions).  This ends the tree above its leaves, where it is widest;
``strong_pairs.py`` does so for three or four variables.  With rows or bounds gains are
upper limits, and all supports of up to three variables that may gain enough are listed
(docs/theory.md#row-completions).
"""

import numpy as np

from cardqp._compiled import compiled, inner_fast
from cardqp._typing import FloatArray, IntArray

MOST_PAIRED, MOST_TRIPLED = 400, 120
"""The most undecided variables for which pairs, or triples, are enumerated: their
number grows with the square, or the cube."""


def is_countable(n_free: int, remaining: int) -> bool:
    """Whether trying all completions is cheap: of two variables at most, or of all."""
    is_pair = remaining == 2 and n_free <= MOST_PAIRED
    return remaining <= 1 or n_free <= remaining or is_pair


def is_listable(n_free: int, remaining: int) -> bool:
    """Whether trying all completions is cheap, of three variables at most."""
    is_triple = remaining == 3 and n_free <= MOST_TRIPLED
    return 0 < remaining < n_free and (is_triple or is_countable(n_free, remaining))


@inner_fast
def eliminate(
    G: FloatArray, c: FloatArray, fixed_in: IntArray, free: IntArray
) -> tuple[FloatArray, FloatArray, float]:
    """Eliminate the variables that are switched on.

    Returns their rows of the Cholesky factor, in which the free variables follow, the
    linear cost that is left of the free ones, and four times the gain.
    """
    m, size = len(fixed_in), len(fixed_in) + len(free)
    index, slope = np.empty(size, dtype=np.intp), np.empty(size)
    for j in range(size):
        index[j] = fixed_in[j] if j < m else free[j - m]
        slope[j] = c[index[j]]
    L, gain = np.empty((m, size)), 0.0
    for p in range(m):
        row = G[index[p]]
        for j in range(p, size):
            L[p, j] = row[index[j]]
        for q in range(p):
            t = L[q, p]
            for j in range(p, size):
                L[p, j] -= t * L[q, j]
        pivot = 1.0 / np.sqrt(L[p, p])
        for j in range(p, size):
            L[p, j] *= pivot
        y = slope[p] * pivot
        gain += y * y
        for j in range(p, size):
            slope[j] -= y * L[p, j]
    return L, slope[m:], gain


@inner_fast
def complement(G: FloatArray, L: FloatArray, free: IntArray) -> FloatArray:
    """The upper triangle of the Schur complement of G on the free variables."""
    n, m = len(free), len(L)
    rest = np.empty((n, n))
    for i in range(n):
        row = G[free[i]]
        for j in range(i, n):
            rest[i, j] = row[free[j]]
        for p in range(m):
            t = L[p, m + i]
            for j in range(i, n):
                rest[i, j] -= t * L[p, m + j]
    return rest


@inner_fast
def best_single(
    G: FloatArray, L: FloatArray, c: FloatArray, free: IntArray
) -> tuple[float, int]:
    """The variable that gains most."""
    m, best, at = len(L), -1.0, 0
    for j in range(len(free)):
        room = G[free[j], free[j]]
        for p in range(m):
            room -= L[p, m + j] * L[p, m + j]
        own = c[j] * c[j] / room
        if own > best:
            best, at = own, j
    return best, at


@inner_fast
def best_pair(G: FloatArray, c: FloatArray, least: float) -> tuple[float, int, int]:
    """The pair that gains most, if more than ``least``; only j >= i of G is read."""
    n, best, best_i, best_j = len(c), least, -1, -1
    diagonal = np.empty(n)
    for i in range(n):
        diagonal[i] = G[i, i]
    for i in range(n):
        Gii, ci = diagonal[i], c[i]
        # Most rows hold no better pair: a first loop without divisions finds that out.
        excess = 0.0
        for j in range(i + 1, n):
            g = G[i, j]
            gain = ci * ci * diagonal[j] - 2.0 * ci * c[j] * g + c[j] * c[j] * Gii
            excess = max(excess, gain - best * (Gii * diagonal[j] - g * g))
        if excess > 0.0:
            for j in range(i + 1, n):
                g = G[i, j]
                gain = ci * ci * diagonal[j] - 2.0 * ci * c[j] * g + c[j] * c[j] * Gii
                gain /= Gii * diagonal[j] - g * g
                if gain > best:
                    best, best_i, best_j = gain, i, j
    return best, best_i, best_j


@compiled
def best_completion(
    G: FloatArray, c: FloatArray, fixed_in: IntArray, free: IntArray, remaining: int
) -> tuple[float, IntArray]:
    """The gain of the best support, and the free variables in it.

    ``remaining`` is 0, or at most 2 and less than the number of free variables.
    """
    chosen = np.empty(remaining, dtype=np.intp)
    L, slope, gain = eliminate(G, c, fixed_in, free)
    if remaining == 1:
        best, at = best_single(G, L, slope, free)
        chosen[0] = free[at]
        gain += best
    elif remaining == 2:
        best, i, j = best_pair(complement(G, L, free), slope, -1.0)
        chosen[0], chosen[1] = free[i], free[j]
        gain += best
    return 0.25 * gain, chosen


@inner_fast
def list_singles(
    G: FloatArray,
    L: FloatArray,
    c: FloatArray,
    free: IntArray,
    least: float,
    hits: IntArray,
) -> int:
    """List the variables that gain more than ``least``; return how many there are."""
    m, count = len(L), 0
    for j in range(len(free)):
        room = G[free[j], free[j]]
        for p in range(m):
            room -= L[p, m + j] * L[p, m + j]
        if not c[j] * c[j] <= least * room:
            if count < len(hits):
                hits[count, 0] = j
            count += 1
    return count


@inner_fast
def list_pairs(
    G: FloatArray, c: FloatArray, least: float, first: int, hits: IntArray, count: int
) -> int:
    """List the pairs that gain more than ``least``; return how many hits there are.

    Their positions, counted from ``first``, go to the last two columns of ``hits``,
    whose row ``count`` is the next one; beyond its end hits are counted only.
    """
    n = len(c)
    for i in range(n):
        Gii, ci = G[i, i], c[i]
        # Most rows hold no hit: a first loop without branches finds that out.
        excess = 0.0
        for j in range(i + 1, n):
            g = G[i, j]
            gain = ci * ci * G[j, j] - 2.0 * ci * c[j] * g + c[j] * c[j] * Gii
            excess = max(excess, gain - least * (Gii * G[j, j] - g * g))
        if not excess > 0.0:
            continue
        for j in range(i + 1, n):
            g = G[i, j]
            gain = ci * ci * G[j, j] - 2.0 * ci * c[j] * g + c[j] * c[j] * Gii
            if gain > least * (Gii * G[j, j] - g * g):
                if count < len(hits):
                    hits[count, -2], hits[count, -1] = first + i, first + j
                count += 1
    return count


@inner_fast
def list_triples(G: FloatArray, c: FloatArray, least: float, hits: IntArray) -> int:
    """List the triples that gain more than ``least``; return how many there are."""
    n, count = len(c), 0
    rest, slope = np.empty((n, n)), np.empty(n)
    for i in range(n - 2):
        pivot, first, before = 1.0 / G[i, i], i + 1, count
        for j in range(first, n):
            t = G[i, j] * pivot
            slope[j - first] = c[j] - t * c[i]
            for k in range(j, n):
                rest[j - first, k - first] = G[j, k] - t * G[i, k]
        enough = least - c[i] * c[i] * pivot
        count = list_pairs(rest, slope[: n - first], enough, first, hits, count)
        if count > len(hits):
            break
        for hit in range(before, count):
            hits[hit, 0] = i
    return count


@compiled
def list_completions(
    G: FloatArray,
    c: FloatArray,
    fixed_in: IntArray,
    free: IntArray,
    remaining: int,
    least: float,
    max_hits: int,
) -> tuple[int, IntArray]:
    """All completions of a support that gain more than ``least``, if they are few.

    ``remaining`` is at least 1, at most 3 and less than the number of free variables.
    Returns how many there are and the variables of each; beyond ``max_hits``, which is
    also returned where pivots vanish, they are not all listed.
    """
    hits = np.empty((max_hits, remaining), dtype=np.intp)
    L, slope, gain = eliminate(G, c, fixed_in, free)
    # Gains grow with the support: each completion of a hit is one.
    if not 0.25 * gain <= least:
        return max_hits + 1, hits
    enough = 4.0 * least - gain
    if remaining == 1:
        count = list_singles(G, L, slope, free, enough, hits)
    elif remaining == 2:
        count = list_pairs(complement(G, L, free), slope, enough, 0, hits, 0)
    else:
        count = list_triples(complement(G, L, free), slope, enough, hits)
    if count > max_hits:
        return count, hits
    for hit in range(count):
        for k in range(remaining):
            hits[hit, k] = free[hits[hit, k]]
    return count, hits[:count]
