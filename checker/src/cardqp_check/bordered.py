r"""The least objective over the supports of a branch, by looking at all of them.

On a support :math:`S` the objective is at least
:math:`\kappa - \tfrac14 c_S^\top G_{SS}^{-1} c_S`.  That is at least :math:`C` if and
only if the **bordered matrix** of :math:`C`,

.. math::
    \begin{pmatrix} \kappa - C & \tfrac12 c^\top \\ \tfrac12 c & G \end{pmatrix} ,

is positive semidefinite on the constant and :math:`S`: with the vector
:math:`(1, x_S)` it is :math:`\kappa - C + c_S^\top x_S + x_S^\top G_{SS} x_S`.  Whether
a branch has anything below :math:`C` is a question about small principal submatrices,
once the constant and the variables fixed in are eliminated (:func:`eliminated`).
Nearly all of them are seen to be semidefinite in floats, with room to spare for
rounding.  The objectives of the others, the *suspects*, are computed in balls
(:mod:`cardqp_check.objectives`).  Nothing depends on how good :math:`C` is but time.
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from cardqp_check.objectives import Form, lower_float, upper_distance
from cardqp_check.submatrices import (
    MOST_SETS,
    FloatArray,
    IntArray,
    UndecidedError,
    indefinite_sets,
)

UNIT = 2.0**-53
"""The relative rounding error of an operation in floats."""

VAGUE = 1e-6
"""A variable is fixed in by turns, instead of being compared with others, if more than
this share of what elimination leaves of it may be rounding."""

SPARE = 1e-12
"""What is kept for rounding when submatrices with unit diagonal are tested."""


@dataclass
class Bordered:
    """The bordered matrix in floats, in units that are powers of two.

    Attributes
    ----------
    form : Form
        The function.
    array : (n + 1, n + 1) array
        The matrix; the constant comes first, then the variables.
    unit, half : (n,) arrays
        The units of the variables, and half of the linear cost in these.
    matrix_error, cost_error, error : float
        The most that an entry of ``G``, of ``half`` and of ``array`` is off.
    largest : float
        The most that an entry of ``G`` is.
    """

    form: Form
    array: FloatArray
    unit: FloatArray
    half: FloatArray
    matrix_error: float
    cost_error: float
    error: float
    largest: float

    @classmethod
    def of(cls, form: Form) -> "Bordered":
        """Round a form to floats, in units in which the diagonal is about one."""
        n = len(form.c)
        diagonal = np.array([float(form.G[j, j]) for j in range(n)])
        curvature = np.where(diagonal > 0, diagonal, 1.0)
        unit = np.exp2(-np.round(0.5 * np.log2(curvature)))
        array, error = np.zeros((n + 1, n + 1)), 0.0
        for i in range(n):
            for j in range(i, n):
                exact, scale = form.G[i, j], float(unit[i] * unit[j])
                value = float(exact)
                array[i + 1, j + 1] = array[j + 1, i + 1] = value * scale
                error = max(error, upper_distance(exact, value) * scale)
        largest = float(np.abs(array).max())
        bordered = cls(form, array, unit, unit, error, 0.0, error, largest)
        return bordered.with_costs(form)

    def with_costs(self, form: Form) -> "Bordered":
        """Return the matrix of a form with the same ``G`` and another linear cost.

        It has the same array, of which one of them at a time may make use.
        """
        costs = np.array([0.5 * float(cost) for cost in form.c])
        with ctx.workprec(form.precision):
            errors = [
                upper_distance(exact / 2, float(cost)) * float(scale)
                for exact, cost, scale in zip(form.c, costs, self.unit, strict=True)
            ]
        half, cost_error = costs * self.unit, max(errors, default=0.0)
        return replace(self, form=form, half=half, cost_error=cost_error)

    def compare_with(self, cutoff: float) -> None:
        """Complete the matrix with the border that belongs to a cutoff.

        Its corner may be rounded down: less is semidefinite then.
        """
        with ctx.workprec(self.form.precision):
            room = lower_float(self.form.kappa - cutoff)
        if not 0.0 < room < math.inf:
            raise UndecidedError
        unit = 2.0 ** -round(0.5 * math.log2(room))
        self.array[0, 0] = room * unit * unit
        self.array[0, 1:] = self.array[1:, 0] = self.half * unit
        self.error = max(self.matrix_error, self.cost_error * unit)

    def single_gains(self, inside: IntArray, rest: IntArray) -> FloatArray:
        """Return about what each of the rest gains, if some variables are in."""
        A = self.array
        V, U = A[np.ix_(inside + 1, inside + 1)], A[np.ix_(inside + 1, rest + 1)]
        B = np.linalg.lstsq(V, U, rcond=None)[0]
        slope = self.half[rest] - self.half[inside] @ B
        room = A[rest + 1, rest + 1] - (U * B).sum(axis=0)
        return np.asarray(slope**2 / np.maximum(room, self.largest * UNIT))

    def gains(self, supports: IntArray) -> FloatArray:
        """Return about what each of some supports gains; 0 if they are singular."""
        G = self.array[supports[:, :, None] + 1, supports[:, None, :] + 1]
        half = self.half[supports]
        try:
            x = np.linalg.solve(G, half[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            return np.zeros(len(supports))
        return np.asarray((half * x).sum(axis=1))


def bordered_of(form: Form) -> Bordered:
    """Return the bordered matrix of a form, which keeps it."""
    cached: Bordered | None = vars(form).get("_bordered")
    if cached is None:
        cached = Bordered.of(form)
        vars(form)["_bordered"] = cached
    return cached


def eliminated(
    bordered: Bordered, inside: IntArray, free: IntArray
) -> tuple[FloatArray, FloatArray]:
    r"""Eliminate the rows ``inside`` of some bordered matrices.

    **What is proved.**  Let :math:`V`, :math:`U`, :math:`W` be the blocks of the exact
    matrix :math:`A` that belong to inside, to inside and free, and to free; let
    :math:`m` rows be inside.  For *any* :math:`B` a change of variables shows that

    .. math::
        A \sim \begin{pmatrix} V & E \\ E^\top & R \end{pmatrix}, \qquad
        E = U - VB, \quad R = W - B^\top U - E^\top B .

    If :math:`V \succeq \mu I`, :math:`\mu > 0`, then :math:`A` is semidefinite on
    inside and :math:`T` if and only if :math:`N = R - E^\top V^{-1} E` is on :math:`T`.
    Let :math:`\beta_j` be one plus the sum of :math:`|B_{kj}|` over k; let no entry
    exceed :math:`M`, none be off by more than :math:`\eta`, and
    :math:`a = 2(m + 2)uM + \eta`.  A product of matrices with :math:`m` terms, in any
    order, is off by :math:`\gamma_m` times the product of absolute values, so that
    floats have :math:`E` up to :math:`a\beta_j`, and :math:`W - B^\top U` up to
    :math:`a\beta_i`.  With :math:`|E_{kj}| \le e\beta_j` for all :math:`k`,

    .. math::
        |N_{ij} - \hat N_{ij}| \le (a + e + m e^2/\mu)\,\beta_i\beta_j .

    That :math:`V \succeq \mu I` is proved by a Cholesky factorisation of
    :math:`V - 2\mu I` in floats that runs to its end: what it factorises is off by
    at most :math:`\gamma_{m+1}/(1 - \gamma_{m+1})` times the roots of diagonals
    (Higham, Theorem 10.3), so that :math:`V \succeq (2\mu - 2m(m + 2)uM - m\eta)I`.

    Parameters
    ----------
    bordered : Bordered
        The matrix.
    inside, free : (b, m) and (b, f) arrays
        Its rows in each of b cases.

    Returns
    -------
    N : (b, f, f) array
        What is left.
    doubt : (b, f) array
        An entry of ``N`` is off by the product of those of its row and column at most.

    Raises
    ------
    UndecidedError
        When V is not certainly definite.
    """
    A, m = bordered.array, inside.shape[1]
    V = A[inside[:, :, None], inside[:, None, :]]
    U = A[inside[:, :, None], free[:, None, :]]
    N = A[free[:, :, None], free[:, None, :]]
    largest = max(bordered.largest, float(np.abs(V).max()), float(np.abs(U).max()))
    a = 2.0 * (m + 2) * UNIT * largest + bordered.error
    try:
        inverse = np.linalg.inv(V)
        least = 0.25 / np.sqrt((inverse**2).sum(axis=(1, 2)))
        np.linalg.cholesky(V - 2.0 * least[:, None, None] * np.eye(m))
    except np.linalg.LinAlgError as error:
        raise UndecidedError from error
    if not (least >= 2.0 * m * a).all():
        raise UndecidedError
    B = inverse @ U
    beta = 1.0 + np.abs(B).sum(axis=1)
    e = (np.abs(U - V @ B).max(axis=1) / beta).max(axis=1) + a
    N -= B.transpose(0, 2, 1) @ U
    # One percent is far more than the rounding of these numbers.
    doubt = 1.01 * (a + e + m * e**2 / least)
    if not (np.isfinite(doubt).all() and np.isfinite(N).all()):
        raise UndecidedError
    return N, np.sqrt(doubt)[:, None] * beta


def unit_diagonal(
    N: FloatArray, doubt: FloatArray, size: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    r"""Scale what is left to unit diagonal, so that rounding is paid for.

    Returns the off-diagonal entries of a matrix that, with ones on its diagonal, is not
    semidefinite on a set of ``size`` variables unless :math:`N` is; and which variables
    are too vague for that, whose entries are 0.  In the new units :math:`N` is off by
    :math:`\rho_i\rho_j`, an operator on the set of norm :math:`\sum \rho_j^2` at most.
    So it is semidefinite if a diagonal of ``1 - size * max(rho^2) - SPARE`` is enough.
    """
    diagonal = np.diagonal(N, axis1=1, axis2=2)
    is_clear = doubt**2 <= VAGUE * diagonal
    scale = np.where(is_clear, 1.0 / np.sqrt(np.where(is_clear, diagonal, 1.0)), 0.0)
    rho = (doubt * scale).max(axis=1)
    scale /= np.sqrt(1.0 - 1.01 * size * rho**2 - SPARE)[:, None]
    r = N * scale[:, :, None] * scale[:, None, :]
    # Products of matrices are symmetric up to rounding, which decides between ties.
    r = 0.5 * (r + r.transpose(0, 2, 1))
    np.einsum("bii->bi", r)[...] = 0.0
    return r, ~is_clear


def suspects(
    bordered: Bordered, inside: IntArray, free: IntArray, places: int
) -> IntArray:
    """Return all sets of ``places`` free rows that may make the matrix indefinite.

    Variables that are vague are fixed in by turns; the next ones do without.
    """
    if len(free) < places:
        return np.empty((0, places), np.intp)
    try:
        N, doubt = eliminated(bordered, inside[None], free[None])
    except UndecidedError:
        return all_sets(free, places)
    r, is_vague = unit_diagonal(N, doubt, places)
    clear = free[~is_vague[0]]
    found = [clear[indefinite_sets(r[0][np.ix_(~is_vague[0], ~is_vague[0])], places)]]
    for j in free[is_vague[0]]:
        free = free[free != j]
        rest = np.empty((1, 0), np.intp)
        if places > 1:
            rest = suspects(bordered, np.append(inside, j), free, places - 1)
        found.append(np.insert(rest, 0, j, axis=1))
        if sum(map(len, found)) > MOST_SETS:
            raise UndecidedError
    return np.concatenate(found)


def all_sets(free: IntArray, places: int) -> IntArray:
    """Return all sets of so many free rows."""
    if math.comb(len(free), places) > MOST_SETS:
        raise UndecidedError
    return np.array(list(combinations(free, places)), np.intp).reshape(-1, places)
