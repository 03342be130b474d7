"""The example of docs/certificate.md: its numbers, and forgeries of it."""

from pathlib import Path

from cardqp_check import check
from example import problem_arrays, run_arrays, write

PAGE = Path(__file__).parents[2] / "docs" / "certificate.md"


def verdict_of(folder, problem=None, run=None):
    problem, run = problem or {}, run or {}
    return check(*write(folder, problem_arrays() | problem, run_arrays() | run))


def without(run, *keys):
    return {key: array for key, array in run.items() if key not in keys}


def test_claims_of_the_example_follow(tmp_path):
    verdict = verdict_of(tmp_path)
    assert verdict.ok, str(verdict)
    assert -4 - 1e-12 < verdict.lower_bound <= -4
    assert verdict.counts == {"inherited": 1, "point": 2}
    assert "Every claim follows." in str(verdict)
