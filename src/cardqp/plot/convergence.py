"""The best point and the proved bound against time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.bounds.gap import percent
from cardqp.exceptions import ParameterError
from cardqp.plot.style import BLUE, ORANGE, arrays, focus, new_axes, remark

if TYPE_CHECKING:
    from cardqp._typing import FloatArray
    from cardqp.solution.trace import Trace, TracePoint

DECADES = 100.0
"""Times that differ by this factor are shown on a logarithmic axis."""


def plot_convergence(trace: "Trace", ax: Any = None) -> Any:
    """The best point and the proved bound against time, and the gap between them.

    A point that was met on the way but is not the answer is not drawn, nor is a bound
    above the one that the solution claims.

    Parameters
    ----------
    trace : Trace
        What was seen; close it with the solution to see the end.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("convergence.png")`` writes it to a file.

    Raises
    ------
    ParameterError
        When the trace has seen nothing.
    """
    if len(trace) == 0:
        raise ParameterError(
            "trace",
            "must hold something",
            given="it is empty",
            remedy="call `trace.close(solution)`",
        )
    ax = new_axes() if ax is None else ax
    seconds, upper, lower = arrays(trace, "seconds", "objective", "lower_bound")
    if trace.end is not None:
        upper = np.maximum(upper, trace.end.objective)
        lower = np.minimum(lower, trace.end.lower_bound)
    upper, lower = _known(upper), _known(lower)
    style = {"drawstyle": "steps-post", "markersize": 4, "markevery": _changes(seconds)}
    ax.fill_between(
        seconds, lower, upper, step="post", color=BLUE, alpha=0.2, linewidth=0
    )
    ax.plot(seconds, upper, "o-", color=ORANGE, label="best point", **style)
    ax.plot(seconds, lower, "v--", color=BLUE, label="lower bound (proved)", **style)
    focus(ax, float(np.nanmin(np.append(upper, np.inf))), lower)
    if seconds[0] > 0 and seconds[-1] >= DECADES * seconds[0]:
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel("seconds")
    ax.set_ylabel("objective")
    ax.set_title(_title(trace.points[-1]))
    if np.isnan(upper).all() and np.isnan(lower).all():
        remark(ax, "neither a point nor a bound")
    else:
        ax.legend(loc="best")
    return ax


def _known(values: "FloatArray") -> "FloatArray":
    """Infinite numbers are not drawn."""
    return np.where(np.isfinite(values), values, np.nan)


def _changes(seconds: "FloatArray") -> list[int]:
    """Markers that can be told apart: all of a few points, some of many."""
    count = len(seconds)
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, 15))})


def _title(last: "TracePoint") -> str:
    """A title that tells the gap at the end."""
    after, upper, lower = (
        f"after {last.seconds:.2g} s",
        last.objective,
        last.lower_bound,
    )
    if lower == np.inf:
        return f"Proved infeasible {after}"
    if upper == np.inf:
        return f"No feasible point {after}"
    if lower == -np.inf:
        return f"No proved bound {after}"
    difference = max(upper - lower, 0.0)
    left = percent(difference / abs(upper)) if upper else f"{difference:.2g}"
    return f"Gap {left} {after}"
