"""Files that claim more than follows, and files that are not what they must be."""

import hashlib
import io
import zipfile

import numpy as np
import pytest

from cardqp_check import check
from example import problem_arrays, run_arrays, write

BETTER = np.array(-3.9)
"""A lower bound above the optimum of the example, which is -4."""


def verdict_of(folder, problem=None, run=None, without=()):
    problem, run = problem_arrays() | (problem or {}), run_arrays() | (run or {})
    for key in without:
        run.pop(key, None)
    return check(*write(folder, problem, run))


def assert_refused(verdict, *words):
    assert not verdict.ok
    for word in words:
        assert word in " ".join(verdict.complaints)


FORGED_CLAIMS = {
    "a better bound": {"lower_bound": BETTER, "gap": np.array(0.0)},
    "an infinite bound": {"lower_bound": np.array(np.inf)},
    "a smaller gap": {"gap": np.array(1e-9)},
    "a negative gap": {"gap": np.array(-1.0), "objective": np.array(-4 - 2e-14)}
    | {"lower_bound": np.array(-4 - 1e-14)},
    "another objective": {"objective": np.array(-4.1)},
    "another point": {"x": np.array([0.9, 0.0, 0.0])},
    "two nonzeros": {"x": np.array([1.0, 1.0, 0.0]), "support": np.array([0, 1])},
    "another support": {"support": np.array([1])},
    "no tolerance to speak of": {"tolerance": np.array(0.5)},
    "a tolerance below the gap": {"tolerance": np.array(1e-9)},
    "infeasible": {"status": np.array("INFEASIBLE")},
    "unknown": {"status": np.array("UNKNOWN")},
    "another problem": {"problem_digest": np.array("0" * 64)},
    "another format": {"format": np.array("cardqp-solution-1")},
}


@pytest.mark.parametrize("claim", FORGED_CLAIMS)
def test_forged_claims_are_refused(tmp_path, claim):
    assert_refused(verdict_of(tmp_path, run=FORGED_CLAIMS[claim]))


NO_POINT = {
    "objective": np.array(np.inf),
    "gap": np.array(np.inf),
    "status": np.array("UNKNOWN"),
}


def test_without_a_point_only_a_bound_is_claimed(tmp_path):
    assert verdict_of(tmp_path, run=NO_POINT, without=["x"]).ok
    for key, forged in {"objective": -4.0, "gap": 0.0, "status": "FEASIBLE"}.items():
        run = NO_POINT | {key: np.array(forged)}
        assert_refused(verdict_of(tmp_path, run=run, without=["x"]), "no point")
    run = NO_POINT | {"status": np.array("INFEASIBLE")}
    assert_refused(verdict_of(tmp_path, run=run, without=["x"]), "not infinite")


def test_all_variables_of_a_block_are_within_their_bounds(tmp_path):
    """A block that is in may have a zero only where that is within the bounds."""
    problem = {"blocks": np.array([0, 0, 1]), "Q": 3 * np.eye(3)}
    run = {"lower_bound": np.array(-30.0), "status": np.array("FEASIBLE")}
    run |= {"gap": np.array(np.inf), "root.count": np.array(0)}
    assert verdict_of(tmp_path, problem, run).ok
    problem["lower"] = np.array([-np.inf, 0.5, -np.inf])
    assert_refused(verdict_of(tmp_path, problem, run), "x[1] is", "bounds")


WEAKER_PROOFS = {
    "a leaf without a proof": {"tree.kind": np.array([0, 0, 1], np.int8)},
    "no tree": {"tree.kind": np.array([0], np.int8)}
    | {
        f"tree.{k}": np.array([v], np.int32)
        for k, v in (("branch", -1), ("child", 0), ("record", -1))
    },
    "one side only": {"tree.branch": np.array([-1, -1, -1], np.int32)},
    "a point moved": {"tree.value": np.array([0.5, 1.0], np.float32)},
    "a point of the other leaf": {"tree.record": np.array([-1, 1, 1], np.int32)},
    "a variable fixed that is good": {"root.0.fixed_out": np.array([1])},
    "a variable fixed in": {
        "root.0.fixed_out": np.zeros(0, np.int64),
        "root.0.fixed_in": np.array([2]),
    },
    "a cutoff below the optimum": {"root.0.cutoff": np.array(-5.0)},
    "an early cutoff": {"root.0.cutoff": np.array(-9.0)},
    "another variable split": {"tree.branch": np.array([1, -1, -1], np.int32)},
    "a scale that is too small": {"tree.scale": np.array([0.5, 1.0])},
    "a ray without rows": {"tree.kind": np.array([0, 2, 1], np.int8)},
    "two variables fixed, one that is good": {"root.0.fixed_out": np.array([1, 2])},
    "a split of a variable that is out": {
        "tree.kind": np.array([1, 0, 0], np.int8),
        "tree.branch": np.array([2, -1, -1], np.int32),
        "tree.record": np.array([0, -1, -1], np.int32),
        "tree.index": np.array([2, 1], np.int16),
        "tree.value": np.array([-4.0, 1.0], np.float32),
    },
    "a listed support whose child is weak": {
        "tree.kind": np.array([5, 0], np.int8),
        "tree.branch": np.array([-1, -1], np.int32),
        "tree.child": np.array([1, 0], np.int32),
        "tree.record": np.array([0, -1], np.int32),
        "tree.fixed_end": np.array([1, 1]),
        "tree.fixed": np.array([1], np.int16),
    },
    "a good variable fixed at a node": {
        "tree.kind": np.array([1, 1], np.int8),
        "tree.branch": np.array([-1, -1], np.int32),
        "tree.child": np.array([1, 0], np.int32),
        "tree.record": np.array([1, 0], np.int32),
        "tree.fixed_end": np.array([0, 2]),
        "tree.fixed": np.array([-1, -2], np.int16),
    },
}


NO_STARTS = {
    "where every ridge is positive": {
        "start.added": np.zeros(3),
        "start.factor": np.array(0.5),
    },
    "of another ridge": {"start.ridge": np.array([0.5, 1.0, 1.0])},
    "of nothing": {"start.added": np.zeros(3)},
    "of a kind that is not known": {"start.other": np.ones(3)},
    "with two kinds": {"start.ridge": np.ones(3), "start.added": np.zeros(3)},
}


@pytest.mark.parametrize("start", NO_STARTS)
def test_starts_that_are_none_are_refused(tmp_path, start):
    assert_refused(verdict_of(tmp_path, run=NO_STARTS[start]), "start")


def test_a_start_leaves_no_variable_without_a_ridge(tmp_path):
    problem = {"eta": np.array([np.inf, 1.0, 1.0])}
    run = {"start.ridge": np.array([0.0, 1.0, 1.0])}
    assert_refused(verdict_of(tmp_path, problem, run), "without a ridge")


@pytest.mark.parametrize("change", WEAKER_PROOFS)
def test_a_proof_that_was_changed_proves_less(tmp_path, change):
    verdict = verdict_of(tmp_path, run=WEAKER_PROOFS[change])
    assert_refused(verdict)
    assert verdict.lower_bound < -4.0000001


def test_what_is_lost_by_fixing_in_counts(tmp_path):
    """All that is left is the third variable, for which -1 is proved."""
    fixed = {"root.0.fixed_out": np.zeros(0, int), "root.0.fixed_in": np.array([2])}
    leaf = {"kind": 1, "branch": -1, "child": 0, "record": 0}
    fixed |= {f"tree.{key}": np.array([number]) for key, number in leaf.items()}
    fixed |= {"tree.index": np.array([2, 1]), "tree.value": np.array([0.5, 1.0])}
    verdict = verdict_of(tmp_path, run=fixed)
    assert_refused(verdict)
    assert verdict.lower_bound == pytest.approx(-5.5)


NOT_FREE = {
    "a step": {"root.0.fixed_in": np.array([2])},
    "a later step": {"root.count": np.array(2)}
    | {
        key.replace("0", "1"): array
        for key, array in run_arrays().items()
        if key.startswith("root.0.")
    },
    "a node": {"tree.kind": np.array([1, 1, 1], np.int8)}
    | {"tree.record": np.array([0, 0, 1]), "tree.fixed_end": np.array([1, 1])}
    | {"tree.fixed": np.array([3], np.int16)},
    "a cluster": {"tree.branch": np.array([-2, -1, -1])}
    | {"tree.cluster": np.array([0, 2]), "tree.cluster_end": np.array([2])},
    "a listed support": {"tree.kind": np.array([5, 1, 1], np.int8)}
    | {"tree.record": np.array([0, 0, 1]), "tree.fixed_end": np.array([1, 1])}
    | {"tree.fixed": np.array([3], np.int16)},
    "what is left": {"root.0.kept": np.array([0])},
}


@pytest.mark.parametrize("place", NOT_FREE)
def test_only_free_variables_are_decided(tmp_path, place):
    """The third variable is out after the first step, the second is free."""
    words = "not out" if place == "what is left" else "not free"
    assert_refused(verdict_of(tmp_path, run=NOT_FREE[place]), words)


def test_variables_are_kept_and_listed_once(tmp_path):
    run = {"root.0.kept": np.array([0, 1, 1])}
    assert_refused(verdict_of(tmp_path, run=run), "twice")
    run = {"tree.kind": np.array([5, 1, 1], np.int8), "root.count": np.array(0)}
    run |= {"tree.record": np.array([0, 0, 1]), "tree.fixed_end": np.array([2, 2])}
    run |= {"tree.fixed": np.array([1, 1], np.int16)}
    verdict = verdict_of(tmp_path, {"sparsity": np.array(2)}, run)
    assert_refused(verdict, "a support that is not free")


WITHOUT_RIDGE = {"eta": np.array([np.inf, np.inf, 1.0])}


def test_a_ridge_is_taken_from_the_matrix(tmp_path):
    """The matrix lacks what the ridge is more than the problem has, and no less."""
    start = {"start.ridge": np.array([0.5, 0.5, 1.5]), "lower_bound": np.array(-100.0)}
    start |= {"root.count": np.array(0), "tree.kind": np.array([4, 1, 1], np.int8)}
    start |= {"tree.branch": np.full(3, -1), "tree.child": np.zeros(3, int)}
    start |= {"tree.record": np.array([0, 0, 1])}
    start |= {"tree.index": np.array([0, 2]), "tree.value": np.array([4 / 3, 0.5])}
    problem = WITHOUT_RIDGE | {"Q": np.diag([3.0, 3.0, 3.0])}
    problem |= {"c": np.array([-8.0, 0.0, 0.0])}
    verdict = verdict_of(tmp_path, problem, start)
    assert verdict.lower_bound == pytest.approx(-16 / 3)
    assert verdict.lower_bound <= -16 / 3


@pytest.mark.parametrize("rows", [1, 0])
def test_independence_is_for_problems_without_rows_and_bounds(tmp_path, rows):
    start = {"start.factor": np.array(0.5), "start.added": np.full(3, 1e-5)}
    verdict = verdict_of(tmp_path, WITHOUT_RIDGE, start)
    assert verdict.lower_bound > -np.inf
    assert "no feasible point with independent nonzeros is" in str(verdict)
    problem = {"A": np.ones((1, 3)), "b": np.ones(1)} if rows else {"upper": np.ones(3)}
    problem |= WITHOUT_RIDGE
    start |= {"root.0.beta": np.zeros(rows), "tree.beta": np.zeros((2, rows))}
    assert_refused(verdict_of(tmp_path, problem, start), "start.factor needs")


def test_the_share_of_a_form_has_that_share_of_the_ridge(tmp_path):
    """With all of the ridge and half of the matrix, more would seem to be proved."""
    problem = {"eta": np.array([1.0, np.inf, np.inf]), "Q": 3 * np.eye(3)}
    problem |= {"c": np.array([-8.0, 0.0, 0.0])}
    start = {"start.factor": np.array(0.5), "start.added": np.full(3, 1e-9)}
    start |= {"root.count": np.array(0), "tree.kind": np.array([3], np.int8)}
    start |= {f"tree.{k}": np.array([v]) for k, v in (("branch", -1), ("child", 0))}
    start |= {"tree.record": np.array([-1])}
    verdict = verdict_of(tmp_path, problem, start | {"lower_bound": np.array(0.0)})
    assert verdict.lower_bound == pytest.approx(-8.0)


def regression_arrays():
    """Squares of what two observations lack, at most one nonzero: 0.5 is left."""
    problem = problem_arrays() | {"X": np.eye(2, 3), "y": np.array([1.0, 1.0])}
    del problem["Q"]
    return problem | {"eta": np.full(3, 1e9), "c": np.zeros(3)}


def verdict_at(folder, scale, **step):
    """The verdict on a regression after one dual point, and perhaps another view."""
    problem = regression_arrays()
    text = hashlib.sha256()
    X = problem["X"]
    inner = hashlib.sha256(X.tobytes()).digest()
    named = {k: v for k, v in problem.items() if k != "X"}
    named |= {"X.kind": b"matrix 2 x 3 of type <f8"}
    named |= {"X.digest": hashlib.sha256(inner).hexdigest().encode()}
    for key, part in sorted(named.items()):
        is_text = isinstance(part, bytes)
        kind = "str" if is_text else part.dtype.str
        shape = "" if is_text else "x".join(map(str, part.shape))
        text.update(f"{key}\0{kind}\0{shape}\0".encode())
        text.update(part if is_text else part.tobytes())
    run = run_arrays() | {"problem_digest": np.array(text.hexdigest())}
    run |= {"root.0.index": np.array([0]), "root.0.value": np.array([0.5])}
    run |= {"root.0.scale": np.array(1.0), "root.0.fixed_out": np.zeros(0, int)}
    run |= {f"root.0.{key}": array for key, array in step.items()}
    leaf = {"kind": 1, "branch": -1, "child": 0, "record": 0, "scale": [scale] * 2}
    run |= {f"tree.{key}": np.atleast_1d(number) for key, number in leaf.items()}
    run |= {"tree.index": np.array([0, 0]), "tree.value": np.array([0.5, 0.5])}
    run["tree.scale"] = run["tree.scale"].astype(float)
    return check(*write(folder, problem, run))


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.75, 1.0, 1.5])
def test_scaled_residuals(tmp_path, scale):
    """The slope of every column that is not 0 would need a ridge: it proves little."""
    verdict = verdict_at(tmp_path, scale)
    t, y, r = scale, np.ones(2), np.array([0.5, 1.0])
    base, gamma = (2 * t * y @ r - t * t * r @ r) / 2, -t * r
    expected = base + min(0.0, (-(gamma**2) / 4e-9).min())
    first = (1.5 * 2 - 1.25) / 2 - 1 / 4e-9
    assert verdict.lower_bound == pytest.approx(max(expected, first), rel=1e-12)


def test_scales_are_for_residuals(tmp_path):
    shifted = {"kept": np.arange(3), "diagonal_shift": np.full(3, 1e-3)}
    assert verdict_at(tmp_path, 1.0, **shifted).lower_bound > -np.inf
    assert_refused(verdict_at(tmp_path, 0.5, **shifted), "has a scale")
    assert_refused(verdict_at(tmp_path, -0.5), "a scale is negative")


def test_a_cutoff_fixes_what_is_beyond_it(tmp_path):
    verdict = verdict_of(
        tmp_path,
        run={"root.0.cutoff": np.array(-3.6)},
        without=["root.0.fixed_in", "root.0.fixed_out"],
    )
    assert verdict.ok, str(verdict)
    verdict = verdict_of(tmp_path, run={"root.0.cutoff": np.array(-3.4)})
    assert not verdict.ok  # nothing is fixed: the second leaf has too many supports


@pytest.mark.parametrize("other", ["F", "y"])
def test_a_problem_has_one_quadratic_form(tmp_path, other):
    both = {
        other: np.ones((1, 3)) if other == "F" else np.ones(1),
        "X": np.ones((1, 3)),
    }
    assert_refused(verdict_of(tmp_path, both), "has 2 of the arrays")


def test_changes_of_the_problem_are_noticed(tmp_path):
    paths = write(tmp_path, problem_arrays(), run_arrays())
    np.savez(paths[0], **problem_arrays() | {"c": np.array([-7.0, -8.0, -4.0])})
    assert_refused(check(*paths), "another problem")


def test_a_child_has_its_listed_support(tmp_path):
    """For the first variable, the point of the first step proves -11/2, no more."""
    run = {"tree.kind": np.array([5, 1], np.int8), "tree.branch": np.array([-1, -1])}
    run |= {"tree.child": np.array([1, 0]), "tree.record": np.array([0, 1])}
    run |= {"tree.fixed_end": np.array([1, 1]), "tree.fixed": np.array([1])}
    run |= {"tree.point_end": np.array([0, 3]), "tree.index": np.arange(3)}
    run |= {"tree.value": np.full(3, 0.5), "root.count": np.array(0)}
    assert verdict_of(tmp_path, run=run).lower_bound == pytest.approx(-5.5)


MALFORMED = {
    "tree.child": np.array([0, 1, 0], np.int32),
    "tree.record": np.array([-1, 0, 5], np.int32),
    "tree.point_end": np.array([2, 1]),
    "tree.index": np.array([0, 7], np.int16),
    "tree.value": np.array([1.0, np.nan], np.float32),
    "tree.scale": np.array([-1.0, 1.0]),
    "tree.branch": np.array([3, -1, -1], np.int32),
    "tree.kind": np.array([0, 8, 1], np.int8),
    "tree.beta": np.zeros((2, 1)),
    "tree.fixed_end": np.array([0, 1]),
    "root.count": np.array(2),
    "root.0.index": np.array([0, 0, 1]),
    "root.0.value": np.array([0.5, 0.5]),
    "root.0.fixed_out": np.array([2, 2]),
    "root.0.kept": np.array([0, 0]),
    "x": np.array([np.inf, 0.0, 0.0]),
    "lower_bound": np.array(np.nan),
    "objective": np.array("large"),
    "start.added": np.array([-1.0, 0.0, 0.0]),
    "start.factor": np.array(2.0),
    "start.ridge": np.array([0.0, 1.0, 1.0]),
}


EXTREME = {
    "tree.child": np.array([2**63 - 1, 0, 0]),
    "tree.branch": np.array([-(2**63), -1, -1]),
    "tree.record": np.array([-1, -(2**63), 1]),
    "tree.point_end": np.array([-(2**63), 2]),
    "tree.fixed": np.array([-(2**63), 1]),
    "tree.fixed_end": np.array([1, 2**63 - 1]),
    "tree.cluster_end": np.array([2**63 - 1]),
    "root.count": np.array(2**63 - 1),
    "root.0.index": np.array([2**63 - 1, 0, 1]),
    "tree.value": np.array([1e308, -1e308]),
    "root.0.value": np.array([1e308, 1e308, 1e308]),
    "tree.scale": np.array([1e308, 1e308]),
    "x": np.array([1e308, 0.0, 0.0]),
}


@pytest.mark.parametrize("key", EXTREME)
def test_extreme_numbers_are_refused(tmp_path, key):
    run = {"tree.fixed_end": np.array([1, 2])} if key == "tree.fixed" else {}
    assert_refused(verdict_of(tmp_path, run=run | {key: EXTREME[key]}))


@pytest.mark.parametrize("key", MALFORMED)
def test_malformed_arrays_are_refused(tmp_path, key):
    assert_refused(verdict_of(tmp_path, run={key: MALFORMED[key]}))


def test_children_and_clusters_are_there(tmp_path):
    run = {"tree.child": np.array([2, 0, 0], np.int32)}
    assert_refused(verdict_of(tmp_path, run=run), "tree.child")
    run = {"tree.branch": np.array([-2, -1, -1], np.int32)}
    assert_refused(verdict_of(tmp_path, run=run), "tree.branch")


def test_points_have_records(tmp_path):
    run = {"tree.record": np.array([-1, -1, 1], np.int32)}
    assert_refused(verdict_of(tmp_path, run=run), "tree.record")


@pytest.mark.parametrize("key", run_arrays())
def test_missing_and_wrong_arrays_are_refused(tmp_path, key):
    optional = ("x", "root.count")
    if key not in optional:
        assert_refused(verdict_of(tmp_path, without=[key]), key)
    assert_refused(verdict_of(tmp_path, run={key: np.array(1j)}))


def test_a_node_with_two_parents_is_refused(tmp_path):
    change = {
        "tree.kind": np.array([0, 0, 0, 1, 1], np.int8),
        "tree.branch": np.array([0, -1, -1, -1, -1], np.int32),
        "tree.child": np.array([1, 3, 3, 0, 0], np.int32),
        "tree.record": np.array([-1, -1, -1, 0, 1], np.int32),
    }
    assert_refused(verdict_of(tmp_path, run=change), "two parents")


def wide_tree(depth):
    """A tree that splits every variable, of nodes with the point 0."""
    n, size = 2**depth - 1, 2 ** (depth + 1) - 1
    number = np.arange(size)
    branch = np.where(number < n, np.floor(np.log2(number + 1)).astype(int), -1)
    tree = {"kind": np.ones(size, int), "branch": branch, "record": 0 * number}
    tree |= {"child": np.where(number < n, 2 * number + 1, 0)}
    tree |= {"point_end": np.zeros(1, int), "fixed_end": np.zeros(1, int)}
    tree |= {"index": np.zeros(0, int), "value": np.zeros(0), "scale": np.ones(1)}
    return {f"tree.{key}": array for key, array in tree.items()} | {
        "tree.beta": np.zeros((1, 0)),
        "root.count": np.array(0),
    }


def test_processes_refuse_what_one_process_does(tmp_path):
    """The least leaf is of one process, the two parents are of different ones."""
    n = 8
    infinite = np.full(n, np.inf)
    problem = problem_arrays() | {
        "Q": np.eye(n),
        "c": -np.arange(8.0),
        "eta": np.ones(n),
    }
    problem |= {"A": np.zeros((0, n)), "A_eq": np.zeros((0, n))}
    problem |= {"lower": -infinite, "upper": infinite}
    run = run_arrays() | wide_tree(n) | NO_POINT | {"lower_bound": np.array(-13.0)}
    del run["x"]
    paths = write(tmp_path, problem, run)
    assert check(*paths).ok
    assert check(*paths) == check(*paths, jobs=2)
    # A leaf gets the last one, of the node after its own parent, as its child.
    run["tree.child"][-3] = 2 ** (n + 1) - 2
    paths = write(tmp_path, problem, run)
    for jobs in (1, 2):
        assert_refused(check(*paths, jobs=jobs), "two parents")


def archive_of(path, name, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return path


def npy_bytes(shape, entries=b""):
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + entries


def test_archives_that_lie_are_refused(tmp_path):
    paths = write(tmp_path, problem_arrays(), run_arrays())
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, c=np.array([{}], dtype=object))
    bad = [
        pickled,
        archive_of(tmp_path / "huge.npz", "c.npy", npy_bytes((10**12,))),
        archive_of(tmp_path / "short.npz", "c.npy", npy_bytes((3,), b"\0" * 8)),
        archive_of(tmp_path / "none.npz", "c.npy", b"none"),
        tmp_path / "missing.npz",
    ]
    (tmp_path / "text.npz").write_text("no archive")
    for path in [*bad, tmp_path / "text.npz", tmp_path]:
        assert_refused(check(path, paths[1]), "not an archive")
        assert_refused(check(paths[0], path), "not an archive")


def test_archives_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    paths = write(tmp_path, problem_arrays(), run_arrays())
    bomb = archive_of(
        tmp_path / "bomb.npz", "c.npy", npy_bytes((10**6,), bytes(8 * 10**6))
    )
    monkeypatch.setattr("cardqp_check.archives.MOST_BYTES", 10**6)
    assert_refused(check(bomb, paths[1]), "unpacks to more")


@pytest.mark.parametrize(("added", "is_allowed"), [(7.4e-5, True), (7.6e-5, False)])
def test_an_added_ridge_takes_no_more_than_independence_gives(
    tmp_path, added, is_allowed
):
    """The diagonal is 3, half of the form is kept: 7.5e-5 is what may be added."""
    start = {
        "start.factor": np.array(0.5),
        "start.added": np.array([1e-6, added, 1e-6]),
    }
    verdict = verdict_of(tmp_path, {"eta": np.full(3, np.inf)}, start)
    complaints = " ".join(verdict.complaints)
    assert ("start.added is too large" in complaints) != is_allowed
    assert (verdict.lower_bound > -np.inf) == is_allowed


@pytest.mark.parametrize(("places", "is_allowed"), [(3, True), (4, False)])
def test_supports_are_listed_for_three_places_at_most(tmp_path, places, is_allowed):
    n, nothing = 6, np.zeros(0, np.int32)
    wide = {k: np.full(n, v) for k, v in (("lower", -np.inf), ("upper", np.inf))}
    wide |= {"Q": np.eye(n), "c": -np.ones(n), "eta": np.ones(n)}
    wide |= {"A": np.zeros((0, n)), "A_eq": np.zeros((0, n))}
    tree = {"kind": np.array([5], np.int8), "branch": np.array([-1], np.int32)}
    tree |= {"child": np.array([0], np.int32), "record": np.array([0], np.int32)}
    tree |= {"beta": np.zeros((1, 0)), "scale": np.ones(1), "value": np.zeros(0)}
    tree |= {"point_end": np.zeros(1, np.int64), "fixed_end": np.zeros(1, np.int64)}
    tree |= {"index": nothing, "fixed": nothing}
    run = {
        "lower_bound": np.array(0.0),
        "root.count": np.array(0),
        "x": np.zeros(n),
        "support": nothing,
    }
    run |= {f"tree.{key}": array for key, array in tree.items()}
    verdict = verdict_of(tmp_path, wide | {"sparsity": np.array(places)}, run)
    fits = "do not fit" not in " ".join(verdict.complaints)
    assert fits == is_allowed
    # Each variable gains 1/8.
    assert verdict.lower_bound == (-places / 8 if is_allowed else -np.inf)
