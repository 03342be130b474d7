"""Rows in files against rows in memory; bad files; memory; runs that were killed."""

import errno
import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cardqp.exceptions import BackendNotFoundError, CardQPError, DataError
from cardqp.gram import GramAccumulator, files
from cardqp.gram import sums as sums_module
from cardqp.gram.readers import text_file
from tests.gram.test_accumulator import assert_same, state

NAMES = ("a", "b", "c", "y", "w")


def table(n_samples=90, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_samples, 5)) + 4.0
    values[:, 4] = rng.uniform(0.5, 2.0, n_samples)
    return pd.DataFrame(values, columns=NAMES)


def write(frame, path, group=20):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=group)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        np.save(path, frame.to_numpy())
    return path


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Files of a few rows have many blocks and pieces."""
    monkeypatch.setattr(sums_module, "BLOCK_ROWS", 8)
    monkeypatch.setattr(text_file, "PIECE_BYTES", 500)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
@pytest.mark.parametrize("weighted", [True, False])
def test_files_are_their_rows(tmp_path, suffix, weighted):
    frame = table()
    for i, rows in enumerate(np.array_split(np.arange(90), 3)):
        write(frame.iloc[rows], tmp_path / f"part-{i}{suffix}")
    key = (lambda name: NAMES.index(name)) if suffix == ".npy" else (lambda name: name)
    found = GramAccumulator.from_files(
        str(tmp_path / f"*{suffix}"),
        target=key("y"),
        columns=[key(name) for name in "cab"],
        weight=key("w") if weighted else None,
    )
    weights = frame["w"].to_numpy() if weighted else None
    same = GramAccumulator().update(frame[list("cab")], frame["y"], weights)
    assert_same(found.moments(), same.moments())
    assert found.names == (None if suffix == ".npy" else ("c", "a", "b"))


def test_defaults(tmp_path):
    frame = table()[["a", "y", "b"]]
    path = write(frame, tmp_path / "rows.parquet")
    found = GramAccumulator.from_files(path, target="y")
    assert found.names == ("a", "b")
    last = GramAccumulator.from_files([write(frame, tmp_path / "rows.npy")])
    same = GramAccumulator().update(frame[["a", "y"]].to_numpy(), frame["b"])
    assert_same(last.moments(), same.moments())


def test_labels_of_rows_are_no_feature(tmp_path):
    frame = table().sample(frac=1.0, random_state=0)
    path = write(frame, tmp_path / "rows[1].parquet")
    assert "__index_level_0__" in pq.read_schema(path).names
    found = GramAccumulator.from_files(str(path), target="y")
    assert found.names == ("a", "b", "c", "w")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_columns_of_all_kinds_of_numbers(tmp_path, suffix):
    frame = table()
    frame["flag"] = frame["a"] > 4.0
    frame["count"] = np.arange(90, dtype=np.int16)
    frame["single"] = frame["b"].round(2).astype(np.float32)
    frame["late"] = [0] * 60 + [0.5] * 30  # looks like integers at first
    frame["text"] = 'with "quotes", commas\nand lines'
    columns = ["flag", "count", "single", "late"]
    path = write(frame, tmp_path / f"rows{suffix}")
    found = GramAccumulator.from_files(path, target="y", columns=columns)
    plain = frame[columns].astype(np.float64)
    if suffix == ".csv":
        plain["single"] = frame["single"].astype(str).astype(np.float64)
    assert_same(found.moments(), GramAccumulator().update(plain, frame["y"]).moments())


def test_order_of_columns_may_differ(tmp_path):
    frame = table()
    first = write(frame.iloc[:40], tmp_path / "1.parquet")
    second = write(frame.iloc[40:][["y", "w", "c", "b", "a"]], tmp_path / "2.csv")
    found = GramAccumulator.from_files([first, second], target="y")
    same = GramAccumulator().update(frame[["a", "b", "c", "w"]], frame["y"])
    assert_same(found.moments(), same.moments())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_rows_with_something_missing(tmp_path, suffix):
    frame = table()
    frame.loc[:9, "a"] = np.nan  # the whole first block, and more
    frame.loc[33, "y"] = frame.loc[71, "w"] = np.nan
    path = write(frame, tmp_path / f"rows{suffix}")
    keys = {"target": "y", "weight": "w"}
    if suffix == ".npy":
        keys = {"target": 3, "weight": -1}
    found = GramAccumulator.from_files(path, missing="drop", **keys)
    kept = frame.dropna()
    same = GramAccumulator().update(kept[["a", "b", "c"]], kept["y"], kept["w"])
    assert_same(found.moments(), same.moments())
    assert (found.n_samples, found.n_dropped) == (78, 12)
    column = "'0'" if suffix == ".npy" else "'a'"
    with pytest.raises(DataError, match=rf"column {column} in row 1 is missing; use"):
        GramAccumulator.from_files(path, **keys)
    write(frame[10:], path)
    column = "'3'" if suffix == ".npy" else "'y'"
    with pytest.raises(DataError, match=rf"rows{suffix}.*{column} in row 24 is miss"):
        GramAccumulator.from_files(path, **keys)


def test_integers_and_booleans_with_something_missing(tmp_path):
    columns = {"a": [1, None, 3], "b": [True, False, None], "y": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    found = GramAccumulator.from_files(
        tmp_path / "rows.parquet", target="y", missing="drop"
    )
    assert (found.n_samples, found.n_dropped) == (1, 2)
    assert found.moments(centred=False).cross.tolist() == [1.0, 1.0]


def test_progress(tmp_path):
    path = write(table(), tmp_path / "rows.parquet")
    calls = []
    GramAccumulator.from_files(
        path, target="y", progress=lambda *rows: calls.append(rows)
    )
    assert calls == [(20, 90), (40, 90), (60, 90), (80, 90), (90, 90)]
    path = write(table(), tmp_path / "rows.csv")
    calls.clear()
    GramAccumulator.from_files(
        path, target="y", progress=lambda *rows: calls.append(rows)
    )
    assert calls[-1] == (90, None)
    assert len(calls) > 3


def test_the_same_to_the_last_bit(tmp_path):
    path = write(table(), tmp_path / "rows.parquet")
    first, second = (GramAccumulator.from_files(path, target="y") for _ in range(2))
    assert state(first) == state(second)


def broken(tmp_path, suffix):
    path = write(table(), tmp_path / f"rows{suffix}")
    path.write_bytes(path.read_bytes()[:-300])
    if suffix == ".csv":
        text = path.read_text()
        path.write_text(text[: text.rindex(",")])
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_truncated_files(tmp_path, suffix):
    path = broken(tmp_path, suffix)
    message = r"cannot be read: .*; it is truncated"
    if suffix == ".csv":
        message = "must have 5 cells in each line, as in the first: line 88 has 3; corr"
    with pytest.raises(DataError, match=message) as info:
        GramAccumulator.from_files(path, target=0 if suffix == ".npy" else "y")
    assert "\n" not in str(info.value)


def test_a_damaged_row_group(tmp_path):
    path = write(table(), tmp_path / "rows.parquet")
    data = bytearray(path.read_bytes())
    data[100:1500] = bytes(1400)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"rows.parquet` cannot be read: .* damaged"):
        GramAccumulator.from_files(path, target="y")


BAD_FRAMES = [
    ({"y": "x"}, "target `y` must hold numbers: it is a category"),
    ({"y": pd.Timestamp("2020-01-01")}, "target `y` must hold numbers: it is a date"),
    ({"b": np.inf}, "must be finite: column 'b' in row 1 is inf; correct it"),
    ({"y": 1e160}, r"must be below 1e\+100: column 'y' in row 1 is"),
    (
        {"w": -1.0, "a": -2.0},
        "not have negative weights: column 'w' in row 1 is -1; correct",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD_FRAMES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_bad_columns(tmp_path, change, message, suffix):
    path = write(table().assign(**change), tmp_path / f"rows{suffix}")
    with pytest.raises(DataError, match=message):
        GramAccumulator.from_files(path, target="y", weight="w")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "`target` must name the column to predict: .* has a, b, c, y, w"),
        ({"target": "z"}, "`target` must be a column of .*: 'z' is none; it has a"),
        ({"target": "y", "weight": 3}, "`weight` must be a column of .*: 3 is none"),
        ({"target": "y", "columns": ["q"]}, "`columns` must be a column of"),
        ({"target": "y", "columns": ["y"]}, "`columns` must name at least one .* y"),
        ({"target": "y", "columns": []}, "`columns` must name at least one .* none"),
        ({"target": "y", "columns": "ab"}, "`columns` must be a list of columns"),
        ({"target": "y", "columns": 3}, "`columns` must be a list of columns: it is 3"),
        ({"target": "y", "drop": None}, "`drop` must be a list of columns: it is None"),
        ({"target": "y", "drop": ["y"]}, "`drop` must not name the target: .*'y'"),
        ({"target": "y", "missing_values": "NA"}, "`missing_values` must be a list of"),
        ({"target": "y", "missing_values": [3]}, "`missing_values` .* texts: it is"),
        ({"target": "y", "delimiter": 3}, "`delimiter` must be one character.* is 3"),
        ({"target": "y", "delimiter": "§"}, "`delimiter` must be one character.*'§'"),
        ({"target": "y", "progress": 3}, "`progress` must be a function: it is 3"),
        ({"target": "y", "checkpoint": 3}, "`checkpoint` must be the path of a file"),
        ({"target": "y", "checkpoint": "."}, "`checkpoint` must be the path of a file"),
        ({"target": "y", "checkpoint": "no/a"}, "`checkpoint` must be in a folder"),
        ({"target": "y", "missing": "no"}, "`missing` must be one of error, drop"),
    ],
)
def test_bad_settings(tmp_path, settings, message):
    path = write(table(), tmp_path / "rows.csv")
    with pytest.raises(CardQPError, match=message):
        GramAccumulator.from_files(path, **settings)


def test_bad_sets_of_files(tmp_path):
    def refused(paths, message):
        with pytest.raises(CardQPError, match=message):
            GramAccumulator.from_files(paths, target="y")

    frame = table()
    first = write(frame, tmp_path / "1.csv")
    refused(str(tmp_path / "*.parquet"), "`paths` must name files: nothing matches")
    refused([], "`paths` must name files")
    refused(3, "`paths` must be a list of files: it is 3")
    refused([first, None], "`paths` must be a list of files: .*None")
    refused(tmp_path / "2.csv", "`paths` must name files: .*2.csv` is none")
    refused(tmp_path, r"`paths` must name files that end in .parquet, .npy, .csv.*: it")
    other = write(frame.rename(columns={"a": "q"}), tmp_path / "3.csv")
    refused([first, other], "the same columns: .*1.csv` has 'a', .*3.csv` does not")
    more = write(frame.assign(z=1.0), tmp_path / "4.csv")
    refused([first, more], "the same columns: .*4.csv` has 'z', .*1.csv` does not")
    empty = write(frame[:0], tmp_path / "5.csv")
    refused([empty], "Files must have rows in which nothing is missing")
    (tmp_path / "6.csv").write_text("a,a,y\n1,2,3\n")
    refused(tmp_path / "6.csv", "distinct names of columns: 'a' is the name of col")
    (tmp_path / "7.csv").write_text("")
    refused(tmp_path / "7.csv", "7.csv` must be a table: it is empty")
    np.save(tmp_path / "8.npy", np.zeros(5))
    refused(tmp_path / "8.npy", r"must hold a matrix of numbers: its shape is \(5,\)")
    odd = b"\x93NUMPY\x01\x00\x10\x00" + 16 * b"("
    (tmp_path / "9.npy").write_bytes(odd)
    refused(tmp_path / "9.npy", "cannot be read: .*; it is truncated or damaged")


def test_without_pyarrow(tmp_path, monkeypatch):
    path = write(table(), tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BackendNotFoundError, match=r"need pyarrow: .*cardqp\[data\]"):
        GramAccumulator.from_files(path, target="y")


class StoppedError(Exception):
    pass


def stop_after(rows):
    def stop(done, _):
        if done >= rows:
            raise StoppedError

    return stop


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(files, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    frame = table()
    frame.loc[50, "a"] = np.nan
    paths = [
        write(frame[:40], tmp_path / f"1{suffix}"),
        write(frame[40:], tmp_path / f"2{suffix}"),
    ]
    settings = {"target": 3 if suffix == ".npy" else "y", "missing": "drop"}
    kept = tmp_path / "kept.npz"
    for rows in (30, 60, 80):
        with pytest.raises(StoppedError):
            GramAccumulator.from_files(
                paths, checkpoint=kept, progress=stop_after(rows), **settings
            )
    again = GramAccumulator.from_files(paths, checkpoint=kept, **settings)
    assert state(again) == state(GramAccumulator.from_files(paths, **settings))
    # A run that is complete is not repeated.
    done = GramAccumulator.from_files(
        paths, checkpoint=kept, progress=stop_after(0), **settings
    )
    assert state(done) == state(again)
    with pytest.raises(CardQPError, match="`checkpoint` must come from the same files"):
        GramAccumulator.from_files(paths[:1], checkpoint=kept, **settings)
    write(frame[:40] + 1.0, paths[0])
    with pytest.raises(CardQPError, match="`checkpoint` must come from the same files"):
        GramAccumulator.from_files(paths, checkpoint=kept, **settings)


def test_checkpoints_that_are_none(tmp_path, monkeypatch):
    path, kept = write(table(), tmp_path / "rows.csv"), tmp_path / "kept.npz"
    GramAccumulator.from_files(path, target="y", checkpoint=kept)
    for content in (b"", b"text", kept.read_bytes()[:-500]):
        kept.write_bytes(content)
        with pytest.raises(
            CardQPError, match=r"`checkpoint` must be a file of an .* remove it, or"
        ):
            GramAccumulator.from_files(path, target="y", checkpoint=kept)
    kept.unlink()

    def full(_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CardQPError, match="`checkpoint` must be a file that can be wr"):
        GramAccumulator.from_files(path, target="y", checkpoint=kept)
    assert list(tmp_path.iterdir()) == [path]


def test_files_may_come_from_an_iterator(tmp_path):
    frame = table()
    for i, rows in enumerate(np.array_split(np.arange(90), 3)):
        write(frame.iloc[rows], tmp_path / f"part-{i}.csv")
    found = GramAccumulator.from_files(iter(sorted(tmp_path.iterdir())), target="y")
    assert found.n_samples == 90


def test_lines_of_spaces(tmp_path):
    path = write(table(), tmp_path / "rows.csv")
    whole = GramAccumulator.from_files(path, target="y")
    path.write_text(path.read_text().replace("\n", "\n  \n"))
    found = GramAccumulator.from_files(path, target="y")
    assert (found.encoder, found.names) == (None, whole.names)
    assert_same(found.moments(), whole.moments())


@pytest.mark.parametrize("columns", [["a"], None])
def test_a_quotation_mark_that_is_not_closed(tmp_path, columns):
    """Else the rest of the file would be a cell, and its rows be lost in silence."""
    path = write(table().assign(text="b"), tmp_path / "rows.csv")
    lines = path.read_text().splitlines(keepends=True)
    lines[50] = lines[50].replace("b\n", '"b\n')
    path.write_text("".join(lines))
    with pytest.raises(DataError, match="quotation mark in line 51 is not closed; cl"):
        GramAccumulator.from_files(path, target="y", columns=columns)


def test_row_numbers_after_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    frame = table()
    frame.loc[10, "a"], frame.loc[85, "b"] = np.nan, np.inf
    path, kept = write(frame, tmp_path / "rows.csv"), tmp_path / "kept.npz"
    with pytest.raises(StoppedError):
        GramAccumulator.from_files(
            path,
            target="y",
            missing="drop",
            checkpoint=kept,
            progress=stop_after(50),
        )
    with pytest.raises(DataError, match="column 'b' in row 86 is inf"):
        GramAccumulator.from_files(path, target="y", missing="drop", checkpoint=kept)


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    path = write(table(5000), tmp_path / "rows.parquet", group=500)
    kept = tmp_path / "kept.npz"
    killed = run(
        """
        import os, signal, sys
        from cardqp.gram import GramAccumulator, files, sums

        files.SECONDS_BETWEEN_CHECKPOINTS, sums.BLOCK_ROWS = 0.0, 8

        def kill(done, total):
            if done >= 3000:
                os.kill(os.getpid(), signal.SIGKILL)

        GramAccumulator.from_files(
            sys.argv[1], target="y", checkpoint=sys.argv[2], progress=kill
        )
        """,
        path,
        kept,
    )
    assert killed.returncode == -9
    first = []
    again = GramAccumulator.from_files(
        path, target="y", checkpoint=kept, progress=lambda done, _: first.append(done)
    )
    assert first[0] == 3000
    assert state(again) == state(GramAccumulator.from_files(path, target="y"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_memory_does_not_grow_with_the_file(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    rng = np.random.default_rng(0)
    block = rng.standard_normal((200_000, 20))
    if suffix == ".npy":
        whole = np.lib.format.open_memmap(path, "w+", shape=(2_000_000, 20))
        for i in range(10):
            whole[i * 200_000 : (i + 1) * 200_000] = block
        del whole
    else:
        part = pa.table(dict(zip(map(str, range(20)), block.T, strict=True)))
        whole = pa.concat_tables([part] * 10)
        # One row group: even that is not held at once.
        pq.write_table(whole, path, row_group_size=2_000_000, use_dictionary=False)
    assert path.stat().st_size > 300e6
    result = run(
        """
        import sys
        import numpy, pyarrow.parquet
        from cardqp.gram import GramAccumulator

        def peak():
            lines = open("/proc/self/status").read().splitlines()
            [line] = [line for line in lines if line.startswith("VmHWM")]
            return int(line.split()[1]) / 1024

        before = peak()
        target = 0 if sys.argv[1].endswith(".npy") else "0"
        rows = GramAccumulator.from_files(sys.argv[1], target=target)
        print(rows.n_samples, peak() - before)
        """,
        path,
    )
    count, megabytes = result.stdout.split()
    assert int(count) == 2_000_000
    assert float(megabytes) < 150
