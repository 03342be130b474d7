"""Rows on a Dask cluster against rows in memory, with workers that come and go."""

import os
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cardqp.exceptions import BackendNotFoundError, CardQPError
from cardqp.gram import GramAccumulator
from tests.gram.test_accumulator import assert_same, data, state
from tests.gram.test_files import table, write


@pytest.fixture(autouse=True)
def one_thread():
    """What needs no cluster runs without one."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("chunks", [(60, 4), (7, 2), ((0, 1, 59), 3)])
def test_arrays_in_any_chunks(chunks, weighted):
    X, y, w = data()
    weights = w if weighted else None
    found = GramAccumulator.from_dask(
        da.from_array(X, chunks=chunks), da.from_array(y, chunks=11), weights
    )
    same = GramAccumulator().update(X, y, weights)
    assert_same(found.moments(), same.moments())


def test_large_means_in_chunks():
    X, y, _ = data(600)
    X += 1e6
    same = GramAccumulator().update(X, y).moments()
    for size in (13, 100, 599):
        found = GramAccumulator.from_dask(da.from_array(X, chunks=(size, 4)), y)
        np.testing.assert_allclose(found.moments().gram, same.gram, rtol=1e-12)
        np.testing.assert_allclose(found.moments().cross, same.cross, rtol=1e-12)


@pytest.mark.parametrize("npartitions", [1, 3, 7])
def test_data_frames(npartitions):
    frame = table().assign(flag=lambda f: f["a"] > 4, count=np.arange(90))
    lazy = dd.from_pandas(frame, npartitions=npartitions)
    found = GramAccumulator.from_dask(lazy, target="y")
    same = GramAccumulator().update(frame.drop(columns="y"), frame["y"])
    assert_same(found.moments(), same.moments())
    assert found.names == ("a", "b", "c", "w", "flag", "count")
    features = lazy[["a", "b"]]
    found = GramAccumulator.from_dask(features, lazy["y"], lazy["w"])
    same = GramAccumulator().update(frame[["a", "b"]], frame["y"], frame["w"])
    assert_same(found.moments(), same.moments())


def test_chunks_of_unknown_lengths():
    frame = table()
    lazy = dd.from_pandas(frame, npartitions=3)
    lazy = lazy[lazy["a"] > 4.0]
    found = GramAccumulator.from_dask(lazy[["b", "c"]].to_dask_array(), lazy["y"])
    kept = frame[frame["a"] > 4.0]
    same = GramAccumulator().update(kept[["b", "c"]].to_numpy(), kept["y"])
    assert_same(found.moments(), same.moments())


X_, Y_, _ = data()
LAZY = da.from_array(X_, chunks=(20, 4))
FRAME = dd.from_pandas(table().assign(city="Oslo"), npartitions=2)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((LAZY,), {}, "`y` or `target` must be given, and not both"),
        ((LAZY, Y_), {"target": "y"}, "`y` or `target` must be given, and not both"),
        ((LAZY,), {"target": "y"}, "`target` must be a column of `X`: 'y' is none"),
        ((X_, Y_), {}, "`X` must be a Dask array or DataFrame: it is a ndarray; use"),
        ((FRAME,), {"target": "y"}, "column 'city' holds .*; encode it as numbers"),
        ((LAZY, Y_[:9]), {}, "`y` must have as many chunks as `X`: it has 1, X has 3"),
        ((LAZY[:0], Y_[:0]), {}, "`X` must have rows: all of its chunks are empty"),
        (
            (da.where(da.arange(60, chunks=20)[:, None] == 45, np.nan, LAZY), Y_),
            {},
            r"`X` must be finite: X\[5, 0\] is nan; [^.]*\.\sIt is in chunk 2",
        ),
        ((LAZY * np.nan, Y_), {}, r"`X` must be finite: X\[0, 0\] is nan"),
    ],
)
def test_messages(arguments, settings, message):
    with pytest.raises(CardQPError, match=message):
        GramAccumulator.from_dask(*arguments, **settings)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(BackendNotFoundError, match=r"need Dask: .*cardqp\[dask\]"):
        GramAccumulator.from_dask(LAZY, Y_)


@pytest.mark.parametrize(
    ("suffix", "settings", "message"),
    [
        (".csv", {}, "`paths` must name Parquet files with a `client`: it names"),
        (".parquet", {"checkpoint": "x.npz"}, "`checkpoint` must be None with a"),
    ],
)
def test_files_a_cluster_does_not_read(tmp_path, suffix, settings, message):
    path = write(table(), tmp_path / f"rows{suffix}")
    with pytest.raises(CardQPError, match=message):
        GramAccumulator.from_files(path, target="y", client="synchronous", **settings)


def test_row_groups_are_numbered_through(tmp_path):
    frame = table()
    frame.loc[47, "b"] = np.nan
    path = write(frame, tmp_path / "rows.parquet")
    with pytest.raises(CardQPError, match="column 'b' in row 48 is missing"):
        GramAccumulator.from_files(path, target="y", client="synchronous")


def chunk_or_death(rows, path):
    """Rows of a chunk; the first worker that asks for the sixth one dies."""
    if rows[0, 0] == 5.0:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os._exit(9)
    return rows


def numbered():
    """Chunks whose first entry is their number."""
    X = np.random.default_rng(0).standard_normal((1600, 4)) + 3.0
    X[::100, 0] = np.arange(16)
    return X, X @ [1.0, -2.0, 3.0, 0.0]


@pytest.mark.slow
def test_a_real_cluster_and_a_worker_that_dies(tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y = numbered()
    lazy = da.from_array(X, chunks=(100, 4))
    expected = GramAccumulator.from_dask(lazy, y, client="synchronous")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    path = write(frame, tmp_path / "rows.parquet", group=100)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert_same_bits(GramAccumulator.from_dask(lazy, y, client=client), expected)
        mark = str(tmp_path / "died")
        deadly = lazy.map_blocks(chunk_or_death, mark, dtype=float, meta=X[:0])
        found = GramAccumulator.from_dask(deadly, y, client=client)
        assert (tmp_path / "died").exists()
        assert_same_bits(found, expected)
        files = GramAccumulator.from_files(path, target="y", client=client)
        local = GramAccumulator.from_files(path, target="y", client="synchronous")
        assert_same_bits(files, local)
        calls = []
        GramAccumulator.from_files(
            path, target="y", client=client, progress=lambda *n: calls.append(n)
        )
        assert calls[-1] == (1600, 1600)
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)
        text = write(frame.assign(city=["Rome", "Oslo", "Bonn", "Rome"] * 400), path)
        settings = {"target": "y", "missing": "mean"}
        coded = GramAccumulator.from_files(text, client=client, **settings)
        same = GramAccumulator.from_files(text, client="synchronous", **settings)
        assert_same_bits(coded, same)
        assert coded.encoder == same.encoder
        gap = pd.concat([frame, frame.iloc[:1].assign(y=np.nan)]).assign(city="Rome")
        with pytest.raises(CardQPError, match=r"`y` must not miss .*row 1601 of `"):
            GramAccumulator.from_files(write(gap, path), target="y", client=client)
    assert_same(expected.moments(), GramAccumulator().update(X, y).moments())
    assert_same(files.moments(), expected.moments())


def assert_same_bits(found, expected):
    assert state(found) == state(expected)
