import math
from dataclasses import replace

import pytest

from experiments.reproduce.config import load_exhibit
from experiments.reproduce.grids import grids_of
from experiments.reproduce.render import to_html, to_latex, to_markdown
from experiments.reproduce.summary import rounding, summarise

RHO = 0.7
PRINTED = 1.829
"""As if the paper printed the same number everywhere."""


def exhibit():
    whole = load_exhibit("tab2")
    printed = (PRINTED,) * len(whole.study.values)
    return replace(whole, paper=dict.fromkeys(whole.paper, printed))


def rows(numbers, method="dual-program", **more):
    return [
        {"correlation": RHO, "replication": i, "method": method, "mse": v, **more}
        for i, v in enumerate(numbers)
    ]


def cell(numbers, method="dual-program", **more):
    return summarise(exhibit(), rows(numbers, method, **more))[RHO, method]


def test_mean_and_standard_error():
    found = cell([1.0, 2.0, 3.0, 6.0])
    assert found.mean == 3.0
    assert found.error == pytest.approx(math.sqrt(14 / 3) / 2)
    assert (found.count, found.paper) == (4, PRINTED)
    assert math.isnan(cell([1.829]).error)


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ([1.8, 1.9, 1.85], "agrees"),
        ([1.829, 1.829], "agrees"),
        ([1.8294, 1.8294], "agrees"),  # what the paper rounds off
        ([1.83, 1.83], "differs"),
        ([1.7, 1.7], "better"),
        ([2.5, 2.6, 2.55], "differs"),
    ],
)
def test_verdicts(numbers, verdict):
    assert cell(numbers).verdict == verdict


def test_reasons_are_given_where_numbers_differ():
    assert "Other data" in cell([2.5, 2.6]).reason
    assert cell([1.829, 1.829]).reason == ""


def test_largest_gap_of_certified_optima_is_kept():
    found = cell([1.8, 1.8], "exact", gap=1e-5)
    assert found.gap == 1e-5
    text = _texts(rows([1.8, 1.8], "exact", gap=1e-5))
    assert "1.800 ± 0.000, proven" in text
    text = _texts(rows([1.8, 1.8], "exact", gap=0.1234))
    assert "1.800 ± 0.000, gap 12.3% left" in text


def _texts(some):
    grid = grids_of(exhibit(), some)["tab2"]
    return [text for row in grid.rows for text in row]


def test_rounding_of_scientific_numbers():
    real = load_exhibit("tab4")
    assert rounding(real, 1.25e-2) == pytest.approx(0.5e-5)
    assert rounding(load_exhibit("tab1"), 70.0) == pytest.approx(0.5)


def test_missing_replications_are_said():
    grid = grids_of(exhibit(), rows([1.8, 1.9]))["tab2"]
    assert grid.notes[-1] == "Replications: 0 to 2; the run is not finished."


def test_tables_escape_what_they_show():
    hostile = replace(exhibit(), heading="<script>{}|_%")
    grid = grids_of(hostile, rows([1.8, 1.9]))["tab2"]
    page, text, tex = to_html(grid), to_markdown(grid), to_latex(grid)
    assert "<script>" not in page
    assert "&lt;script&gt;0.7" in page
    assert r"<script>0.7\|_%" in text
    assert r"$<$script$>$0.7$|$\_\%" in tex
    assert tex.count(r"\\") == len(grid.rows) + 1 + len(grid.notes) - 1


def test_scientific_numbers_share_an_exponent_with_their_errors():
    some = [
        {"data": "crime", "replication": i, "method": "exact", "mse": v, "gap": 0.0}
        for i, v in enumerate([0.0195, 0.0205])
    ]
    grid = grids_of(load_exhibit("tab4"), some)["tab4"]
    row = next(row for row in grid.rows if row[0] == "crime")
    assert row[-1] == "(2.000 ± 0.050)e-2, proven"
