"""The nodes of a search that drops variables: :mod:`cardqp_check.dropping`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cardqp_check.bordered import Bordered, eliminated, suspects, unit_diagonal
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

AT_ONCE = 1 << 18
"""About how many numbers are computed together."""

MOST_NODES = 20_000_000
"""The most nodes of a search."""

MOST_SUPPORTS = 3000
"""The most supports that are computed in balls."""


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
        return Nodes(
            self.M[index], self.free[index], self.inside[index], self.n_inside[index]
        )

    @classmethod
    def joined(cls, nodes: "list[Nodes]") -> "Nodes":
        """Return all of them together."""
        return cls(
            np.concatenate([each.M for each in nodes]),
            np.concatenate([each.free for each in nodes]),
            np.concatenate([each.inside for each in nodes]),
            np.concatenate([each.n_inside for each in nodes]),
        )


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
        for key in list(self.last):
            self._look_at(key)
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
                self._add(np.concatenate([inside, some.free], axis=1))
            elif k == 0:
                self._put_last(inside[:, :-1], inside[:, -1:], 1)
            elif k <= 2:
                self._put_last(inside, some.free, int(k))
            else:
                self._put_last(*self._with_first(some, int(k)), 2)
                self.open.setdefault(f, []).append(some)

    def _add(self, supports: Iterable[IntArray]) -> None:
        self.found.extend(supports)
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
            self._add(np.append(inside[i], members) for members in sets)

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
