"""Relative gaps: one definition for the search and for the solution."""

import numpy as np

from cardqp._typing import FloatArray
from cardqp.problem import SparseQP

CANCELLATION = 1e-8
"""An objective smaller than this share of its own terms is measured by the terms."""

NOTHING = 1e-12
"""An objective smaller than this share of what a single variable could gain within its
bounds, without rows, is measured by that: zero is often optimal, and no bound exact."""


def gap_unit(problem: SparseQP, x: FloatArray, objective: float) -> float:
    """The magnitude that gaps are relative to: ``|objective|``, unless terms cancel."""
    terms = CANCELLATION * problem.terms_at(x)
    if terms > abs(objective):
        # They may be rounding, which is many times as much as the objective.
        terms = CANCELLATION * problem.accurate_terms_at(x)
    return max(abs(objective), terms, NOTHING * problem.gain_within_bounds)


def relative_gap(
    problem: SparseQP, x: FloatArray | None, objective: float, lower_bound: float
) -> float:
    """The gap relative to ``gap_unit``, at least 0; infinite without point or bound."""
    if x is None or not np.isfinite(lower_bound):
        return np.inf
    difference = objective - lower_bound
    if difference <= 0:
        return 0.0
    unit = gap_unit(problem, x, objective)
    return difference / unit if unit > 0 else np.inf


def percent(gap: float) -> str:
    """Format a gap as a percentage."""
    share = 100 * gap
    return "less than 0.01 %" if 0 < share < 0.01 else f"{share:.3g} %"


def finite(value: float) -> float | None:
    """The number, or None where it is not finite, for JSON."""
    return float(value) if np.isfinite(value) else None
