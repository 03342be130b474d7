"""What an answer claims beyond its bound: point, objective, gap, status (section 2)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from cardqp_check.archives import Archive
from cardqp_check.forms import part_of
from cardqp_check.problem import Problem
from cardqp_check.rounding import Floats, Ints, exact
from cardqp_check.start import curvatures, view_of
from cardqp_check.views import INDEPENDENT

FEASIBLE = 1e-6
"""How far rows and bounds may be off, relative to their terms."""

SAME = 1e-12
"""How far the objective may be off, relative to its terms."""

LARGEST_TOLERANCE = 0.01
"""Nothing is optimal to a larger gap."""


@dataclass(frozen=True)
class Objective:
    """J(x), and the sizes of its terms added up."""

    value: arb
    terms: arb


def complaints_about(problem: Problem, run: Archive, proved: float) -> Iterator[str]:
    """Claims that do not follow, where a certificate proves a bound."""
    claimed, status = run.number("lower_bound"), run.text("status")
    if not claimed <= proved:
        yield f"the bound {claimed!r} is claimed, {proved!r} is proved"
    if "x" not in run:
        yield from _about_no_point(run, status)
        return
    x = run.numbers("x", problem.n)
    yield from _about_feasibility(problem, run, x)
    objective = objective_at(problem, x)
    stated = arb(run.number("objective"))
    if not abs(objective.value - stated) <= SAME * objective.terms:
        yield f"the objective is {objective.value.str(20)}, not {stated.str(20)}"
    yield from _about_gap(problem, run, objective, status)


def _about_no_point(run: Archive, status: str) -> Iterator[str]:
    if status not in ("INFEASIBLE", "UNKNOWN"):
        yield f"the status is {status}, but there is no point"
    if status == "INFEASIBLE" and run.number("lower_bound") != math.inf:
        yield "the status is INFEASIBLE, but the lower bound is not infinite"
    if run.number("objective") != math.inf:
        yield "there is an objective, but no point"
    if run.number("gap") != math.inf:
        yield "there is a gap, but no point"


def _about_feasibility(problem: Problem, run: Archive, x: Floats) -> Iterator[str]:
    support = np.flatnonzero(x)
    stated = run.indices("support", problem.n)
    if not np.array_equal(np.sort(stated), support):
        yield f"the support is {support.tolist()}, not {stated.tolist()}"
    on = _switched_on(problem, support)
    yield from _about_rule(problem, on)
    for j in on:
        low, high, at = (arb(float(a[j])) for a in (problem.lower, problem.upper, x))
        if not (low - at <= FEASIBLE * abs(at) and at - high <= FEASIBLE * abs(at)):
            yield f"x[{j}] is {x[j]!r}, not within its bounds"
    rows = problem.rows
    for i, (row, b) in enumerate(zip(rows.A, rows.b.tolist(), strict=True)):
        products = [arb(float(row[j])) * arb(float(x[j])) for j in support]
        excess, terms = sum(products, arb(0)) - b, sum(map(abs, products), abs(arb(b)))
        is_equality = i >= rows.n_inequalities
        if not (abs(excess) if is_equality else excess) <= FEASIBLE * terms:
            yield f"row {i} is off by {excess.str(5)}"
    if "start.factor" in run and not _is_independent(problem, support):
        yield "the nonzeros of x are not independent, so that it does not count"


def _switched_on(problem: Problem, support: Ints) -> Ints:
    """The least support that a point can have: its nonzeros and what is forced in."""
    status = np.zeros(problem.n, np.int8)
    status[support] = 1
    status[problem.forced_in] = 1
    return np.flatnonzero(problem.rule.whole(status))


def _about_rule(problem: Problem, on: Ints) -> Iterator[str]:
    rule = problem.rule
    if rule.count(on) > rule.limit:
        yield f"{rule.count(on)} are nonzero, {rule.limit} may be"
    if np.isin(problem.forced_out, on).any():
        yield "a variable is nonzero that is forced out"
    if rule.groups is not None:
        used = np.bincount(rule.groups[on] + 1, minlength=len(rule.group_limits) + 1)
        if (used[1:] > rule.group_limits).any():
            yield "a group has more nonzeros than it may have"


def objective_at(problem: Problem, x: Floats) -> Objective:
    """The objective, and the terms that its error is measured by."""
    support = np.flatnonzero(x)
    point = exact(x[support])
    linear = (part_of(problem.c, support, [0]).transpose() * point)[0, 0]
    size = sum((abs(problem.c[int(j), 0] * arb(float(x[j]))) for j in support), arb(0))
    curved = _curved(problem, support, point)
    curved += sum((problem.ridge[j] * arb(float(x[j])) ** 2 for j in support), arb(0))
    price = arb(0)
    if problem.rule.penalty > 0:
        price = arb(problem.rule.penalty) * problem.rule.count(
            _switched_on(problem, support)
        )
    return Objective(
        problem.constant + linear + curved + price,
        abs(problem.constant) + price + size + abs(curved),
    )


def _curved(problem: Problem, support: Ints, point: arb_mat) -> arb:
    """``x'Qx``."""
    if problem.Q is not None:
        block = exact(problem.Q[np.ix_(support, support)])
        return (point.transpose() * block * point)[0, 0]
    assert problem.columns is not None
    fitted = exact(problem.columns.take(support)) * point
    return problem.multiplier * sum((t * t for t in fitted.entries()), arb(0))


def _is_independent(problem: Problem, support: Ints) -> bool:
    """Whether ``G_SS`` is at least a share of its diagonal, by elimination."""
    form = view_of(problem).form.restrict(support).matrix()
    n = len(support)
    G = [[form[i, j] for j in range(n)] for i in range(n)]
    for i, j in enumerate(support):
        G[i][i] = (G[i][i] + problem.ridge[j]) * (1 - arb(INDEPENDENT))
    for i in range(n):
        if not G[i][i] > 0:
            return False
        for k in range(i + 1, n):
            t = G[k][i] / G[i][i]
            G[k] = [a - t * b for a, b in zip(G[k], G[i], strict=True)]
    return True


def _about_gap(
    problem: Problem, run: Archive, objective: Objective, status: str
) -> Iterator[str]:
    gap, tolerance = run.number("gap"), run.number("tolerance")
    difference = arb(run.number("objective")) - arb(run.number("lower_bound"))
    is_small = _is_within(problem, objective, difference, gap * (1 + 1e-6) + SAME)
    if not (gap == math.inf or (gap >= 0 and is_small)):
        yield f"the gap is not {gap!r}"
    if status not in ("OPTIMAL", "FEASIBLE"):
        yield f"the status is {status}, but there is a point"
    if status == "OPTIMAL":
        if not 0 <= tolerance <= LARGEST_TOLERANCE:
            yield f"nothing is optimal to a tolerance of {tolerance!r}"
        if not _is_within(problem, objective, difference, tolerance):
            yield f"the gap is not within the tolerance {tolerance!r}"


def _is_within(
    problem: Problem, objective: Objective, difference: arb, share: float
) -> bool:
    """Whether a difference is at most a share of the unit of gaps."""
    if difference <= 0:
        return True
    if not (difference.is_finite() and share < math.inf):
        return False
    # The least of the three is found last: it takes a pass over the data.
    for unit in (abs(objective.value), 1e-8 * objective.terms):
        if difference <= share * unit:
            return True
    return bool(difference <= share * arb(1e-12) * _largest_gain(problem))


def _largest_gain(problem: Problem) -> arb:
    """The most that one variable within its bounds can take off the objective."""
    largest, view = arb(0), view_of(problem)
    bounds = zip(view.lower.tolist(), view.upper.tolist(), strict=True)
    for c, g, (low, high) in zip(
        problem.c.entries(), curvatures(problem, view), bounds, strict=True
    ):
        if g > 0:
            x = -c / (2 * g)
            x = x.max(arb(low)) if math.isfinite(low) else x
            x = x.min(arb(high)) if math.isfinite(high) else x
            largest = largest.max(-(x * (c + g * x)))
    return largest
