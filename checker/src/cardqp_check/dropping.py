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
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat, ctx

from cardqp_check.bordered import (
    UNIT,
    Bordered,
    Form,
    bordered_of,
    eliminated,
    lower_float,
    objective,
    suspects,
    unit_diagonal,
    upper_distance,
)
from cardqp_check.circuits import Part, independent_parts
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

AT_ONCE = 1 << 18
"""About how many numbers are computed together."""

MOST_NODES = 20_000_000
"""The most nodes of a search."""

MOST_SUPPORTS = 3000
"""The most supports that are computed in balls."""

LAST_SUBTRACTION = 2.0**-46
"""What room is given up for the rounding of a difference of numbers up to two."""


@dataclass
class Nodes:
    """Some nodes with as many variables that may be dropped, largest losses first.

    Attributes
    ----------
    M : (b, f + 1, f + 1) array
        The matrices, in units that are powers of two; the gain comes first.
    free : (b, f) array
        The variables that may be dropped.
    inside : (b, total) array
        The variables that are in, in the first places.
    n_inside : (b,) array
        How many there are.
    """

    M: FloatArray
    free: IntArray
    inside: IntArray
    n_inside: IntArray

    def __len__(self) -> int:
        return len(self.free)

    def take(self, index: IntArray) -> "Nodes":
        """Return some of them."""
        parts = self.M, self.free, self.inside, self.n_inside
        return Nodes(*(part[index] for part in parts))

    @classmethod
    def joined(cls, nodes: "list[Nodes]") -> "Nodes":
        """Return all of them together."""
        parts = ((each.M, each.free, each.inside, each.n_inside) for each in nodes)
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@dataclass
class Search:
    """A search in one branch.

    Attributes
    ----------
    bordered : Bordered
        The bordered matrix of the cutoff, for nodes with one or two places left.
    total : int
        The most variables of a support.
    threshold : float
        The computed gain up to which nothing is below the cutoff.
    open, last : dict
        Nodes by the number of variables that may be dropped; nodes with one or two
        places by the numbers of variables and of places.
    found : list
        Supports that may be below the cutoff.
    n_nodes : int
        How many nodes there were.
    """

    bordered: Bordered
    total: int
    threshold: float
    open: dict[int, list[Nodes]] = field(default_factory=dict)
    last: dict[tuple[int, int], list[tuple[IntArray, IntArray]]] = field(
        default_factory=dict
    )
    found: list[IntArray] = field(default_factory=list)
    n_nodes: int = 0

    def run(self, root: Nodes) -> list[IntArray]:
        """Return all supports that may be below the cutoff."""
        self._put(root)
        while self.open:
            nodes = self._pop()
            self.n_nodes += len(nodes)
            if self.n_nodes > MOST_NODES:
                raise UndecidedError
            for child in self._children(nodes):
                self._put(child)
        for size, places in list(self.last):
            self._look_at((size, places))
        return self.found

    def _pop(self) -> Nodes:
        """Take nodes from the least bucket that is full, or the largest one of all."""
        full = (f for f in sorted(self.open) if self._count(f) >= _batch(f))
        f = next(full, max(self.open))
        nodes = Nodes.joined(self.open.pop(f))
        if len(nodes) > _batch(f):
            self.open[f] = [nodes.take(np.arange(_batch(f), len(nodes)))]
            nodes = nodes.take(np.arange(_batch(f)))
        return nodes

    def _count(self, f: int) -> int:
        return sum(map(len, self.open[f]))

    def _put(self, nodes: Nodes) -> None:
        """Put nodes where they belong, by how many places they have."""
        places = self.total - nodes.n_inside
        for k in np.unique(places):
            some, f = nodes.take(np.flatnonzero(places == k)), nodes.free.shape[1]
            inside = some.inside[:, : self.total - k]
            if f <= k:
                self.found += list(np.concatenate([inside, some.free], axis=1))
            elif k == 0:
                self._put_last(inside[:, :-1], inside[:, -1:], 1)
            elif k <= 2:
                self._put_last(inside, some.free, int(k))
            else:
                self._put_last(*self._with_first(some, int(k)), 2)
                self.open.setdefault(f, []).append(some)
        if len(self.found) > MOST_SUPPORTS:
            raise UndecidedError

    @staticmethod
    def _with_first(nodes: Nodes, places: int) -> tuple[IntArray, IntArray]:
        """Put the first free variables in, so that two places are left."""
        count, n_inside = places - 2, nodes.inside.shape[1] - places
        parts = [nodes.inside[:, :n_inside], nodes.free[:, :count]]
        return np.concatenate(parts, axis=1), nodes.free[:, count:]

    def _put_last(self, inside: IntArray, free: IntArray, places: int) -> None:
        key = (free.shape[1], places)
        self.last.setdefault(key, []).append((inside, free))
        if sum(len(each) for each, _ in self.last[key]) * key[0] ** 2 > AT_ONCE:
            self._look_at(key)

    def _look_at(self, key: tuple[int, int]) -> None:
        """Find what may be below the cutoff among supports with places to fill."""
        parts = self.last.pop(key)
        inside, free = (np.concatenate(part) for part in zip(*parts, strict=True))
        for i in self._doubtful(inside, free, key[1]):
            sets = suspects(self.bordered, _rows(inside[i]), free[i] + 1, key[1]) - 1
            self.found += [np.append(inside[i], members) for members in sets]

    def _doubtful(self, inside: IntArray, free: IntArray, places: int) -> IntArray:
        """Return which of some nodes have anything that may be below the cutoff."""
        try:
            N, doubt = eliminated(self.bordered, _rows(inside), free + 1)
        except UndecidedError:
            return np.arange(len(inside))
        r, is_vague = unit_diagonal(N, doubt, places)
        is_doubtful = is_vague.any(axis=1)
        if places == 2:
            is_doubtful |= ~(np.abs(r).max(axis=(1, 2)) <= 1.0)
        return np.flatnonzero(is_doubtful)

    def _children(self, nodes: Nodes) -> Iterator[Nodes]:
        """Drop each of the first variables, those before it being in."""
        most = self.total - int(nodes.n_inside.min())
        for k in range(most - 2):
            yield from self._without(nodes, k)

    def _without(self, nodes: Nodes, k: int) -> Iterator[Nodes]:
        """Drop the variable number k; what is needed for the room is in."""
        M, later = nodes.M, slice(k + 2, None)
        v = M[:, k + 1] / np.sqrt(M[:, k + 1, k + 1])[:, None]
        gain = M[:, 0, 0] - v[:, 0] ** 2
        room = np.diagonal(M, axis1=1, axis2=2)[:, later] - v[:, later] ** 2
        loss = (M[:, 0, later] - v[:, :1] * v[:, later]) ** 2 / room
        is_needed = gain[:, None] - loss <= self.threshold
        count = is_needed.sum(axis=1)
        is_open = ~(gain <= self.threshold)
        is_open &= nodes.n_inside + k + np.maximum(count, 3) <= self.total
        order = k + 1 + np.argsort(-np.where(is_needed, np.inf, loss), axis=1)
        for n_needed in np.unique(count[is_open]):
            some = np.flatnonzero(is_open & (count == n_needed))
            yield _dropped(nodes.take(some), k, v[some], order[some], int(n_needed))


def _dropped(
    nodes: Nodes, k: int, v: FloatArray, order: IntArray, n_needed: int
) -> Nodes:
    """Return nodes without the variable number k, the first ones in the order in."""
    free = np.take_along_axis(nodes.free, order, axis=1)
    rows = np.insert(order[:, n_needed:] + 1, 0, 0, axis=1)
    case = np.arange(len(nodes))[:, None]
    u = v[case, rows]
    M = nodes.M[case[:, :, None], rows[:, :, None], rows[:, None, :]]
    M -= u[:, :, None] * u[:, None, :]
    added = np.concatenate([nodes.free[:, :k], free[:, :n_needed]], axis=1)
    inside = nodes.inside.copy()
    inside[case, nodes.n_inside[:, None] + np.arange(k + n_needed)] = added
    return Nodes(M, free[:, n_needed:], inside, nodes.n_inside + k + n_needed)


def _rows(variables: IntArray) -> IntArray:
    """Return the rows of the bordered matrix, that of the constant first."""
    return np.insert(variables + 1, 0, 0, axis=-1)


def _batch(f: int) -> int:
    return max(1, AT_ONCE // (f + 1) ** 2)


def searched(
    form: Form,
    fixed_in: IntArray,
    free: IntArray,
    places: int,
    cutoff: float,
    dependence: IntArray | None = None,
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
    dependence : int array, optional
        If only points with independent nonzeros count, the variables that are in
        because the problem says so, whether they are zero or not.

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
        if dependence is not None:
            parts = independent_parts(bordered, branch, total, dependence)
        found = [
            support
            for part in parts
            for support in supports_below(bordered, part, total, cutoff)
        ]
    except UndecidedError:
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
