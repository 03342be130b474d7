r"""A search for supports below a cutoff that drops variables from the set of all.

Let :math:`h` be half of the linear cost.  A support :math:`S` gains
:math:`h_S^\top G_{SS}^{-1} h_S`, and no more than a larger one; it is below a cutoff if
it gains more than the *room*, the constant less the cutoff.  A node has variables that
are in, variables that are free, and some places.  With all variables that are left,
:math:`A`, let

.. math::
    M = \begin{pmatrix} g & b^\top \\ b & H \end{pmatrix}, \qquad
    H = G_{AA}^{-1}, \quad b = H h_A, \quad g = h_A^\top b .

Then :math:`A` gains :math:`g`, and dropping :math:`j` eliminates its row from
:math:`M`: :math:`h_S^\top G_{SS}^{-1} h_S = \min_z\, (h + z)^\top H (h + z)` over
vectors :math:`z` on :math:`A \setminus S`, which is
:math:`\min_z\, (1, z)^\top M (1, z)`.  So nothing is below the cutoff if the gain of
:math:`A` is at most the room, and what is, contains each :math:`j` without which it
is.  With at least three places, the free variables in any order
:math:`j_1, j_2, \dots`, a support lacks a first :math:`j_k`,
:math:`k \le \textit{places} - 2`, and contains those before it; or it contains that
many, and has two places left.  Supports with one or two places left are looked at all
(:mod:`cardqp_check.bordered`).

**Rounding.**  The gains of a larger matrix are larger: all of them are
minima of its quadratic form.  The floats that the search begins with are
:math:`\tilde M + \delta I`, in units in which diagonals are between 1/2 and 2.  To
eliminate a row is to subtract :math:`v_i v_j` in floats, :math:`v` being the row
over the root of its diagonal; the result is off by at most
:math:`8u\,|v_iv_j| + 1.1u\,|M_{ij}| \le 19u`.  As if that had been added to the
matrix before: elimination of other rows adds to an entry whatever it is.  With
:math:`n` variables, so all that is computed is exact for a matrix that differs by
:math:`19nu` in each entry, or :math:`19n(n + 1)u` in norm.  Hence with
:math:`\delta = 32(n+1)^2u` and what the balls leave open *computed gains are at least
the true ones*, but for the last subtraction, which the room pays for.
"""

import math

import numpy as np
from flint import arb, arb_mat, ctx

from cardqp_check.bordered import UNIT, Bordered, bordered_of
from cardqp_check.circuits import Circuits, Part
from cardqp_check.nodes import MOST_SUPPORTS, Nodes, Search
from cardqp_check.objectives import Form, lower_float, objective, upper_distance
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

MOST_VARIABLES = 400
"""The most variables of a search: the work before it grows with their cube."""

LAST_SUBTRACTION = 2.0**-46
"""What room is given up for the rounding of a difference of numbers up to two."""


def searched(
    form: Form,
    fixed_in: IntArray,
    free: IntArray,
    places: int,
    cutoff: float,
    dependence: float,
    may_be_zero: IntArray,
) -> float:
    """Bound all supports of a branch by the lesser of a cutoff and the least objective.

    Parameters
    ----------
    form : Form
        The function.
    fixed_in, free, places : int arrays, int
        The branch: the variables in, and those of which so many may be added.
    cutoff : float
        No better bound is looked for.
    dependence : float
        Only points count whose nonzeros have a block of ``G`` of at least this share of
        its diagonal; 0 if all points count.
    may_be_zero : int array
        Variables that are in because the problem forces them in: all others that are
        in are not zero at the points in question, and that is made use of.

    Returns
    -------
    float
        -inf if nothing is proved.
    """
    if places < 0:
        return math.inf
    total, bordered = len(fixed_in) + places, bordered_of(form)
    branch = Part(np.asarray(fixed_in, np.intp), np.asarray(free, np.intp))
    parts = [branch]
    try:
        if dependence > 0.0:
            circuits = Circuits(bordered, total, dependence, may_be_zero)
            parts = circuits.independent_parts(branch)
        found = [
            support
            for part in parts
            for support in supports_below(bordered, part, total, cutoff)
        ]
    except (UndecidedError, np.linalg.LinAlgError, ZeroDivisionError):
        # The last two: numbers that floats, or balls, cannot compute with.
        return -math.inf
    if len(found) > MOST_SUPPORTS:
        return -math.inf
    return min([cutoff, *(objective(form, support) for support in found)])


def supports_below(
    bordered: Bordered, part: Part, total: int, cutoff: float
) -> list[IntArray]:
    """Return the supports of at most ``total`` variables that may be below a cutoff.

    Raises
    ------
    UndecidedError
        When they are too many, or the matrix is not certainly definite.
    """
    fixed_in, free = part.inside, part.free
    if total < len(fixed_in):
        return []
    index = np.concatenate([fixed_in, free])
    if len(index) <= total:
        return [index]
    if total == len(fixed_in):
        return [fixed_in]
    if len(index) > MOST_VARIABLES:
        raise UndecidedError
    bordered.compare_with(cutoff)
    with ctx.workprec(2 * bordered.form.precision):
        full = _full(bordered.form, index, cutoff)
    if full is None:
        return []
    M, room = full
    order = np.argsort(-(M[0, 1:] ** 2) / np.diagonal(M)[1:])
    order = order[order >= len(fixed_in)]
    rows = np.insert(order + 1, 0, 0)
    inside = np.zeros((1, total), np.intp)
    inside[0, : len(fixed_in)] = fixed_in
    root = Nodes(
        M[np.ix_(rows, rows)][None],
        index[order][None],
        inside,
        np.array([len(fixed_in)]),
    )
    return Search(bordered, total, room).run(root)


def _full(
    form: Form, index: IntArray, cutoff: float
) -> tuple[FloatArray, float] | None:
    """Return the matrix that the search begins with, and the room in its units.

    None if all variables together gain too little.
    """
    names = [int(j) for j in index]
    if not objective(form, index) > -math.inf:
        raise UndecidedError  # G may not be definite
    n, room = len(names), lower_float(form.kappa - arb(cutoff))
    H = arb_mat([[form.G[i, j] for j in names] for i in names]).inv()
    h = arb_mat(n, 1, [form.c[j] / 2 for j in names])
    b = H * h
    g = (h.transpose() * b)[0, 0]
    if g <= room:
        return None
    exact = [[g, *(b[j, 0] for j in range(n))]]
    exact += [[b[i, 0], *(H[i, j] for j in range(n))] for i in range(n)]
    M = np.array([[float(entry) for entry in row] for row in exact])
    if not (np.isfinite(M).all() and (np.diagonal(M) > 0.0).all()):
        raise UndecidedError
    unit = np.exp2(-np.round(0.5 * np.log2(np.diagonal(M))))
    error = max(
        upper_distance(exact[i][j], float(M[i, j])) * float(unit[i] * unit[j])
        for i in range(n + 1)
        for j in range(n + 1)
    )
    M = np.triu(M * unit[:, None] * unit)
    M += np.triu(M, 1).T
    M.flat[:: n + 2] += 32.0 * (n + 1) ** 2 * UNIT + 1.1 * (n + 1) * error
    return M, room * float(unit[0]) ** 2 - LAST_SUBTRACTION
