r"""Splits of Q that hold for sparse points only, and are the better for it.

Let ``P`` be any positive semidefinite matrix and ``R = Q - P``.  A point with at most
``K`` nonzeros sees at most ``K - 1`` off-diagonal entries in each row of ``R``, so

.. math::
    x^\top Q x \ge x^\top P x + \sum_j d_j x_j^2, \qquad
    d_j = R_{jj} - \text{the sum of the } K - 1 \text{ largest } |R_{ij}|,\; i \ne j .

Where the signs of two variables are known, their product is nonnegative or nonpositive,
and an entry that cannot take anything off the objective counts as zero: for a portfolio
without short sales only the negative entries of ``R`` count.

With weights :math:`h_j > 0` the product of two variables is shared out unevenly: the
sum is that of the ``K - 1`` largest :math:`|R_{ij}| h_i`, divided by :math:`h_j`.  A
ridge is raised where its weight is, at the expense of the others.

The problem with ``P`` in place of ``Q`` and the ridge raised by ``d`` is a *sparse
minorant*: no larger than the original at every point that the original allows.  All
this is done in the units in which the ridge is 1.  See ``docs/theory.md#theorem-6``.
"""

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.arithmetic.rounding import sparse_minorant_unit
from cardqp.bounds.top_sums import weighted_sums
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Gram, QuadraticForm

MAX_WEIGHT = 1e9
"""Weights are between this and its inverse, so that products with them are in range."""


def sparse_minorant(
    problem: SparseQP, P: ArrayLike, weights: ArrayLike | None = None
) -> SparseQP:
    """Return the problem with ``P`` in place of ``Q`` and the ridge raised by the rest.

    Its objective is at most the problem's at every point with no more nonzeros than the
    problem allows.  The ridge is rounded down by all the errors made here and by what
    the problem's own form may be off; what ``P`` itself lacks to be positive
    semidefinite is the new form's ``psd_violation``.  The symmetric part of ``P``
    counts; constraints are kept, and weights are all equal if None.

    Raises ``ProblemError`` if ``P`` is not positive semidefinite, weights are out of
    range, or a ridge would not stay positive.

    Examples
    --------
    >>> problem = SparseQP([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0], eta=1.0, sparsity=1)
    >>> sparse_minorant(problem, np.zeros((2, 2))).ridge.round(6)
    array([3., 3.])
    """
    given = check.real_array("P", P, 2)
    if given.shape != (problem.n, problem.n):
        raise ProblemError(
            "P",
            f"must have the shape of `Q`, {(problem.n, problem.n)}",
            given=f"its shape is {given.shape}",
        )
    if weights is not None:
        weights = check.vector("weights", weights, problem.n)
        if not ((weights >= 1.0 / MAX_WEIGHT) & (weights <= MAX_WEIGHT)).all():
            raise ProblemError(
                "weights", f"must be between {1.0 / MAX_WEIGHT:g} and {MAX_WEIGHT:g}"
            )
    symmetric = given + given.T
    symmetric *= 0.5
    try:
        psd_violation = check.convexity_defect(symmetric)
    except ProblemError as error:
        raise ProblemError("P", "must be positive semidefinite") from error
    ridge = ridge_left(problem, symmetric, weights)
    if not (ridge > 2.0 * psd_violation).all():
        raise ProblemError("P", "must leave every ridge positive")
    return problem.with_quadratic(Gram(symmetric, psd_violation), ridge)


def ridge_left(
    problem: SparseQP, P: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """The ridge of the sparse minorant, rounded down; weights are all equal if None."""
    form, unit = problem.quadratic, ridge_unit(problem)
    # Each entry of F'F is off by formed u |F_i| |F_j| at most.
    Q, formed = entries_of(form), 0 if isinstance(form, Gram) else form.formed
    diagonal = (Q.diagonal() - P.diagonal()) * unit**2
    weights = np.ones(problem.n) if weights is None else weights
    count = min(problem.rule.width, problem.n) - 1
    row_sums = np.zeros(problem.n)
    if count > 0:
        row_sums = weighted_sums(Q, P, unit * weights, problem.signs, count)
        row_sums *= unit / weights
    size = np.abs(diagonal) + row_sums + 1.0 + form.diagonal * unit**2
    rounding = sparse_minorant_unit(problem.rule.width, formed) * size
    loss = form.psd_violation * unit**2 + rounding
    return np.asarray(problem.ridge * (1.0 + (diagonal - row_sums - loss)))


def entries_of(form: QuadraticForm) -> FloatArray:
    """The matrix of a form, symmetric to the last bit."""
    Q = form.dense()
    return Q if isinstance(form, Gram) else np.asarray(0.5 * (Q + Q.T))


def ridge_unit(problem: SparseQP) -> FloatArray:
    """The units of the variables in which every ridge is 1."""
    return np.asarray(1.0 / np.sqrt(problem.ridge))


def offdiagonal_loss(R: FloatArray, signs: IntArray) -> FloatArray:
    """The most that each off-diagonal entry takes off ``x'Rx``, per ``|x_i x_j|``."""
    if (signs == 0).all():
        result = np.abs(R)
    else:
        product = np.multiply.outer(signs, signs)
        result = np.where(product == 0, np.abs(R), np.maximum(-R * product, 0.0))
    np.fill_diagonal(result, 0.0)
    return result


def top_row_sums(entries: FloatArray, limit: int) -> tuple[FloatArray, FloatArray]:
    """Sums of the ``limit - 1`` largest entries of each row of an off-diagonal loss.

    Also the smallest of these entries, infinite if there are none.
    """
    n = len(entries)
    count = min(limit, n) - 1
    if count <= 0:
        return np.zeros(n), np.full(n, np.inf)
    largest = np.partition(entries, n - count, axis=1)[:, n - count :]
    return largest.sum(axis=1), largest[:, 0].copy()
