"""Verdicts on what the paper says."""

from dataclasses import replace

import pytest

from experiments.reproduce.claims import (
    ALL,
    CLAIMS,
    Alike,
    Plateau,
    Smaller,
    verdicts,
)
from experiments.reproduce.config import IDS, load_exhibit
from experiments.reproduce.report import named, page_of

TABLE = load_exhibit("tab2")
A, B = "dual-program", "best-response"


def numbers(**pairs):
    """Means of two methods, by the last digit of rho."""
    return {
        (float(f"0.{key[1:]}"), name): value
        for key, both in pairs.items()
        for name, value in zip((A, B), both, strict=True)
    }


@pytest.mark.parametrize(
    ("found", "word", "evidence"),
    [
        (numbers(r7=(1, 2), r8=(1, 2)), "holds", "smaller in 2 of 2 rows"),
        (
            numbers(r7=(1, 2), r8=(2.001, 2)),
            "holds",
            "smaller in 1, equal in 1 of 2 rows",
        ),
        (
            numbers(r7=(1, 2), r8=(3, 2)),
            "holds in part",
            "smaller in 1, larger in 1 of 2 rows; larger at rho = 0.8",
        ),
        (
            numbers(r7=(2, 2), r8=(3, 2)),
            "does not hold",
            "equal in 1, larger in 1 of 2 rows; larger at rho = 0.8",
        ),
        (numbers(r7=(2, 2)), "no difference", "equal in 1 of 1 rows"),
        ({}, "not run", ""),
    ],
)
def test_smaller_numbers(found, word, evidence):
    assert Smaller((A,), (B,))(TABLE, found) == (word, evidence)


def test_the_worst_is_compared_with_the_best_of_all_others():
    found = {(0.7, "a"): 1.0, (0.7, "b"): 3.0, (0.7, "c"): 2.0, (0.7, "d"): 4.0}
    assert Smaller(("a",), ("c", "d"))(TABLE, found)[0] == "holds"
    assert Smaller(("a", "b"), ("d",))(TABLE, found)[0] == "holds"
    assert Smaller(("a", "b"), ("c", "d"))(TABLE, found)[0] == "does not hold"
    # A method without numbers is not compared with, and none is judged without.
    assert Smaller(("a",), ("c", "missing"))(TABLE, found)[0] == "holds"
    assert Smaller(("a", "missing"), ("c",))(TABLE, found)[0] == "not run"


def test_rows_below_the_least_do_not_count():
    found = numbers(r7=(3, 2), r8=(1, 2))
    assert Smaller((A,), (B,), least=0.8)(TABLE, found)[0] == "holds"


def test_similar_numbers():
    near, far = numbers(r7=(1, 1.009)), numbers(r8=(1, 1.5))
    assert Alike(ALL)(TABLE, near) == ("holds", "at most 0.90% apart (at rho = 0.7)")
    both = Alike(ALL)(TABLE, near | far)
    assert both == ("holds in part", "at most 50.00% apart (at rho = 0.8)")
    assert Alike(ALL)(TABLE, far)[0] == "does not hold"


def test_a_plateau():
    levels = {(k, A): 1.0 + 1.0 / k for k in (1, 2, 500, 1000)}
    assert Plateau(A, 500)(TABLE, levels)[0] == "holds"
    assert Plateau(A, 2)(TABLE, levels)[0] == "does not hold"
    assert Plateau(A, 5000)(TABLE, levels)[0] == "not run"


def test_verdicts_are_about_what_was_run():
    rows = [
        {"correlation": rho, "replication": 0, "method": name, "mse": value}
        for rho in (0.8, 0.9)
        for name, value in ((A, 1.0), (B, 2.0), ("beck-hallak", 1.5))
    ]
    [found] = verdicts({"tab2": (TABLE, rows)})
    assert (found.exhibit, found.word) == ("tab2", "holds")
    assert found.evidence == "smaller in 2 of 2 rows"
    for_quick = replace(TABLE, paper={})
    assert verdicts({"tab2": (for_quick, rows)}) == [found]


def test_a_known_reason_is_given_where_a_claim_fails():
    claim = next(each for each in CLAIMS if each.exhibit == "tab2")
    rows = [
        {"correlation": 0.9, "replication": 0, "method": name, "mse": value}
        for name, value in ((A, 2.0), (B, 1.0))
    ]
    found = claim.verdict(TABLE, rows)
    assert found.word == "does not hold"
    assert found.evidence.endswith(claim.reason)
    assert claim.reason


def test_every_claim_is_about_columns_that_there_are():
    for claim in CLAIMS:
        columns = set(load_exhibit(claim.exhibit).columns)
        judge = claim.judge
        named_ = {
            Smaller: lambda j: {*j.methods, *j.others},
            Alike: lambda j: set(j.methods),
            Plateau: lambda j: {j.method},
        }[type(judge)](judge)
        assert named_ <= columns, claim.text


def test_the_page_opens_with_the_verdicts():
    rows = [
        {"correlation": 0.9, "replication": 0, "method": name, "mse": value}
        for name, value in ((A, 1.0), (B, 2.0))
    ]
    found = verdicts({"tab2": (TABLE, rows)})
    page = page_of(found, "All agree.", ["<section id='tab2'></section>"], "a <b>")
    said = page.split("</style>")[1]
    assert "Of 1 claims that the paper makes" in said
    assert "1 holds here." in said
    places = [said.index(m) for m in ("1 holds", "id='claims'", "id='tab2'")]
    assert places == sorted(places)
    assert "<a href='#tab2'>Table 2</a>" in said
    assert "a &lt;b&gt;" in said
    assert {named(each) for each in IDS} >= {"Figure 1", "Figure A", "Table 8"}
