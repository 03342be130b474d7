"""Bounds of variables that a good point stays away from: proved without them.

A bound of the problem without bounds holds with them.  Where the ridge is weak they
take the place of a split of ``Q``, and once there is a split they gain nothing, cost
more in every relaxation, and rule out completions (docs/theory.md#dropped-bounds).
"""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.settings import RootSettings
from cardqp.heuristics.local_search import improve
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.subproblems.support_qp import fit_support


def are_inactive(
    problem: SparseQP,
    x: FloatArray,
    settings: RootSettings,
    heuristics: HeuristicSettings,
) -> bool:
    """Whether to try a proof that does not make use of bounds, given a good point."""
    if not (_is_box(problem) and _needs_split(problem, settings)):
        return False
    if not is_within(problem, x / settings.inner_share):
        return False
    free = problem.without_bounds()
    fit = improve(free, fit_support(free, np.flatnonzero(x)), settings=heuristics)
    return fit.x is not None and is_within(problem, fit.x)


def is_within(problem: SparseQP, x: FloatArray) -> bool:
    """Whether a point meets the bounds of a problem."""
    return bool(((x >= problem.lower) & (x <= problem.upper)).all())


def _is_box(problem: SparseQP) -> bool:
    """Whether there are bounds with zero inside, and no rows."""
    is_bounded = np.isfinite(problem.lower).any() or np.isfinite(problem.upper).any()
    has_zero_inside = (problem.lower < 0).all() and (problem.upper > 0).all()
    return bool(is_bounded and has_zero_inside) and len(problem.rows) == 0


def _needs_split(problem: SparseQP, settings: RootSettings) -> bool:
    """Whether the ridge is weak and the rank of ``Q`` such that splits are good.

    The rank is judged by a half of the variables, taken at random.
    """
    form = problem.quadratic
    if not isinstance(form, Gram) or not (form.diagonal > 0).all():
        return False
    if np.median(problem.ridge / form.diagonal) > settings.weak_ridge:
        return False
    half = np.random.default_rng(0).permutation(problem.n)[: (problem.n + 1) // 2]
    block, unit = form.block(half), 1.0 / np.sqrt(form.diagonal[half])
    block *= unit[:, None] * unit
    block[np.diag_indices(len(half))] -= settings.rank_tolerance
    try:
        scipy.linalg.cholesky(block, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True
