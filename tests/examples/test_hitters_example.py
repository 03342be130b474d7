import numpy as np
import pandas as pd

from examples import hitters


def test_a_category_of_two_is_one_column():
    frame = pd.DataFrame({"League": ["A", "N", "A"], "Hits": [1, 2, 3]})
    assert list(hitters.numbers(frame).columns) == ["Hits", "League_N"]


def test_pictures_are_drawn(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    y = pd.Series(2.0 * X["a"] - X["c"] + rng.standard_normal(60))
    monkeypatch.setattr(hitters, "load", lambda: (X, y))
    monkeypatch.setattr("sys.argv", ["hitters", str(tmp_path)])
    hitters.main()
    printed = capsys.readouterr().out
    assert "bic: 2 features" in printed
    assert "std. error" in printed
    for name in ("hitters.png", "hitters-bic.png"):
        assert (tmp_path / name).stat().st_size > 1000
