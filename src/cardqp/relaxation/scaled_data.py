"""Arguments of the compiled kernels of the relaxation, in scaled units.

They are tuples with names, which Numba compiles.  Kernels are specialised to arguments
that are None and compile without the code for them, which saves half a second each.
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import inner
from cardqp._typing import BoolArray, FloatArray, IntArray


class GroupData(NamedTuple):
    """The group of each variable, -1 for none, and the limits of the groups."""

    label: IntArray
    limits: IntArray


class ClusterData(NamedTuple):
    """The required cluster of each undecided variable, -1 for none, and their number.

    If the number is zero, the array may be empty.
    """

    label: IntArray
    size: int


NO_CLUSTERS = ClusterData(np.zeros(0, dtype=np.int16), 0)
"""Nothing is required."""


class Data(NamedTuple):
    """A problem in scaled units, without its rows.

    Attributes
    ----------
    M : (n, n) or (n, k) array
        The matrix ``Q`` or, transposed, its factor.
    is_gram : bool
        Which of the two ``M`` is.
    c, w, lower, upper : (n,) arrays
        Linear cost, ridge and bounds.
    is_open : bool
        Whether all bounds are zero or infinite, and no variable is in a group.
    theta : float
        The price of a nonzero.
    lipschitz : float
        ``lipschitz I`` and the terms of :class:`RankOneMetric` or :class:`RowData`
        are a metric above ``2 Q``.
    groups : GroupData, optional
        Limits of groups.
    clusters : ClusterData
        Clusters of which a node requires at least one variable.
    """

    M: FloatArray
    is_gram: bool
    c: FloatArray
    w: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_open: bool
    theta: float
    lipschitz: float
    groups: GroupData | None
    clusters: ClusterData = NO_CLUSTERS


class Batch(NamedTuple):
    """Nodes whose relaxations are solved in one call, a row of each array for a node.

    Attributes
    ----------
    status : (k, n) int8 array
        1 for variables switched on, -1 for those switched off, 0 for undecided ones.
    remaining : (k,) int array
        How many of the undecided ones may be switched on.
    label : (k, n) or (k, 0) int16 array
        The required cluster of each variable, -1 for none.
    n_clusters : (k,) int array
        The number of clusters of which at least one variable must be switched on.
    w : (k, n) or (1, n) array
        The ridges of the nodes, or one for all.
    slack : (k,) array
        How nearly each is solved: see :class:`cardqp.relaxation.relaxation.Effort`.
    x, nu : (k, n) and (k, m) arrays
        Warm starts, in scaled units: points and row multipliers.
    """

    status: IntArray
    remaining: IntArray
    label: IntArray
    n_clusters: IntArray
    w: FloatArray
    slack: FloatArray
    x: FloatArray
    nu: FloatArray

    @classmethod
    def single(
        cls,
        status: IntArray,
        remaining: int,
        clusters: ClusterData,
        w: FloatArray,
        slack: float,
        x: FloatArray,
        nu: FloatArray,
    ) -> "Batch":
        """One node; its warm start is copied."""
        return cls(
            status[None],
            np.array([remaining], dtype=np.intp),
            clusters.label[None],
            np.array([clusters.size], dtype=np.intp),
            w[None],
            np.array([slack]),
            x[None].copy(),
            nu[None].copy(),
        )


@inner
def node_data(data: Data, batch: Batch, k: int) -> Data:
    """The data of a node: with its own ridge, and the clusters that it requires."""
    return Data(
        data.M,
        data.is_gram,
        data.c,
        batch.w[k % len(batch.w)],
        data.lower,
        data.upper,
        data.is_open,
        data.theta,
        data.lipschitz,
        data.groups,
        ClusterData(batch.label[k], batch.n_clusters[k]),
    )


class RankOneMetric(NamedTuple):
    """The term ``sigma direction direction'`` of a metric, where there are no rows.

    The direction is a matrix with one row; sigma, with one entry, is zero if no
    eigenvalue stands out.
    """

    direction: FloatArray
    sigma: FloatArray


class RowData(NamedTuple):
    """The rows ``A x <= b`` of a problem, and which of them are equations.

    Attributes
    ----------
    A, b, equal : arrays
        The rows.
    directions, sigma : (k, n) and (k,) arrays
        Terms of the metric, ``sigma_i direction_i' direction_i`` each.
    """

    A: FloatArray
    b: FloatArray
    equal: BoolArray
    directions: FloatArray
    sigma: FloatArray


class Coupling(NamedTuple):
    """The constraints of a proximal step: ``A x <= b + dual_regularisation nu``.

    First the rows, with a dual regularisation of zero; then the directions of the
    metric, equations with a positive one: ``direction'(x - y) = nu / (size sigma)``.
    """

    A: FloatArray
    b: FloatArray
    equal: BoolArray
    dual_regularisation: FloatArray


class Step(NamedTuple):
    """The constants of the proximal step in a node.

    Attributes
    ----------
    size : float
        The length of a gradient step.
    rho : (n,) array
        ``2 w`` times the step length.
    undecided : int array
        The variables that are neither switched on nor off.
    remaining : float
        How many of them may be switched on.
    r_most : float
        The largest ``r``, set by the price of a nonzero.
    group_slots : int array
        How many undecided variables may be switched on in each group.
    cap : (n,) array
        The largest ``r`` of each variable, set by its group; changed by the prox.
    required, required_end : int arrays
        The variables of required clusters, one cluster after the other, and where each
        cluster ends.
    vectors : (9, n) array
        What the step needs where bounds are zero or infinite: see ``open_prox.py``.
    """

    size: float
    rho: FloatArray
    undecided: IntArray
    remaining: float
    r_most: float
    group_slots: IntArray
    cap: FloatArray
    required: IntArray
    required_end: IntArray
    vectors: FloatArray
