"""The page of ``cardqp fit --report``."""

import re
import signal

import numpy as np
import pandas
import pytest

from cardqp.cli.main import main
from tests.estimators.data import regression


@pytest.fixture
def file(tmp_path):
    X, y = regression(60, 8)
    names = ["plain", "<script>alert(1)</script>", *(f"f{j}" for j in range(2, 8))]
    frame = pandas.DataFrame(X, columns=names).assign(y=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("options", "sections"),
    [
        (["-s", "3"], ["Chosen features", "If more or fewer", "How it was proved"]),
        (["-s", "3", "--test", "0.3"], ["How well it predicts"]),
        (["-s", "3", "--cv", "3"], ["How many features"]),
        (["--path", "1:3"], ["If more or fewer"]),
        (["-s", "3", "--alternatives", "40"], ["Choices that are nearly as good"]),
    ],
)
def test_page(file, options, sections, capsys):
    page = file.with_name("page.html")
    words = ["fit", str(file), "--target", "y", "--no-refit", *options]
    assert main([*words, "--report", str(page)]) == 0
    assert f"Report written to {page}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    for section in sections:
        assert section in text
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "data.csv --target y" in text
    assert not list(file.parent.glob("*.part"))


def test_numbers_on_the_page_are_those_of_the_model(file, capsys):
    page = file.with_name("page.html")
    words = ["fit", str(file), "--target", "y", "-s", "3", "--no-refit"]
    main([*words, "--report", str(page)])
    printed = capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    coefficient = float(re.search(r"f4 +(\S+)", printed)[1])
    cells = re.search(r"<th[^>]*><bdi>f4</bdi></th>(.*?)</tr>", text, re.S)[1]
    shown = [float(c) for c in re.findall(r">([-\d.e−]+)<", cells.replace("−", "-"))]
    assert shown[0] == pytest.approx(coefficient, rel=1e-3)
    assert np.sign(shown[0]) == -1


def test_folder_is_checked_before_the_work(file, capsys):
    words = ["fit", str(file), "--target", "y", "-s", "3", "--report", "no/where.html"]
    assert main(words) == 2
    assert "`--report` must be in an existing folder" in capsys.readouterr().err


def test_after_an_interruption_only_what_is_known_is_written(file, monkeypatch, capsys):
    def stop(*_):
        signal.raise_signal(signal.SIGINT)

    def fail(*_, **__):
        raise AssertionError("nothing new is begun")

    monkeypatch.setattr("cardqp.solution.trace.Trace.__call__", stop)
    monkeypatch.setattr("cardqp.estimators.reporting.path", fail)
    monkeypatch.setattr("cardqp.estimators.SparseRidge.alternatives", fail)
    page = file.with_name("page.html")
    words = ["fit", str(file), "--target", "y", "-s", "3", "--alternatives", "5"]
    assert main([*words, "--gap", "0", "--report", str(page)]) == 3
    assert "Chosen features" in page.read_text(encoding="utf-8")
    assert "FEASIBLE" in capsys.readouterr().out


@pytest.mark.parametrize("flag", ["--refit", "--no-refit"])
def test_page_without_a_ridge_does_not_speak_of_one(file, flag, capsys):
    page = file.with_name("page.html")
    words = ["fit", str(file), "--target", "y", "-s", "3", "--eta", "none", flag]
    assert main([*words, "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "with the ridge" not in text
    assert "without ridge" not in text
    assert "OPTIMAL" in capsys.readouterr().out
