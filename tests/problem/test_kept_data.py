"""Problems made of data, in files."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse

from cardqp import ProblemError, Solution, SparseQP, solve
from cardqp.problem import kept_data
from cardqp.problem.kept_data import digest
from cardqp.problem.streamed_form import StreamedForm

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 6))
Y = X[:, 1] - 2.0 * X[:, 4] + 0.1 * RNG.standard_normal(20)

STORED = {
    "array": X,
    "single": X.astype(np.float32),
    "half": X.astype(np.float16),
    "big-endian": X.astype(">f8"),
    "truth": X > 0,
    "bytes": np.round(20 * X).astype(np.int8),
    "columns": np.asfortranarray(X),
    "slices": np.repeat(X, 2, axis=0)[::2],
    "csc": scipy.sparse.csc_array(np.where(X > 0, X, 0.0)),
    "csr": scipy.sparse.csr_matrix(np.where(X > 0, X, 0.0), dtype=np.float32),
    "coo": scipy.sparse.coo_array(np.where(X > 0, X, 0.0)),
}


def make(data, **settings):
    return SparseQP.from_data(data, Y, **{"eta": 10.0, "sparsity": 2} | settings)


def entries(problem):
    return problem.quadratic.take(np.arange(problem.n))


def assert_same(again, problem):
    assert isinstance(again.quadratic, StreamedForm)
    np.testing.assert_array_equal(entries(again), entries(problem))
    for name in ("c", "eta", "sparsity", "penalty", "A", "b", "lower", "constant"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))
    np.testing.assert_array_equal(again.quadratic.target, problem.quadratic.target)


@pytest.mark.parametrize("kind", STORED)
def test_data_in_memory_are_stored(kind, tmp_path):
    problem = make(STORED[kind], lower=0.0, A=np.ones((1, 6)), b=[3.0], penalty=0.1)
    problem.save(tmp_path / "p.npz")
    again = SparseQP.load(tmp_path / "p.npz")
    assert_same(again, problem)
    assert again.quadratic.X.dtype == STORED[kind].dtype
    solution = solve(problem)
    solution.save(tmp_path / "s.npz")
    assert Solution.load(tmp_path / "s.npz", again).verify().ok


@pytest.fixture
def mapped(tmp_path):
    """A problem whose columns are in a file beside its own."""
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "X.npy", np.asfortranarray(X))
    return make(np.load(tmp_path / "data" / "X.npy", mmap_mode="r"))


def test_mapped_files_are_referred_to(mapped, tmp_path):
    mapped.save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as archive:
        assert archive["X.file"].item() == "data/X.npy"
        assert archive["X.kind"].item() == "matrix 20 x 6 of type <f8"
        assert "X" not in archive
    again = SparseQP.load(tmp_path / "p.npz")
    assert_same(again, mapped)
    assert isinstance(again.quadratic.X, np.memmap)


def test_files_may_be_moved_together(mapped, tmp_path):
    (tmp_path / "home").mkdir()
    mapped.save(tmp_path / "p.npz")
    for name in ("p.npz", "data"):
        (tmp_path / name).rename(tmp_path / "home" / name)
    assert_same(SparseQP.load(tmp_path / "home" / "p.npz"), mapped)


def test_data_elsewhere_are_found_by_their_whole_name(mapped, tmp_path):
    (tmp_path / "runs").mkdir()
    mapped.save(tmp_path / "runs" / "p.npz")
    (tmp_path / "runs" / "p.npz").rename(tmp_path / "p.npz")
    assert_same(SparseQP.load(tmp_path / "p.npz"), mapped)


def test_data_that_were_moved_are_asked_for(mapped, tmp_path):
    mapped.save(tmp_path / "p.npz")
    new = tmp_path / "elsewhere.npy"
    (tmp_path / "data" / "X.npy").rename(new)
    with pytest.raises(
        ProblemError, match=r"`data` must say where the data of .*X\.npy"
    ):
        SparseQP.load(tmp_path / "p.npz")
    for data in (new, str(new), X, da.from_array(X, chunks=(9, 4))):
        assert_same(SparseQP.load(tmp_path / "p.npz", data=data), mapped)
    new.write_text("not an array")
    with pytest.raises(ProblemError, match=r"elsewhere\.npy is not a \.npy file"):
        SparseQP.load(tmp_path / "p.npz", data=new)


def changed_entry():
    other = X.copy()
    other[3, 2] = -other[3, 2]
    return other


def exchanged_rows():
    return X[[1, 0, *range(2, 20)]]


@pytest.mark.parametrize("change", [changed_entry, exchanged_rows])
def test_data_that_have_changed_are_refused(change, mapped, tmp_path):
    mapped.save(tmp_path / "p.npz")
    np.save(tmp_path / "data" / "X.npy", np.asfortranarray(change()))
    with pytest.raises(ProblemError, match="its entries have changed"):
        SparseQP.load(tmp_path / "p.npz")


@pytest.mark.parametrize("other", [X[:, :5], X.astype(np.float32), STORED["csc"]])
def test_data_of_another_kind_are_refused(other, mapped, tmp_path):
    mapped.save(tmp_path / "p.npz")
    with pytest.raises(ProblemError, match="a matrix 20 x 6 of type <f8: it is a "):
        SparseQP.load(tmp_path / "p.npz", data=other)


def test_parts_of_a_file_and_changed_copies_are_stored(tmp_path):
    np.save(tmp_path / "X.npy", X)
    part = np.load(tmp_path / "X.npy", mmap_mode="r")[:, :4]
    copy = np.load(tmp_path / "X.npy", mmap_mode="c")
    copy[0, 0] = 7.0
    raw = np.memmap(tmp_path / "raw", dtype=float, mode="w+", shape=X.shape)
    raw[:] = X
    for data in (part, copy, raw):
        problem = make(data)
        problem.save(tmp_path / "p.npz")
        (tmp_path / "X.npy").rename(tmp_path / "away.npy")
        assert_same(SparseQP.load(tmp_path / "p.npz"), problem)
        (tmp_path / "away.npy").rename(tmp_path / "X.npy")


LARGE = {
    "array": X,
    "sparse": STORED["csr"],
    "chunks": da.from_array(X, chunks=(7, 4)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_what_is_not_stored_is_handed_in(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_data, "MOST_STORED", 0)
    problem = make(LARGE[kind])
    problem.save(tmp_path / "p.npz")
    with pytest.raises(ProblemError, match="`data` must be given"):
        SparseQP.load(tmp_path / "p.npz")
    assert_same(SparseQP.load(tmp_path / "p.npz", data=LARGE[kind]), problem)
    with pytest.raises(ProblemError, match="`data` must"):
        SparseQP.load(tmp_path / "p.npz", data=2 * LARGE[kind])


def test_data_are_for_problems_that_refer_to_some(tmp_path):
    make(X).save(tmp_path / "p.npz")
    with pytest.raises(
        ProblemError, match=r"`data` must be None: .* holds its own data"
    ):
        SparseQP.load(tmp_path / "p.npz", data=X)
    SparseQP.from_regression(X, Y, eta=1.0, sparsity=1).save(tmp_path / "q.npz")
    with pytest.raises(
        ProblemError, match=r"`data` must be None: .* refers to no data"
    ):
        SparseQP.load(tmp_path / "q.npz", data=X)


def test_digests_do_not_depend_on_layout_or_chunks(monkeypatch):
    wide = np.random.default_rng(1).standard_normal((5, 3000))
    monkeypatch.setattr(kept_data, "BLOCK", 4096)
    chunked = da.from_array(wide, chunks=(2, 700))
    expected = digest(wide)
    assert digest(np.asfortranarray(wide)) == digest(chunked) == expected
    sparse = scipy.sparse.csr_array(wide)
    assert digest(sparse) == digest(sparse.tocsc()) == digest(sparse.tocoo())
    for at in ((0, 0), (4, 1500), (2, 2999)):
        other = wide.copy()
        other[at] = np.nextafter(other[at], 9.0)
        assert digest(other) != expected


BROKEN = {
    "no matrix": ({"X": None}, "must hold a matrix X"),
    "a vector": ({"X": X[0]}, "`X` must be a matrix"),
    "words": ({"X": np.array([["a"]])}, "`X` must be a matrix"),
    "indices": ({"X": None, "X.data": Y, "X.indices": np.arange(20)}, "a matrix X"),
    "half a reference": ({"X": None, "X.digest": "0"}, "`data` must be given"),
    "no name": ({"X": None, "X.digest": "0", "X.file": 3}, "must say where the data"),
    "short": ({"y": Y[:3]}, "`X` must have columns, and as many rows"),
    "two forms": ({"Q": np.eye(6)}, "exactly one array Q or F or y"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case, tmp_path):
    changes, message = BROKEN[case]
    path = tmp_path / "p.npz"
    make(X).save(path)
    with np.load(path) as archive:
        arrays = dict(archive) | changes
    np.savez(path, **{key: a for key, a in arrays.items() if a is not None})
    with pytest.raises(ProblemError, match=message):
        SparseQP.load(path)
