"""Certificates of cardqp: they are accepted, and prove nothing that is not so."""

import numpy as np
import pytest

cardqp = pytest.importorskip("cardqp")

import scipy.sparse  # noqa: E402
from tests.branch_and_bound.test_clusters import always, long_chain  # noqa: E402
from tests.branch_and_bound.test_inactive_bounds import (  # noqa: E402
    regression as boxed,
)
from tests.problems import KINDS, enumerate_optimum, random_problem  # noqa: E402
from tests.splitting.test_row_shift import ALWAYS, tracking  # noqa: E402
from tests.streamed import exact  # noqa: E402

from cardqp import Exact  # noqa: E402
from cardqp.branch_and_bound.settings import DroppingSettings  # noqa: E402
from cardqp.datasets import make_regression  # noqa: E402
from cardqp.methods import RootSettings, SearchSettings  # noqa: E402
from cardqp.splitting.settings import DiagonalSettings, SplittingSettings  # noqa: E402
from cardqp_check import check  # noqa: E402

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]


def solved(folder, problem, **settings):
    """The files of a problem and of its answer."""
    paths = folder / "problem.npz", folder / "run.npz"
    solution = cardqp.solve(problem, **settings)
    problem.save(paths[0])
    solution.save(paths[1])
    return paths, solution


def assert_at_most(bound, optimum):
    """Compare with an optimum that was computed in floats."""
    assert bound <= optimum + 1e-9 * max(1.0, abs(optimum))


def changed(path, **arrays):
    """Write an archive again, with some arrays replaced."""
    with np.load(path) as archive:
        arrays = dict(archive) | arrays
    np.savez(path, **arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_honest_certificates_are_accepted(tmp_path, kind, seed):
    problem = random_problem(kind, seed)
    paths, solution = solved(tmp_path, problem)
    verdict = check(*paths)
    assert verdict.ok, str(verdict)
    assert verdict.lower_bound >= solution.lower_bound
    optimum, _ = enumerate_optimum(problem)
    if verdict.lower_bound < np.inf:
        assert_at_most(solution.lower_bound, optimum)
    else:
        assert optimum == np.inf
    more = optimum + 1e-6 * max(1.0, abs(optimum))
    if optimum < np.inf:
        changed(paths[1], lower_bound=np.array(more), gap=np.array(0.0))
        assert not check(*paths).ok


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_corrupted_certificates_prove_nothing_false(tmp_path, kind, seed):
    """A change of any numbers leaves a proof of something true, or none."""
    problem = random_problem(kind, seed)
    paths, _ = solved(tmp_path, problem)
    optimum, _ = enumerate_optimum(problem)
    rng = np.random.default_rng(seed)
    with np.load(paths[1]) as archive:
        arrays = dict(archive)
    proof = [k for k in arrays if k.startswith(("root.", "tree.", "start."))]
    proof = [k for k in proof if arrays[k].size > 0]
    for _ in range(8):
        key = proof[rng.integers(len(proof))]
        np.savez(paths[1], **arrays | {key: corrupted(arrays[key], rng)})
        verdict = check(*paths)
        if optimum < np.inf:
            assert_at_most(verdict.lower_bound, optimum)


def corrupted(array, rng):
    """The array with one entry changed."""
    array = array.copy()
    place = rng.integers(array.size)
    if array.dtype.kind == "f":
        array.flat[place] *= rng.choice([-1.0, 0.0, 1.3, 1e3])
    elif array.dtype.kind == "i":
        array.flat[place] += rng.choice([-1, 1, 2])
    return array


def regression(seed, n=9, N=14):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, n)) * rng.uniform(0.5, 2.0, n)
    return X, X[:, :3] @ [1.0, -2.0, 1.5] + rng.standard_normal(N)


@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "whole numbers"])
@pytest.mark.parametrize("settings", [{}, {"method": exact()}])
def test_regressions(tmp_path, kind, settings):
    X, y = regression(0)
    X = {
        "dense": lambda: X,
        "single": lambda: X.astype(np.float32),
        "sparse": lambda: scipy.sparse.csc_array(np.where(np.abs(X) > 0.7, X, 0.0)),
        "whole numbers": lambda: (3 * X).astype(np.int16),
    }[kind]()
    problem = cardqp.SparseQP.from_data(X, y, eta=3.0, sparsity=3)
    paths, solution = solved(tmp_path, problem, **settings)
    verdict = check(*paths)
    assert verdict.ok, str(verdict)
    assert solution.lower_bound > -np.inf
    changed(paths[1], lower_bound=np.array(solution.objective * (1 + 1e-6)))
    assert not check(*paths).ok


def test_named_data(tmp_path):
    """Data in a file of their own are found, and compared with their digest."""
    X, y = regression(1)
    np.save(tmp_path / "data.npy", X)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    problem = cardqp.SparseQP.from_data(mapped, y, eta=3.0, sparsity=2)
    paths, _ = solved(tmp_path, problem, method=exact())
    verdict = check(*paths)
    assert verdict.ok, str(verdict)
    np.save(tmp_path / "data.npy", X + 1e-9)
    verdict = check(*paths)
    assert "the data are not those of the file" in verdict.complaints


def test_processes_share_a_tree(tmp_path):
    paths, _ = solved(tmp_path, random_problem("free", 15))
    alone, shared = check(*paths), check(*paths, jobs=2)
    assert alone == shared
    assert alone.ok


def assert_sound(paths, solution, keys):
    """Corrupt arrays of a certificate: nothing above the objective is proved."""
    with np.load(paths[1]) as archive:
        arrays = dict(archive)
    rng = np.random.default_rng(0)
    for key in keys:
        np.savez(paths[1], **arrays | {key: corrupted(arrays[key], rng)})
        assert_at_most(check(*paths).lower_bound, solution.objective)


@pytest.mark.slow
def test_trees_with_clusters(tmp_path):
    paths, solution = solved(tmp_path, long_chain(), method=always())
    verdict = check(*paths)
    assert verdict.ok, str(verdict)
    assert len(solution.certificate.tree.cluster_end) > 5
    keys = ["tree.cluster", "tree.cluster_end", "tree.branch", "tree.value"]
    assert_sound(paths, solution, keys * 2)


def loose(seed, n):
    """A regression whose root is loose."""
    data = make_regression(n + 2, n, sparsity=5, correlation=0.8, snr=0.5, seed=seed)
    return cardqp.SparseQP.from_regression(data.X, data.y, eta=300.0, sparsity=5)


def splits():
    """A search that always looks for minorants."""
    root = RootSettings(minorant_gap=0.0, split_gap=0.0, easy_nodes=0)
    splitting = SplittingSettings(DiagonalSettings(max_variables=0))
    dropping = DroppingSettings(max_variables=0)
    return Exact(SearchSettings(root=root, splitting=splitting, dropping=dropping))


REWRITTEN = {
    "minorant": (lambda: loose(0, 12), splits()),
    "minorant in a tree": (lambda: loose(1, 24), splits()),
    "row_shift": (lambda: tracking(0, n=16, sparsity=4), ALWAYS),
    "drops_bounds": (lambda: boxed(0, 5.0), Exact()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten_problems(tmp_path, name):
    make, method = REWRITTEN[name]
    paths, solution = solved(tmp_path, make(), method=method, gap=1e-6)
    verdict = check(*paths)
    assert verdict.ok, str(verdict)
    with np.load(paths[1]) as archive:
        ends = ("minorant", "weights", "shift", "tree.value", "root.1.value")
        keys = [k for k in archive if k.endswith(ends) and archive[k].size]
        assert any(k.endswith(name.split()[0]) for k in archive)
    assert_sound(paths, solution, keys * 2)
