"""What dual points prove: base and costs (section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from cardqp_check.forms import Point, diagonal, dot, part_of
from cardqp_check.refusal import require
from cardqp_check.rounding import (
    Floats,
    add_below,
    below,
    down,
    exact,
    matrix_above,
    matrix_below,
    up,
)
from cardqp_check.views import View


@dataclass(frozen=True)
class DualPoint:
    """A dual point: a sparse vector, multipliers of the rows, and the scale t."""

    point: Point
    beta: Floats
    scale: float


@dataclass(frozen=True)
class Terms:
    """``base`` plus the least sum of ``costs`` is a bound; floats that are below.

    The penalty is not part of the costs.
    """

    base: float
    costs: Floats


def batch_size(view: View) -> int:
    """How many dual points are evaluated together: as many as memory allows."""
    return max(1, min(256, 2**24 // max(view.form.length, 1)))


def evaluate(
    view: View, points: Sequence[DualPoint], ridges: Floats | None = None
) -> list[Terms]:
    """Base and costs of dual points of a view.

    Parameters
    ----------
    view : View
        The view.
    points : sequence of DualPoint
        The points.
    ridges : array, optional
        The ridge for each point, if it is not that of the view.
    """
    require(
        view.is_regression or all(p.scale == 1 for p in points),
        "a dual point has a scale, though the view is no regression",
    )
    require(all(p.scale >= 0 for p in points), "a scale is negative")
    if not points:
        return []
    values, slopes = view.form.tangents([p.point for p in points])
    betas = np.array([view.rows.valid(p.beta) for p in points])
    bases = [_base(view, *each) for each in zip(points, values, betas, strict=True)]
    scales, multipliers = exact([p.scale for p in points]), exact(betas).transpose()
    low, high = np.empty((2, len(points), view.n))
    for part, slope in slopes:
        # t(c + 2(M + diag(v))a) + A'beta
        if any(p.scale != 1 for p in points):
            slope = slope * diagonal(scales.entries())
        c = part_of(view.c, range(part.start, part.stop), [0])
        gamma = slope + c * scales.transpose()
        if len(view.rows.b):
            gamma += exact(view.rows.A[:, part].T) * multipliers
        low[:, part], high[:, part] = matrix_below(gamma).T, matrix_above(gamma).T
    ridge = add_below(view.ridge if ridges is None else ridges, -view.form.excess)
    costs = least_costs(low, high, ridge, view.lower, view.upper)
    return [Terms(base, cost) for base, cost in zip(bases, costs, strict=True)]


def _base(view: View, p: DualPoint, value: arb, beta: Floats) -> float:
    """The base, where the form has some value at the point.

    For a regression ``y'r = N(kappa + c'a / 2)`` and ``r'r = N(kappa + c'a + a'Ma)``.
    """
    t, (index, entries) = arb(p.scale), p.point
    base = (2 * t - t * t) * view.constant - t * t * value
    if p.scale != 1:
        base += (t - t * t) * dot(entries, [view.c[int(j), 0] for j in index])
    return below(base - dot(beta, exact(view.rows.b).entries()))


def least_costs(
    low: Floats, high: Floats, ridge: Floats, lower: Floats, upper: Floats
) -> Floats:
    """At most the least of ``g x + w x^2`` within bounds, for g between low and high.

    This is concave in g, so that it is least at one of the ends.  A ridge that is not
    positive proves nothing.
    """
    # Far larger ridges, which would overflow, are as good as this one; none is raised.
    w = np.where(ridge > 0, np.minimum(ridge, 1e300), 1.0)
    with np.errstate(all="ignore"):
        costs = np.minimum(
            _least_cost(low, w, lower, upper), _least_cost(high, w, lower, upper)
        )
    return np.where((ridge > 0) & ~np.isnan(costs), costs, -np.inf)


def _least_cost(g: Floats, w: Floats, lower: Floats, upper: Floats) -> Floats:
    """At most the least of ``g x + w x^2`` within bounds, for these floats g and w > 0.

    Without bounds it is ``-g^2 / 4w``, which is never too large; where the minimiser
    ``-g / 2w`` is certainly not between the bounds, the nearer bound is better.
    """
    free = np.where(g == 0, 0.0, down(up(g * g) / (-4.0 * w)))
    minimiser = g / (-2.0 * w)
    at_lower, at_upper = _value_at(lower, g, w), _value_at(upper, g, w)
    cost = np.where(up(minimiser) <= lower, at_lower, free)
    return np.asarray(np.where(down(minimiser) >= upper, at_upper, cost))


def _value_at(x: Floats, g: Floats, w: Floats) -> Floats:
    """At most ``x (g + w x)``."""
    product = w * x
    slopes = down(g + down(product)), up(g + up(product))
    value = np.minimum(down(x * slopes[0]), down(x * slopes[1]))
    return np.asarray(np.where(x == 0, 0.0, value))
