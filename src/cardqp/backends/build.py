"""Any problem as a mixed-integer program, in units that suit solvers."""

from contextlib import nullcontext, suppress

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.backends import bounds, known
from cardqp.backends.program import Formulation, Limit, Program
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.exceptions import ParameterError
from cardqp.heuristics.local_search import improve
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.rows import Rows, power_of_two

UNIT = 1000.0
"""A good objective in the program's units."""

SHARE = 0.999
"""Share of the least eigenvalue that is moved to the ridge; the form stays convex."""

NEGLIGIBLE = 1e-13
"""Eigenvalues below this share of the largest are rounding errors of zero."""


def build(
    problem: SparseQP,
    formulation: Formulation,
    start: FloatArray | None,
    *,
    has_indicators: bool = True,
) -> Program:
    """Write any problem as a mixed-integer program.

    The start is a point whose support is a good guess.  For a solver that cannot switch
    variables off without bounds, all bounds that can be proved are in the program.

    Raises
    ------
    ParameterError
        When ``"big-m"`` is asked for and no valid bounds can be proved.
    """
    problem = with_positive_ridge(problem)
    first = known.fit_start(problem, start)
    fit = known.find_point(problem, first)
    lower, upper = bounds.implied_by_rows(problem)
    if formulation == "big-m" or not has_indicators:
        better = improve(problem, fit)
        with nullcontext() if formulation == "big-m" else suppress(ParameterError):
            value = better.objective
            lower, upper = bounds.implied_by_value(problem, (lower, upper), value)
        # These bounds hold for points as good as this one, which the start need not be.
        first = first if _is_within(first.x, lower, upper) else better
    size = known.size_of_objective(problem, fit)
    unit = float(power_of_two(np.array([UNIT / size]))[0])
    curvature = unit * (problem.quadratic.diagonal + problem.ridge)
    scale = 1.0 / power_of_two(np.sqrt(curvature))
    factor, weights = _split(problem, unit, scale, formulation == "perspective")
    switch, is_on, is_off = _switches(problem)
    rows = problem.rows
    return Program(
        problem=problem,
        formulation=formulation,
        scale=scale,
        unit=unit,
        factor=factor,
        weights=weights,
        slope=unit * scale * problem.c,
        price=unit * (problem.penalty or 0.0),
        constant=unit * problem.constant,
        rows=Rows(rows.matrix * scale, rows.rhs, rows.is_equality).scaled()[0],
        lower=lower / scale,
        upper=upper / scale,
        switch=switch,
        is_on=is_on,
        is_off=is_off,
        limits=_limits(problem, len(is_on)),
        start=None if first.x is None else first.x / scale,
    )


def _is_within(x: FloatArray | None, lower: FloatArray, upper: FloatArray) -> bool:
    """Whether the nonzeros of a point, if there is one, are within bounds."""
    return x is None or bool(((x == 0) | ((lower <= x) & (x <= upper))).all())


def _split(
    problem: SparseQP, unit: float, scale: FloatArray, has_cones: bool
) -> tuple[FloatArray, FloatArray]:
    """The factor of the form, and the weights of the cones.

    With cones, the least eigenvalue of the form joins the ridge.
    """
    form, root = problem.quadratic, np.sqrt(unit)
    ridge = unit * scale * scale * problem.ridge
    weights = ridge if has_cones else np.zeros(problem.n)
    if isinstance(form, Factor) and len(form.array) < problem.n:
        factor = root * form.array * scale
        if has_cones:
            return factor, weights
        return np.vstack([factor, np.diag(np.sqrt(ridge))]), weights
    Q = unit * scale[:, None] * form.dense() * scale
    values, vectors = np.linalg.eigh(Q + np.diag(ridge - weights))
    spare = max(SHARE * float(values[0]), 0.0) if has_cones else 0.0
    left = values - spare
    kept = left > NEGLIGIBLE * values[-1]
    factor = np.sqrt(left[kept])[:, None] * vectors[:, kept].T
    return factor, weights + (spare if has_cones else 0.0)


def _switches(problem: SparseQP) -> tuple[IntArray, BoolArray, BoolArray]:
    """The switch of each variable, and which are on or off in any case."""
    labels = np.arange(problem.n) if problem.blocks is None else problem.blocks
    switch = np.unique(labels, return_inverse=True)[1]
    is_on = np.zeros(int(switch.max()) + 1, dtype=bool)
    is_off = is_on.copy()
    is_on[switch[problem.forced_in]] = True
    is_off[switch[problem.forced_out]] = True
    return switch, is_on, is_off


def _limits(problem: SparseQP, n_switches: int) -> tuple[Limit, ...]:
    """Limits on all switches and on those of groups, unless they hold anyway."""
    found = [Limit(np.arange(n_switches), problem.rule.limit)]
    if problem.groups is not None and problem.group_sparsity is not None:
        for group, most in enumerate(problem.group_sparsity):
            found.append(Limit(np.flatnonzero(problem.groups == group), int(most)))
    return tuple(limit for limit in found if limit.most < len(limit.switches))
