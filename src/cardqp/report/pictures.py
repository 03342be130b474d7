"""Pictures of a report, as parts of its page."""

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.plot.style import BLUE, GREEN, ORANGE, new_axes, plain, whole_numbers
from cardqp.report.contents import Correlations, CVCurve, Feature, Predictions
from cardqp.report.page import picture, text

WIDTH = 5.0
"""Inches: on a phone the letters are still large enough to be read."""

MOST_BARS = 40
"""More bars cannot be told apart."""

MOST_DOTS = 2000
"""More dots make pages heavy, and nothing clearer."""

MOST_CORRELATED = 15
"""More numbers cannot be read on a phone."""


def figure(draw: Callable[[], Any], alt: str, caption: str) -> str:
    """The picture of a function, with a text for those who do not see it.

    The same data gives the same bytes, whatever Matplotlib's settings are.
    """
    below = f"<figcaption>{text(caption)}</figcaption>"
    return f"<figure>{picture(_as_svg(draw), 'svg+xml', alt)}{below}</figure>"


def _as_svg(draw: Callable[[], Any]) -> bytes:
    new_axes()  # says what to install if there is no Matplotlib
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        # The reader's browser has letters that Matplotlib's own font lacks.
        mpl.rcParams["svg.fonttype"] = "none"
        mpl.rcParams["svg.hashsalt"] = "cardqp"
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        drawn = draw().figure
        drawn.set_size_inches(WIDTH, drawn.get_figheight())
        # Without a ground of its own, so that pages can be dark.
        drawn.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    return stream.getvalue()


def worded(ax: Any, **words: str) -> Any:
    """A picture in the words of the page: what it is called there, what is measured."""
    ax.set(**words)
    return ax


def plot_effects(features: Sequence[Feature]) -> Any:
    """Bar chart of the effects of features on the prediction, the largest on top."""
    shown = sorted(features, key=lambda feature: -abs(feature.effect))[:MOST_BARS]
    ax = new_axes(height=1.2 + 0.26 * len(shown))
    effects = np.array([feature.effect for feature in shown])
    places = np.arange(len(shown))
    for sign, colour, hatch in ((1, BLUE, None), (-1, ORANGE, "////")):
        own = np.sign(effects) == sign
        ax.barh(places[own], effects[own], color=colour, hatch=hatch, edgecolor="white")
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_yticks(places, [plain(feature.name) for feature in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel("coefficient × standard deviation")
    return ax


def plot_cv(cv: CVCurve) -> Any:
    """Errors on left-out data with their standard errors, and what was taken."""
    ax = new_axes()
    ax.errorbar(cv.sparsities, cv.error, cv.deviation, fmt="o-", color=BLUE, capsize=3)
    taken = {"color": ORANGE, "markersize": 9, "label": f"taken: {cv.chosen}"}
    ax.plot(cv.chosen, cv.error_of_chosen, "D", zorder=3, **taken)
    whole_numbers(ax.xaxis)
    ax.set(xlabel="features allowed", ylabel="mean squared error, left out")
    ax.legend()
    return ax


def plot_predictions(predictions: Predictions, target: str) -> Any:
    """Predictions against observations; the diagonal is perfect."""
    ax = new_axes()
    predicted, observed = _some(predictions)
    _dots(ax, predicted, observed)
    both = np.array([predicted, observed])
    ends = [both.min(initial=np.inf), both.max(initial=-np.inf)]
    if np.isfinite(ends).all():
        ax.plot(ends, ends, "--", color=GREEN, linewidth=1.2)
    ax.set(xlabel=f"predicted {plain(target)}", ylabel=f"observed {plain(target)}")
    return ax


def plot_residuals(predictions: Predictions, target: str) -> Any:
    """Observations less predictions, against predictions."""
    ax = new_axes()
    predicted, observed = _some(predictions)
    ax.axhline(0.0, linestyle="--", color=GREEN, linewidth=1.2)
    _dots(ax, predicted, observed - predicted)
    ax.set(xlabel=f"predicted {plain(target)}", ylabel="observed less predicted")
    return ax


def left_out(predictions: Predictions) -> str:
    """A sentence on dots that are not drawn, if there are any."""
    count = len(predictions.observed)
    return f" {MOST_DOTS:,} of {count:,} are drawn." if count > MOST_DOTS else ""


def _some(predictions: Predictions) -> tuple[FloatArray, FloatArray]:
    """Predictions and observations; of very many, some at random."""
    pairs = np.array([predictions.predicted, predictions.observed])
    if pairs.shape[1] > MOST_DOTS:
        places = np.random.default_rng(0).choice(pairs.shape[1], MOST_DOTS, False)
        pairs = pairs[:, np.sort(places)]
    return pairs[0], pairs[1]


def _dots(ax: Any, x: FloatArray, y: FloatArray) -> None:
    ax.plot(x, y, ".", color=BLUE, alpha=0.5, markersize=5)


def plot_correlations(correlations: Correlations) -> Any:
    """The correlations as numbers in coloured squares, each pair once."""
    names = correlations.names[:MOST_CORRELATED]
    count = len(names)
    ax = new_axes(height=1.2 + 0.3 * count)
    matrix = np.array(correlations.matrix)[:count, :count]
    shown = np.where(np.tri(count, k=-1, dtype=bool), matrix, np.nan)
    places = np.arange(count + 1) - 0.5
    ax.pcolormesh(places, places, shown, cmap="RdBu_r", vmin=-1, vmax=1, alpha=0.6)
    ax.invert_yaxis()
    for i in range(count):
        for j in range(i):
            value = round(float(matrix[i, j]), 2) + 0.0  # no minus before a zero
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7)
    numbered = [f"{plain(each)}  {i + 1}" for i, each in enumerate(names)]
    ax.set_yticks(range(count), numbered)
    ax.set_xticks(range(count), [str(i + 1) for i in range(count)])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
