import base64
import html
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Status, Trace, hierarchy, path, solve
from cardqp.report import (
    Correlations,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
    regression_report,
)
from cardqp.report.pictures import (
    MOST_BARS,
    MOST_DOTS,
    left_out,
    plot_correlations,
    plot_cv,
    plot_effects,
    plot_predictions,
    plot_residuals,
)
from cardqp.report.sections import correlations
from cardqp.report.versions import versions
from tests.report.examples import ATTACK, HOSTILE, bare, report_data

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def friendly():
    return regression_report(report_data())


@pytest.fixture(scope="module")
def hostile():
    return regression_report(report_data(HOSTILE))


def pictures(page):
    """The pictures of a page, parsed, by what they show."""
    found = re.findall(
        r"<img alt='([^']*)' src='data:image/svg\+xml;base64,([^']*)'>", page
    )
    return {
        html.unescape(alt): ElementTree.fromstring(base64.b64decode(data))
        for alt, data in found
    }


def letters(svg):
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def sections(page):
    return re.findall(r"<section id='(\w+)'>", page)


def plain(page):
    """What a reader reads."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.split("</style>")[1]))


ALL = ["features", "quality", "correlations", "data"]
ALL += ["path", "cv", "alternatives", "proof"]


def test_all_that_is_there_is_told(friendly):
    assert sections(friendly) == [*ALL, "reproduce"]
    assert len(pictures(friendly)) == 9
    said, data = plain(friendly), report_data()
    for feature in data.features:
        assert f"\n{feature.name}" in said
    for words in (
        "Report on feature 0",
        "1 January 2030",
        "4 of 10 features explain",
        "60 rows and 10 features from feature 1.csv, to predict target feature 2.",
        "feature 4 became 4 columns",
        "plus 0.1 times the sum of the squared coefficients (eta is 10, and the factor",
        "Out of sample means 5-fold cross-validation. One of five.",
        "all features, with a ridge",
        "The strongest correlation is that of",
        "4 features: the error on left-out data is 1.500. It is the least.",
        "One choice is nearly as good: feature 5.",
        "cardqp regress 'feature 0.csv' --features 4",
        "Made with cardqp 1.0, numpy 2.0.",
        "How it was proved",
    ):
        assert words in said


def test_what_is_not_there_is_left_out():
    page = regression_report(bare(report_data()))
    assert sections(page) == ["features", "quality", "data", "proof", "reproduce"]
    assert "<dt>R² out of sample" not in page
    assert "Nothing is known of other rows" in page
    assert "correlation" not in page
    assert "worth in R²" not in page
    assert "Made with" not in page
    assert "<ul>" not in page


def test_features_are_ranked_by_what_they_do(friendly):
    features = sorted(report_data().features, key=lambda f: -abs(f.coefficient * 2.0))
    rows = re.findall(
        r"<th data-label='feature'><bdi>(feature \d)</bdi></th><td", friendly
    )
    assert rows == [feature.name for feature in features]


def test_a_page_needs_nothing_else(hostile):
    outside = re.sub(r"base64,[^']*", "", hostile)
    assert "://" not in outside
    assert "<script" not in outside
    assert "<link" not in outside
    assert "url(" not in outside


def test_names_stay_names(hostile):
    body = re.sub(r"base64,[^']*", "", hostile)
    tags = set(re.findall(r"<(\w+)", body))
    assert not tags & {"script", "i", "object", "iframe", "svg"}
    assert body.count("<img") == len(re.findall(r"<img alt='[^']*' src='data:", body))
    assert ATTACK in plain(hostile)
    assert "</title></style><i>" in plain(hostile)
    assert hostile.count("</title>") == 1
    assert hostile.count("</style>") == 1
    hostile.encode()


def test_names_in_pictures_stay_names(hostile):
    drawn = pictures(hostile)
    assert len(drawn) == 9
    shown = {text for svg in drawn.values() for text in letters(svg)}
    assert "$a_b$ \\frac" in shown
    assert "_hidden & co" in shown
    assert any(text.startswith("<script>") for text in shown)
    for svg in drawn.values():
        assert not list(svg.iter(f"{SVG}script"))
        assert not list(svg.iter(f"{SVG}image"))
        for element in svg.iter():
            assert not any(key.lower().startswith("on") for key in element.attrib)


def test_letters_that_matplotlib_lacks_are_left_to_the_browser():
    data = report_data()
    first = replace(data.features[0], name="名前")
    page = regression_report(bare(replace(data, features=(first,))))
    (bars,) = (svg for alt, svg in pictures(page).items() if alt.startswith("Bars"))
    assert "名前" in letters(bars)


def test_the_same_data_gives_the_same_page(friendly):
    assert regression_report(report_data()) == friendly


def test_settings_of_matplotlib_do_not_matter(friendly):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert regression_report(report_data()) == friendly
        assert mpl.rcParams["font.size"] == 30


def test_an_open_gap_looks_open():
    data = report_data()
    assert "class='proof'>" in regression_report(bare(data))
    solution = replace(data.solution, status=Status.FEASIBLE, gap=0.25)
    page = regression_report(bare(replace(data, solution=solution)))
    assert "class='proof missing'>" in page
    assert "What was proved, and when" in page
    assert "≤ 25 %" in page


def test_no_answer_is_told():
    A = [[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]
    never = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1, A=A, b=[-1.0, -1.0])
    trace = Trace()
    solution = solve(never, callback=trace)
    trace.close(solution)
    data = replace(
        bare(report_data()),
        solution=solution,
        features=(),
        path=path(never, [1, 2]),
        trace=trace,
    )
    said = plain(regression_report(data))
    assert "None: there is no answer." in said
    assert "proved infeasible" in said
    assert "How well it predicts" not in said


def test_nothing_chosen_is_told():
    data = report_data()
    solution = solve(data.solution.problem.with_limits(sparsity=0))
    page = regression_report(bare(replace(data, solution=solution, features=())))
    assert "None: the prediction is always 1.250." in page


def test_many_features_are_not_all_drawn():
    many = [Feature(f"f{j}", 1.0 + j, 1.0, 0.0, 1.0) for j in range(MOST_BARS + 5)]
    ax = plot_effects(many)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"f{j}" for j in range(MOST_BARS + 4, 4, -1)]


def test_bars_are_effects():
    ax = plot_effects([Feature("up", 2.0, 2, 0, 3.0), Feature("down", -4.0, 2, 0, 0.5)])
    up, down = ax.patches
    assert (up.get_width(), down.get_width()) == (6.0, -2.0)
    assert up.get_hatch() != down.get_hatch()


def test_the_curve_marks_what_was_taken():
    ax = plot_cv(CVCurve((1, 3, 5), (3.0, 2.0, 2.5), (0.1, 0.2, 0.3), 3))
    curve, *_, taken = ax.get_lines()
    assert list(curve.get_ydata()) == [3.0, 2.0, 2.5]
    assert (list(taken.get_xdata()), list(taken.get_ydata())) == ([3], [2.0])
    assert ax.get_legend().get_texts()[0].get_text() == "taken: 3"
    (bars,) = ax.collections
    np.testing.assert_allclose(bars.get_segments()[1], [[3, 1.8], [3, 2.2]])


def test_predictions_are_drawn_against_observations():
    ax = plot_predictions(Predictions((1.0, 2.0), (1.5, 3.0)), "y$")
    dots, line = ax.get_lines()
    assert list(dots.get_xdata()) == [1.5, 3.0]
    assert list(dots.get_ydata()) == [1.0, 2.0]
    assert list(line.get_xdata()) == list(line.get_ydata()) == [1.0, 3.0]
    assert ax.get_xlabel() == r"predicted y\$"
    assert len(plot_predictions(Predictions((), ()), "y").get_lines()) == 1


def test_residuals_are_what_is_left_over():
    dots = plot_residuals(Predictions((1.0, 2.0), (1.5, 3.0)), "y").get_lines()[-1]
    assert list(dots.get_xdata()) == [1.5, 3.0]
    assert list(dots.get_ydata()) == [-0.5, -1.0]


def test_of_many_observations_some_are_drawn_and_that_is_said():
    numbers = tuple(map(float, range(MOST_DOTS + 50)))
    many = Predictions(numbers, numbers)
    dots, _ = plot_predictions(many, "y").get_lines()
    assert len(set(dots.get_xdata())) == MOST_DOTS
    assert left_out(many) == f" {MOST_DOTS:,} of {MOST_DOTS + 50:,} are drawn."
    assert left_out(Predictions((1.0,), (1.0,))) == ""


def test_correlations_are_drawn_once_and_the_strongest_is_named():
    found = Correlations(
        ("a", "b", "c"), ((1.0, 0.2, -0.9), (0.2, 1.0, 0.6), (-0.9, 0.6, 1.0))
    )
    shown = [each.get_text() for each in plot_correlations(found).texts]
    assert shown == ["0.20", "-0.90", "0.60"]
    said = plain_text(correlations(replace(report_data(), correlations=found)))
    assert "The strongest correlation is that of c and a: −0.90." in said
    assert "It is 0.5 or more, up or down, for 2 pairs of features" in said
    alone = replace(report_data(), correlations=Correlations(("a",), ((1.0,),)))
    assert correlations(alone) == ""


def plain_text(part):
    return html.unescape(re.sub(r"<[^>]*>", "", part))


def test_refitted_coefficients_are_not_called_proved():
    page = plain(regression_report(replace(report_data(), is_refitted=True)))
    assert "another choice may have a smaller squared error. With --no-ridge" in page
    assert "--no-ridge" not in plain(regression_report(report_data()))


def test_a_negative_bound_is_not_shown():
    data = report_data()
    low = {"status": Status.FEASIBLE, "lower_bound": -7.0, "gap": 6.78}
    solution = replace(data.solution, **low)
    open_path = replace(data.path, solutions=(solution,) * len(data.path))
    page = plain(regression_report(replace(data, solution=solution, path=open_path)))
    assert "−7" not in page
    assert "678" not in page
    assert "how good other choices could be is not known" in page
    assert "no bound was proved but that no error is negative" in page


def test_nothing_is_drawn_of_a_single_point():
    data = report_data()
    trace = Trace()
    trace.close(data.solution)
    few = replace(data, trace=trace, path=path(data.solution.problem, [2]))
    shown = pictures(
        regression_report(replace(few, cv=CVCurve((2,), (1.0,), (0.1,), 2)))
    )
    assert not [alt for alt in shown if "against time" in alt or "from 2 to 2" in alt]
    assert not [alt for alt in shown if "left-out" in alt]


def test_levels_have_bounds_of_errors(friendly):
    data = report_data()
    levels = hierarchy(data.solution.problem)
    assert min(level.lower_bound for level in levels.levels) < 0
    page = regression_report(replace(data, hierarchy=levels))
    section = page[page.index("<section id='hierarchy'>") :]
    rows = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in section.split("<tr>")[2:]]
    assert [int(row[0]) for row in rows] == [level.level for level in levels.levels]
    for row, level in zip(rows, levels.levels, strict=True):
        assert 0.0 <= float(row[1]) <= max(level.lower_bound, 0.0)
        assert float(row[3]) >= level.objective
        assert int(row[2]) == level.n_candidates
    assert "<section id='hierarchy'>" not in friendly
    few = replace(levels, levels=levels.levels[:2])
    assert regression_report(replace(data, hierarchy=few)) == friendly


def test_pages_can_be_dark(friendly):
    assert "prefers-color-scheme: dark" in friendly
    for svg in pictures(friendly).values():
        grounds = [svg.find(f".//{SVG}g[@id='patch_1']/{SVG}path")]
        assert all("fill: none" in ground.get("style") for ground in grounds)


def test_rounding_of_a_mean_is_not_shown():
    assert Feature("a", 1.0, 1.0, 1e-16, 2.0).centre == 0.0
    assert Feature("a", 1.0, 1.0, 1e-6, 2.0).centre == 1e-6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CVCurve((1, 2), (1.0,), (0.1, 0.1), 1), "there are 1 and 2 for 2"),
        (lambda: CVCurve((), (), (), 1), "there are 0 and 0 for 0"),
        (lambda: CVCurve((1,), (1.0,), (0.1,), 3), "`chosen` must be one of the sp"),
        (lambda: Correlations(("a",), ()), "`matrix` must have a row for each name"),
        (lambda: Predictions((1.0,), ()), "`predicted` must have an entry for each"),
        (lambda: replace(report_data(), solution=3), "`solution` must be a Solution"),
        (lambda: regression_report("page"), "`data` must be a ReportData"),
    ],
)
def test_bad_arguments(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_versions_name_what_matters():
    assert {"cardqp", "numpy", "scipy", "python"} <= set(versions())


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'cardqp\[plot\]'"):
        regression_report(report_data())


def test_the_data_needs_no_matplotlib():
    code = (
        "import sys, cardqp.report; "
        "print([m for m in ('sklearn', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
    assert ReportData.__module__ == "cardqp.report.contents"
