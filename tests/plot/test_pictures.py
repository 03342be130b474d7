import io
from dataclasses import replace

import numpy as np
import pytest

from cardqp import ParameterError, Progress, SparseQP, Status, Trace, path, solve
from cardqp.datasets import make_regression
from cardqp.plot import (
    new_axes,
    plot_coefficients,
    plot_convergence,
    plot_path,
    plot_screening,
)
from cardqp.plot.screening_steps import DARK, KINDS
from cardqp.plot.style import saved

ODD = ("a_$b$", "_under", "x<y>&", "größe ψ", "price $", "long name " * 20, "$$", "^_^")


def problem(n=12, sparsity=4, n_samples=80, names=None):
    data = make_regression(n_samples, n, sparsity=sparsity, correlation=0.7, seed=1)
    return SparseQP.from_regression(
        data.X, data.y, eta=10.0, sparsity=sparsity, names=names
    )


def infeasible():
    A = [[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]
    return SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1, A=A, b=[-1.0, -1.0])


def render(ax):
    """Draw for real: Matplotlib reads mathematics and measures text only then."""
    ax.figure.savefig(io.BytesIO(), format="svg")
    ax.figure.savefig(io.BytesIO(), format="png", dpi=40)


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_coefficients_are_those_of_the_solutions():
    found = path(problem(), range(6))
    ax = plot_coefficients(found)
    x = np.array([solution.x for solution in found.solutions])
    ever = np.flatnonzero(x.any(axis=0))
    assert words(ax) == [f"x[{j}]" for j in sorted(ever, key=lambda j: -x[-1, j])]
    handles = ax.get_legend().legend_handles
    lines = {line.get_color() + line.get_linestyle(): line for line in ax.get_lines()}
    for handle, name in zip(handles, words(ax), strict=True):
        drawn = lines[handle.get_color() + handle.get_linestyle()]
        np.testing.assert_array_equal(drawn.get_xdata(), range(6))
        np.testing.assert_array_equal(drawn.get_ydata(), x[:, int(name[2:-1])])
    render(ax)


def test_small_coefficients_are_grey():
    found = path(problem(), range(1, 7))
    x = np.array([solution.x for solution in found.solutions])
    ever = np.count_nonzero(x.any(axis=0))
    ax = plot_coefficients(found, most=2)
    assert words(ax)[-1] == f"{ever - 2} smaller"
    assert len(words(ax)) == 3
    greys = [line for line in ax.get_lines() if line.get_color() == "0.75"]
    assert len(greys) == ever - 2
    named = [line for line in ax.get_lines()[1:] if line not in greys]
    least = min(np.abs(line.get_ydata()).max() for line in named)
    assert all(np.abs(line.get_ydata()).max() <= least for line in greys)


def test_twelve_lines_differ_in_print():
    ax = plot_coefficients(path(problem(20, 12), [12]))
    lines = ax.get_lines()[1:]
    looks = {
        (line.get_linestyle(), line.get_marker(), line.get_fillstyle())
        for line in lines
    }
    assert len(looks) == len(lines) == 12


def test_coefficients_without_any():
    ax = plot_coefficients(path(infeasible(), [1, 2]))
    assert texts(ax) == ["no feasible point"]
    ax = plot_coefficients(path(problem(), [0]))
    assert texts(ax) == ["all coefficients are zero"]
    render(ax)
    with pytest.raises(ParameterError, match="`most` must be an integer"):
        plot_coefficients(path(problem(), [1]), most=0)


def test_odd_names_are_shown_as_they_are():
    names = [*ODD, *(f"x{i}" for i in range(4))]
    named = problem(12, 10, names=names)
    ax = plot_coefficients(path(named, [12]))
    shown = {text.replace(r"\$", "$") for text in words(ax)}
    assert {"a_$b$", "_under", "x<y>&", "$$"} <= shown
    assert "long name l…me long name" in shown
    render(ax)
    ax = plot_screening(solve(named))
    labels = {label.get_text().replace(r"\$", "$") for label in ax.get_yticklabels()}
    assert {"a_$b$", "_under", "price $", "^_^"} <= labels
    render(ax)


def test_path_shows_points_without_a_bound():
    found = path(problem(), [2])
    ax = plot_path(found)
    low, high = ax.get_ylim()
    assert high - low >= 1e-3 * found.solutions[0].objective
    assert ax.get_lines()[1].get_label() == "lower bound (proved)"
    np.testing.assert_array_equal(
        ax.get_lines()[1].get_ydata(), found.to_dict()["lower_bound"]
    )
    render(ax)
    assert texts(plot_path(path(infeasible(), [1, 2]))) == ["no feasible point"]


def test_path_without_any_bound():
    found = path(problem(), [2])
    unbounded = replace(found.solutions[0], lower_bound=-np.inf, gap=np.inf)
    found = replace(found, solutions=(unbounded,))
    ax = plot_path(found)
    assert ax.get_lines()[0].get_ydata() == [found.solutions[0].objective]
    assert len(ax.get_lines()[1].get_ydata()) == 0
    render(ax)


def closed_trace(given, **settings):
    trace = Trace()
    solution = solve(given, callback=trace, **settings)
    trace.close(solution)
    return trace, solution


def test_convergence_draws_the_trace():
    trace, solution = closed_trace(problem())
    ax = plot_convergence(trace)
    best, bound = ax.get_lines()
    columns = trace.to_dict()
    np.testing.assert_array_equal(best.get_xdata(), columns["seconds"])
    # The search adds up its objectives in another order than the solution does.
    upper = np.maximum(columns["objective"], solution.objective)
    lower = np.minimum(columns["lower_bound"], solution.lower_bound)
    np.testing.assert_array_equal(best.get_ydata(), upper)
    np.testing.assert_array_equal(bound.get_ydata(), lower)
    assert {best.get_drawstyle(), bound.get_drawstyle()} == {"steps-post"}
    assert best.get_linestyle() != bound.get_linestyle()
    assert ax.get_title().startswith("Gap less than 0.01 % after")
    assert ax.get_ylim()[1] >= solution.objective
    own = new_axes()
    assert plot_convergence(trace, own) is own
    render(ax)


def test_convergence_shows_no_point_that_is_not_the_answer():
    hard = problem(60, 8, 200)
    trace, solution = closed_trace(hard, method="best-response", level=1)
    assert min(trace.to_dict()["objective"]) < solution.objective
    best, bound = plot_convergence(trace).get_lines()
    assert np.nanmin(best.get_ydata()) == solution.objective
    assert np.nanmax(bound.get_ydata()) == solution.lower_bound


def test_convergence_of_decades_is_logarithmic():
    trace = Trace()
    for second in (0.01, 0.1, 10.0):
        trace(Progress("search", 1, second, 3.0 - second / 10, second / 10))
    ax = plot_convergence(trace)
    assert ax.get_xscale() == "log"
    assert ax.get_title() == "Gap 50 % after 10 s"
    render(ax)


@pytest.mark.parametrize(
    ("objective", "bound", "title"),
    [
        (3.0, -np.inf, "No proved bound after 1 s"),
        (np.inf, 3.0, "No feasible point after 1 s"),
        (np.inf, -np.inf, "No feasible point after 1 s"),
        (0.0, -0.5, "Gap 0.5 after 1 s"),
    ],
)
def test_convergence_of_what_is_not_known(objective, bound, title):
    trace = Trace()
    trace(Progress("search", 1, 1.0, objective, bound))
    ax = plot_convergence(trace)
    assert ax.get_title() == title
    best, below = ax.get_lines()
    np.testing.assert_array_equal(
        [best.get_ydata()[0], below.get_ydata()[0]],
        [value if np.isfinite(value) else np.nan for value in (objective, bound)],
    )
    render(ax)


def test_convergence_of_an_infeasible_problem():
    trace, solution = closed_trace(infeasible())
    assert solution.status is Status.INFEASIBLE
    ax = plot_convergence(trace)
    assert ax.get_title().startswith("Proved infeasible after")
    render(ax)


def test_convergence_needs_something():
    with pytest.raises(ParameterError, match="`trace` must hold something"):
        plot_convergence(Trace())


def test_screening_names_what_is_decided():
    solution = solve(problem())
    ax = plot_screening(solution)
    steps, answer = ax.collections
    rows = [label.get_text() for label in ax.get_yticklabels()]
    order = [int(name[2:-1]) for name in rows]
    assert sorted(order) == list(range(12))
    assert sorted(order[: len(solution.support)]) == solution.support.tolist()
    last = list(solution.certificate.decided(solution.problem))[-1]
    np.testing.assert_array_equal(steps.get_array()[:, -1], last[order])
    np.testing.assert_array_equal(steps.get_array()[:, 0], 0)
    chosen = answer.get_array()[:, 0]
    np.testing.assert_array_equal(chosen, np.isin(order, solution.support))
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[0] == "start"
    assert labels[-1] == "answer\n(optimal)"
    title = f"{np.sum(last == 0)} of 12 variables stay open at the root"
    assert ax.get_title(loc="right") == title
    assert words(ax) == [*(name for _, _, name in KINDS), "chosen"]
    render(ax)


def test_screening_counts_many_variables():
    solution = solve(problem(100, 5, 300))
    ax = plot_screening(solution)
    last = list(solution.certificate.decided(solution.problem))[-1]
    counts = [int(np.sum(last == kind)) for kind in (1, 0, -1)]
    assert counts[1] < 100
    assert texts(ax)[-2:] == [
        " {} in, {} open, {} out".format(*counts),
        f" {len(solution.support)} chosen",
    ]
    steps = len(texts(ax)) - 1
    widths = [bar.patches[steps - 1].get_width() for bar in ax.containers[:3]]
    assert widths == counts
    assert ax.containers[3].patches[0].get_width() == len(solution.support)
    assert ax.containers[3].patches[0].get_facecolor()[:3] == pytest.approx(
        [int(DARK[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )
    render(ax)


def test_screening_of_an_answer_that_is_not_proved():
    solution = solve(problem(), method="beck-hallak", gap=0.0)
    assert solution.status is Status.FEASIBLE
    labels = [text.get_text() for text in plot_screening(solution).get_xticklabels()]
    assert labels[-1] == "answer\n(not proved)"


def test_screening_without_an_answer():
    solution = solve(infeasible())
    ax = plot_screening(solution)
    assert len(ax.collections) == 1
    assert "chosen" not in words(ax)
    render(ax)


def test_screening_of_one_variable():
    solution = solve(SparseQP(np.eye(1), [-1.0], eta=1.0, sparsity=1))
    ax = plot_screening(solution)
    assert ax.collections[-1].get_array().tolist() == [[1]]
    render(ax)


def test_screening_needs_a_certificate():
    solution = replace(solve(problem()), certificate=None)
    with pytest.raises(ParameterError, match="`solution` must have a certificate"):
        plot_screening(solution)


def test_who_reads_a_picture_gets_the_old_one_or_the_new_one(tmp_path):
    axes, target = new_axes(), tmp_path / "picture.png"
    saved(axes, target)
    before = target.read_bytes()
    axes.set_title("new")
    with target.open("rb") as stream:
        saved(axes, target)
        assert stream.read() == before
    assert target.read_bytes() != before
    assert list(tmp_path.iterdir()) == [target]


def test_a_picture_without_an_ending_gets_one(tmp_path):
    saved(new_axes(), tmp_path / "picture")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
