"""What is guessed of a text, and of the cells of a table."""

import numpy as np
import pandas
import pytest

from cardqp import ParameterError
from cardqp.exceptions import DataError, Setting
from cardqp.tables import TableEncoder, read_table
from cardqp.tables.complaints import TableError
from cardqp.tables.dates import DATE, DAY_FIRST, MONTH_FIRST, iso_date
from cardqp.tables.encodings import decode
from cardqp.tables.number_texts import quantity


@pytest.fixture
def read(tmp_path):
    def read(content, **settings):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        frame = read_table(path, **settings)
        return frame.to_dict("list"), frame.attrs["notes"]

    return read


LETTERS = "größe,ñ\nŠ,é €\n"
POLISH = "ilość;źródło\nŁódź;ż\n"

ENCODED = [
    (LETTERS, "utf-8", ""),
    (LETTERS, "utf-8-sig", ""),
    (LETTERS, "utf-16", "UTF-16"),
    (LETTERS, "utf-16-le", "UTF-16-LE"),
    (LETTERS, "utf-16-be", "UTF-16-BE"),
    (LETTERS, "utf-32", "UTF-32"),
    (LETTERS, "cp1252", "Windows-1252"),
    ("Länge,für\nÖl,ß\n", "cp850", "code page 850"),
    (POLISH, "utf-8", ""),
    (POLISH, "utf-16", "UTF-16"),
]


@pytest.mark.parametrize(("text", "encoding", "note"), ENCODED)
def test_encodings_that_are_guessed(text, encoding, note):
    found = decode(text.encode(encoding), "t.csv")
    assert found.text == text
    assert (note in found.note) if note else found.note == ""


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2", "utf-8", "utf-16"])
def test_encodings_that_are_named(encoding):
    assert decode(POLISH.encode(encoding), "t.csv", encoding).text == POLISH
    assert decode(POLISH.encode(encoding), "t.csv", encoding).note == ""


def test_a_mark_is_no_letter_where_utf_8_is_named():
    assert decode("\ufeffa".encode(), "t.csv", "utf-8").text == "a"


def test_wrong_encodings(read):
    with pytest.raises(DataError, match="must be utf-8 text: line 1 has the byte 0xfc"):
        read("ü,b\n1,2\n".encode("latin1"), encoding="utf-8")
    with pytest.raises(ParameterError, match="encoding that Python knows") as caught:
        read("a,b\n1,2\n", encoding="utf-9")
    assert caught.value.fix == (Setting("encoding", "auto"),)
    with pytest.raises(ParameterError, match="`encoding` must be a str"):
        read("a,b\n1,2\n", encoding=None)


def test_lines_to_leave_out(read):
    text = "title\na,b\n1,2\n# what\n3,4\n"
    assert read(text, skip_lines=[1, 4]) == ({"a": [1, 3], "b": [2, 4]}, ())
    with pytest.raises(ParameterError, match="`skip_lines` must be a list of integers"):
        read(text, skip_lines=["1"])
    with pytest.raises(DataError, match="must start with a line that names") as caught:
        read("title\n\nmore\n" + text.replace("title\n", "").replace("# what\n", ""))
    assert caught.value.fix == (Setting("skip_lines", [1, 2, 3]),)
    padded = "title;;;\n;;;\na;b;c\n1;2;3\n4;5;6\n"
    with pytest.raises(DataError, match="'title', has one cell, others 3") as caught:
        read(padded)
    assert caught.value.fix == (Setting("skip_lines", [1, 2]),)
    assert read(padded, skip_lines=[1, 2])[0] == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}
    names = ",price\nfirst,1\nsecond,2\n"  # row names are no title
    assert "price" in read(names)[0]


def test_odd_lines_that_are_too_many(read):
    good = "a,b\n" + "1,2\n" * 200
    with pytest.raises(DataError, match=r"line 202 has 3.*use `skip_lines") as caught:
        read(good + "1,2,3\n" * 5)
    assert caught.value.fix == (Setting("skip_lines", list(range(202, 207))),)
    with pytest.raises(DataError, match=r"202 has 3 \(and 14 more such lines\); look"):
        read(good + "1,2,3\n" * 15)
    # All that follows a quotation mark is one cell.
    with pytest.raises(DataError, match="look for a quotation mark") as caught:
        read(good + '1,2,"3\n' + "1,2\n" * 10 + '4"\n')
    assert caught.value.fix == ()


def test_names(read):
    found, notes = read("a,,a, a \n1,2,3,4\n")
    assert list(found) == ["a", "column 2", "a (2)", "a (3)"]
    assert notes == (
        "column 3 is called `a (2)`, for `a` is another",
        "column 4 is called `a (3)`, for `a` is another",
    )
    assert list(read("column 2,\n1,2\n3,4\n")[0]) == ["column 2", "column 2 (2)"]


ROW_NAMES = {
    "numbers": (",a,b\n1,2,3\n2,4,5\n", ["a", "b"]),
    "texts": (",a,b\nx,2,3\ny,4,5\n", ["a", "b"]),
    "not in the header": ("a,b\n1,2,3\n2,4,5\n", ["a", "b"]),
    "that come twice": (",a,b\n1,2,3\n1,4,5\n", ["column 1", "a", "b"]),
    "dates": (",a,b\n2024-01-01,2,3\n2024-01-02,4,5\n", ["column 1", "a", "b"]),
    "no others": (",a\n1,2\n2,4\n", ["column 1", "a"]),
}


@pytest.mark.parametrize(("text", "names"), ROW_NAMES.values(), ids=ROW_NAMES)
def test_names_of_rows(read, text, names):
    found, notes = read(text)
    assert list(found) == names
    assert bool(notes) == (len(names) < text.split()[1].count(",") + 1)


SEPARATORS = [
    ("a;b\n1,5;1.234\n2;5.678,9\n", [1.5, 2], [1234, 5678.9]),
    ("a;b\n1,5;1.234\n2;5.678\n", [1.5, 2], [1234, 5678]),
    ("a;b\n1,5;1.234.567\n2;5 000\n", [1.5, 2], [1234567, 5000]),
    ("a;b\n0,125;1.0\n2,25;5.0\n", [0.125, 2.25], [1, 5]),
    ("a;b\n1,5 €;x\n2.000,25 €;y\n", ["1.5 €", "2000.25 €"], ["x", "y"]),
    ("a;b\n1,5;2.25\n2,5;0.5\n", [1.5, 2.5], [2.25, 0.5]),
    ("a;b\n1,5;401.150 €\n2;12.000 €\n", [1.5, 2], ["401150 €", "12000 €"]),
    ("a;b\n1.5;1,234\n2;5,678\n", [1.5, 2], ["1,234", "5,678"]),
    ('a,b\n"1,234",1\n"5,678",2\n', ["1,234", "5,678"], [1, 2]),
    ('a,b\n"1,5",1\n"5,25",2\n', [1.5, 5.25], [1, 2]),
    ("a;b\n31.12.2024;1,5\n01.02.2024;2\n", ["31.12.2024", "01.02.2024"], [1.5, 2]),
    ("a;b\nv1,2;1\nv1,3;2\n", ["v1,2", "v1,3"], [1, 2]),
    ("a;b\n1,5;1.234\n2.5;5\n", ["1,5", "2.5"], [1.234, 5]),
]


@pytest.mark.parametrize(("text", "first", "second"), SEPARATORS)
def test_separators(read, text, first, second):
    found, _ = read(text)
    assert list(found.values()) == [first, second]


def test_separators_that_are_named(read):
    text = "a;b\n1,234;1\n5,678;2\n"
    assert read(text, decimal=",")[0]["a"] == [1.234, 5.678]
    assert read(text, decimal=".")[0]["a"] == ["1,234", "5,678"]
    with pytest.raises(DataError, match="'1,234' may have decimals or thousands") as e:
        read(text)
    assert e.value.fix == (Setting("decimal", ","),)
    with pytest.raises(TableError) as several:
        read("a;b\n1,234;1,222\n5,678;2,333\n")
    assert [error.column for error in several.value.errors] == ["a", "b"]


NUMBERS = [
    ("1,234.5", 1234.5, ""),
    ("12,34", None, None),
    ("1 234 567", 1234567, ""),
    ("1\u202f234", 1234, ""),
    ("1'000.25", 1000.25, ""),
    ("−3.5", -3.5, ""),
    ("-$1,200", -1200, "$"),
    ("$-5", -5, "$"),
    ("€ 12", 12, "€"),
    ("12€", 12, "€"),
    ("US$ 3", 3, "US$"),
    ("12 %", 12, "%"),
    ("20 °C", 20, "°C"),
    ("3.5 m²", 3.5, "m²"),
    ("12kg", 12, "kg"),
    ("1e-3 g", 0.001, "g"),
    ("12a", None, None),
    ("$12 %", None, None),
    ("a12", None, None),
    ("10+ years", None, None),
    ("1.2.3", None, None),
    ("", None, None),
]


@pytest.mark.parametrize(("text", "value", "unit"), NUMBERS)
def test_quantities(text, value, unit):
    assert quantity(text) == (None if value is None else (value, unit))


DATES = [
    ("2024-12-31", DATE, "2024-12-31"),
    ("2024/1/5", DATE, "2024-01-05"),
    ("2024-12-31 10:15", DATE, "2024-12-31T10:15:00"),
    ("2024-12-31T10:15:30.25Z", DATE, "2024-12-31T10:15:30.25Z"),
    ("5 Jan 2024", DATE, "2024-01-05"),
    ("5. January 2024", DATE, "2024-01-05"),
    ("Sept. 5, 2024", DATE, "2024-09-05"),
    ("31-Dec-69", DATE, "1969-12-31"),
    ("5 Mai 2024", DATE, None),
    ("2024-13-01", DATE, None),
    ("31.12.2024", DATE, None),
    ("31.12.2024", DAY_FIRST, "2024-12-31"),
    ("31.12.2024", MONTH_FIRST, None),
    ("1.2.2024", DAY_FIRST, "2024-02-01"),
    ("01.02.24", DAY_FIRST, "2024-02-01"),
    ("1.2.10", DAY_FIRST, None),
    ("10-12-14", DAY_FIRST, None),
    ("10-12-2014", DAY_FIRST, "2014-12-10"),
    ("10-12-2014", MONTH_FIRST, "2014-10-12"),
    ("1/2/68", MONTH_FIRST, "2068-01-02"),
    ("1/2/69 12:05 AM", MONTH_FIRST, "1969-01-02T00:05:00"),
    ("1/2/2024, 12:05 p.m.", MONTH_FIRST, "2024-01-02T12:05:00"),
    ("13/2/2024", MONTH_FIRST, None),
    ("1/2.2024", MONTH_FIRST, None),
]


@pytest.mark.parametrize(("text", "kind", "iso"), DATES)
def test_dates(text, kind, iso):
    assert iso_date(text, kind) == iso


Y = np.arange(12.0) ** 2


def encode(cells, **settings):
    frame = pandas.DataFrame({"a": cells, "b": np.arange(12) % 5, "y": Y})
    encoder = TableEncoder.from_table(frame, "y", **settings)
    return encoder, encoder.apply(frame)


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("{d:02d}.0{m}.2024", "date, day first"),
        ("{d}/{m}/2024", "date, day first"),
        ("{m}/{d}/2024", "date, month first"),
        ("2024/0{m}/{d:02d}", "date"),
    ],
)
def test_the_order_of_dates_is_what_all_can_have(form, kind):
    cells = [form.format(d=i + 5, m=i % 3 + 1) for i in range(12)]
    encoder, encoded = encode(cells)
    assert encoder.columns[0].kind == kind
    days = [i + [0, 31, 60][i % 3] for i in range(12)]
    assert encoded.X[:, 0].tolist() == days
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again == encoder
    assert (
        again.apply_features(pandas.DataFrame({"a": cells[:3], "b": 1}))
        .X[:, 0]
        .tolist()
        == (days[:3])
    )


def test_dates_of_either_order():
    cells = [f"0{i % 9 + 1}/0{i % 7 + 1}/2024" for i in range(12)]
    with pytest.raises(DataError, match="use `dates='month-first'` or `dates='day-"):
        encode(cells)
    by_day, _ = encode(cells, dates="day-first")
    by_month, _ = encode(cells, dates="month-first")
    assert by_day.columns[0].kind != by_month.columns[0].kind
    with pytest.raises(ParameterError, match="`dates` must be one of auto, day-first"):
        encode(cells, dates="dmy")


def test_units_are_the_same_in_other_tables():
    encoder, encoded = encode([f"{i} %" for i in range(12)])
    assert encoded.X[:, 0].tolist() == list(range(12))
    assert encoder.columns[0].kind == "number in %"
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder
    for cells in (["1 kg", "2 kg"], [0.01, 0.02], ["1", "2"]):
        new = pandas.DataFrame({"a": cells, "b": 1})
        with pytest.raises(DataError, match="column `a` must hold numbers in %: row 1"):
            encoder.apply_features(new)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["$1", "€2"] + ["$3"] * 10, r"must hold numbers in \$: row 2 has '€2'"),
        (["0.12"] + [f"{i} %" for i in range(11)], "numbers in %: row 1 has '0.12'"),
        (["-"] + [f"{i} kg" for i in range(11)], "numbers in kg: row 1 has '-'"),
    ],
)
def test_units_that_differ(cells, message):
    with pytest.raises(DataError, match=message):
        encode(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["1 year", "2 years", "3 years"] * 4,
        ["10+ years", "2 years", "3 years"] * 4,
        ["1st", "2nd", "3rd", "4th"] * 3,
        [f"{i % 3}a" for i in range(12)],
    ],
)
def test_labels_with_numbers_stay_labels(cells):
    encoder, _ = encode(cells)
    assert encoder.columns[0].kind == "category"


def test_columns_that_miss_most_cells():
    cells = [1.0, None, 2.0, None] * 3
    assert len(encode(cells, missing="drop")[0].columns) == 2
    encoder, encoded = encode([None, *cells[:-1]], missing="drop")
    assert encoded.names == ("a", "b")  # half of them are missing, not more
    cells[0] = None
    encoder, encoded = encode(cells)
    assert encoded.names == ("b",)
    assert encoder.notes == (
        "left out 1 column for missing cells, as `max_missing` says: `a` (58.3 %)",
    )
    assert encode(cells, missing="mean", max_missing=0.6)[1].names == ("a", "b")
    assert encode(cells, missing="mean", only=["a"])[1].names == ("a",)
    with pytest.raises(ParameterError, match="`max_missing` must be a number between"):
        encode(cells, max_missing=1.5)


def test_texts_that_are_all_different():
    encoder, encoded = encode([f"person {i}" for i in range(12)])
    assert encoded.names == ("b",)
    assert encoder.notes == ("left out 1 column of texts that are all different: `a`",)
    # Of few rows it may be chance, and some are worth a column.
    frame = pandas.DataFrame({"a": list("pqrstu"), "b": [1, 2, 2, 1, 5, 6], "y": Y[:6]})
    assert len(TableEncoder.from_table(frame, "y").names) == 6


def test_all_complaints_come_at_once():
    frame = pandas.DataFrame(
        {
            "gap": [1, None] * 6,
            "odd": ["x", *range(11)],
            "when": [f"0{i % 9 + 1}/0{i % 7 + 1}/2024" for i in range(12)],
            "labels": [f"l{i // 2}" for i in range(12)],
            "huge": [1e150, *range(11)],
            "fine": range(12),
            "y": Y,
        }
    )
    with pytest.raises(TableError) as caught:
        TableEncoder.from_table(frame, "y", max_levels=5)
    assert [(error.column, error.fix) for error in caught.value.errors] == [
        ("odd", (Setting("missing_values", ["x"]),)),
        ("when", (Setting("dates", "month-first"),)),
        ("gap", (Setting("missing", "mean"),)),
        ("huge", (Setting("drop", ["huge"]),)),
    ]
    frame = frame.drop(columns=["odd", "when", "huge", "gap"])
    with pytest.raises(DataError, match="column `labels` must have at most 5"):
        TableEncoder.from_table(frame, "y", max_levels=5)
