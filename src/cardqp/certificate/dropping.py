"""Bounds of branches by a search for better supports, which drops variables.

With ``G = Q + diag(ridge)``, a support gains a quarter of ``c'G^{-1}c``, and no more
than a larger one.  The search begins with all variables of a branch and drops one after
the other; it need not go on where all that are left gain too little
(docs/theory.md#dropping).  Nothing of the search that found the proof is used here: it
is repeated.
"""

import numpy as np

from cardqp._typing import IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT
from cardqp.bounds.circuits import Part, independent_parts
from cardqp.certificate.dropping_kernel import Inside, Nodes, largest_left
from cardqp.certificate.full_gain import FullGain
from cardqp.problem import SparseQP

MOST_STEPS = 1e9
"""The most steps of all searches of a proof, about half an hour.  A forged certificate
must not make the checker search forever."""


def searched_bound(
    problem: SparseQP,
    fixed_in: IntArray,
    free: IntArray,
    cutoff: float,
    n_steps: float,
    error: float,
) -> float:
    """Return a lower bound on the objective over all supports of a branch.

    It is at most the cutoff: supports are not searched once their bound is above it.
    If only points with independent nonzeros count, the problem is searched in parts.
    The ``error`` is the relative one of the gain of the largest support.  The bound is
    ``-inf`` if nothing is proved within ``n_steps``, and for problems with constraints,
    a penalty, groups or blocks.
    """
    wanted = gain_at(problem.constant, cutoff)
    if not is_searchable(problem) or not np.isfinite(error) or not wanted > 0:
        return -np.inf
    parts = independent_parts(problem, fixed_in, free)
    if parts is None:
        return -np.inf
    least = most = wanted / (1.0 + 2.0 * error)
    for part in parts:
        gain, n_steps = _largest_gain(problem, part, wanted, least, n_steps)
        most = max(most, gain)
    if most == least:
        return cutoff
    gain = 0.25 * most * (1.0 + error)
    bound = problem.constant - gain - COMPLETION_UNIT * (abs(problem.constant) + gain)
    return float(min(cutoff, bound)) if np.isfinite(bound) else -np.inf


def _largest_gain(
    problem: SparseQP, part: Part, wanted: float, least: float, n_steps: float
) -> tuple[float, float]:
    """Return the largest gain of a part, or ``least`` if more, and the steps left."""
    if len(part.index) == 0:
        return least, n_steps
    full = FullGain.of(problem, part.index)
    if full is None:
        return np.inf, n_steps
    threshold, n_inside = full.threshold(wanted), len(part.fixed_in)
    if full.gain <= threshold:
        return least, n_steps
    places = min(problem.rule.limit, len(full.c))
    nodes, inside = Nodes.start(full, n_inside), Inside.start(full, n_inside, places)
    most, left = largest_left(nodes, inside, threshold, least, n_steps)
    return float(most), float(left)


def is_searchable(problem: SparseQP) -> bool:
    """Whether a support's gain is all that counts, and only their number is limited."""
    is_plain = problem.is_unconstrained and problem.rule.penalty == 0
    return is_plain and problem.rule.limit > 0


def gain_at(constant: float, value: float) -> float:
    """Four times a gain with which the objective is certainly above ``value``."""
    margin = 2.0 * COMPLETION_UNIT * (abs(constant) + abs(value))
    return 4.0 * (constant - value - margin)
