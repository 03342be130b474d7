"""The tree in the making, in the flat layout of its certificate."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.certificate.streamed import ResidualPoints, StreamedCertificate


class ResidualPoint(NamedTuple):
    """A dual point: nonzeros of a sparse point, and the scale of its residual."""

    columns: IntArray
    values: FloatArray
    scale: float


@dataclass(slots=True)
class TreeLog:
    """The tree in the making.

    Attributes
    ----------
    branch, child, record : lists of int
        As in :class:`cardqp.certificate.StreamedCertificate`.
    points : list of ResidualPoint
        Dual points of pruned leaves.
    """

    branch: list[int] = field(default_factory=lambda: [-1])
    child: list[int] = field(default_factory=lambda: [0])
    record: list[int] = field(default_factory=lambda: [-1])
    points: list[ResidualPoint] = field(default_factory=list)

    def split(self, position: int, branch: int) -> int:
        """Split a leaf on a column, and return the number of its first child."""
        first = len(self.branch)
        self.branch += [-1, -1]
        self.child += [0, 0]
        self.record += [-1, -1]
        self.branch[position], self.child[position] = branch, first
        return first

    def prune(self, position: int, point: ResidualPoint) -> None:
        """Record the dual point of a leaf."""
        self.points.append(point)
        self.record[position] = len(self.points) - 1

    @property
    def is_open(self) -> bool:
        """Whether a leaf has no dual point."""
        return any(
            b < 0 and r < 0 for b, r in zip(self.branch, self.record, strict=True)
        )

    def holds(self, some: Collection[int]) -> list[bool]:
        """For each node, whether its subtree holds one of some nodes."""
        found = [position in some for position in range(len(self.branch))]
        # Children have larger numbers than their parents.
        for position in reversed(range(len(found))):
            if self.branch[position] >= 0:
                first = self.child[position]
                found[position] = found[first] or found[first + 1]
        return found

    def pruned_at(self, points: Mapping[int, ResidualPoint]) -> "TreeLog":
        """The tree cut off at some nodes, which become leaves with these points."""
        kept, stack = [], [0]
        while stack:
            kept.append(position := stack.pop())
            if self._is_split(position, points):
                stack += [self.child[position], self.child[position] + 1]
        kept.sort()  # children stay behind their parents, as the replay demands
        number = {position: k for k, position in enumerate(kept)}
        log = TreeLog([], [], [])
        for k, position in enumerate(kept):
            is_split = self._is_split(position, points)
            log.branch.append(self.branch[position] if is_split else -1)
            log.child.append(number[self.child[position]] if is_split else 0)
            log.record.append(-1)
            if position in points:
                log.prune(k, points[position])
            elif self.record[position] >= 0:
                log.prune(k, self.points[self.record[position]])
        return log

    def _is_split(self, position: int, leaves: Collection[int]) -> bool:
        return self.branch[position] >= 0 and position not in leaves

    def certificate(
        self, root: list[ResidualPoint], cutoff: float
    ) -> StreamedCertificate:
        """The certificate, with dual points of the root and the cutoff of Theorem 2."""
        branch, child, record = (
            np.array(a, dtype=np.int64) for a in (self.branch, self.child, self.record)
        )
        at_root, leaves = _stacked(root), _stacked(self.points)
        return StreamedCertificate(
            at_root, cutoff, branch, child, record, leaves
        ).sealed()


def _stacked(points: list[ResidualPoint]) -> ResidualPoints:
    return ResidualPoints.stack(
        [(point.columns, point.values) for point in points],
        [point.scale for point in points],
    )
