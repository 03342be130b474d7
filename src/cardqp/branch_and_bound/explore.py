"""Compiled: a part of the tree below one branch, depth first, without leaving the loop.

For free problems, whose supports can be completed.  What it does to each branch is what
``visit.py`` does, and the proof comes back as arrays, numbered from the branch on.
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import compiled, inner
from cardqp._typing import UNIT_ROUNDOFF, FloatArray, IntArray
from cardqp.relaxation.assessment import (
    Margins,
    assess,
    largest_share,
    round_anchor,
    signed_changes,
)
from cardqp.relaxation.completion import best_completion, is_countable
from cardqp.relaxation.kernels import relax
from cardqp.relaxation.scaled_data import Data, Tilt

INHERITED, POINT, COMPLETED = 0, 1, 3
"""The kinds of :class:`cardqp.certificate.Kind` that occur here."""


class Exact(NamedTuple):
    """The values of supports: see :mod:`cardqp.heuristics.completed_supports`."""

    G: FloatArray
    c: FloatArray
    constant: float
    error: float


class Orders(NamedTuple):
    """How to go about it.

    Attributes
    ----------
    limit : int
        The most variables that may be switched on.
    cutoff : float
        The bound at which a branch is closed.
    tolerance, slack, max_iter
        How far relaxations are solved.
    budget : int
        The most branches to be processed.
    single : bool
        Whether dual points are stored in single precision.
    """

    limit: int
    cutoff: float
    tolerance: float
    slack: float
    max_iter: int
    budget: int
    single: bool


class Written(NamedTuple):
    """A proof in the making: see :class:`cardqp.certificate.ProofTree`.

    ``counts`` holds how many nodes, records, entries of points and fixings there are.
    """

    kind: IntArray
    branch: IntArray
    child: IntArray
    record: IntArray
    point_end: IntArray
    fixed_end: IntArray
    entry: IntArray
    value: FloatArray
    fixed: IntArray
    counts: IntArray


class Stack(NamedTuple):
    """Open branches; ``size`` holds how many."""

    position: IntArray
    depth: IntArray
    bound: FloatArray
    status: IntArray
    x: FloatArray
    size: IntArray


class Tally(NamedTuple):
    """Numbers that grow: ``[least closed bound, closed share, best objective met]``."""

    numbers: FloatArray
    support: IntArray


@inner
def new_proof(budget: int, n: int) -> Written:
    """Room for a proof with one node."""
    nodes, room = 2 * budget + 2, budget * n
    count = np.zeros(4, dtype=np.int64)
    count[0] = 1
    return Written(
        np.zeros(nodes, dtype=np.int8),
        np.full(nodes, -1, dtype=np.int32),
        np.zeros(nodes, dtype=np.int32),
        np.full(nodes, -1, dtype=np.int32),
        np.zeros(budget, dtype=np.int64),
        np.zeros(budget, dtype=np.int64),
        np.zeros(room, dtype=np.int32),
        np.zeros(room),
        np.zeros(room, dtype=np.int32),
        count,
    )


@inner
def write_point(
    proof: Written,
    position: int,
    index: IntArray,
    point: FloatArray,
    fixed: IntArray,
) -> None:
    """Record the dual point of a branch and what it decides."""
    count = proof.counts
    proof.kind[position] = POINT
    proof.record[position] = count[1]
    for i in range(len(index)):
        proof.entry[count[2] + i] = index[i]
        proof.value[count[2] + i] = point[i]
    for i in range(len(fixed)):
        proof.fixed[count[3] + i] = fixed[i]
    count[2] += len(index)
    count[3] += len(fixed)
    proof.point_end[count[1]] = count[2]
    proof.fixed_end[count[1]] = count[3]
    count[1] += 1


@inner
def push(
    stack: Stack,
    position: int,
    depth: int,
    bound: float,
    status: IntArray,
    x: FloatArray,
) -> None:
    """Add an open branch."""
    at = stack.size[0]
    stack.position[at] = position
    stack.depth[at] = depth
    stack.bound[at] = bound
    stack.status[at] = status
    stack.x[at] = x
    stack.size[0] = at + 1


@inner
def count_status(status: IntArray) -> tuple[int, int]:
    """How many variables are switched on, and how many are free."""
    inside, free = 0, 0
    for j in range(len(status)):
        inside += status[j] > 0
        free += status[j] == 0
    return inside, free


@inner
def complete(
    exact: Exact, status: IntArray, slots: int, n_free: int, tally: Tally
) -> float:
    """The bound of a branch whose supports are tried out; the best one is noted."""
    inside = np.flatnonzero(status > 0)
    free = np.flatnonzero(status == 0)
    if slots == 0:
        free = free[:0]
    elif n_free <= slots:
        inside, free, slots = np.flatnonzero(status >= 0), free[:0], 0
    gain, chosen = best_completion(exact.G, exact.c, inside, free, slots)
    bound = exact.constant - gain * (1.0 + 2.0 * exact.error)
    bound -= 8.0 * UNIT_ROUNDOFF * (abs(exact.constant) + gain)
    if bound < tally.numbers[2]:
        tally.numbers[2] = bound
        tally.support[:] = -1
        for i in range(len(inside)):
            tally.support[i] = inside[i]
        for i in range(len(chosen)):
            tally.support[len(inside) + i] = chosen[i]
    return bound


@inner
def split(
    orders: Orders,
    proof: Written,
    stack: Stack,
    position: int,
    depth: int,
    bound: float,
    status: IntArray,
    branch: int,
    on: float,
    off: float,
    x: FloatArray,
) -> None:
    """Open the children of a branch."""
    n_inside, n_free = count_status(status)
    slots = orders.limit - n_inside
    first = proof.counts[0]
    proof.child[position] = first
    if slots <= 0 or n_free <= slots:
        proof.counts[0] += 1
        push(stack, first, depth, bound, status, x)
        return
    proof.branch[position] = branch
    proof.counts[0] += 2
    side = status.copy()
    side[branch] = -1
    push(stack, first + 1, depth + 1, max(bound, off), side, x)
    side[branch] = 1
    push(stack, first, depth + 1, max(bound, on), side, x)


@inner
def look_into(
    data: Data,
    tilt: Tilt,
    margins: Margins,
    unit: FloatArray,
    orders: Orders,
    proof: Written,
    stack: Stack,
    tally: Tally,
    position: int,
    depth: int,
    inherited: float,
    status: IntArray,
    slots: int,
    x: FloatArray,
) -> bool:
    """Relax a branch and split it; whether it was closed."""
    nu = np.zeros(0)
    _, anchor, _, _, _, _ = relax(
        data,
        None,
        tilt,
        status,
        slots,
        orders.cutoff - margins.constant,
        orders.tolerance,
        orders.slack,
        orders.max_iter,
        x,
        nu,
    )
    if not np.isfinite(anchor).all():
        anchor = np.zeros(len(x))
    index, point = round_anchor(anchor, unit, orders.single)
    value, least, decided, on, off, costs = assess(
        data, None, margins, status, slots, anchor, nu, orders.cutoff
    )
    bound = max(value, inherited)
    if bound >= orders.cutoff:
        write_point(proof, position, index, point, np.zeros(0, dtype=np.int32))
        tally.numbers[0] = min(tally.numbers[0], bound)
        return True
    write_point(proof, position, index, point, signed_changes(status, decided))
    tally.numbers[0] = min(tally.numbers[0], least)
    branch = largest_share(data.w, decided, x, costs)
    split(
        orders,
        proof,
        stack,
        position,
        depth,
        bound,
        decided,
        branch,
        on[branch],
        off[branch],
        x,
    )
    return False


@compiled
def explore(
    data: Data,
    tilt: Tilt,
    margins: Margins,
    unit: FloatArray,
    exact: Exact,
    orders: Orders,
    bound: float,
    status: IntArray,
    x: FloatArray,
    best: float,
) -> tuple[Written, Stack, Tally, int]:
    """Process branches below one, depth first, until the budget is used up.

    Returns
    -------
    proof, stack, tally : what was proved, what is open, and the sums
    n_nodes : how many branches were processed
    """
    n, room = len(status), orders.budget + 2
    proof = new_proof(orders.budget, n)
    stack = Stack(
        np.zeros(room, dtype=np.int32),
        np.zeros(room, dtype=np.int32),
        np.zeros(room),
        np.zeros((room, n), dtype=np.int8),
        np.zeros((room, n)),
        np.zeros(1, dtype=np.int64),
    )
    tally = Tally(np.array([np.inf, 0.0, best]), np.full(orders.limit, -1))
    push(stack, 0, 0, bound, status, x)
    n_nodes = 0
    while stack.size[0] > 0 and n_nodes < orders.budget:
        stack.size[0] -= 1
        at = stack.size[0]
        position, depth, inherited = (
            stack.position[at],
            stack.depth[at],
            stack.bound[at],
        )
        now, start = stack.status[at].copy(), stack.x[at].copy()
        n_nodes += 1
        n_inside, n_free = count_status(now)
        slots = orders.limit - n_inside
        is_closed = True
        if inherited >= orders.cutoff:
            tally.numbers[0] = min(tally.numbers[0], inherited)
        elif slots < 0:
            proof.kind[position] = COMPLETED
        elif is_countable(n_free, slots):
            proof.kind[position] = COMPLETED
            found = complete(exact, now, slots, n_free, tally)
            tally.numbers[0] = min(tally.numbers[0], max(found, inherited))
        else:
            is_closed = look_into(
                data,
                tilt,
                margins,
                unit,
                orders,
                proof,
                stack,
                tally,
                position,
                depth,
                inherited,
                now,
                slots,
                start,
            )
        if is_closed:
            tally.numbers[1] += 0.5**depth
    return proof, stack, tally, n_nodes
