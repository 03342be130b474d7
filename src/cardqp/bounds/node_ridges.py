r"""What a node adds to the ridge of a sparse minorant.

At the root every row of the rest ``R = Q - P`` loses its ``K - 1`` largest entries.
In a node a point sees all variables that are switched on, none of those switched off,
and as many of the others as there are slots left:

.. math::
    \sum_{i \in S_1} |R_{ij}| h_i
    + \text{the sum of the largest } |R_{ij}| h_i,\; i \in R,

of as many as there are slots, one less if ``j`` itself takes one.  The difference to
the sum at the root, over ``h_j``, is added to the ridge
(docs/theory.md#node-ridges).
"""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import node_ridge_unit
from cardqp.bounds.sparse_minorant import entries_of, offdiagonal_loss, ridge_unit
from cardqp.bounds.top_sums import raised_ridge, weighted_sums
from cardqp.problem import SparseQP

MAX_VARIABLES = 1000
"""The most variables for which ridges of nodes are computed."""


@dataclass(frozen=True, slots=True, eq=False)
class MinorantRest:
    """What a sparse minorant leaves of the form, as far as it can cost something.

    Attributes
    ----------
    losses : (n, n) array
        In row ``j``, the most that each entry of the rest takes off, times the weight
        of its column's variable.
    weights : (n,) array
        The weights ``h`` of the variables.
    row_sums : (n,) array
        The sums of the largest losses of each row that the minorant's ridge pays for,
        over all variables that there were when it was made.
    """

    losses: FloatArray
    weights: FloatArray
    row_sums: FloatArray

    @classmethod
    def of(
        cls, problem: SparseQP, minorant: SparseQP, weights: FloatArray | None
    ) -> "MinorantRest | None":
        """What is left of a problem's form over that of its minorant with such weights.

        None if there are too many variables, or blocks.
        """
        if problem.n > MAX_VARIABLES or problem.rule.blocks is not None:
            return None
        scale = ridge_unit(problem) * (1.0 if weights is None else weights)
        Q, P = entries_of(problem.quadratic), minorant.quadratic.dense()
        count = min(problem.rule.width, problem.n) - 1
        row_sums = np.zeros(problem.n)
        if count > 0:
            row_sums = weighted_sums(Q, P, scale, problem.signs, count)
        return cls(offdiagonal_loss(Q - P, problem.signs) * scale, scale, row_sums)

    def restrict(self, kept: IntArray) -> "MinorantRest":
        """The rest on some of the variables, while all others are switched off."""
        losses = self.losses[np.ix_(kept, kept)]
        return replace(
            self,
            losses=losses,
            weights=self.weights[kept],
            row_sums=self.row_sums[kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class NodeRidges:
    """The ridges of a sparse minorant in nodes.

    Attributes
    ----------
    rest : MinorantRest
        What the minorant leaves of the form.
    order : (n, n) int array
        The variables by decreasing losses, for each row.
    ridge : (n,) array
        The ridge of the minorant at the root.
    limit : int
        How many variables may be switched on.
    """

    rest: MinorantRest
    order: IntArray
    ridge: FloatArray
    limit: int

    @classmethod
    def of(cls, rest: MinorantRest, minorant: SparseQP) -> "NodeRidges":
        """Sort the losses once for all nodes of a minorant, on the same variables."""
        order = np.argsort(-rest.losses, axis=1, kind="stable").astype(np.int32)
        return cls(rest, order, minorant.ridge.copy(), minorant.rule.limit)

    def at(self, status: IntArray) -> FloatArray:
        """The ridge in a node, rounded down; never below that at the root."""
        rest = self.rest
        return raised_ridge(
            rest.losses,
            self.order,
            rest.weights,
            rest.row_sums,
            self.ridge,
            status,
            self.limit,
            node_ridge_unit(self.limit),
        )
