import gzip
import io
import sys

import numpy as np
import pandas
import pyarrow.parquet
import pytest

from cardqp import ParameterError
from cardqp.exceptions import BackendNotFoundError, DataError
from cardqp.tables import read_table


@pytest.fixture
def written(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


GOOD = {
    "comma": "a,b\n1,x\n2,y\n",
    "semicolon": "a;b\n1;x\n2;y\n",
    "tab": "a\tb\n1\tx\n2\ty\n",
    "bar": "a|b\n1|x\n2|y\n",
    "windows": "a,b\r\n1,x\r\n2,y\r\n",
    "old mac": "a,b\r1,x\r2,y\r",
    "bom": "\ufeffa,b\n1,x\n2,y\n",
    "blank lines": "\n  \na,b\n1,x\n\n2,y\n \n",
    "spaces": " a , b\n1, x\n2, y\n",
    "no end": "a,b\n1,x\n2,y",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_the_same_table_in_many_dresses(written, text):
    frame = read_table(written(text))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_other_delimiters_in_cells(written):
    frame = read_table(written("t;u\n1,2;3\n4;5,6,7\n"), decimal=".")
    assert frame.to_dict("list") == {"t": ["1,2", "4"], "u": ["3", "5,6,7"]}


def test_names_with_other_delimiters(written):
    frame = read_table(written("a, b, c;d\n1;2\n3;4\n"))
    assert frame.to_dict("list") == {"a, b, c": [1, 3], "d": [2, 4]}


def test_quoted_delimiters_and_newlines(written):
    frame = read_table(written('"a,1",b\n"x;y;z, w",1\n"two\nlines",2\n'))
    assert frame.to_dict("list") == {"a,1": ["x;y;z, w", "two\nlines"], "b": [1, 2]}


def test_strange_names(written):
    frame = read_table(written("größe cm,<script>,日本\n1,2,3\n"))
    assert list(frame.columns) == ["größe cm", "<script>", "日本"]


def test_missing_cells(written):
    path = written("a,b\n1,NA\n,x\n?,-\n")
    frame = read_table(path)
    assert frame.isna().to_numpy().tolist() == [[0, 1], [1, 0], [1, 0]]
    frame = read_table(path, missing=["-", "?"])
    assert frame.isna().to_numpy().tolist() == [[0, 0], [1, 0], [1, 1]]


def test_decimal_commas(written):
    frame = read_table(written("a;b;c\n1,5;2,25;u,v\n-0,5;x;w\n"), decimal=",")
    assert frame["a"].tolist() == [1.5, -0.5]
    assert frame["b"].tolist() == ["2.25", "x"]
    assert frame["c"].tolist() == ["u,v", "w"]


def test_decimals_are_exact(written):
    numbers = np.random.default_rng(0).standard_normal((50, 2))
    lines = "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    assert np.array_equal(read_table(written("a,b\n" + lines)), numbers)


def test_a_given_delimiter(written):
    path = written("a:b\n1:2\n")
    assert read_table(path, delimiter=":").shape == (1, 2)
    path = written("a,x\tb\n1,2\t3\n")
    for name in ("tab", "\\t", "\t"):
        assert list(read_table(path, delimiter=name).columns) == ["a,x", "b"]


def test_missing_cells_beside_integers_of_64_bits(written):
    frame = read_table(written("a,b\n9223372036854775808,1\n?,2\n,3\n3,4\n"))
    assert frame["a"].isna().tolist() == [False, True, True, False]


@pytest.mark.parametrize("missing", ["NA", 3, [3]])
def test_words_for_missing_cells(written, missing):
    with pytest.raises(ParameterError, match="`missing` must be a list of texts: it"):
        read_table(written("a,b\n1,2\n"), missing=missing)


def test_one_column_if_it_is_allowed(written):
    frame = read_table(written('"a, b"\n1\n\n2\n'), least_columns=1)
    assert frame.to_dict("list") == {"a, b": [1, 2]}


def test_packed_text(written):
    path = written(gzip.compress(GOOD["comma"].encode()), "t.csv.gz")
    assert read_table(path).shape == (2, 2)


@pytest.fixture
def parquet():
    frame = pandas.DataFrame(
        {"a": [1.0, 2.0], "b": ["x", "y"]}, index=pandas.Index([7, 8], name="id")
    )
    return frame.to_parquet()


def test_parquet_with_its_index(written, parquet):
    frame = read_table(written(parquet, "t.parquet"))
    assert frame.to_dict("list") == {"id": [7, 8], "a": [1.0, 2.0], "b": ["x", "y"]}


def test_standard_input(monkeypatch, parquet):
    for data, width in ((GOOD["tab"].encode(), 2), (parquet, 3)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read_table("-").shape == (2, width)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(
        DataError, match=r"^standard input must be a table: it is empty"
    ):
        read_table("-")


BAD = [
    (b"", "must be a table: it is empty"),
    (b" \n\n", "must be a table: it is empty"),
    ("a,b\n", "must have rows below the header: it has none"),
    ("a\n1\n", "two columns or more: its first line, 'a', has one; a table needs"),
    ("a:b\n1:2\n", "has one; the delimiter may be another, try `delimiter=':'`"),
    ("a,b\n1,2\n3\n", "must have 2 cells in each line.*: line 3 has 1"),
    ("a,b\n1,2\n\n3,4,5\n", "must have 2 cells in each line.*: line 4 has 3"),
    ('a,b\n"1\n",2\n3\n', "line 4 has 1"),
    ('a,b\n1,"2\n3,4\n', "t.csv must have 2 cells|t.csv must be a table"),
    ('a,b\n1,"' + "x" * 200_000, "larger than field limit.*quotation mark"),
    ('"' + "x" * 200_000, "larger than field limit.*quotation mark"),
    ("1.5,2\n3,4\n", "names the columns: its first line has the numbers '1.5,2'"),
    (b"a,b\n1,caf\xe9\n1,\x01\n", "must be text: line 3 has the byte 0x01"),
    (b"a,b\n1,\x002\n", "must be text: line 2 has a zero byte"),
    (b"PK\x03\x04rest", "it is a spreadsheet or an archive; save it as CSV"),
    (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "must be a complete gzip file"),
    (b"PAR1abc", "is not a readable parquet file"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_is_no_table(written, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_table(written(content))
    assert "\n" not in str(caught.value)


def test_an_unclosed_quotation_mark_in_the_last_cell(written):
    with pytest.raises(DataError, match=r"must be a table: .*EOF inside string"):
        read_table(written('a,b\n1,2\n3,"4\n'))


def test_the_wrong_delimiter(written):
    with pytest.raises(DataError, match="try `delimiter=';'`"):
        read_table(written(GOOD["semicolon"]), delimiter=",")
    with pytest.raises(DataError, match="try `delimiter='tab'`"):
        read_table(written(GOOD["tab"]), delimiter=";")


def test_truncated_parquet(written, parquet):
    for data, name in ((parquet[:-20], "t.parquet"), (b"a,b\n1,2\n", "x.parquet")):
        with pytest.raises(DataError, match="is not a readable parquet file") as caught:
            read_table(written(data, name))
        assert "\n" not in str(caught.value)


def test_names_that_occur_twice_in_parquet(written):
    table = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    with pytest.raises(DataError, match="'a' is the name of columns 1 and 2"):
        read_table(written(sink.getvalue().to_pybytes(), "t.parquet"))


def test_empty_parquet(written):
    data = pandas.DataFrame({"a": [], "b": []}).to_parquet()
    with pytest.raises(DataError, match="must have rows: it has none"):
        read_table(written(data, "t.parquet"))


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match="must be a file: it is a folder"):
        read_table(tmp_path)
    with pytest.raises(DataError, match="must be a file: it does not exist"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(DataError, match="must be a file that can be read"):
        read_table("a\0b")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"delimiter": "::"},
            "`delimiter` must be one character, or tab: it is '::'",
        ),
        ({"delimiter": "x"}, "`delimiter` must be one character"),
        ({"delimiter": ",", "decimal": ","}, "must differ from `decimal`"),
        ({"decimal": "'"}, "`decimal` must be one of auto, ., ,"),
    ],
)
def test_settings(written, settings, message):
    with pytest.raises(ParameterError, match=message):
        read_table(written(GOOD["comma"]), **settings)


def test_without_pandas(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BackendNotFoundError, match="A table needs pandas"):
        read_table(written(GOOD["comma"]))


def test_many_columns(written):
    names = ",".join(f"c{j}" for j in range(20_000))
    cells = ",".join(["1.5"] * 20_000)
    assert read_table(written(f"{names}\n{cells}\n{cells}\n")).shape == (2, 20_000)
