"""Files of text, dates and gaps against the same table in memory."""

import gzip
import json
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

import cardqp
from cardqp import storage
from cardqp.exceptions import CardQPError, DataError
from cardqp.gram import GramAccumulator, cluster_files, files
from cardqp.gram import sums as sums_module
from cardqp.gram.readers import text_file
from cardqp.tables import TableEncoder, column_sums, read_table
from tests.gram.test_accumulator import assert_same, state
from tests.gram.test_files import StoppedError, stop_after, write


def mixed(n_samples=120, seed=0):
    """A table with a column of each kind."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-05") + pd.to_timedelta(
        rng.integers(0, 400, n_samples), unit="D"
    )
    return pd.DataFrame(
        {
            "size": rng.standard_normal(n_samples) + 100.0,
            "city": rng.choice(["Rome", "Paris", "Bonn", "Oslo"], n_samples),
            "flag": rng.choice([True, False], n_samples),
            "when": days,
            "code": rng.choice([3, 5, 8], n_samples),
            "w": rng.integers(1, 4, n_samples).astype(float),
            "same": 7.0,
            "y": rng.standard_normal(n_samples),
        }
    )


def with_gaps(frame, seed=1):
    rng = np.random.default_rng(seed)
    frame = frame.astype({"flag": object, "city": object})
    for name in ("size", "city", "flag", "when", "y"):
        rows = rng.choice(len(frame), 8, replace=False)
        frame.loc[rows, name] = pd.NaT if name == "when" else None
    return frame


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Files of a few rows have many blocks and pieces."""
    monkeypatch.setattr(sums_module, "BLOCK_ROWS", 8)
    monkeypatch.setattr(text_file, "PIECE_BYTES", 500)


def in_memory(frame, weight=None, **settings):
    """The encoder of the table in memory, and the sums of its rows."""
    features = frame if weight is None else frame.drop(columns=[weight])
    encoder = TableEncoder.from_table(features, "y", **settings)
    encoded = encoder.apply(features)
    weights = None if weight is None else frame[weight].to_numpy()[encoded.rows]
    return encoder, GramAccumulator().update(encoded.X, encoded.y, weights)


def assert_as_in_memory(found, frame, weight=None, **settings):
    encoder, same = in_memory(frame, weight, **settings)
    assert found.encoder.target_kind == encoder.target_kind
    assert found.encoder.notes == encoder.notes
    for mine, other in zip(found.encoder.columns, encoder.columns, strict=True):
        assert (mine.name, mine.kind) == (other.name, other.kind)
        assert (mine.origin, mine.levels) == (other.origin, other.levels)
        assert mine.fill == pytest.approx(other.fill, rel=1e-14)
    assert found.names == encoder.names
    assert found.n_samples == same.n_samples
    assert found.n_samples + found.n_dropped == len(frame)
    assert_same(found.moments(), same.moments())


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_columns_of_all_kinds(tmp_path, suffix, weight):
    frame = mixed()
    for i, rows in enumerate(np.array_split(np.arange(120), 3)):
        write(frame.iloc[rows], tmp_path / f"part-{i}{suffix}")
    found = GramAccumulator.from_files(
        str(tmp_path / f"*{suffix}"), target="y", weight=weight, categorical=["code"]
    )
    assert_as_in_memory(found, frame, weight, categorical=["code"])
    assert "same" not in found.names


@pytest.mark.parametrize("missing", ["drop", "mean"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_missing_cells(tmp_path, suffix, missing):
    frame = with_gaps(mixed())
    path = write(frame, tmp_path / f"rows{suffix}")
    if suffix == ".csv":
        frame = read_table(path)
    found = GramAccumulator.from_files(path, target="y", missing=missing)
    assert_as_in_memory(found, frame, missing=missing)


def test_gaps_in_numbers_are_filled_in(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, 3))
    values[3, 0] = values[40, 1] = values[7, 2] = np.nan
    np.save(tmp_path / "rows.npy", values)
    found = GramAccumulator.from_files(tmp_path / "rows.npy", missing="mean")
    kept = np.delete(values, 7, axis=0)  # the row without a target
    kept = np.where(np.isnan(kept), np.nanmean(kept, axis=0), kept)
    assert_same(
        found.moments(), GramAccumulator().update(kept[:, :2], kept[:, 2]).moments()
    )
    assert (found.names, found.n_dropped) == (("0", "1"), 1)


DRESSES = {
    "rows.tsv": {"sep": "\t"},
    "rows.txt": {"sep": ";", "decimal": ","},
    "rows.csv.gz": {},
}


@pytest.mark.parametrize("name", DRESSES)
def test_other_dresses_of_text(tmp_path, name):
    frame, path = mixed(), tmp_path / name
    frame.to_csv(path, index=False, **DRESSES[name])
    decimal = DRESSES[name].get("decimal", ".")
    found = GramAccumulator.from_files(path, target="y", decimal=decimal)
    assert_as_in_memory(found, read_table(path, decimal=decimal))
    numbers = GramAccumulator.from_files(
        path, target="y", columns=["size", "code"], decimal=decimal
    )
    assert numbers.encoder is None
    same = GramAccumulator().update(frame[["size", "code"]], frame["y"])
    assert_same(numbers.moments(), same.moments())


def test_cells_that_count_as_missing(tmp_path):
    frame = mixed()[["size", "city", "y"]].astype(object)
    frame.loc[5, "size"], frame.loc[70, "city"] = "none", "?"
    path = write(frame, tmp_path / "rows.csv")
    settings = {"missing_values": ["none", "?"], "missing": "drop"}
    found = GramAccumulator.from_files(path, target="y", **settings)
    table = read_table(path, missing=("none", "?"))
    assert_as_in_memory(found, table, missing="drop")
    assert found.n_dropped == 2


def test_text_that_comes_late(tmp_path):
    """Labels that look like numbers in the first pieces, and so did their zeros."""
    frame = pd.DataFrame({"zip": ["01", "02", "03"] * 40, "y": np.arange(120.0)})
    frame.loc[50:, "zip"] = ["a1"] * 40 + ["a2"] * 30
    path = write(frame, tmp_path / "rows.csv")
    found = GramAccumulator.from_files(path, target="y")
    assert found.encoder.columns[0].levels == ("a1", "01", "02", "03", "a2")
    assert_as_in_memory(found, read_table(path))


def late(first, second, first_rows=30, n_samples=120):
    """A column whose cells are of one sort first and of another later."""
    cells = [first[i % len(first)] for i in range(first_rows)]
    cells += [second[i % len(second)] for i in range(n_samples - first_rows)]
    noise = np.random.default_rng(0).standard_normal(n_samples)
    return pd.DataFrame({"cells": cells, "city": ["Rome", "Oslo"] * 60, "y": noise})


MIXED_CELLS = {
    "TRUE among labels": (["TRUE", "FALSE"], ["TRUE", "maybe", "no"], 30),
    "TRUE and 1": (["TRUE", "FALSE"], ["0", "1"], 80),
    "TRUE and a gap": (["TRUE", "FALSE"], ["true", ""], 80),
    "inches": (['5" pipe', '6" x 4'], ["a", "b, c", 'say "x"'], 60),
    "hexadecimal": (["0x10"], ["0x11", "0x12"], 30),
    "lines in quotes": (["a\nb", 'c\n"d"\n'], ['5" pipe'], 60),
}


@pytest.mark.parametrize("name", MIXED_CELLS)
@pytest.mark.parametrize("kind", [None, "category"])
@pytest.mark.parametrize("columns", [None, ["cells"]])
def test_cells_that_depend_on_others(tmp_path, name, kind, columns):
    """What pandas makes of a piece is not what it makes of the whole."""
    frame, path = late(*MIXED_CELLS[name]), tmp_path / "rows.csv"
    if name == "inches":  # quotes that pandas would put in quotes
        frame["cells"] = frame["cells"].str.replace(", ", " ")
        lines = frame.astype(str).agg(",".join, axis=1)
        path.write_text("\n".join(["cells,city,y", *lines]))
    else:
        write(frame, path)
    settings = {"missing": "drop", "categorical": ["cells"] if kind else []}
    found = GramAccumulator.from_files(path, target="y", columns=columns, **settings)
    whole = read_table(path)
    if columns is not None:
        whole = whole[[*columns, "y"]]
    assert_as_in_memory(found, whole, **settings)


def test_integers_of_64_bits_with_gaps(tmp_path):
    """pandas takes these for text, and so the cells that are missing."""
    path = tmp_path / "rows.csv"
    write(late(["9223372036854775808", "4"], ["?", "3", "", "4"]), path)
    found = GramAccumulator.from_files(path, target="y", missing="mean")
    assert found.encoder.columns[0].kind == "number"
    assert_as_in_memory(found, read_table(path), missing="mean")


def test_booleans_among_numbers(tmp_path):
    path = write(late(["TRUE"], ["0", "1"]), tmp_path / "rows.csv")
    for columns in (None, ["cells"]):
        with pytest.raises(
            DataError, match=r"must hold numbers: row 1 of .* has 'TRUE' \(and 29 more"
        ):
            GramAccumulator.from_files(path, target="y", columns=columns)


@pytest.mark.parametrize("columns", [None, ["flag"]])
def test_booleans_and_numbers_in_files_with_types(tmp_path, columns):
    frame = mixed()[["flag", "city", "y"]]
    paths = [
        write(frame[:70], tmp_path / "1.parquet"),
        write(frame[70:].astype({"flag": int}), tmp_path / "2.parquet"),
    ]
    found = GramAccumulator.from_files(paths, target="y", columns=columns)
    plain = frame.astype({"flag": float})[[*(columns or ["flag", "city"]), "y"]]
    _, same = in_memory(plain)
    assert_same(found.moments(), same.moments())


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_column_of_numbers_that_are_all_missing(tmp_path, suffix, missing):
    frame = mixed()[["size", "code", "y"]].assign(none=np.nan)
    path = write(frame, tmp_path / f"rows{suffix}")
    found = GramAccumulator.from_files(path, target="y", missing=missing)
    assert_as_in_memory(found, frame, missing=missing)
    assert found.names == ("size", "code")


def test_numbers_with_one_wrong_cell(tmp_path):
    frame = mixed()[["size", "city", "y"]].astype({"size": object})
    frame.loc[77, "size"] = "12 m"
    path = write(frame, tmp_path / "rows.csv")
    message = (
        r"column `size` must hold numbers: row 78 of `.*rows.csv` has '12 m'; correct "
        r"it, or use `missing_values=\['12 m'\]`, `categorical=\['size'\]` or `drop="
    )
    with pytest.raises(DataError, match=message):
        GramAccumulator.from_files(path, target="y")
    found = GramAccumulator.from_files(path, target="y", drop=["size"])
    assert found.names == in_memory(frame.drop(columns=["size"]))[0].names


def test_a_date_that_is_none(tmp_path):
    frame = mixed()[["when", "y"]].assign(when="2020-02-01")
    frame.loc[90, "when"] = "2020-02-31"
    path = write(frame, tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"dates .*: row 91 of `.*has '2020-02-31'"):
        GramAccumulator.from_files(path, target="y")


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        ({"city": None}, {}, "column `city` must not miss values: 1 of 120 .* row 101"),
        ({"y": None}, {}, r"target `y` must not miss .*row 101 of `.*parquet`; use"),
        ({"size": np.inf}, {}, "column `size` must hold numbers below .*row 101 of"),
        ({}, {"max_levels": 3}, "column `city` must have at most 3 different labels"),
        ({}, {"max_levels": 0}, "`max_levels` must be an integer, at least 1"),
        ({}, {"categorical": ["q"]}, "`categorical` must be a column of .*: 'q' is"),
        ({}, {"categorical": ["y"]}, "`categorical` must not name the target"),
        ({}, {"categorical": "city"}, "`categorical` must be a list of columns"),
        ({}, {"drop": ["q"]}, "`drop` must be a column of .*: 'q' is none"),
        ({}, {"decimal": "x"}, "`decimal` must be . or ,"),
        ({}, {"delimiter": "::"}, "`delimiter` must be one character"),
    ],
)
def test_messages(tmp_path, change, settings, message):
    frame = mixed()
    for name, value in change.items():
        frame.loc[100, name] = value
    suffix = ".csv" if {"decimal", "delimiter"} & set(settings) else ".parquet"
    path = write(frame, tmp_path / f"rows{suffix}")
    with pytest.raises(CardQPError, match=message):
        GramAccumulator.from_files(path, target="y", **settings)


def test_files_without_rows(tmp_path):
    path = write(mixed()[:0], tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"Files must have rows: `.*rows.csv` and 0 "):
        GramAccumulator.from_files(path, target="y", missing="mean")


def test_ids_are_not_counted_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(column_sums, "MANY", 60)
    frame = mixed().assign(id=[f"id-{i}" for i in range(120)])
    path = write(frame, tmp_path / "rows.parquet")
    with pytest.raises(
        DataError, match=r"at most 60 different labels: it has more.*drop="
    ):
        GramAccumulator.from_files(path, target="y")


def test_a_broken_line_late_in_the_file(tmp_path):
    path = write(mixed(), tmp_path / "rows.csv")
    lines = path.read_text().splitlines()
    lines[99] += ",1"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"8 cells in each line.*: line 100 has 9"):
        GramAccumulator.from_files(path, target="y", missing="mean")
    content = write(mixed(), path).read_bytes().splitlines(keepends=True)
    content[89] = content[89].replace(b"Rome", b"R\xf6m").replace(b"Oslo", b"\xd8")
    content[89] = content[89].replace(b"Paris", b"\xe9").replace(b"Bonn", b"\xe9")
    path.write_bytes(b"".join(content))
    with pytest.raises(DataError, match="must be UTF-8 text: line 90 has the byte 0x"):
        GramAccumulator.from_files(path, target="y", missing="mean")


def test_a_packed_file_that_ends_early(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(mixed(2000).to_csv(index=False).encode())[:-900])
    with pytest.raises(DataError, match=r"rows.csv.gz` cannot be read: "):
        GramAccumulator.from_files(path, target="y")
    data = bytearray(gzip.compress(mixed(2000).to_csv(index=False).encode()))
    data[10] = 0xFF  # a kind of block that there is not
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"rows.csv.gz` cannot be read: .* damaged"):
        GramAccumulator.from_files(path, target="y")


def test_whether_text_is_packed_is_seen_from_its_contents(tmp_path):
    content = mixed().to_csv(index=False).encode()
    for name, data in (("1.csv", gzip.compress(content)), ("2.csv.gz", content)):
        (tmp_path / name).write_bytes(data)
        found = GramAccumulator.from_files(tmp_path / name, target="y")
        assert_as_in_memory(found, read_table(tmp_path / name))


@pytest.mark.parametrize(("suffix", "known"), [(".parquet", 360), (".csv", None)])
def test_progress_covers_all_passes(tmp_path, suffix, known):
    path = write(mixed(), tmp_path / f"rows{suffix}", group=40)
    calls = []
    GramAccumulator.from_files(
        path, target="y", progress=lambda *rows: calls.append(rows)
    )
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[0][1] == known
    assert calls[-1] == (360, 360)


def test_encoders_are_kept_with_the_sums(tmp_path):
    path = write(mixed(), tmp_path / "rows.parquet")
    rows = GramAccumulator.from_files(path, target="y")
    rows.save(tmp_path / "sums.npz")
    again = GramAccumulator.load(tmp_path / "sums.npz")
    assert again.encoder == rows.encoder
    assert state(again) == state(rows)
    both = rows.empty_like().merge(again)
    assert both.encoder == rows.encoder
    other = GramAccumulator.from_files(
        write(mixed().replace("Oslo", "Kiel"), path), target="y"
    )
    other._names = rows.names
    with pytest.raises(
        CardQPError, match=r"`other` must come from .* the same encoder"
    ):
        rows.merge(other)
    arrays = storage.read_arrays(tmp_path / "sums.npz")
    for bad in ("no JSON", "{}", 3, "[" * 100_000):
        storage.write_arrays(tmp_path / "bad.npz", arrays | {"recipe": bad})
        with pytest.raises(
            DataError, match="`recipe` must say how columns are encoded"
        ):
            GramAccumulator.load(tmp_path / "bad.npz")


def test_from_files_to_predictions(tmp_path):
    rng = np.random.default_rng(3)
    frame = mixed(400, seed=3)
    effect = frame["city"].map({"Rome": 3.0, "Paris": -2.0, "Bonn": 0.0, "Oslo": 0.0})
    frame["y"] = effect + frame["size"] + 0.1 * rng.standard_normal(400)
    rows = GramAccumulator.from_files(
        write(frame, tmp_path / "rows.parquet"), target="y", drop=["w"]
    )
    problem = rows.problem(eta=1e3, sparsity=3)
    solution = cardqp.solve(problem)
    names = [problem.names[j] for j in solution.support]
    assert "size" in names
    assert sum(name.startswith("city=") for name in names) == 2
    moments = rows.moments()
    X = rows.encoder.apply_features(frame).X
    predicted = moments.target_mean + (X - moments.mean) @ solution.x
    assert np.corrcoef(predicted, frame["y"])[0, 1] > 0.99


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(files, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    frame, path = with_gaps(mixed()), tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        write(frame, path)
    else:
        frame.to_csv(path, index=False)
    kept = tmp_path / "kept.npz"
    settings = {"target": "y", "missing": "mean"}
    once = GramAccumulator.from_files(path, **settings)
    for rows in (100, 300):  # while it infers types, and later
        with pytest.raises(StoppedError):
            GramAccumulator.from_files(
                path, checkpoint=kept, progress=stop_after(rows), **settings
            )
        assert kept.exists() == (rows == 300)
    monkeypatch.setattr(files, "infer_encoder", None)  # not inferred again
    again = GramAccumulator.from_files(path, checkpoint=kept, **settings)
    assert state(again) == state(once)
    assert again.encoder == once.encoder
    with pytest.raises(CardQPError, match="`checkpoint` must come from the same files"):
        GramAccumulator.from_files(path, target="y", missing="drop", checkpoint=kept)


@pytest.mark.parametrize("bad", ["no JSON", '{"recipe": 3}', 4])
def test_checkpoints_that_were_changed(tmp_path, bad):
    path, kept = write(mixed(), tmp_path / "rows.parquet"), tmp_path / "kept.npz"
    GramAccumulator.from_files(path, target="y", checkpoint=kept)
    arrays = storage.read_arrays(kept)
    assert json.loads(arrays["coding"])["recipe"]["target"] == "y"
    storage.write_arrays(kept, arrays | {"coding": bad})
    with pytest.raises(
        DataError, match="`checkpoint` must hold an encoder: it does not"
    ):
        GramAccumulator.from_files(path, target="y", checkpoint=kept)


@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_a_cluster_infers_the_same(tmp_path, monkeypatch, missing):
    monkeypatch.setattr(cluster_files, "TASK_ENTRIES", 300)
    frame = with_gaps(mixed())
    paths = [
        write(frame[:50], tmp_path / "1.parquet", group=7),
        write(frame[50:], tmp_path / "2.parquet", group=30),
    ]
    calls = []
    found = GramAccumulator.from_files(
        paths,
        target="y",
        missing=missing,
        client="synchronous",
        progress=lambda *rows: calls.append(rows),
    )
    assert_as_in_memory(found, frame, missing=missing)
    assert calls == [(120, 360), (240, 360), (360, 360)]


def test_row_groups_are_batched():
    class Selected:
        wanted = tuple("abcd")
        readers = (type("File", (), {"piece_rows": (5, 5, 5, 100, 1)}),)

    entries = cluster_files.TASK_ENTRIES
    try:
        cluster_files.TASK_ENTRIES = 40
        found = cluster_files.batches_of(Selected())
    finally:
        cluster_files.TASK_ENTRIES = entries
    assert [tuple(batch) for batch in found] == [
        (0, 0, 2, 0, 10),
        (0, 2, 4, 10, 105),
        (0, 4, 5, 115, 1),
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("suffix", "sizes"), [(".parquet", (10, 40)), (".csv", (4, 20))]
)
def test_memory_does_not_grow_with_the_file(tmp_path, suffix, sizes):
    rng = np.random.default_rng(0)
    part = pd.DataFrame(
        {
            "label": rng.choice([f"label number {i}" for i in range(20)], 30_000),
            "y": rng.standard_normal(30_000),
        }
    )
    for copies in sizes:
        frame = pd.concat([part] * copies)
        write(frame, tmp_path / f"{copies}{suffix}", group=2_000_000)
    script = """
        import sys
        import pandas, pyarrow.csv, pyarrow.parquet
        from cardqp.gram import GramAccumulator

        rows = GramAccumulator.from_files(sys.argv[1], target="y")
        lines = open("/proc/self/status").read().splitlines()
        [line] = [line for line in lines if line.startswith("VmHWM")]
        print(rows.n_samples, int(line.split()[1]) / 1024)
        """
    peaks = []
    for copies in sizes:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                textwrap.dedent(script),
                str(tmp_path / f"{copies}{suffix}"),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        count, peak = done.stdout.split()
        assert int(count) == copies * 30_000
        peaks.append(float(peak))
    # Held at once, the rows in between would take 70 MB; peaks vary by some megabytes.
    assert peaks[1] - peaks[0] < 30
