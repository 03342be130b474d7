"""Pictures of best subsets, from three columns to sixty."""

import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from cardqp import BestSubset, all_subsets
from cardqp.plot.style import plain
from cardqp.plot.subsets import EMPTY, MOST_ROWS


def table(n, seed=0, names=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, n))
    y = X[:, : (n + 1) // 2].sum(axis=1) + 2.0 * rng.standard_normal(120)
    return pd.DataFrame(X, columns=names or [f"x{j}" for j in range(n)]), y


def cells(ax):
    """The shades of a grid, a row for each subset."""
    (mesh,) = ax.collections
    shape = len(ax.get_yticks()), len(ax.get_xticks())
    return np.asarray(mesh.get_array()).reshape(shape)


def texts(labels):
    return [label.get_text().replace(r"\$", "$") for label in labels]


def overlaps(labels, renderer):
    """Whether two labels beside each other have a part of the picture in common."""
    boxes = [each.get_window_extent(renderer) for each in labels]
    return any(a.overlaps(b) for a, b in pairwise(boxes))


@pytest.mark.parametrize(("n", "size"), [(3, 3), (12, 6), (60, 60)])
def test_each_row_has_the_features_of_its_subset(n, size):
    X, y = table(n)
    found = all_subsets(X, y, max_size=min(size, 4), n_best=3)
    if size > 4:
        # All columns are in some subset, as in the picture of a long table.
        found = all_subsets(X, y, always_include=range(n), n_best=1)
    ax = found.plot()
    ordered = sorted(found, key=lambda each: each.measures["bic"])
    used = sorted({j for each in ordered for j in each.support})
    assert texts(ax.get_xticklabels()) == [f"x{j}" for j in used]
    dark = cells(ax) > EMPTY
    for row, each in zip(dark, ordered, strict=True):
        assert [used[k] for k in np.flatnonzero(row)] == each.support.tolist()
    shades = [row.max() for row in cells(ax) if row.max() > EMPTY]
    assert shades == sorted(shades, reverse=True)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    assert not overlaps(ax.get_xticklabels(), renderer)
    assert not overlaps(ax.get_yticklabels(), renderer)


def test_of_very_many_subsets_the_best_are_drawn():
    X, y = table(8)
    found = all_subsets(X, y, max_size=8, n_best=20)
    ax = found.plot(criterion="adjusted_r2")
    values = sorted((s.measures["adjusted_r2"] for s in found), reverse=True)
    assert len(found) > MOST_ROWS
    assert texts(ax.get_yticklabels()) == [f"{v:.4f}" for v in values[:MOST_ROWS]]
    title = f"Best {MOST_ROWS} of {len(found)} subsets, the best of all on top"
    assert ax.get_title() == title


def test_what_is_chosen_together_has_one_column():
    X, y = table(4)
    X["city"] = np.array(["Oslo", "Rome", "Bern"])[np.arange(120) % 3]
    found = all_subsets(X, y + 3.0 * (X["city"] == "Rome"), max_size=5)
    ax = found.plot()
    assert texts(ax.get_xticklabels()) == ["x0", "x1", "x2", "x3", "city"]
    assert found.plot_criterion().get_xlabel() == "features, or groups of them"
    with_city = ["city" in each.units for each in found]
    assert int((cells(ax)[:, 4] > EMPTY).sum()) == sum(with_city)


def test_long_names_are_told_apart_by_their_ends():
    names = [f"the mean of all measurements of probe {j}" for j in range(4)]
    X, y = table(4, names=names)
    shown = texts(all_subsets(X, y).plot().get_xticklabels())
    assert shown == [plain(name) for name in names]
    assert len(set(shown)) == 4
    odd = table(3, names=["$a_b$", "x<y>&", "two\nlines"])
    ax = all_subsets(*odd).plot()
    assert texts(ax.get_xticklabels()) == ["$a_b$", "x<y>&", "two lines"]
    ax.figure.savefig(io.BytesIO(), format="svg")


def test_nothing_is_drawn_where_there_is_nothing():
    X = np.ones((30, 3))
    found = all_subsets(X, np.random.default_rng(0).standard_normal(30))
    ax = found.plot()
    assert texts(ax.texts) == ["no subset has a feature"]
    found.plot_criterion().figure.savefig(io.BytesIO(), format="png")


def test_a_null_model_far_off_takes_no_room():
    X, y = table(6)
    signal, noise = X.sum(axis=1) + 0.1 * y, np.random.default_rng(5).normal(size=120)
    far, near = all_subsets(X, signal), all_subsets(X, noise)
    drawn = [ax.get_lines()[1].get_xdata() for ax in map(plotted, (far, near))]
    assert [line[0] for line in drawn] == [1, 0]
    assert near.best().size == 0


def plotted(found):
    return found.plot_criterion()


def test_errors_on_folds_are_those_of_sizes():
    X, y = table(5)
    found = BestSubset(4, criterion="cv", cv=4, n_best=3).fit(X, y).subsets_
    ax = found.plot()
    assert ax.get_ylabel() == "CV error"
    assert len(ax.get_yticks()) == 5
    lines = found.plot_criterion().get_lines()
    assert [line.get_label() for line in lines] == ["best of its size", "chosen"]
