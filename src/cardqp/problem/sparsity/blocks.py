"""Blocks of variables that share a switch."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import block_total_unit


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Disjoint blocks of variables that share a switch.

    The first variable of a block leads it: it stands for the block where switches are
    counted or compared.

    Parameters
    ----------
    labels : (n,) int array
        The block of each variable; every number from 0 to the largest occurs.
    """

    labels: IntArray

    @classmethod
    def of(cls, labels: IntArray) -> "Blocks":
        """Blocks with any labels."""
        return cls(np.unique(labels, return_inverse=True)[1])

    @property
    def leaders(self) -> IntArray:
        """The first variable of each block."""
        return np.unique(self.labels, return_index=True)[1]

    @property
    def leads(self) -> BoolArray:
        """Mask of the variables that lead their blocks."""
        mask = np.zeros(len(self.labels), dtype=bool)
        mask[self.leaders] = True
        return mask

    @property
    def sizes(self) -> IntArray:
        """Number of variables in each block."""
        return np.bincount(self.labels)

    def restrict(self, kept: IntArray) -> "Blocks":
        """The blocks with only some variables."""
        return Blocks.of(self.labels[kept])

    def closed(self, mask: BoolArray) -> BoolArray:
        """Mask of all variables that share a block with one in ``mask``."""
        is_met = np.bincount(self.labels, mask) > 0
        return np.asarray(is_met[self.labels])

    def summed(self, costs: FloatArray) -> FloatArray:
        """The costs of blocks, rounded down, at their leaders; zero elsewhere."""
        size = np.bincount(self.labels, np.abs(costs))
        with np.errstate(invalid="ignore"):
            margin = block_total_unit(self.sizes) * size
            total = np.bincount(self.labels, costs) - margin
        result = np.zeros(len(costs))
        # What is not a number proves nothing.
        result[self.leaders] = np.where(np.isfinite(size), total, -np.inf)
        return result
