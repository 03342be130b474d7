import csv
import json
import re

import numpy as np
import pandas
import pytest

from cardqp.cli.main import main
from cardqp.models import Portfolio

NAMES = ["AAA", "B B", "Größe", "<script>", "E", "F"]


def run(*arguments):
    return main([str(a) for a in arguments])


@pytest.fixture
def prices():
    rng = np.random.default_rng(0)
    market = rng.normal(0.005, 0.02, (40, 1))
    returns = market + rng.normal(0.001, 0.03, (40, 6)) * np.linspace(0.5, 2.0, 6)
    days = pandas.date_range("2024-01-01", periods=41).strftime("%Y-%m-%d")
    table = np.vstack([np.full(6, 100.0), 100.0 * np.cumprod(1.0 + returns, axis=0)])
    frame = pandas.DataFrame(table, columns=NAMES)
    frame.insert(0, "date", days)
    return frame


@pytest.fixture
def file(prices, tmp_path):
    path = tmp_path / "prices.csv"
    prices.to_csv(path, index=False)
    return path


def truth(prices, **settings):
    table = prices[NAMES].to_numpy()
    return Portfolio(
        returns=table[1:] / table[:-1] - 1, names=NAMES, **settings
    ).solve()


def test_the_least_variance(file, prices, capsys):
    assert run("portfolio", file, "--max-assets", 3, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    expected = truth(prices, max_assets=3)
    assert answer["weights"] == pytest.approx(expected.named(), rel=1e-6)
    assert answer["risk"] == pytest.approx(expected.risk, rel=1e-9)
    assert answer["status"] == "OPTIMAL"
    assert (answer["n_periods"], answer["n_assets"]) == (40, 6)


def test_limits_and_goals(file, prices, capsys):
    arguments = ("--risk-aversion", 4, "--min-weight", 0.2, "--max-weight", 0.5)
    code = run(
        "portfolio", file, "--max-assets", 4, *arguments, "--ridge", 0.001, "--json"
    )
    answer = json.loads(capsys.readouterr().out)
    expected = truth(
        prices,
        max_assets=4,
        risk_aversion=4,
        minimum_position=0.2,
        maximum_position=0.5,
        ridge=0.001,
    )
    assert code == 0
    assert answer["objective"] == pytest.approx(expected.objective, rel=1e-6)
    assert all(0.2 - 1e-9 <= w <= 0.5 + 1e-9 for w in answer["weights"].values())


def test_short_sales(file, capsys):
    arguments = ("--short", "--target-return", 0.02, "--max-weight", 2)
    assert run("portfolio", file, "--max-assets", 3, *arguments, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["expected_return"] >= 0.02 - 1e-9
    assert min(answer["weights"].values()) < 0


def test_returns(file, prices, tmp_path, capsys):
    table = prices[NAMES].pct_change()[1:]
    path = tmp_path / "returns.parquet"
    table.to_parquet(path)
    run("portfolio", file, "--max-assets", 3, "--json")
    first = json.loads(capsys.readouterr().out)
    assert run("portfolio", path, "--max-assets", 3, "--returns", "--json") == 0
    second = json.loads(capsys.readouterr().out)
    assert second["weights"] == pytest.approx(first["weights"], rel=1e-6)


def test_prices_are_no_returns(file, capsys):
    assert run("portfolio", file, "--max-assets", 3, "--returns") == 2
    error = capsys.readouterr().err
    assert "`--returns` is for a table of returns" in error
    assert "leave it out" in error


def test_text_and_saved_weights(file, tmp_path, capsys):
    path = tmp_path / "weights.csv"
    assert run("portfolio", file, "--max-assets", 2, "--save", path) == 0
    out = capsys.readouterr().out
    assert "6 assets, 40 periods" in out
    assert "2 of 6 assets:" in out
    assert f"Weights written to {path}" in out
    saved = pandas.read_csv(path)
    assert list(saved.columns) == ["asset", "weight"]
    assert saved["weight"].sum() == pytest.approx(1.0)


def test_the_frontier(file, tmp_path, capsys):
    picture, table = tmp_path / "curve.png", tmp_path / "curve.csv"
    arguments = ("--max-assets", 2, "--frontier", 3, "--plot", picture, "--save", table)
    assert run("portfolio", file, *arguments) == 0
    out = capsys.readouterr().out
    assert out.count("OPTIMAL") == 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    saved = pandas.read_csv(table)
    held = [name for name in NAMES if name in saved.columns]
    assert saved[held].sum(axis=1).tolist() == pytest.approx([1.0] * 3)
    assert (saved["expected_return"] >= saved["target"] - 1e-9).all()
    assert run("portfolio", file, *arguments[:4], "--json") == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["risk"] for point in points] == pytest.approx(saved["risk"].tolist())


def test_infeasible(file, tmp_path, capsys):
    path = tmp_path / "weights.csv"
    arguments = ("--max-assets", 2, "--max-weight", 0.4, "--save", path)
    assert run("portfolio", file, *arguments) == 4
    out = capsys.readouterr().out
    assert "advice: relax" in out
    assert "\nreason: the sum of the weights is at most 0.8 (2 x 0.4) with" in out
    assert not path.exists()
    assert run("portfolio", file, *arguments, "--json") == 4
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "INFEASIBLE"
    assert answer["reason"].endswith("must be 1; it takes 3 assets or more")
    assert answer["objective"] is None


def with_cell(frame, row, name, value):
    cells = frame[name].astype(object)
    cells[row] = value
    return frame.assign(**{name: cells})


BAD = [
    (
        lambda f: with_cell(f, 4, "E", np.nan),
        "`E` must not miss values: 1 of 41 .* row 5",
    ),
    (lambda f: with_cell(f, 4, "E", "n.v."), "`E` must hold numbers: row 5 has 'n.v.'"),
    (lambda f: with_cell(f, 4, "E", 0), "`E` must hold positive prices: row 5 has 0"),
    (
        lambda f: with_cell(f, 4, "E", "inf"),
        "`E` must hold numbers below .*: row 5 has inf",
    ),
    (lambda f: with_cell(f, 4, "date", "2024-01-04"), "dates in `date` must .* row 5"),
    (lambda f: f[:2], "at least 3 rows, .* it has 2"),
    (lambda f: f.drop(columns=NAMES[1:]), "`--max-assets` must be"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_bad_tables(prices, tmp_path, capsys, spoil, message):
    path = tmp_path / "prices.csv"
    spoil(prices).to_csv(path, index=False)
    assert run("portfolio", path, "--max-assets", 3) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)


def test_a_table_of_dates_only(tmp_path, capsys):
    path = tmp_path / "dates.parquet"
    pandas.DataFrame({"date": pandas.date_range("2024-01-01", periods=5)}).to_parquet(
        path
    )
    assert run("portfolio", path, "--max-assets", 1) == 2
    assert "must have a column of prices" in capsys.readouterr().err


OPTIONS = [
    (["--plot", "x.png"], "`--plot` draws a frontier"),
    (["--frontier", 3, "--plot", "x.doc"], "`--plot` must end in one of"),
    (
        ["--frontier", 3, "--target-return", 0.1],
        "`--target-return` is for one portfolio",
    ),
    (["--frontier", 3, "--risk-aversion", 1], "`--risk-aversion` is for one portfolio"),
    (["--frontier", 0], "`n_points`"),
    (["--save", "missing/folder.csv"], "`--save` must be in an existing folder"),
    (["--save", "."], "`--save` must be a file: . is a folder"),
    (["--min-weight", 0.1, "--short"], "`--min-weight` is for long-only"),
]


@pytest.mark.parametrize(("arguments", "message"), OPTIONS)
def test_bad_options(file, capsys, arguments, message):
    assert run("portfolio", file, "--max-assets", 3, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def names_in(path):
    """The names of assets, from the first line or the first column."""
    header, *rows = csv.reader(path.read_text().splitlines())
    return [name for name in (*header, *(row[0] for row in rows)) if "=" in name]


@pytest.mark.parametrize("frontier", [(), ("--frontier", 3)])
def test_names_that_are_formulas(prices, tmp_path, frontier):
    formulas = {name: f"={name}" for name in NAMES}
    file, saved = tmp_path / "prices.csv", tmp_path / "weights.csv"
    prices.rename(columns=formulas).to_csv(file, index=False)
    arguments = ("portfolio", file, "--max-assets", 2, *frontier, "--save", saved)
    assert run(*arguments) == 0
    plain = names_in(saved)
    assert len(plain) >= 2
    assert set(plain) <= set(formulas.values())
    assert run(*arguments, "--escape-formulas") == 0
    assert names_in(saved) == [f"'{name}" for name in plain]


@pytest.mark.parametrize("options", [(), ("--frontier", 3), ("--json",)])
def test_page(file, options, tmp_path, capsys):
    page = tmp_path / "page.html"
    words = ("portfolio", file, "--max-assets", 3, "--report", page)
    assert run(*words, *options) == 0
    assert ("Report written to" in capsys.readouterr().out) == ("--json" not in options)
    text = page.read_text(encoding="utf-8")
    for title in ("Weights and risk", "Risk and return", "How it was proved"):
        assert title in text
    assert "any number of them" in text
    assert "<script" not in text
    assert "--max-assets 3" in text


def test_page_is_checked_before_the_work(file, capsys):
    words = ("portfolio", file, "--max-assets", 3, "--report", "no/where.html")
    assert run(*words) == 2
    assert "`--report` must be in an existing folder" in capsys.readouterr().err
    assert run("portfolio", file, "--max-assets", 3, "--report", file) == 2
    assert "`--report` must be a file of its own" in capsys.readouterr().err
