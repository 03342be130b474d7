"""``cardqp demo``: a page from nothing."""

import json
import shlex
import sys
import webbrowser

import pandas
import pytest

from cardqp.cli.demo import NAMES, diabetes_table
from cardqp.cli.main import main


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to show."""
    found = []
    monkeypatch.setattr(webbrowser, "open", lambda url: found.append(url) or True)
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_its_proof_and_its_page(here, capsys, opened):
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert "status    OPTIMAL" in captured.out
    assert "\nbmi " in captured.out
    assert "Page written to cardqp-demo.html" in captured.out
    assert captured.err == ""
    page = (here / "cardqp-demo.html").read_text(encoding="utf-8")
    for part in (
        "10 of 64 features",
        "How it was proved",
        "What few principal components prove",
        "diabetes (442 patients, scikit-learn)",
        "<pre>cardqp demo</pre>",
    ):
        assert part in page
    assert [path.name for path in here.iterdir()] == ["cardqp-demo.html"]
    assert opened == []


def test_the_table_can_be_tried(here, capsys, opened):
    words = ["demo", "--output", "a b.html", "--table", "my data.csv", "--open"]
    assert main(words) == 0
    assert opened == [(here / "a b.html").resolve().as_uri()]
    *_, advice = capsys.readouterr().out.splitlines()
    command = advice.removeprefix("For a table in the file: ")
    assert main(shlex.split(command)[1:]) == 0
    assert (here / "model.html").exists()
    assert pandas.read_csv(here / "my data.csv").shape == (442, 65)


def test_json_and_no_browser(here, capsys, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert main(["demo", "--json", "--open", "--gap", "0.01"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["target"] == "progression"
    assert len(found["columns"]) == 10
    assert captured.err == "cardqp: no browser could be opened\n"
    assert (here / "cardqp-demo.html").exists()


def test_complaints_come_before_the_work(here, capsys):
    for words in (["--output", "no/page.html"], ["--table", "cardqp-demo.html"]):
        assert main(["demo", *words]) == 2
        captured = capsys.readouterr()
        assert f"`{words[0]}` must be" in captured.err
        assert captured.out == ""
    assert not list(here.iterdir())


def test_the_table_is_that_of_the_books():
    """Columns of unit variance, with squares and products but the square of sex."""
    frame = diabetes_table()
    assert frame.shape == (442, 65)
    assert list(frame.columns[:10]) == list(NAMES)
    assert "sex^2" not in frame.columns
    assert frame[list(NAMES)].mean().abs().max() < 1e-12
    assert (frame[list(NAMES)].std(ddof=0) - 1).abs().max() < 1e-12
    assert (frame["age*bmi"] == frame["age"] * frame["bmi"]).all()
    # s1 of scikit-learn is the total cholesterol, s3 the high-density lipoproteins.
    assert frame["progression"].corr(frame["hdl"]) == pytest.approx(-0.395, abs=1e-3)


def test_all_that_is_needed_is_named_at_once(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == (
        "cardqp: The demo needs scikit-learn: for all that tables and pages need run "
        "`pip install 'cardqp[tables]'`, or `pip install '.[tables]'` in a clone.\n"
    )
    assert not list(here.iterdir())
