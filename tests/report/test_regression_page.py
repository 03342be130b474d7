import base64
import html
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Status, Trace, path, solve
from cardqp.report import CVCurve, Feature, Predictions, ReportData, regression_report
from cardqp.report.pictures import MOST_BARS, plot_cv, plot_effects, plot_predictions
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


ALL = ["features", "quality", "data", "path", "cv", "alternatives", "proof"]


def test_all_that_is_there_is_told(friendly):
    assert sections(friendly) == [*ALL, "reproduce"]
    assert len(pictures(friendly)) == 7
    said, data = plain(friendly), report_data()
    for feature in data.features:
        assert f"\n{feature.name}" in said
    for words in (
        "Report on feature 0",
        "1 January 2030",
        "4 of 10 features explain",
        "60 rows and 10 features from feature 1.csv, to predict target feature 2.",
        "`feature 4` became 4 columns",
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
    assert "R² out of sample" not in page
    assert "worth in R²" not in page
    assert "Made with" not in page
    assert "<ul>" not in page


def test_features_are_ranked_by_what_they_do(friendly):
    features = sorted(report_data().features, key=lambda f: -abs(f.coefficient * 2.0))
    rows = re.findall(r"<tr><th><bdi>(feature \d)</bdi></th><td", friendly)
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
    assert len(drawn) == 7
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


def test_rounding_of_a_mean_is_not_shown():
    assert Feature("a", 1.0, 1.0, 1e-16, 2.0).centre == 0.0
    assert Feature("a", 1.0, 1.0, 1e-6, 2.0).centre == 1e-6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CVCurve((1, 2), (1.0,), (0.1, 0.1), 1), "there are 1 and 2 for 2"),
        (lambda: CVCurve((), (), (), 1), "there are 0 and 0 for 0"),
        (lambda: CVCurve((1,), (1.0,), (0.1,), 3), "`chosen` must be one of the sp"),
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
