"""The page about best subsets."""

import re

import numpy as np
import pandas as pd
import pytest

from cardqp import BestSubset
from cardqp.report.subsets_sections import MOST_ROWS
from tests.report.examples import ATTACK, NAMES


def page_of(tmp_path, model):
    model.report(tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def words(page):
    """What is to be read of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("</style>")[1]))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, len(NAMES))), columns=list(NAMES))
    return X, X.iloc[:, :5].sum(axis=1) + rng.standard_normal(90)


def test_the_next_best_are_folded_away(table, tmp_path):
    model = BestSubset(8, n_best=5).fit(*table)
    page = page_of(tmp_path, model)
    main, details = page.split("<details>")
    count = len(model.subsets_)
    assert main.count("<tr>") == 1 + 9 + 1 + len(model.support_) + 1
    assert f"The next best of each size ({count - 9})" in details
    assert details.split("</details>")[0].count("<tr>") == 1 + count - 9
    assert f"The best {MOST_ROWS} of {count} are drawn." in words(page)
    assert page.count("★</bdi>") == 1
    assert "script>" not in page.replace("&lt;script&gt;", "")
    assert "`" not in words(page)
    # All is proved, and said to be once.
    assert ">gap<" not in page


def test_what_is_not_proved_is_said_in_each_row(table, tmp_path):
    def stop(progress):
        return progress.stage.startswith("subsets of 3")

    with pytest.warns(UserWarning, match="sizes above 2 are missing"):
        model = BestSubset(5, gap=0.0).fit(*table, callback=stop)
    page = page_of(tmp_path, model)
    assert "not proved" in words(page)
    assert "class='proof missing'" in page
    assert "Sizes above 2 are missing: the callback asked to stop." in words(page)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_page_about_no_feature(fit_intercept, tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 4)), 2.0 * fit_intercept + rng.standard_normal(60)
    model = BestSubset(3, fit_intercept=fit_intercept).fit(X, y)
    assert len(model.support_) == 0
    told = words(page_of(tmp_path, model))
    rest = "the intercept alone" if fit_intercept else "the prediction is always 0"
    assert f"BIC chooses none of 4 features to predict y: {rest}." in told
    assert "is always" in told.split("The chosen subset")[-1]
    assert "features chosen 0 of 4" in told
    assert ("intercept" in told.split("The chosen subset")[-1][:200]) == fit_intercept
    assert ("about zero" in told) == (not fit_intercept)


def test_categories_are_named_once(tmp_path):
    rng = np.random.default_rng(0)
    names = ["a", "city=Oslo", "city=Rome"]
    X = pd.DataFrame(rng.standard_normal((50, 3)), columns=names)
    model = BestSubset(2, groups=["a", "c", "c"]).fit(X, X.sum(axis=1))
    told = words(page_of(tmp_path, model))
    assert "BIC chooses 3 of 3 features to predict y: a, city. What is" in told
    assert "counts once: the size is 2." in told
    assert "city=Oslo" in told  # its coefficient


def test_the_attack_is_text(table, tmp_path):
    assert ATTACK not in page_of(tmp_path, BestSubset(2).fit(*table))
