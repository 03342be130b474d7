"""What all workers need to know of a tree: sent to each of them once."""

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.tree import Tree


@dataclass(frozen=True, slots=True)
class SharedTree:
    """A tree without nodes: the presolved problem, and how its nodes are processed.

    Workers fill copies of it.
    """

    tree: Tree

    @classmethod
    def of(cls, tree: Tree) -> "SharedTree":
        """Leave out the nodes of a tree, its proof, and its search by dropping."""
        nodes: dict[str, Any] = {"log": None, "heap": [], "stack": [], "tried": set()}
        done: dict[str, Any] = {"pruned_bound": np.inf, "closed_share": 0.0}
        # Workers neither decide what to branch on nor drop variables.
        decided: dict[str, Any] = {"has_rule": True, "may_drop": False}
        return cls(replace(tree, **nodes, **done, **decided, dropping=None))

    def __reduce__(self) -> tuple[Callable[[bytes], "SharedTree"], tuple[bytes]]:
        stream = io.BytesIO()
        _Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(self.tree)
        return _unpack, (stream.getvalue(),)


class _Pickler(pickle.Pickler):
    """Keeps read-only arrays read-only: compiled functions tell them apart."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            return _read_only, (value.copy(),)
        return NotImplemented


def _read_only(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array


def _unpack(data: bytes) -> SharedTree:
    return SharedTree(pickle.loads(data))
