"""Bounds of many supports, problems without a ridge, and the page about all runs."""

import os
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.soundness import records as files
from benchmarks.soundness.__main__ import main
from benchmarks.soundness.cases import make_case
from benchmarks.soundness.kinds import KINDS
from benchmarks.soundness.many import lower_bounds
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.scaled import Scaled, column_units, plain
from benchmarks.soundness.truth import find_truth, supports

import cardqp


def named(kind, seed=0, round_=0):
    return make_case(seed, list(KINDS).index(kind) + round_ * len(KINDS)).problem


@pytest.mark.parametrize("kind", ["sparsity", "weak ridge, groups", "wide", "penalty"])
@pytest.mark.parametrize("round_", [0, 1, 2, 3])
def test_bounds_of_supports_are_below_their_optima_and_near(kind, round_):
    exact = Exact.of(named(kind, 2, round_))
    scaled = Scaled(exact, column_units(exact))
    some = [support for support in supports(exact) if support][:40]
    for bound, support in zip(lower_bounds(scaled, some), some, strict=True):
        solved = scaled.solve(scaled.guess(support))
        if not np.isfinite(bound):
            continue
        value, size = plain(solved.value), 1 + abs(float(solved.value))
        size += abs(float(exact.constant))
        assert Fraction(bound) <= value
        if not exact.A and kind != "bounds":
            assert bound >= float(value) - 1e-6 * size


def test_an_optimum_without_a_ridge_is_the_limit_of_those_with_weaker_ones():
    Q, c = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 3.0]]), [-4.0, 1, 2]
    options = {"sparsity": 2, "A": [[1.0, 1.0, 1.0]], "b": [0.5]}
    none = find_truth(Exact.of(cardqp.SparseQP(Q, c, eta=None, **options)))
    weak = find_truth(Exact.of(cardqp.SparseQP(Q, c, eta=1e12, **options)))
    assert none.value < weak.value
    assert float(none.value) == pytest.approx(float(weak.value), rel=1e-9)


def test_only_independent_nonzeros_count_where_columns_are_dependent():
    F = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0]])
    c = -2.0 * F.T @ np.array([1.0, 3.0])
    problem = cardqp.SparseQP.from_factor(F, c, eta=None, sparsity=3)
    truth = find_truth(Exact.of(problem))
    # The factor has rank two: y is met exactly, by one of the first and the last.
    assert truth.value == -10
    assert sum(map(bool, truth.x)) <= 2


def test_dependent_columns_within_bounds_all_count():
    F = np.array([[1.0, 1.0]])
    box = {"lower": [0.0, 0.0], "upper": [0.25, 0.25]}
    problem = cardqp.SparseQP.from_factor(F, [-2.0, -2.0], eta=None, sparsity=2, **box)
    truth = find_truth(Exact.of(problem))
    assert float(truth.value) == -0.75
    assert [float(v) for v in truth.x] == [0.25, 0.25]


def test_nothing_is_known_where_no_rule_says_what_counts():
    F = np.array([[1.0, 1.0]])
    rows = {"A": [[1.0, -1.0]], "b": [1.0]}
    problem = cardqp.SparseQP.from_factor(F, [-2.0, -2.0], eta=None, sparsity=2, **rows)
    assert not find_truth(Exact.of(problem)).is_convex


def test_a_page_is_written_about_all_runs(tmp_path):
    record = {
        **{
            "number": 0,
            "kind": "rows",
            "truth": "feasible",
            "statuses": {"exact": "OPTIMAL"},
        },
        **{"findings": [], "features": ["tree"], "checked": 2, "seconds": 60.0},
        **{"forged": {"tree.kind and root.beta": 2, "x": 1}},
    }
    for number in (0, 1, 2, 5):
        files.append(tmp_path / "seed-0-a.jsonl", record | {"number": number})
    files.append(tmp_path / "seed-1-a.jsonl", record | {"truth": "infeasible"})
    target = tmp_path / "page"
    assert main(["--out", str(tmp_path), "--publish", str(target)]) == 0
    page = (target / "README.md").read_text()
    assert "5 problems, 10 certificates" in page
    assert "0 to 2, 5" in page
    assert "| tree | 5 |" in page
    assert "| clusters | never |" in page
    assert "| tree.kind | 10 |" in page
    files.append(
        tmp_path / "seed-1-a.jsonl",
        record | {"number": 3, "findings": [["forged", "replay", "x: accepted"]]},
    )
    assert main(["--out", str(tmp_path), "--publish", str(target)]) == 1
    assert "| forged | 1 |" in (target / "README.md").read_text()


def test_what_was_wrong_once_is_told_after_it_is_mended(tmp_path):
    record = {"number": 7, "kind": "rows", "truth": "feasible", "statuses": {}}
    wrong = record | {"findings": [["disputed", "exact", "too high"]]}
    old, new = tmp_path / "seed-3-old.jsonl", tmp_path / "seed-3-new.jsonl"
    files.append(old, wrong)
    files.append(new, record | {"findings": []})
    arguments = ["--out", str(tmp_path), "--publish", str(tmp_path / "page")]
    os.utime(old, (1, 1))
    assert main(arguments) == 0
    page = (tmp_path / "page" / "README.md").read_text()
    assert "1 problems" in page
    assert "| disputed | 0 |" in page
    assert "| 3 | 7 | rows | disputed: exact: too high |" in page
    os.utime(new, (0, 0))
    assert main(arguments) == 1
