r"""Rounding margins: how far a computed number can be from the exact one.

Every lower bound of this library is lowered by the most that rounding can have raised
it.  The margins are defined here, once, by name.  A ``..._unit`` is relative: times the
sum of the magnitudes of an expression's terms, it covers the error of the expression.

All rest on the standard model, ``fl(a op b) = (a op b) (1 + d)`` with ``|d| <= u``, and
on two facts about sums, in *any* order, with or without fused operations:

* a sum of ``n`` numbers is off by ``(n - 1) u`` times their magnitudes (Lemma 1);
* an inner product of ``n`` terms is off by ``n u`` times their magnitudes (Lemma 2).

A margin is computed too.  Lemma 4: if ``a u`` times a magnitude is needed, then
``(a + s) u`` times the computed one is enough with a spare ``s >= 1``, as long as sums
have fewer than ten million terms.  Lemmas, proofs, and an account of every use term by
term are in ``docs/rounding.md``.
"""

import math
from typing import Any, overload

import numpy as np

from cardqp._typing import FloatArray, IntArray

UNIT_ROUNDOFF = 2.0**-53
"""The relative error ``u`` of one correctly rounded float64 operation, at most."""

SMALLEST_NORMAL = 2.0**-1022
"""The least float64 with all its digits.  A product that is rounded to less is off by
``2**-1075`` at most, so that this pays for ``2**53`` of them."""

NORM_FACTOR = 1.01
"""One per cent, which pays for a computed Euclidean norm of up to ``10**13`` entries
and for all terms of second order."""


def gamma(n_roundings: int) -> float:
    r"""Bound on the relative error of ``n`` roundings: :math:`n u / (1 - n u)`.

    Lemma 3: any product of ``n`` factors ``1 + d`` or ``1 / (1 + d)`` is within it.
    """
    share = n_roundings * UNIT_ROUNDOFF
    return share / (1.0 - share)


@overload
def raised(n_roundings: int) -> float: ...
@overload
def raised(n_roundings: IntArray) -> FloatArray: ...
def raised(n_roundings: Any) -> Any:
    """A factor that makes up for ``n`` roundings of a number that is not negative.

    Lemma 5: ``fl(v * raised(n))`` is at least the exact number, if ``v`` is within
    ``n`` roundings of it.  One more pays for this factor, one for the product with it,
    and two are spare.
    """
    return 1.0 + (n_roundings + 4) * UNIT_ROUNDOFF


def lowered(value: float, margin: float) -> float:
    """``value - margin``, rounded down: at most the exact difference.

    The nearest number to it may be above, the next one below that is not.  Infinities
    stay what they are.
    """
    difference = value - margin
    return math.nextafter(difference, -math.inf) if math.isfinite(value) else value


# Planes below the quadratic form.


@overload
def inner_product_unit(n_terms: int) -> float: ...
@overload
def inner_product_unit(n_terms: IntArray) -> FloatArray: ...
def inner_product_unit(n_terms: Any) -> Any:
    """Inner products of rows of ``Q`` with a point of ``n`` nonzeros.

    ``n`` by Lemma 2, and three spare: the magnitude is a product of computed roots with
    a computed sum (Lemma 6), and the offset adds two numbers more.
    """
    return (n_terms + 3) * UNIT_ROUNDOFF


def factor_product_unit(n_terms: int) -> float:
    """Inner products of columns of a factor, each off by two roundings, with a vector.

    ``n`` by Lemma 2, two for the entries of the factor, two spare.
    """
    return (n_terms + 4) * UNIT_ROUNDOFF


@overload
def projection_unit(n_terms: int) -> float: ...
@overload
def projection_unit(n_terms: IntArray) -> FloatArray: ...
def projection_unit(n_terms: Any) -> Any:
    """A combination ``Fa`` of ``n`` columns, relative to ``sum |a_j| |F_j|``.

    ``n`` by Lemma 2, two for the entries of a factor, or one for entries that are whole
    numbers of more than 53 bits; one for the subtraction of ``Xa`` from a target, one
    spare.  Nothing is computed where there are no columns.  One per cent pays for
    computed norms.
    """
    return NORM_FACTOR * (n_terms + 4) * UNIT_ROUNDOFF * (n_terms > 0)


def streamed_slope_unit(n_samples: int) -> float:
    """Products of columns of data with a fitted vector, divided by their number.

    ``N`` by Lemma 2, one for the division, two for the vector ``alpha`` of the plane,
    three spare; one per cent pays for computed norms.
    """
    return NORM_FACTOR * (n_samples + 6) * UNIT_ROUNDOFF


# Theorems 1 and 2.


def combination_unit(n_rows: int) -> float:
    """Combinations ``c + g + A'beta`` and ``constant - offset - b'beta``.

    They are sums of ``m + 2`` terms, ``m`` of them products: ``m + 2`` by Lemma 2.  One
    for the subtraction of the margin itself, one spare.
    """
    return (n_rows + 4) * UNIT_ROUNDOFF


SEPARABLE_UNIT = 8 * UNIT_ROUNDOFF
"""The cost ``x (g + w x)`` of a variable, relative to ``|x| (|g| + w |x|)``.

Three roundings of the value, two of the ridge ``w`` (``1 / eta``, less a loss), one for
the subtraction of the margin: six.  That ``x`` is not quite the minimiser counts with
the square of its error (Lemma 7)."""

EXACT_SUM_UNIT = 4 * UNIT_ROUNDOFF
"""A correctly rounded sum of costs (``math.fsum``), relative to their magnitudes.

One for the sum, one for the price that each cost includes, one for the subtraction of
the margin, one spare."""

BOUND_UNIT = 4 * UNIT_ROUNDOFF
"""``base + total``, relative to both: one each for the sum and for the subtraction of
the margin, two spare."""


def total_unit(n_variables: int) -> float:
    """``base`` and a sum of up to ``n`` costs, in any order, relative to all of them.

    ``n`` by Lemma 1 for ``n + 1`` numbers, one for the price that each cost includes,
    one for the subtraction of the margin, six spare.
    """
    return (n_variables + 8) * UNIT_ROUNDOFF


FIXING_UNIT = 4 * UNIT_ROUNDOFF
"""What the bound of a branch gives up before a penalty of Theorem 2 is added to it:
one for this subtraction, one for the addition, two spare."""

FIXING_SHARE = 1.0 - 8 * UNIT_ROUNDOFF
"""The share of a penalty of Theorem 2 that is added.

A penalty is rounded once, so are its product with this share and the sum; the cost that
it was made of includes a price, which is one more: four, and four spare."""

PRICE_SHARE = 1.0 - 4 * UNIT_ROUNDOFF
"""The share of its price that a block pays: two roundings of what each of its variables
pays, two spare."""


def block_total_unit(sizes: IntArray) -> FloatArray:
    """Sums of the costs of a block of ``n`` variables, in any order.

    ``n - 1`` by Lemma 1, one for the price that each cost includes, one for the
    subtraction of the margin, one spare.
    """
    return np.asarray((sizes + 2) * UNIT_ROUNDOFF)


def leaf_unit(n_terms: int) -> float:
    """``base`` and a sum of ``n`` costs of columns, multiplied by a squared scale.

    ``n`` by Lemma 1 for ``n + 1`` numbers, one for the price that each cost includes,
    two for the squared scale, one for the subtraction of the margin, four spare.  Never
    fewer than 64: supports of data with very many columns are small.
    """
    return max(64, n_terms + 8) * UNIT_ROUNDOFF


# Residuals of data that are kept as columns.


def residual_unit(n_samples: int) -> float:
    """Products of ``N`` entries with a residual: ``y'r``, ``|r|^2`` and ``X'r``.

    ``N`` by Lemma 2 and three for what follows, two subtractions and a division by
    ``N``; or one for entries that are whole numbers of more than 53 bits.  One spare.
    """
    return gamma(n_samples + 4)


RESIDUAL_BASE_UNIT = 8 * UNIT_ROUNDOFF
"""``2 t y'r / N - t^2 |r|^2 / N``, relative to both: two roundings of the second term,
one for their difference, two for the subtraction of margins; three spare."""

RESIDUAL_SLOPE_UNIT = 4 * UNIT_ROUNDOFF
"""Ends of the interval of a slope, ``-(2 t / N) (X'r -+ error)``: three roundings, one
spare."""

RESIDUAL_COST_FACTOR = 1.0 + 16 * UNIT_ROUNDOFF
"""The cost ``-g^2 / (4 w)`` of a column: three roundings of each ``g``, one of ``w``, a
quotient and two products; six spare."""


def same_data_unit(n_samples: int) -> float:
    """Largest difference of two computed products of the same data, over their norms.

    Twice ``N`` by Lemma 2, and twice that as ``c`` is ``-2 X'y / N``; divisions and
    computed norms take the rest.
    """
    return 4 * (n_samples + 4) * UNIT_ROUNDOFF


# Other matrices in the place of Q.


def formed_unit(n: int, formed: int) -> float:
    """A Gram matrix against the data it stands for, relative to its diagonal.

    Entries that are off by ``formed u sqrt(Q_ii Q_jj)`` move the form by ``n`` times as
    much of its diagonal (Lemma 6); one per cent pays for a computed diagonal.
    """
    return NORM_FACTOR * n * formed * UNIT_ROUNDOFF


def moved_diagonal_unit(n: int, formed: int) -> float:
    """A diagonal that is taken out of ``Q`` and put into the ridge.

    Relative to the old diagonal, what is moved, and the new ridge: one rounding of the
    difference, four of the ridge (``1 / eta`` before and after, their sum, its
    inverse), three spare; ``n formed`` for a product that ``Q`` is made by, as in
    :func:`formed_unit`.
    """
    return (8 + formed * n) * UNIT_ROUNDOFF


def sparse_minorant_unit(width: int, formed: int) -> float:
    """The ridge of a sparse minorant for points with up to ``K`` nonzeros.

    Relative to 1, the diagonal and the row sums of the scaled rest.  ``K - 2`` for row
    sums (Lemma 1), four for its entries, four for the unit, two for weights, seven for
    differences, the ridge and its inverse, seventeen spare.  A point with ``K``
    nonzeros sees ``K formed`` of the diagonal of a product that ``Q`` is made by
    (Lemma 6).
    """
    return (width + 32 + formed * (width + 1)) * UNIT_ROUNDOFF


def node_ridge_unit(limit: int) -> float:
    """What a node adds to the ridge of a sparse minorant.

    Relative to the ridge and to the sums of losses at the root and in the node.
    ``s - 2`` for sums (Lemma 1), two for their terms, one for their difference, two for
    the margin, three for weights and sums, ten spare.
    """
    return (limit + 16) * UNIT_ROUNDOFF


def dependence_unit(n: int) -> float:
    """A form and a ridge that are multiplied by a number below one.

    Relative to the curvatures, for points in ``n`` variables: two roundings of each
    entry of a matrix, or one of each entry of a factor, which counts twice; by Cauchy
    and Schwarz ``n`` times that.  Four of the ridge and its inverse, four spare.
    """
    return (2 * n + 8) * UNIT_ROUNDOFF


def circuit_unit(n: int, formed: int) -> float:
    """The curvature of a unit vector, in units in which the curvatures are one.

    ``2 n + 2`` for a product with a matrix and one with a vector, both by Lemma 2, four
    for scaled entries and a sum with the ridge, two for the squared length, four spare;
    ``formed`` for a product that the matrix is made by, twice: the matrix of another
    block may be rounded in another way.  A vector sees ``n`` times as much (Lemma 6).
    """
    return NORM_FACTOR * n * (2 * n + 12 + 2 * formed) * UNIT_ROUNDOFF


def row_shift_unit(width: int, formed: int) -> float:
    """A form to which ``a v' + v a'`` is added, for points with up to ``K`` nonzeros.

    Relative to ``q_j^2 + 2 alpha_j^2``, where ``q_i q_j`` and ``2 alpha_i alpha_j``
    bound entries of ``Q`` and of what is added: four roundings of an entry (a product,
    two sums, a symmetric part), four spare, and ``formed`` if ``Q`` is a product of
    other data.  A point with ``K`` nonzeros sees ``K`` times as much (Lemma 6); one
    per cent pays for computed ``q`` and ``alpha``.
    """
    return NORM_FACTOR * width * (8 + formed) * UNIT_ROUNDOFF


ROW_SHIFT_COST_UNIT = 4 * UNIT_ROUNDOFF
"""The cost ``c - 2 b v``, relative to ``|c| + |2 b v|``: two roundings, two spare."""


def cholesky_shift(n: int) -> float:
    """Shift added to the diagonal of a unit-diagonal matrix before it is factored.

    Such a factorisation then comes to its end if the matrix is semidefinite, or nearly
    so: its own error is at most ``(n + 1) n u`` (Lemma 8).
    """
    return (n + 4) * n * UNIT_ROUNDOFF


def cholesky_defect(n: int) -> float:
    """Largest violation of semidefiniteness if the shifted matrix can be factored.

    The shift, ``(n + 1) n u`` for the factorisation, ``2 n u`` for entries that were
    scaled and ``u`` for the sum: ``2 n^2 + 7 n + 1`` units.  Five per cent more than
    ``2 n^2 + 8 n`` cover terms of second order too.
    """
    return 2.1 * cholesky_shift(n)


# Eigenvectors.


def orthonormality_error(length: int, count: IntArray) -> FloatArray:
    """``|V'V - I|`` as it is computed for so many columns of about unit length.

    ``length`` by Lemma 2 and one for the difference, in each of ``count^2`` entries;
    twice that pays for lengths above one and for the computed norm.
    """
    return np.asarray(2.0 * (length + 4) * UNIT_ROUNDOFF * count)


def eigenpair_unit(n: int, formed: int) -> float:
    """Twice the residual ``Qv - lambda v``, relative to ``Q``, for each eigenvector.

    ``n`` by Lemma 2, ``formed`` for a product that ``Q`` is made by, two for the
    product with ``lambda`` and the difference, three for the factor of a level, three
    spare.
    """
    return 2.0 * (n + formed + 8) * UNIT_ROUNDOFF


def component_unit(n_samples: int, width: int) -> float:
    """Entries of a computed factor ``(P U)'X / sqrt(N)``, relative to its columns.

    ``N`` and ``width`` by Lemma 2 for the two products, five for scaling, the rest
    spare; one per cent pays for bases that are not quite orthonormal.
    """
    return NORM_FACTOR * (n_samples + width + 16) * UNIT_ROUNDOFF


# Elimination.


def elimination_unit(size: int, formed: int) -> float:
    """The gain ``c'G^{-1}c / 4`` of a support, relative to the condition of ``G``.

    Elimination of ``s`` variables is exact for entries off by ``3 s + 6 + formed``
    units of the roots of the diagonal, which is ``s`` times as much of the diagonal
    (Lemma 9).  Sixteen times ``(s + 4) (s + 4 + formed)`` is four times that and more.
    """
    return 16 * (size + 4) * (size + 4 + formed) * UNIT_ROUNDOFF


def penalised_unit(size: int, formed: int, n_rows: int) -> float:
    """An entry of the penalised form ``Q + diag(ridge) + A'MA``, in roots of diagonals.

    Elimination of ``s`` variables is exact for entries off by ``3 s + 6`` (Lemma 9),
    ``formed`` for a form that is a product, ``m + 4`` for adding ridge and penalties.
    Four times as much, as for :func:`elimination_unit`, and six spare.
    """
    return 4 * (3 * size + formed + n_rows + 16) * UNIT_ROUNDOFF


COMPLETION_UNIT = 4 * UNIT_ROUNDOFF
"""``constant - gain (1 + error)``, relative to both: two roundings of the second term,
one for the difference, one for the subtraction of the margin.  None is spare: the error
of the gain has more than enough."""


PART_MARGIN = 1e-9
"""The share of what a pair or triple must gain by which it may fall short and still
count as strong.

Tests of pairs are off by 60 units at most, those of triples by 25 000, which is
``3e-12`` (Lemma 13)."""

PART_ROOM = 1e-3
"""What enlarged correlations must leave of the square of each variable of a part, lest
it count as strong: errors of triples are divided by it (Lemma 13)."""


def inverse_unit(n: int, formed: int) -> float:
    """``I - G H`` in the norm of row sums, relative to that of ``H``.

    The diagonal of ``G`` is below four, and row sums of ``|G|`` below ``4 n``.  ``n``
    by Lemma 2 for the product, ``formed`` for one that ``G`` is made by, two for the
    ridge, two spare.
    """
    return 4.0 * n * (n + formed + 4) * UNIT_ROUNDOFF


def inverse_residual_unit(n: int, formed: int) -> float:
    """``I - G H``, weighted, relative to the weighted sum of ``|H_ij|``, and one.

    ``n`` by Lemma 2 for the product, one for the difference, ``formed`` for a product
    that ``G`` is made by, three for the ridge and its sum, four spare (Lemma 12).
    """
    return (n + formed + 8) * UNIT_ROUNDOFF


def dropped_gain_unit(n: int) -> float:
    """The gain of what is left of ``n`` variables after some are dropped.

    Relative to the gain of all, times the squared sum of the roots of ``G_jj H_jj``,
    and one.  ``4 n`` for coefficients and gain at the start, ``n + 4`` for dropping
    (Lemma 12); the rest is spare.
    """
    return 8 * (n + 4) * UNIT_ROUNDOFF


# Quadratic programs in 0-1 variables.

ZERO_ONE_UNIT = 4 * UNIT_ROUNDOFF
"""A diagonal that moves between ``Q``, ``c`` and the ridge of a 0-1 program.

Relative to ``|c| + |Q_jj| + 2 (shift + ridge)``: one rounding of ``Q_jj + shift``, two
of ``c``, two of the inverses that the ridge goes through; one spare of each or more."""


# Decisions: nothing is proved by what follows.


def eigenvalue_margin(n: int) -> float:
    """Margin to subtract from a computed least eigenvalue, relative to the largest.

    Only to choose a diagonal with: the proof is a factorisation (Lemma 8).
    """
    return 4 * n**2 * UNIT_ROUNDOFF


def definite_share(n: int) -> float:
    """The share of its diagonal that makes a rounded semidefinite matrix definite.

    Only to find a point with, whose objective is then computed from the data.
    """
    return 4 * n * UNIT_ROUNDOFF


def mean_unit(n_samples: int) -> float:
    """The error of a computed mean of ``N`` numbers: below it, they are all alike.

    ``N`` by Lemma 1, twice, for the mean and for what is left once it is taken off.
    """
    return 2 * n_samples * UNIT_ROUNDOFF


def variance_unit(n_samples: int) -> float:
    """The error of a mean square less a squared mean, relative to the mean square.

    Twice ``N`` by Lemma 2, for the two; weights round a few times more.
    """
    return 2 * (n_samples + 8) * UNIT_ROUNDOFF
