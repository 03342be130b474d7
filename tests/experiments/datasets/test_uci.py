import gzip
import sys
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

from cardqp.exceptions import BackendNotFoundError, DataError, ParameterError
from experiments.datasets import UCI_NAMES, files, load_uci
from experiments.datasets.uci import _without_points
from tests.experiments.datasets.originals import (
    FEATURES,
    FILES,
    PREPARED,
    ROWS,
    SLUGS,
    TARGETS,
    expected,
    frame,
    original,
    packed,
    prepared,
)

pytestmark = pytest.mark.usefixtures("few_rows")


def check(name, table):
    features = expected(name)
    assert table.X.shape == (ROWS, FEATURES[name])
    assert table.feature_names == tuple(features.columns)
    assert table.target_name == TARGETS[name]
    assert table.name == name
    target = frame(name)[TARGETS[name]].to_numpy()
    np.testing.assert_array_equal(table.X, features.to_numpy())
    np.testing.assert_array_equal(table.y, target)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def in_folder(folder, name):
    write(folder / FILES[name], original(name))


def in_subfolder(folder, name):
    write(folder / "some" / "Dataset" / "Training" / FILES[name], original(name))


def gzipped(folder, name):
    write(folder / f"{FILES[name]}.gz", gzip.compress(original(name)))


def other_case(folder, name):
    write(folder / FILES[name].upper(), original(name))


def in_archive(folder, name):
    archive = SLUGS[name].partition("/")[2]
    write(folder / archive, packed({"Readme.txt": b"", FILES[name]: original(name)}))


def in_renamed_archive(folder, name):
    archive = SLUGS[name].partition("/")[2].replace("+", "_").upper()
    write(folder / "zips" / archive, packed({f"a/{FILES[name]}": original(name)}))


def in_nested_archive(folder, name):
    inner = {
        f"__MACOSX/Dataset/Training/._{FILES[name]}": b"\0\5\26\7",
        f"Dataset/Training/{FILES[name]}": original(name),
    }
    archive = SLUGS[name].partition("/")[2]
    write(folder / archive, packed({"Dataset.zip": packed(inner)}))


def prepared_copy(folder, name):
    data = prepared(name)
    if PREPARED[name].endswith(".gz"):
        data = gzip.compress(data)
    write(folder / PREPARED[name], data)


PLACES = [
    in_folder,
    in_subfolder,
    gzipped,
    other_case,
    in_archive,
    in_renamed_archive,
    in_nested_archive,
    prepared_copy,
]


def test_names():
    assert set(UCI_NAMES) == {*FILES, "crime-as-published"}


def test_points_are_lost_as_in_the_published_file():
    values = np.array([[0.19, 0.2], [0.05, 1.0], [0.0, 8.0]])
    assert np.array_equal(_without_points(values), [[19, 2], [5, 1], [0, 8]])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", PLACES)
def test_file_is_found_and_prepared(tmp_path, name, place):
    place(tmp_path / "data", name)
    check(name, load_uci(name, tmp_path / "data"))


def test_environment_names_the_folder(tmp_path, monkeypatch):
    in_folder(tmp_path / "data", "crime")
    monkeypatch.setenv("CARDQP_DATA", str(tmp_path / "data"))
    check("crime", load_uci("crime"))


def test_argument_comes_before_the_environment(tmp_path, monkeypatch):
    in_folder(tmp_path / "data", "crime")
    monkeypatch.setenv("CARDQP_DATA", str(tmp_path / "elsewhere"))
    check("crime", load_uci("crime", str(tmp_path / "data")))


def test_arrays_are_read_only(tmp_path):
    in_folder(tmp_path, "crime")
    table = load_uci("crime", tmp_path)
    assert not table.X.flags.writeable
    assert not table.y.flags.writeable


def test_originals_come_before_copies(tmp_path):
    prepared_copy(tmp_path, "ujindoor")
    in_archive(tmp_path, "ujindoor")
    assert "`trainingData.csv` in `ujiindoorloc.zip`: the archive's file." in (
        load_uci("ujindoor", tmp_path).source
    )


def test_source_names_the_variant_of_facebook(tmp_path):
    prepared_copy(tmp_path, "facebook")
    assert "variant 1 with recomputed" in load_uci("facebook", tmp_path).source
    write(tmp_path / "Features_Variant_1.csv", original("facebook"))
    assert "_1.csv`: training variant 1, wh" in load_uci("facebook", tmp_path).source
    in_nested_archive(tmp_path, "facebook")
    assert "training variant 5" in load_uci("facebook", tmp_path).source


def test_files_of_the_same_name_are_passed_over(tmp_path):
    write(tmp_path / "train.csv", b"PassengerId,Survived\n1,0\n")
    in_subfolder(tmp_path, "superconductivity")
    check("superconductivity", load_uci("superconductivity", tmp_path))


def test_other_archives_are_not_looked_into(tmp_path):
    write(tmp_path / "titanic.zip", packed({"train.csv": b"no table"}))
    with pytest.raises(DataError, match="is not in"):
        load_uci("superconductivity", tmp_path)


def test_quotes_marks_and_foreign_line_ends(tmp_path):
    text = original("superconductivity").decode()
    header, _, rest = text.partition("\n")
    header = ",".join(f'"{column}"' for column in header.split(","))
    text = f"\N{ZERO WIDTH NO-BREAK SPACE}{header}\n{rest}".replace("\n", "\r\n")
    write(tmp_path / "train.csv", text.encode())
    check("superconductivity", load_uci("superconductivity", tmp_path))


def test_folder_without_the_file(tmp_path):
    with pytest.raises(DataError) as caught:
        load_uci("facebook", tmp_path)
    for part in (str(tmp_path), "Features_Variant_5.csv", "variant1.parquet", "363/"):
        assert part in str(caught.value)
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("named", ["data_dir", "CARDQP_DATA"])
def test_folder_must_exist(tmp_path, monkeypatch, named):
    missing = tmp_path / "missing"
    monkeypatch.setenv("CARDQP_DATA", str(missing))
    with pytest.raises(DataError, match=f"`{named}` must be a folder: .*missing"):
        load_uci("crime", missing if named == "data_dir" else None)


def test_unknown_name():
    with pytest.raises(ParameterError, match=r"`name` must be one of .*crime.*'iris'"):
        load_uci("iris")


def with_text(table):
    table["f3"] = table["f3"].astype(object)
    table.loc[4, "f3"] = "many"
    return table


def with_a_gap(table):
    table.loc[2, "f5"] = np.nan
    return table


def with_infinity(table):
    table.loc[0, "critical_temp"] = np.inf
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_text, r"`train.csv`.*column `f3`: row 5 has `many`"),
        (with_a_gap, r"`train.csv`.*column `f5`: row 3 has `nan`"),
        (with_infinity, r"`train.csv`.*column `critical_temp`: row 1 has `inf`"),
        (lambda t: t.drop(columns="f1"), r"`train.csv`.* it has 12 and 81"),
        (lambda t: t.assign(extra=1), r"`train.csv`.* it has 12 and 83"),
        (lambda t: t.iloc[:-1], r"must have 12 rows and 82 columns: it has 11 and"),
        (lambda t: t.iloc[:0], r"`train.csv`.*is not a table of numbers"),
        (lambda t: t.assign(f7=1), r"must have 81 columns .* it has 80"),
        (lambda t: t.rename(columns={"f1": "f2"}), "one name for each of its 82"),
        (
            lambda t: t.rename(columns={"critical_temp": "T"}),
            "`train.csv` must have a column `critical_temp`",
        ),
    ],
)
def test_wrong_tables(tmp_path, change, message):
    table = change(frame("superconductivity"))
    write(tmp_path / "train.csv", original("superconductivity", table))
    with pytest.raises(DataError, match=message):
        load_uci("superconductivity", tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train.csv", b"", "`train.csv` must have a column `critical_temp`"),
        ("train.csv", b"x" * 200_000, "`train.csv` must have a column"),
        ("train.csv", b"critical_temp", "`train.csv`.*not a table"),
        ("train.csv", b"critical_temp,a\n1,2\n3,4,5\n", "`train.csv`.*not a table"),
        ("train.csv", b'critical_temp,a\n1,"2\n', "`train.csv`.*not a table"),
        ("train.csv", original("superconductivity")[:-900], "`train.csv`.*column"),
        ("train.csv.gz", b"no gzip", r"`train.csv.gz`.*is damaged"),
        ("train.csv.gz", gzip.compress(b"a,b\n" * 99, mtime=0)[:-9], "is damaged"),
        ("superconductivity.parquet", b"", "not a readable parquet"),
        ("superconductivity.parquet", b"PAR1junkPAR1", "not a readable parquet"),
        ("superconduct.zip", b"", "`superconduct.zip` is not a readable zip"),
        ("superconduct.zip", b"PK\3\4" + bytes(99), "not a readable zip"),
    ],
    ids=map(str, range(12)),
)
def test_damaged_files(tmp_path, name, data, message):
    write(tmp_path / name, data)
    with pytest.raises(DataError, match=message):
        load_uci("superconductivity", tmp_path)


def test_rows_with_more_entries_than_names(tmp_path):
    header, _, rest = original("superconductivity").partition(b"\n")
    rest = b"".join(b"0," + line for line in rest.splitlines(keepends=True))
    write(tmp_path / "train.csv", header + b"\n" + rest)
    with pytest.raises(DataError, match="it has 12 and 83"):
        load_uci("superconductivity", tmp_path)


def test_headerless_text_in_numbers(tmp_path):
    data = original("facebook").replace(b",0.0,", b",none?,", 1)
    write(tmp_path / "Features_Variant_5.csv", data)
    with pytest.raises(DataError, match=r"column `post_promoted`: row 1 has `none\?`"):
        load_uci("facebook", tmp_path)


def test_gaps_in_the_target_of_crime(tmp_path):
    table = frame("crime")
    table.loc[3, "ViolentCrimesPerPop"] = np.nan
    write(tmp_path / "communities.data", original("crime", table))
    with pytest.raises(DataError, match="`ViolentCrimesPerPop`: row 4 has `nan`"):
        load_uci("crime", tmp_path)


def test_damaged_member(tmp_path):
    name = "superconduct.zip"
    data = bytearray(packed({"train.csv": original("superconductivity")}))
    data[2000:2100] = bytes(100)
    write(tmp_path / name, bytes(data))
    with pytest.raises(DataError, match=r"`train.csv` in .*superconduct.zip.* damaged"):
        load_uci("superconductivity", tmp_path)


@pytest.mark.parametrize("root", ["../../", "/", "..\\", "C:\\", "a/../../"])
def test_members_that_climb_are_ignored(tmp_path, root):
    write(tmp_path / "superconduct.zip", packed({f"{root}train.csv": b"x"}))
    before = sorted(tmp_path.parent.rglob("*"))
    with pytest.raises(DataError, match="is not in"):
        load_uci("superconductivity", tmp_path)
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_reading_an_archive_writes_nothing(tmp_path):
    in_nested_archive(tmp_path, "facebook")
    load_uci("facebook", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [
        "facebook+comment+volume+dataset.zip"
    ]


def test_archives_deep_inside_are_not_opened(tmp_path):
    data = packed({"train.csv": original("superconductivity")})
    for _ in range(4):
        data = packed({"inner.zip": data})
    write(tmp_path / "superconduct.zip", data)
    with pytest.raises(DataError, match="is not in"):
        load_uci("superconductivity", tmp_path)


def test_folders_deep_below_are_not_looked_into(tmp_path):
    in_folder(tmp_path / "1" / "2" / "3" / "4" / "5" / "6", "crime")
    with pytest.raises(DataError, match="is not in"):
        load_uci("crime", tmp_path)
    check("crime", load_uci("crime", tmp_path / "1"))


@pytest.mark.parametrize("place", [in_folder, gzipped, in_archive])
def test_files_too_large(tmp_path, monkeypatch, place):
    place(tmp_path, "crime")
    size = max(path.stat().st_size for path in tmp_path.iterdir())
    monkeypatch.setattr(files, "_LARGEST", size - (place is in_folder))
    with pytest.raises(DataError, match=r"communities.data.* must have at most"):
        load_uci("crime", tmp_path)


def test_expected_checksum_of_a_file(tmp_path):
    in_folder(tmp_path, "crime")
    expected = sha256(original("crime")).hexdigest()
    check("crime", load_uci("crime", tmp_path, sha256=expected))
    with pytest.raises(DataError, match=r"communities.data.*must have the SHA-256 f00"):
        load_uci("crime", tmp_path, sha256="f00")


def test_pandas_is_asked_for(tmp_path, monkeypatch):
    in_folder(tmp_path, "crime")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BackendNotFoundError, match=r"pip install 'cardqp\[data\]'"):
        load_uci("crime", tmp_path)


def test_pyarrow_is_asked_for(tmp_path, monkeypatch):
    def read_parquet(*_, **__):
        raise ImportError("no pyarrow")

    prepared_copy(tmp_path, "ujindoor")
    monkeypatch.setattr(pd, "read_parquet", read_parquet)
    with pytest.raises(BackendNotFoundError, match=r"pyarrow.*'cardqp\[data\]'"):
        load_uci("ujindoor", tmp_path)
