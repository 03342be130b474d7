"""The tables of the page about predictions."""

import pytest
from benchmarks.prediction import BEGIN, END, TABLES, diabetes, page, publish, rules


def record(**changes):
    common = {"table": "diabetes", "split": 0, "n": 10, "N": 300}
    return {**common, "estimator": "LassoCV", **changes}


def test_rules_of_a_table():
    X, y = diabetes(1)
    found = rules((X[:300], y[:300]), (X[300:], y[300:]))
    assert found["auto"] == found[f"{found['eta']:g}"]
    assert found["0.3"] < found["30"]


def test_failures_are_a_dash():
    X, y = diabetes(1)
    some = [
        record(estimator="rules", **rules((X[:300], y[:300]), (X[300:], y[300:]))),
        record(r2=0.5, cpu=0.1, features=3, gap=0.0),
        record(estimator="SparseRidgeCV()", r2=0.4, cpu=0.3, features=2, gap=1e-5),
        record(estimator="BestSubset(20)", error="NotSolvedError: time"),
    ]
    lines = list(page(some))
    assert "| diabetes | 0.500 | 0.400 | – |" in lines
    assert "| diabetes | 3.0 | 1.0e-05 | -0.100 |" in lines


def test_a_page_keeps_what_is_around_its_tables(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    publish("new", path)
    assert path.read_text() == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_there_are_twelve_tables_and_more():
    assert len(TABLES) >= 12


@pytest.mark.parametrize("degree", [1, 2])
def test_products_are_columns(degree):
    assert diabetes(degree)[0].shape == (442, 10 if degree == 1 else 65)
