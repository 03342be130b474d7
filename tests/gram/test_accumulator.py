"""Sums of rows against exact arithmetic, in any order and of any type."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from cardqp import ParameterError, ProblemError, SparseQP, solve
from cardqp.gram import GramAccumulator, unit_scale
from cardqp.gram import sums as sums_module
from cardqp.gram.validation import sums_to_arrays

# Sums of a few dozen terms of size one, taken in another order.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def data(n_samples=60, n=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n)) * rng.uniform(0.1, 9, n) + 3.0
    y = X @ rng.standard_normal(n) + rng.standard_normal(n_samples) + 7.0
    return X, y, rng.uniform(0.0, 2.0, n_samples)


def exact_covariance(Z):
    """Second moments about the mean in rational arithmetic."""
    rows = [[Fraction(float(v)) for v in row] for row in Z]
    count = len(rows)
    means = [sum(column) / count for column in zip(*rows, strict=True)]
    rows = [[v - m for v, m in zip(row, means, strict=True)] for row in rows]
    columns = list(zip(*rows, strict=True))
    return np.array(
        [
            [float(sum(map(Fraction.__mul__, a, b)) / count) for b in columns]
            for a in columns
        ]
    )


def assert_same(found, expected):
    """All moments are the same up to rounding."""
    for name in ("weight", "n_samples", "mean", "target_mean", "cross", "power"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), **CLOSE
        )
    np.testing.assert_allclose(found.gram, expected.gram, **CLOSE)


def arrays(rows):
    return sums_to_arrays(rows.sums, rows.names)


def state(rows):
    """Everything that is kept, bit by bit."""
    return {k: np.asarray(v).tobytes() for k, v in arrays(rows).items()}


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_means_cost_no_digits(monkeypatch, order):
    monkeypatch.setattr(sums_module, "BLOCK_ROWS", 64)
    rng = np.random.default_rng(0)
    Z = 1e6 * np.array([1.0, -3.0, 2.0]) + rng.standard_normal((500, 3))
    X, y = np.asarray(Z[:, :2], order=order), Z[:, 2]
    rows = GramAccumulator()
    for part in np.array_split(np.arange(500), 7):
        rows.update(X[part], y[part])
    found, exact = rows.moments(), exact_covariance(Z)
    size = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert np.abs((found.gram - exact[:2, :2]) / size[:2, :2]).max() < 2e-15
    assert np.abs((found.cross - exact[:2, 2]) / size[:2, 2]).max() < 2e-15
    assert found.power == pytest.approx(exact[2, 2], rel=2e-15)
    naive = X.T @ X / 500 - np.outer(X.mean(axis=0), X.mean(axis=0))
    assert np.abs((naive - exact[:2, :2]) / size[:2, :2]).max() > 1e-6


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_blocks_in_any_cut_make_the_whole(monkeypatch, centred, weighted):
    monkeypatch.setattr(sums_module, "BLOCK_ROWS", 7)
    X, y, w = data()
    w = w if weighted else np.ones(60)
    rows = GramAccumulator()
    for part in np.split(np.arange(60), [1, 2, 30]):
        rows.update(X[part], y[part], w[part] if weighted else None)
    found, share = rows.moments(centred), w / w.sum()
    mean = share @ X if centred else np.zeros(4)
    target_mean = share @ y if centred else 0.0
    Z, t = X - mean, y - target_mean
    np.testing.assert_allclose(found.gram, (Z * share[:, None]).T @ Z, **CLOSE)
    np.testing.assert_allclose(found.cross, (share * t) @ Z, **CLOSE)
    assert found.power == pytest.approx(share @ t**2)
    np.testing.assert_allclose(found.mean, mean, **CLOSE)
    assert found.target_mean == pytest.approx(target_mean)
    assert (rows.n_samples, rows.weight) == (60, pytest.approx(w.sum()))


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int8),
        lambda X: X > 3.0,
        lambda X: X.tolist(),
        lambda X: np.asfortranarray(X),
        lambda X: pl.DataFrame(X, schema=list("abcd")),
        lambda X: scipy.sparse.csr_array(np.where(X > 4, X, 0.0)),
        lambda X: scipy.sparse.coo_matrix(np.where(X > 4, X, 0.0).astype(np.int32)),
    ],
)
def test_numbers_of_any_type_are_added_in_double_precision(make):
    X, y, w = data()
    given = make(X)
    dense = given.toarray() if scipy.sparse.issparse(given) else given
    plain = np.asarray(dense, dtype=np.float64)
    found = GramAccumulator().update(given, y.astype(np.float32), w).moments()
    same = GramAccumulator().update(plain, y.astype(np.float32).astype(float), w)
    assert_same(found, same.moments())


def test_full_columns_of_sparse_rows_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X[:, 0] += 1e6
    X[rng.uniform(size=300) < 0.9, 2] = 0.0
    y = rng.standard_normal(300) - 1e6
    found = GramAccumulator().update(scipy.sparse.csr_array(X), y).moments()
    exact = exact_covariance(np.column_stack([X, y]))
    np.testing.assert_allclose(found.gram, exact[:3, :3], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found.cross, exact[:3, 3], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("weighted", [True, False])
def test_constant_columns_are_exactly_so(make, weighted):
    X, y, w = data()
    X[:, 1], X[:, 2] = 0.1, 0.0
    rows = GramAccumulator(shift=np.full(5, 0.3))
    rows.update(make(X), y, w if weighted else None)
    assert rows.moments().variance[[1, 2]].tolist() == [0.0, 0.0]
    assert not rows.moments().gram[1].any()
    assert rows.moments().cross[[1, 2]].tolist() == [0.0, 0.0]
    alone = GramAccumulator(shift=np.full(5, 0.3)).update(X[:1], y[:1], w[:1])
    assert not alone.moments().gram.any()


def test_a_column_that_varies_late_and_little_is_not_constant():
    X, y = np.zeros((10_000, 1)), np.zeros(10_000)
    X[-1] = 1e-9
    rows = GramAccumulator().update(X[:1], y[:1]).update(X[1:], y[1:])
    assert rows.moments().variance[0] == pytest.approx(1e-22, rel=1e-3)


def test_a_column_that_varies_far_from_the_shift_is_not_constant():
    X, y, _ = data()
    found = GramAccumulator(shift=np.full(5, 1e4)).update(X, y).moments()
    # The square of the distance, 1e8, is rounded.
    np.testing.assert_allclose(found.variance, X.var(axis=0), rtol=0, atol=1e-6)
    assert (found.variance > 0).all()


def test_siblings_add_up_to_the_last_bit():
    X, y, w = data()
    first = GramAccumulator().update(X[:20], y[:20], w[:20])
    second = first.empty_like().update(X[20:], y[20:], w[20:])
    assert np.array_equal(first.shift, second.shift)
    again = GramAccumulator(shift=first.shift)
    again.update(X[:20], y[:20], w[:20]).update(X[20:], y[20:], w[20:])
    assert state(first.merge(second)) == state(again)
    assert second.n_samples == 40


def test_merging_with_another_shift_loses_what_its_square_costs():
    X, y, w = data()
    first = GramAccumulator().update(X[:20], y[:20], w[:20])
    far = GramAccumulator(shift=np.full(5, 1e3)).update(X[20:], y[20:], w[20:])
    whole = GramAccumulator().update(X, y, w).moments()
    merged = first.merge(far).moments()
    np.testing.assert_allclose(merged.gram, whole.gram, rtol=0, atol=1e-9)
    np.testing.assert_allclose(merged.cross, whole.cross, rtol=0, atol=1e-9)


def test_merging_with_nothing():
    X, y, _ = data()
    full = GramAccumulator().update(X, y)
    before = state(full)
    assert state(full.merge(GramAccumulator())) == before
    assert state(GramAccumulator().merge(full)) == before
    assert full.update(X[:0], y[:0]).n_samples == 60
    assert GramAccumulator().update(X[:0], y[:0]).shift is None


def test_problem_is_the_one_of_the_rows():
    X, y, _ = data()
    rows = GramAccumulator().update(X, y)
    plain = SparseQP.from_regression(X, y, eta=5.0, sparsity=2)
    found = rows.problem(eta=5.0, sparsity=2, centred=False)
    np.testing.assert_allclose(found.Q, plain.Q, rtol=1e-12)
    np.testing.assert_allclose(found.c, plain.c, rtol=1e-12)
    assert found.constant == pytest.approx(plain.constant)
    scale = X.std(axis=0)
    scaled = rows.problem(eta=5.0, sparsity=2, standardize=True, lower=-1.0)
    np.testing.assert_allclose(unit_scale(rows.moments()), scale, rtol=1e-12)
    expected = SparseQP.from_regression(
        (X - X.mean(axis=0)) / scale, y - y.mean(), eta=5.0, sparsity=2, lower=-1.0
    )
    assert solve(scaled).objective == pytest.approx(solve(expected).objective)


def test_names_of_data_frames_are_kept():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    rows = GramAccumulator().update(frame[:30], y[:30]).update(X[30:], y[30:])
    assert rows.names == tuple("abcd")
    assert rows.problem(eta=1.0, sparsity=1).names == tuple("abcd")
    assert GramAccumulator(names=list("wxyz")).update(X, y).names == tuple("wxyz")
    assert rows.empty_like().names == tuple("abcd")
    assert GramAccumulator().merge(rows).names == tuple("abcd")


@pytest.mark.parametrize("names", [None, list("abcd")])
def test_save_and_load(tmp_path, names):
    X, y, w = data()
    rows = GramAccumulator(names=names).update(X[:20], y[:20], w[:20])
    rows.save(tmp_path / "rows.npz")
    again = GramAccumulator.load(tmp_path / "rows.npz")
    assert state(again) == state(rows)
    assert again.names == rows.names
    for each in (rows, again):
        each.update(X[20:], y[20:], w[20:])
    assert state(again) == state(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shift": None}, "`path` must hold sums of rows: .* see 'shift'"),
        ({"more": 1.0}, "`path` must hold sums of rows: .* see 'more'"),
        ({"first": np.ones(4)}, "`first` must have 5 entries, one per column"),
        ({"weight": np.nan}, "`weight` must be finite"),
        ({"n_samples": 2.5}, "`n_samples` must hold integers"),
        ({"n_dropped": -1}, "`n_dropped` must hold integers"),
        ({"second": np.ones((2, 2))}, r"`second` must have the shape \(5, 5\)"),
        ({"second": -np.eye(5)}, "`sums` must be positive semidefinite"),
        ({"weight": 1e-3}, "`sums` must be positive semidefinite"),
        ({"names": np.array(["a"])}, "`names` must have 4 entries, one per feature"),
    ],
)
def test_sums_from_files_are_checked(tmp_path, change, message):
    X, y, _ = data()
    whole = arrays(GramAccumulator(shift=np.zeros(5)).update(X, y)) | change
    kept = {key: value for key, value in whole.items() if value is not None}
    np.savez(tmp_path / "rows.npz", **kept)
    with pytest.raises((ProblemError, ParameterError), match=message):
        GramAccumulator.load(tmp_path / "rows.npz")


def with_entry(value, place):
    X, y, w = data()
    {"X": X, "y": y, "w": w}[place][(2, 1) if place == "X" else 2] = value
    return X, y, w


X_, Y_, W_ = data()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (with_entry(np.nan, "X"), r"`X` must be finite: X\[2, 1\] is nan; remove"),
        (with_entry(np.inf, "X"), r"`X` must be finite: X\[2, 1\] is inf"),
        (with_entry(-np.inf, "y"), r"`y` must be finite: y\[2\] is -inf"),
        (with_entry(1e110, "X"), r"`X` must be below 1e\+100: X\[2, 1\] is 1e\+110"),
        (with_entry(1e160, "y"), r"`y` must be below 1e\+100: y\[2\] is 1e\+160"),
        (with_entry(np.nan, "w"), r"`weights` must be finite"),
        (with_entry(-1.0, "w"), r"`weights` must not be negative: weights\[2\]"),
        ((X_, Y_[:9]), "`X` and `y` must have the same number of rows: X has 60, y"),
        ((X_, Y_, W_[:9]), "`weights` must have 60 entries, one per row"),
        ((X_[:, :3], Y_), "`X` must have 4 columns, as the rows before and the shift"),
        ((X_[:, :0], Y_), "`X` must have columns: it has none"),
        ((X_.astype(str), Y_), "`X` must hold numbers: its dtype is <U"),
        ((scipy.sparse.csr_array(X_ * 1j), Y_), "`X` must be real"),
        ((np.ma.masked_greater(X_, 3), Y_), "`X` must not be masked"),
        ((pd.DataFrame(X_, columns=list("abdc")), Y_), "column 2 is 'd', not 'c'; put"),
        ((pd.DataFrame(X_[:, :2], columns=["a", "b"]), Y_), "it has 2, not 4"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_bad_rows_are_refused_and_nothing_is_added(rows, message, sparse):
    if sparse and type(rows[0]) is np.ndarray and rows[0].dtype == float:
        rows = (scipy.sparse.csr_array(rows[0]), *rows[1:])
        message = message.replace("`X` must be", r"`X\[2\]` must be")
        message = message.replace(r"X\[2, 1\]", r"X\[2\]\[1\]")
    found = GramAccumulator(shift=np.zeros(5), names=list("abcd")).update(X_, Y_)
    before = state(found)
    with pytest.raises(ProblemError, match=message):
        found.update(*rows)
    assert state(found) == before


def test_a_bad_target_of_rows_of_zeros():
    X, y, _ = with_entry(np.nan, "y")
    with pytest.raises(ProblemError, match=r"`y` must be finite: y\[2\] is nan"):
        GramAccumulator().update(scipy.sparse.csr_array(0 * X), y)


def test_bad_first_rows_are_refused():
    X, y, _ = with_entry(np.nan, "X")
    with pytest.raises(ProblemError, match=r"`X` must be finite: X\[2, 1\] is nan"):
        GramAccumulator().update(X, y)


def test_other_messages():
    rows = GramAccumulator()
    with pytest.raises(ProblemError, match=r"Moments need rows .* there are 0 rows"):
        rows.moments()
    with pytest.raises(ProblemError, match="there are 60 rows of weight 0; call"):
        rows.update(X_, Y_, np.zeros(60)).moments()
    with pytest.raises(ProblemError, match="`shift` must be known: it is not before"):
        GramAccumulator().empty_like()
    with pytest.raises(ProblemError, match="Sums to save need rows: there are none"):
        GramAccumulator().save("nowhere.npz")
    with pytest.raises(ParameterError, match="`other` must be a GramAccumulator"):
        rows.merge(X_)
    with pytest.raises(ProblemError, match="`X` must have columns: it has none"):
        GramAccumulator(shift=[1.0])
    with pytest.raises(ProblemError, match="`X` must have 2 dimensions"):
        rows.update(X_[0], Y_)
    with pytest.raises(ProblemError, match="`names` must be a list of names"):
        GramAccumulator(names="ab")
    with pytest.raises(ProblemError, match="`names` must have 1 entries"):
        GramAccumulator(shift=[1.0, 2.0], names=["a", "b"])
    with pytest.raises(ProblemError, match="`X` must have 2 columns, one per name"):
        GramAccumulator(names=["a", "b"]).update(X_, Y_)


@pytest.mark.parametrize("centred", [True, False])
def test_targets_whose_squares_are_lost_are_refused_once_all_rows_are_there(centred):
    X, y, _ = data()
    rows = GramAccumulator().update(X[:30], 1e-200 * y[:30])
    with pytest.raises(ProblemError, match=r"`y` must reach 1e-140 .* rescale it"):
        rows.problem(eta=1.0, sparsity=2, centred=centred)
    assert rows.update(X[30:], y[30:]).problem(eta=1.0, sparsity=2, centred=centred)
