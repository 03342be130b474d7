"""What is forged must be false, and a checker that believes it must be caught."""

import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.soundness import forging, trial
from benchmarks.soundness.cases import make_case
from benchmarks.soundness.claims import Facts
from benchmarks.soundness.evidence import Verdict, features, read, replay
from benchmarks.soundness.forge import forgeries
from benchmarks.soundness.forging import Tried, try_forgeries
from benchmarks.soundness.kinds import KINDS
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.truth import find_truth

import cardqp


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A problem, its solution with a tree, and the facts about it."""
    folder = tmp_path_factory.mktemp("honest")
    first = list(KINDS).index("wide, rows")
    cases = (make_case(0, first + k * len(KINDS)) for k in range(20))
    solved = ((c.problem, cardqp.solve(c.problem, method=c.method)) for c in cases)
    problem, solution = next(p for p in solved if len(p[1].certificate.tree) > 4)
    problem.save(folder / "problem.npz")
    solution.save(folder / "run.npz")
    exact = Exact.of(problem)
    return folder, Facts(exact, find_truth(exact))


@pytest.fixture
def copies(files, tmp_path):
    folder, facts = files
    names = [tmp_path / name for name in ("problem.npz", "run.npz")]
    for name in names:
        shutil.copy(folder / name.name, name)
    return (*names, facts)


def tried_with(monkeypatch, copies, check):
    """What is found if this is the only checker."""
    problem, run, facts = copies
    monkeypatch.setattr(forging, "checkers", lambda: {"the checker": check})
    tried = Tried(np.random.default_rng(3), facts.problem, facts.truth)
    try_forgeries(tried, problem, run, read(run))
    return tried


def test_the_library_refuses_what_is_forged(monkeypatch, copies):
    tried = tried_with(monkeypatch, copies, replay)
    assert tried.found == []
    assert tried.counts["lower_bound"] == 1
    assert tried.counts.total() > forging.DAMAGES


def test_a_checker_that_accepts_everything_is_caught(monkeypatch, copies):
    tried = tried_with(monkeypatch, copies, lambda *_: Verdict(True, -np.inf, ()))
    assert len(tried.found) == tried.counts.total()
    assert {finding.what for finding in tried.found} == {"forged"}


def test_a_checker_that_proves_a_little_too_much_is_caught(monkeypatch, copies):
    *_, facts = copies
    above = np.nextafter(float(facts.truth.value) * (1 + 1e-15), np.inf)
    tried = tried_with(monkeypatch, copies, lambda *_: Verdict(False, above, ("no",)))
    assert len(tried.found) == tried.counts.total()
    at = np.nextafter(float(facts.truth.value), -np.inf)
    tried = tried_with(monkeypatch, copies, lambda *_: Verdict(False, at, ("no",)))
    assert tried.found == []


def test_an_exception_out_of_a_checker_is_an_error(monkeypatch, copies):
    def fail(_problem, _run):
        raise IndexError("of a damaged array")

    tried = tried_with(monkeypatch, copies, fail)
    assert {finding.what for finding in tried.found} == {"error"}


@pytest.mark.parametrize(
    "ignored",
    [("lower_bound", "gap", "status"), ("objective", "gap"), ("x", "support")],
)
def test_a_checker_that_does_not_look_at_a_claim_is_caught(
    monkeypatch, copies, ignored
):
    _, run, _ = copies
    honest = read(run)

    def check(problem, run):
        np.savez(run, **read(run) | {name: honest[name] for name in ignored})
        return replay(problem, run)

    tried = tried_with(monkeypatch, copies, check)
    assert "forged" in {finding.what for finding in tried.found}


def test_every_part_of_a_certificate_is_changed(files):
    folder, facts = files
    run = read(folder / "run.npz")
    names = Counter(
        f.name for f in forgeries(np.random.default_rng(0), run, facts, 3000)
    )
    changed = {part.split(",")[0] for name in names for part in name.split(" and ")}
    own = {".".join(w for w in key.split(".") if not w.isdigit()) for key in run}
    parts = {key for key in own if key.startswith(("root.", "tree."))}
    assert parts <= changed
    assert {"x", "objective", "support", "problem_digest"} <= changed


def test_forged_runs_differ_from_the_honest_one_and_claim_too_much(files):
    folder, facts = files
    run = read(folder / "run.npz")
    for forgery in forgeries(np.random.default_rng(1), run, facts, 50):
        same = set(forgery.arrays) == set(run) and all(
            np.array_equal(run[key], a) for key, a in forgery.arrays.items()
        )
        assert not same
        claim = float(forgery.arrays["lower_bound"])
        is_bound = forgery.name.startswith(("lower_bound", "root.", "tree.", "start."))
        assert not is_bound or Fraction(claim) > facts.truth.value


def test_a_solver_whose_bound_is_a_little_too_high_is_caught(monkeypatch):
    solve = cardqp.solve

    def too_high(problem, **options):
        found = solve(problem, **options)
        return replace(found, lower_bound=found.objective + 1e-6 * abs(found.objective))

    number = next(
        k
        for k in range(200)
        if "OPTIMAL" in trial.run(4, k).record()["statuses"].values()
    )
    before = {finding.what for finding in trial.run(4, number).findings}
    monkeypatch.setattr(cardqp, "solve", too_high)
    after = {finding.what for finding in trial.run(4, number).findings}
    assert "bound" not in before
    assert "bound" in after


def test_what_a_certificate_is_made_of(files):
    folder, _ = files
    found = set(features(read(folder / "run.npz")))
    assert "tree" in found
    assert "node: point" in found
    assert "start ridge" not in found
    bare = cardqp.SparseQP(np.eye(2) * 3, [-1.0, -2.0], eta=None, sparsity=1)
    cardqp.solve(bare).save(folder / "bare.npz")
    assert "start ridge" in set(features(read(folder / "bare.npz")))


def test_stopped_runs_are_not_blamed_for_what_is_open():
    case = make_case(0, list(KINDS).index("wide, rows, stopped"))
    assert case.limits
    found = trial.run(0, case.number)
    assert all(one.is_stopped for one in found.said if one.method == "exact")
    assert not {f.what for f in found.findings} & {"open", "unknown", "start"}
