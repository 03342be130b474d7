"""Files of solutions: what docs/certificate.md says is in them, and what is refused."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_array

from cardqp import ProblemError, Solution, SparseQP, Status, solve, storage
from cardqp.certificate import Certificate, Kind
from cardqp.datasets import make_regression
from cardqp.problem.kept_data import digest as data_digest
from tests.problems import KINDS, enumerate_optimum, random_problem
from tests.searches import by_branching
from tests.streamed import exact

PAGE = Path(__file__).parents[2] / "docs" / "certificate.md"


def without_ridge(kind, eta=None):
    """Problems without a ridge that begin with each of the three starts."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8)) + rng.standard_normal((40, 1))
    y, settings = X[:, :3].sum(axis=1) + rng.standard_normal(40), {}
    if kind != "ridge":
        X[:, -1] = X[:, 0] - X[:, 1]
    if kind == "added":
        settings = {"lower": -2.0, "upper": 2.0}
    return SparseQP.from_regression(X, y, eta=eta, sparsity=3, **settings)


def streamed_problem(**settings):
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    return SparseQP.from_data(X, y, eta=10.0, sparsity=3, **settings)


def in_memory(**limits):
    data = make_regression(30, 16, sparsity=4, correlation=0.9, snr=0.5, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=1e3, sparsity=6)
    return solve(problem, method=by_branching(), **limits)


def streamed(**limits):
    return solve(streamed_problem(), method=exact(), **limits)


def documented_keys():
    """Keys of ``run.npz`` by the tables and paragraphs of the page."""
    text = PAGE.read_text()
    answer = text[text.index('<a id="answer">') :]
    keys = set(re.findall(r"`((?:start|tree|root)\.[a-z_]+|[a-z_]+)`", answer))
    return keys | {f"root.{key}" for key in keys}


@pytest.mark.parametrize("kind", ["ridge", "added", "factor"])
def test_a_start_is_in_the_file_and_is_what_is_replayed(kind, tmp_path):
    problem = without_ridge(kind)
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    found.save(tmp_path / "run.npz")
    arrays = storage.read_arrays(tmp_path / "run.npz")
    assert f"start.{kind}" in arrays
    again = Solution.load(tmp_path / "run.npz", problem)
    assert again.verify().ok
    proved = again.certificate.lower_bound(problem)
    assert proved == found.certificate.lower_bound(problem)
    bare = replace(again.certificate, ridge_start=None)
    assert bare.lower_bound(problem) == -np.inf


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("ridge", {"ridge": lambda ridge: 3.0 * ridge}),
        ("ridge", {"ridge": lambda ridge: 0.0 * ridge}),
        ("ridge", {"ridge": lambda ridge: ridge[1:]}),
        ("ridge", {"ridge": lambda ridge: ridge * np.nan}),
        ("ridge", {"ridge": lambda ridge: ridge.astype(int)}),
        ("ridge", {"added": lambda _: np.ones(8)}),
        ("ridge", {"ridge": lambda _: None, "added": lambda _: np.ones(8)}),
        ("factor", {"added": lambda added: 3.0 * added}),
        ("factor", {"added": lambda added: -added}),
        ("factor", {"factor": lambda factor: 0.5 * (1.0 + factor)}),
        ("factor", {"factor": lambda _: 1.0}),
        ("factor", {"factor": lambda _: np.nan}),
        ("factor", {"factor": lambda factor: -factor}),
        ("factor", {"factor": lambda _: None}),
        ("added", {"factor": lambda _: 0.5}),
    ],
)
def test_starts_that_are_not_valid_prove_nothing(kind, changes):
    problem = without_ridge(kind)
    certificate = solve(problem).certificate
    start = certificate.ridge_start
    new = {name: change(getattr(start, name)) for name, change in changes.items()}
    forged = replace(certificate, ridge_start=replace(start, **new))
    assert np.isfinite(certificate.lower_bound(problem))
    assert forged.lower_bound(problem) == -np.inf


def test_what_is_added_to_the_ridge_is_paid_for():
    """A larger one than is needed is valid, and costs more."""
    problem = without_ridge("added")
    found = solve(problem)
    certificate, start = found.certificate, found.certificate.ridge_start
    bounds = [
        replace(
            certificate, ridge_start=replace(start, added=start.added * factor)
        ).lower_bound(problem)
        for factor in (1.0, 1e3, 1e6, 1e9)
    ]
    assert max(bounds) <= found.objective
    assert bounds[-1] < bounds[0] - 0.1


def test_a_problem_with_a_ridge_has_no_start():
    certificate = solve(without_ridge("ridge")).certificate
    ridged = without_ridge("ridge", eta=10.0)
    forged = replace(solve(ridged).certificate, ridge_start=certificate.ridge_start)
    assert forged.lower_bound(ridged) == -np.inf


@pytest.mark.parametrize("found", [in_memory, streamed])
@pytest.mark.parametrize("limits", [{}, {"node_limit": 3}])
def test_files_hold_what_the_page_says(found, limits, tmp_path):
    found(**limits).save(tmp_path / "run.npz")
    arrays = storage.read_arrays(tmp_path / "run.npz")
    assert arrays["format"] == "cardqp-solution-2"
    keys = {re.sub(r"^root\.\d+\.", "root.", key) for key in arrays}
    assert keys <= documented_keys()
    types = {f"tree.{name}": np.int32 for name in ("branch", "child", "record")}
    types |= {f"tree.{name}_end": np.int64 for name in ("point", "fixed", "cluster")}
    types |= {"tree.kind": np.int8, "tree.beta": float, "tree.scale": float}
    assert {name: arrays[name].dtype for name in types} == types


@pytest.mark.parametrize("found", [in_memory, streamed])
def test_a_stopped_search_is_stored_with_the_proof_of_its_weaker_bound(found, tmp_path):
    stopped, whole = found(node_limit=3), found()
    assert -np.inf < stopped.lower_bound < whole.lower_bound
    for solution in (stopped, whole):
        solution.save(tmp_path / "run.npz")
        again = Solution.load(tmp_path / "run.npz", solution.problem)
        assert again.verify().ok
        proved = again.certificate.lower_bound(solution.problem)
        assert proved == solution.certificate.lower_bound(solution.problem)
        assert proved >= solution.lower_bound


def described_digest(path, problem):
    """The digest as the page describes it, from the problem's file."""
    arrays = storage.read_arrays(path)
    if "y" in arrays:
        X = problem.quadratic.X
        prefix = "sparse " if hasattr(X, "tocsc") else ""
        kind = f"{prefix}matrix {X.shape[0]} x {X.shape[1]} of type {X.dtype.str}"
        arrays = {k: a for k, a in arrays.items() if k == "y" or k[0] != "X"}
        arrays |= {"X.kind": kind, "X.digest": data_digest(X)}
    found = hashlib.sha256()
    for key in sorted(set(arrays) - {"names"}):
        if key.startswith("X."):
            found.update(key.encode() + b"\0str\0\0" + arrays[key].encode())
            continue
        a = np.asarray(arrays[key])
        shape = "x".join(str(size) for size in a.shape)
        found.update(f"{key}\0{a.dtype.str}\0{shape}\0".encode() + a.tobytes("C"))
    return found.hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_digests_are_those_of_the_page_and_survive_storage(kind, tmp_path):
    problem = random_problem(kind, 3)
    problem.save(tmp_path / "problem.npz")
    again = SparseQP.load(tmp_path / "problem.npz")
    assert problem.digest == again.digest
    assert problem.digest == described_digest(tmp_path / "problem.npz", problem)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, csc_array])
def test_digests_of_data_do_not_depend_on_how_they_are_stored(form, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 7)) * (rng.uniform(size=(9, 7)) < 0.5)
    problem = SparseQP.from_data(form(X), rng.standard_normal(9), eta=1.0, sparsity=2)
    problem.save(tmp_path / "problem.npz")
    assert SparseQP.load(tmp_path / "problem.npz").digest == problem.digest
    assert problem.digest == described_digest(tmp_path / "problem.npz", problem)


def test_digests_tell_problems_apart():
    data = {"Q": np.eye(3), "c": np.ones(3), "eta": 1.0, "sparsity": 2}
    changes = [
        {},
        {"Q": 2.0 * np.eye(3)},
        {"c": np.array([1.0, 1.0, 2.0])},
        {"eta": 2.0},
        {"sparsity": 1},
        {"penalty": 0.1},
        {"constant": 1.0},
        {"lower": 0.0},
        {"A": np.ones((1, 3)), "b": [1.0]},
        {"A_eq": np.ones((1, 3)), "b_eq": [1.0]},
        {"forced_in": [0]},
        {"forced_out": [0]},
        {"groups": [0, 0, -1], "group_sparsity": 1},
        {"blocks": [0, 0, 1]},
    ]
    digests = {SparseQP(**(data | change)).digest for change in changes}
    assert len(digests) == len(changes)
    named = SparseQP(**data, names=["a", "b", "c"])
    assert named.digest == SparseQP(**data).digest


@pytest.mark.parametrize("form", [None, "cardqp-solution-1", np.arange(3)])
def test_files_of_other_formats_are_refused(form, tmp_path):
    solution = in_memory()
    solution.save(tmp_path / "run.npz")
    arrays = storage.read_arrays(tmp_path / "run.npz")
    storage.write_arrays(tmp_path / "run.npz", arrays | {"format": form})
    with pytest.raises(ProblemError, match="must be a solution in the format cardqp"):
        Solution.load(tmp_path / "run.npz", solution.problem)


@pytest.mark.parametrize("digest", [None, "0" * 64, 7])
def test_files_of_other_problems_are_refused(digest, tmp_path):
    solution = in_memory()
    solution.save(tmp_path / "run.npz")
    arrays = storage.read_arrays(tmp_path / "run.npz")
    storage.write_arrays(tmp_path / "run.npz", arrays | {"problem_digest": digest})
    with pytest.raises(ProblemError, match="must be the one that was solved"):
        Solution.load(tmp_path / "run.npz", solution.problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("root.0.scale", np.nan),
        ("root.0.scale", "large"),
        ("root.0.scale", None),
        ("root.0.scale", -1.0),
        ("root.0.cutoff", np.inf),
        ("root.0.cutoff", np.arange(3.0)),
        ("root.0.cutoff", None),
        ("tree.scale", None),
        ("tree.scale", np.ones(3)),
        ("tree.kind", np.full(1, 77, dtype=np.int8)),
        ("start.ridge", np.ones(12)),
        ("start.factor", "half"),
    ],
)
def test_hostile_files_prove_nothing_false(name, value, tmp_path):
    solution = streamed()
    optimum, _ = enumerate_optimum(solution.problem)
    solution.save(tmp_path / "run.npz")
    arrays = storage.read_arrays(tmp_path / "run.npz")
    storage.write_arrays(tmp_path / "run.npz", arrays | {name: value})
    try:
        again = Solution.load(tmp_path / "run.npz", solution.problem)
    except ProblemError:
        return
    assert again.certificate.lower_bound(solution.problem) <= optimum * (1 + 1e-12)
    assert name == "root.0.scale" or not again.verify().ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_cutoff_stands_for_the_list_of_what_it_fixes(kind):
    """With rows, groups, blocks and bounds, too: in memory and at any cutoff."""
    problem = random_problem(kind, 3)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem)
    points = [step.point for step in found.certificate.root if step.reduction is None]
    state = next(found.certificate.root_states(problem))
    for point in points[:1]:
        value = point.bound(state.problem).value(state.subproblem)
        for cutoff in (value, 0.5 * (value + optimum), optimum):
            if not np.isfinite(cutoff):
                continue
            step = replace(found.certificate.root[0], reduction=None)
            short = replace(
                step, point=point, fixed_in=[], fixed_out=[], cutoff=float(cutoff)
            )
            nothing = np.zeros(0, dtype=int)
            short = replace(short, fixed_in=nothing, fixed_out=nothing)
            after = state.after(short)
            status = after.subproblem.status - state.subproblem.status
            listed = replace(
                short,
                fixed_in=np.flatnonzero(status > 0),
                fixed_out=np.flatnonzero(status < 0),
                cutoff=None,
            )
            same = state.after(listed)
            assert (same.subproblem.status == after.subproblem.status).all()
            assert same.pruned_bound >= after.pruned_bound
            start = found.certificate.ridge_start
            bound = Certificate((short,), ridge_start=start).lower_bound(problem)
            assert bound <= optimum + 1e-9 * abs(optimum)
            if (status != 0).any():
                assert bound <= max(cutoff, value)


def test_inner_nodes_without_records():
    """A tree of which only the leaves have points proves as much as they do."""
    found = in_memory(gap=1e-9)
    problem, tree = found.problem, found.certificate.tree
    optimum, _ = enumerate_optimum(problem)
    is_inner = tree.child > 0
    assert is_inner.any()
    bare = replace(
        tree,
        kind=np.where(is_inner, Kind.INHERITED, tree.kind).astype(np.int8),
        record=np.where(is_inner, -1, tree.record),
    )
    certificate = replace(found.certificate, tree=bare)
    assert -np.inf < certificate.lower_bound(problem) <= optimum * (1 + 1e-12)
    *_, presolved = certificate.root_states(problem)
    assert certificate.lower_bound(problem) >= presolved.lower_bound
