"""The arrays of the tree, and what must hold for them (sections 6 and 8)."""

from dataclasses import dataclass

import numpy as np

from cardqp_check.archives import Archive
from cardqp_check.refusal import require
from cardqp_check.rounding import Floats, Ints

INHERITED, POINT, RAY, COMPLETED, FULL, PENALISED, SEARCHED, CUT_OFF = range(8)
"""How nodes are proved."""


@dataclass(frozen=True)
class Tree:
    """The arrays of the tree, whose sizes and ranges are checked."""

    kind: Ints
    branch: Ints
    child: Ints
    record: Ints
    beta: Floats
    scale: Floats
    point: "Lists"
    value: Floats
    fixed: "Lists"
    cluster: "Lists"


@dataclass(frozen=True)
class Lists:
    """Lists of numbers, one after the other, and where each of them ends."""

    end: Ints
    entries: Ints

    def place(self, i: int) -> slice:
        """Where the entries of list i are."""
        return slice(int(self.end[i - 1]) if i > 0 else 0, int(self.end[i]))

    def __getitem__(self, i: int) -> Ints:
        return self.entries[self.place(i)]


def read_tree(run: Archive, n: int, n_rows: int) -> Tree:
    """Read the tree of a problem with so many variables and rows."""
    kind = run.indices("tree.kind", 8)
    N = len(kind)
    branch, child, record = (
        run.array(f"tree.{key}", "i", N) for key in ("branch", "child", "record")
    )
    point, fixed, cluster = (
        _lists(run, end, entries)
        for end, entries in (
            ("tree.point_end", "tree.index"),
            ("tree.fixed_end", "tree.fixed"),
            ("tree.cluster_end", "tree.cluster"),
        )
    )
    R = len(point.end)
    require(len(fixed.end) == R, "tree.fixed_end and tree.point_end differ in length")
    tree = Tree(
        kind,
        branch,
        child,
        record,
        run.numbers("tree.beta", R, n_rows if R else None),
        run.numbers("tree.scale", R),
        point,
        run.numbers("tree.value", len(point.entries)),
        fixed,
        cluster,
    )
    _check_ranges(tree, n)
    return tree


def _lists(run: Archive, end_key: str, key: str) -> Lists:
    end, entries = run.array(end_key, "i", None), run.array(key, "i", None)
    all_ends = np.concatenate([[0], end])
    require(
        (np.diff(all_ends) >= 0).all() and all_ends[-1] == len(entries),
        f"{end_key} does not increase from 0 to the number of entries",
    )
    return Lists(end, entries)


def _check_ranges(tree: Tree, n: int) -> None:
    """Refuse numbers that are out of range, and children that precede their parent."""
    N, R = len(tree.kind), len(tree.point.end)
    last, fixed = tree.child + (tree.branch != -1), tree.fixed.entries
    has_record = np.isin(tree.kind, (INHERITED, COMPLETED), invert=True)
    rules = {
        "branch": (tree.branch < n) & (tree.branch >= -1 - len(tree.cluster.end)),
        "child": (tree.child == 0)
        | ((tree.child > np.arange(N)) & (tree.child < N) & (last < N)),
        "record": (tree.record < R) & ((tree.record >= 0) | ~has_record),
        "index": (tree.point.entries >= 0) & (tree.point.entries < n),
        "fixed": (fixed >= -n) & (fixed <= n) & (fixed != 0),
        "cluster": (tree.cluster.entries >= 0) & (tree.cluster.entries < n),
    }
    for key, holds in rules.items():
        require(holds.all(), f"tree.{key} has a number out of range")
