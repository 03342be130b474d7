"""The branches of a proof as flat arrays, for trees of millions of nodes."""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.certificate.dual_point import DualPoint


class Kind(IntEnum):
    """The ways in which a node is proved, as stored in :attr:`ProofTree.kind`."""

    INHERITED = 0
    """By the bounds of its ancestors, which its children inherit if it has some."""
    POINT = 1
    """By Theorem 1 (docs/theory.md#theorem-1) at a dual point of its own."""
    RAY = 2
    """Empty, by a Farkas ray."""
    COMPLETED = 3
    """By enumerating all of its supports, which differ in the last few nonzeros."""
    FULL = 4
    """By Theorem 1 at a dual point of the problem before it was replaced by a sparse
    minorant."""
    PENALISED = 5
    """By enumerating all of its supports without rows and bounds, at multipliers of the
    rows; supports that this does not prune are its children."""
    SEARCHED = 6
    """By a search for better supports, which drops variables from all of them.  Its
    record has two values, at index 0: the cutoff and the number of steps."""
    CUT_OFF = 7
    """By enumerating those of its supports that may be below a cutoff, which is the one
    value of its record, at index 0."""


WITH_RECORD = (
    Kind.POINT,
    Kind.RAY,
    Kind.FULL,
    Kind.PENALISED,
    Kind.SEARCHED,
    Kind.CUT_OFF,
)
"""The kinds that refer to a dual point, a ray, multipliers, numbers or a cutoff."""


@dataclass(frozen=True, slots=True, eq=False)
class ProofTree:
    """The nodes of a proof, numbered so that children follow parents; 0 is the root.

    No bound is stored: the checker evaluates every one anew
    (docs/theory.md#certificate).

    Attributes
    ----------
    kind : (N,) int8 array
        How each node is proved.
    branch : (N,) int32 array
        The branching variable, which the first child fixes in and the second fixes
        out; -1 if there is one child, which has the variables fixed here, or none;
        ``-2 - k`` for branching on cluster k, of which the first child requires at
        least one variable and the second fixes out all.
    child : (N,) int32 array
        Position of the first child; the others follow.  0 without children.
    record : (N,) int32 array
        Where the node's dual point is; -1 if it has none.
    beta : (R, m) array
        Row multipliers, or rays, of each record.
    scale : (R,) array
        The scales of the dual points, 1 unless data are streamed.
    point_end, fixed_end : (R,) int64 arrays
        Where the entries of each record end.
    index, value : arrays
        The nonzeros of the tangent points, one record after the other.
    fixed : int array
        Variables fixed by Theorem 2 (docs/theory.md#theorem-2) at each record:
        ``j + 1`` if j is fixed in, ``-j - 1`` if it is fixed out.  For
        :attr:`Kind.PENALISED` the variables of its children, ``j + 1``: as many for
        each child as may be nonzero, undecided there, while all others are fixed out.
    cluster_end : (C,) int64 array
        Where each cluster ends.
    cluster : int array
        The variables of the clusters, one cluster after the other, each increasing.
    """

    kind: IntArray
    branch: IntArray
    child: IntArray
    record: IntArray
    beta: FloatArray
    scale: FloatArray
    point_end: IntArray
    fixed_end: IntArray
    index: IntArray
    value: FloatArray
    fixed: IntArray
    cluster_end: IntArray
    cluster: IntArray

    @classmethod
    def empty(cls) -> "ProofTree":
        """Return a tree without nodes."""
        return ProofLog(0).tree()

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def point(self, record: int) -> tuple[IntArray, FloatArray]:
        """Return indices and values of the nonzeros of a tangent point."""
        start = self.point_end[record - 1] if record > 0 else 0
        part = slice(start, self.point_end[record])
        return self.index[part], self.value[part]

    def dual_point(self, record: int) -> DualPoint:
        """Return the dual point of a record."""
        scale = float(self.scale[record])
        return DualPoint(*self.point(record), self.beta[record], scale)

    def cluster_of(self, number: int) -> IntArray:
        """Return the variables of a cluster."""
        start = self.cluster_end[number - 1] if number > 0 else 0
        return self.cluster[start : self.cluster_end[number]]


_TYPES: dict[str, Any] = {
    "kind": np.int8,
    "branch": np.int32,
    "child": np.int32,
    "record": np.int32,
    "beta": np.float64,
    "scale": np.float64,
    "point_end": np.int64,
    "fixed_end": np.int64,
    "index": np.int32,
    "value": np.float64,
    "fixed": np.int32,
    "cluster_end": np.int64,
    "cluster": np.int32,
}

# Indices of variables take two bytes where these suffice, which matters for trees of
# millions of nodes.
_SHORT = np.iinfo(np.int16).max


# What open nodes have in these arrays.
_OPEN: dict[str, int] = {"kind": 0, "branch": -1, "child": 0, "record": -1}


class _Growing:
    """An array to which values are appended, in amortised constant time."""

    __slots__ = ("data", "fill", "size")

    def __init__(self, dtype: Any, width: int | None = None, fill: int = 0) -> None:
        shape = (64,) if width is None else (64, width)
        self.data, self.size, self.fill = np.full(shape, fill, dtype), 0, fill

    def append(self, value: Any) -> None:
        """Append a value."""
        self.lengthen(1)
        self.data[self.size - 1] = value

    def extend(self, values: Any, count: int) -> None:
        """Append some values."""
        self.lengthen(count)
        self.data[self.size - count : self.size] = values

    def lengthen(self, count: int) -> None:
        """Append the value of entries that have not been written."""
        self.size += count
        if self.size > len(self.data):
            shape = (max(2 * len(self.data), self.size), *self.data.shape[1:])
            larger = np.full(shape, self.fill, self.data.dtype)
            larger[: len(self.data)] = self.data
            self.data = larger


class ProofLog:
    """A proof while it is being written.

    Parameters
    ----------
    n_rows : int
        How many rows the problem has.
    n : int, optional
        How many variables it has; if few, they are stored as short integers.
    single : bool
        Whether dual points are stored in single precision.  Any dual point will do, so
        this is a matter of memory only, if points are rounded before they are used.
    """

    def __init__(
        self, n_rows: int, n: int | None = None, *, single: bool = False
    ) -> None:
        types = dict(_TYPES)
        if n is not None and n < _SHORT:
            types |= dict.fromkeys(("index", "fixed", "cluster"), np.int16)
        if single:
            types["value"] = np.float32
        self._parts = {
            name: _Growing(
                dtype, n_rows if name == "beta" else None, _OPEN.get(name, 0)
            )
            for name, dtype in types.items()
        }

    @classmethod
    def resumed(cls, tree: ProofTree) -> "ProofLog":
        """Return a log that continues a stored proof, with its types."""
        log = cls(tree.beta.shape[1])
        for name, array in tree.arrays().items():
            width = array.shape[1] if name == "beta" else None
            log._parts[name] = _Growing(array.dtype, width, _OPEN.get(name, 0))
            log._parts[name].extend(array, len(array))
        return log

    def __len__(self) -> int:
        return self._parts["kind"].size

    def open(self, count: int) -> int:
        """Add open nodes and return the position of the first."""
        first = len(self)
        for name in _OPEN:
            self._parts[name].lengthen(count)
        return first

    def record(
        self,
        position: int,
        kind: Kind,
        *,
        index: IntArray | None = None,
        value: FloatArray | None = None,
        beta: FloatArray | None = None,
        fixed: IntArray | None = None,
        scale: float = 1.0,
    ) -> None:
        """Record how a node is proved, and the variables fixed there.

        All but the position and the kind is for :data:`WITH_RECORD` only: the nonzeros
        of the tangent point, multipliers of the rows or a Farkas ray, signed variables
        as in :class:`ProofTree`, and the scale of the dual point.
        """
        parts = self._parts
        parts["kind"].data[position] = kind
        if kind not in WITH_RECORD:
            return
        parts["record"].data[position] = parts["point_end"].size
        parts["beta"].append(beta)
        parts["scale"].append(scale)
        if index is not None:
            parts["index"].extend(index, len(index))
            parts["value"].extend(value, len(index))
        if fixed is not None:
            parts["fixed"].extend(fixed, len(fixed))
        parts["point_end"].append(parts["index"].size)
        parts["fixed_end"].append(parts["fixed"].size)

    def record_point(self, position: int, kind: Kind, point: DualPoint) -> None:
        """Record that a node is proved by a dual point, where nothing is fixed."""
        self.record(
            position,
            kind,
            index=point.index,
            value=point.value,
            beta=point.beta,
            scale=point.scale,
        )

    def split(self, position: int, branch: int, cluster: IntArray | None = None) -> int:
        """Add the children of a node and return the position of the first.

        With a ``cluster`` there are two: one that requires a variable of it, and one
        with all of it fixed out.  Otherwise there is one child if ``branch`` is -1, or
        else one with that variable fixed in and one with it fixed out.
        """
        if cluster is not None:
            branch = -2 - self._parts["cluster_end"].size
            self._parts["cluster"].extend(cluster, len(cluster))
            self._parts["cluster_end"].append(self._parts["cluster"].size)
        self._parts["branch"].data[position] = branch
        return self.add_children(position, 1 if branch == -1 else 2)

    def add_children(self, position: int, count: int) -> int:
        """Add open children to a node and return the position of the first."""
        first = self.open(count)
        self._parts["child"].data[position] = first
        return first

    def append_below(self, open_nodes: IntArray, forest: ProofTree) -> None:
        """Go on from open nodes with trees that were grown elsewhere.

        The ``forest`` has one for each of them; its roots come first, in the same
        order.
        """
        parts, count = self._parts, len(open_nodes)
        moved = forest.arrays()
        for name, by in (
            ("child", np.where(forest.child > 0, len(self) - count, 0)),
            ("record", np.where(forest.record >= 0, parts["point_end"].size, 0)),
            ("branch", np.where(forest.branch < -1, -parts["cluster_end"].size, 0)),
            ("point_end", parts["index"].size),
            ("fixed_end", parts["fixed"].size),
            ("cluster_end", parts["cluster"].size),
        ):
            moved[name] = moved[name] + by
        for name, array in moved.items():
            if name in _OPEN:
                parts[name].data[open_nodes] = array[:count]
            new = array[count if name in _OPEN else 0 :]
            parts[name].extend(new, len(new))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, spare room at their ends included."""
        return sum(part.data.nbytes for part in self._parts.values())

    @property
    def is_single(self) -> bool:
        """Whether dual points are stored in single precision."""
        return bool(self._parts["value"].data.dtype == np.float32)

    def tree(self) -> ProofTree:
        """Return the proof so far, without a copy of the arrays."""
        parts = {name: part.data[: part.size] for name, part in self._parts.items()}
        return ProofTree(**parts)
