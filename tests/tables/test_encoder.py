import json
from decimal import Decimal

import numpy as np
import pandas
import pytest

from cardqp import ParameterError
from cardqp.exceptions import DataError, Setting
from cardqp.tables import TableEncoder
from cardqp.tables.complaints import TableError

Y = [1.0, 2.0, 4.0, 8.0]


def frame_of(**columns):
    return pandas.DataFrame(columns | {"y": Y})


def encode(frame, **settings):
    encoder = TableEncoder.from_table(frame, "y", **settings)
    return encoder, encoder.apply(frame)


def test_numbers_stay_as_they_are():
    frame = frame_of(a=[1, 2, 3, 5], b=[0.5, -1.0, 2.0, 1e6])
    encoder, encoded = encode(frame)
    assert encoded.names == ("a", "b")
    assert encoded.X.tolist() == frame[["a", "b"]].to_numpy(float).tolist()
    assert encoded.y.tolist() == Y
    assert encoded.blocks.tolist() == [0, 1]
    assert encoded.rows.tolist() == [0, 1, 2, 3]
    assert encoder.notes == encoded.notes == ()


def test_the_order_of_columns_is_the_tables():
    frame = frame_of(t=list("uvuv"), a=[1, 2, 3, 4], flag=[True, False, True, True])
    encoder, encoded = encode(frame, only=["flag", "a", "t"])
    assert encoded.names == ("t=v", "a", "flag")
    other = frame[["y", "flag", "a", "t"]].assign(extra=0)
    again = encoder.apply(other)
    assert (
        again.X.tolist()
        == encoded.X.tolist()
        == [
            [0, 1, 1],
            [1, 2, 0],
            [0, 3, 1],
            [1, 4, 1],
        ]
    )
    swapped, _ = encode(frame_of(b=[1, 2, 3, 4], a=[5, 6, 7, 9]))
    assert swapped.apply(frame_of(a=[5, 6, 7, 9], b=[1, 2, 3, 4])).X[0].tolist() == [
        1.0,
        5.0,
    ]


BOOLEANS = {
    "bool": [True, False, True, True],
    "objects": np.array([True, False, True, True], dtype=object),
    "text": ["TRUE", "false", "true", "True "],
    "nullable": pandas.array([True, False, True, True], dtype="boolean"),
}


@pytest.mark.parametrize("cells", BOOLEANS.values(), ids=BOOLEANS)
def test_true_and_false(cells):
    encoder, encoded = encode(frame_of(a=cells))
    assert encoder.columns[0].kind == "boolean"
    assert encoded.X[:, 0].tolist() == [1, 0, 1, 1]
    again = encoder.apply_features(pandas.DataFrame({"a": [0, 1, 1.0]}))
    assert again.X[:, 0].tolist() == [0, 1, 1]
    with pytest.raises(DataError, match=r"`a` must hold true or false: row 2 has '3'"):
        encoder.apply_features(pandas.DataFrame({"a": [0, 3]}))


NUMBERS = {
    "text": ["1", " 2", "3.5", "1e3"],
    "nullable": pandas.array([1, 2, 3.5, 1e3], dtype="Float64"),
    "decimals": [Decimal(1), Decimal(2), Decimal("3.5"), Decimal(1000)],
}


@pytest.mark.parametrize("cells", NUMBERS.values(), ids=NUMBERS)
def test_numbers_in_other_dress(cells):
    _, encoded = encode(frame_of(a=cells))
    assert encoded.X[:, 0].tolist() == [1, 2, 3.5, 1000]


def test_huge_integers():
    huge = [10**30, 1, 2, 3]
    for cells in (huge, [str(cell) for cell in huge]):
        _, encoded = encode(frame_of(a=cells))
        assert encoded.X[:, 0].tolist() == [1e30, 1, 2, 3]


def test_categories_are_compared_with_the_most_frequent():
    encoder, encoded = encode(frame_of(a=[1, 2, 3, 4], city=["B", "C", "A", "C"]))
    assert encoded.names == ("a", "city=A", "city=B")
    assert encoded.X[:, 1:].tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]
    assert encoded.blocks.tolist() == [0, 1, 1]
    assert "1 column of labels became 2 features" in encoder.notes[0]


def test_labels_that_are_numbers_in_other_files():
    encoder, _ = encode(frame_of(a=["x", "1", "z", "x"]))
    encoded = encoder.apply_features(pandas.DataFrame({"a": [1.0, 1.0]}))
    assert encoded.X.tolist() == [[1, 0], [1, 0]]
    kinds = pandas.Categorical([1, 2, 1, 1])
    encoder, encoded = encode(frame_of(a=kinds))
    assert encoded.names == ("a=2",)


def test_numbers_that_are_labels():
    frame = frame_of(month=[1, 2, 12, 2], code=["7", "8", "x", "7"], a=[1, 2, 3, 4])
    encoder, encoded = encode(frame, categorical=["month", "code"])
    assert encoded.names == ("month=1", "month=12", "code=8", "code=x", "a")
    assert encoded.X.tolist() == [
        [1, 0, 0, 0, 1],
        [0, 0, 1, 0, 2],
        [0, 1, 0, 1, 3],
        [0, 0, 0, 0, 4],
    ]
    assert TableEncoder.from_dict(encoder.to_dict()).apply(frame).X.tolist() == (
        encoded.X.tolist()
    )


def test_labels_that_were_not_seen():
    encoder, _ = encode(frame_of(city=list("ABAC")))
    encoded = encoder.apply_features(pandas.DataFrame({"city": ["D", "B", "E"]}))
    assert encoded.X.tolist() == [[0, 0], [1, 0], [0, 0]]
    assert encoded.notes == (
        "2 cells of `city` had a label that was not seen before; taken for the most "
        "frequent one",
    )


TEXTS = ["2020-01-03", "2020-01-01", "2020-03-01", "2020-01-02T12:00"]
TIMES = pandas.to_datetime(TEXTS, format="ISO8601")
DATES = {
    "text": [*TEXTS[:3], " 2020-01-02 12:00"],
    "dtype": TIMES,
    "zones": TIMES.tz_localize("Asia/Tokyo"),
}


@pytest.mark.parametrize("cells", DATES.values(), ids=DATES)
def test_dates_become_days(cells):
    encoder, encoded = encode(frame_of(when=cells))
    assert encoded.names == ("when",)
    assert encoded.X[:, 0].tolist() == [2, 0, 60, 1.5]
    assert "dates became days since the first one: `when` (20" in encoder.notes[0]
    if not hasattr(cells, "tz") or cells.tz is None:
        later = encoder.apply_features(pandas.DataFrame({"when": ["2019-12-31"]}))
        assert later.X.tolist() == [[-1.0]]


def test_labels_of_rows_do_not_matter():
    frame = frame_of(a=["1", "2", None, "4"], t=["u", "v", "u", None], when=TEXTS)
    expected = encode(frame, missing="mean")[1].X.tolist()
    frame.index = [3, 3, 1, 1]
    assert encode(frame, missing="mean")[1].X.tolist() == expected


def test_time_zones_are_those_of_utc():
    # Clocks were put forward on March 29: the day had 23 hours.
    days = pandas.to_datetime(["2020-03-28", "2020-03-29", "2020-03-30", "2020-03-31"])
    _, encoded = encode(frame_of(when=days.tz_localize("Europe/Berlin")))
    np.testing.assert_allclose(24 * encoded.X[:, 0], [0, 24, 47, 71], atol=1e-9)


def test_days_of_python():
    _, encoded = encode(frame_of(when=list(TIMES.date)))
    assert encoded.X[:, 0].tolist() == [2, 0, 60, 1]


def test_columns_that_say_nothing_are_left_out():
    frame = frame_of(
        none=[np.nan] * 4, nil=[None] * 4, one=[1] * 4, same=["x"] * 4, a=[1, 2, 3, 4]
    )
    encoder, encoded = encode(frame)
    assert encoded.names == ("a",)
    assert encoder.notes == (
        "left out 2 columns without any value: `none`, `nil`",
        "left out 2 columns without variation: `one`, `same`",
    )


def test_missing_cells_are_refused():
    frame = frame_of(a=[1, 2, np.nan, np.nan], b=[1, np.nan, 3, 4], t=list("xyxy"))
    message = (
        r"column `a` must not miss values: 2 of 4 are missing \(50 %\), the first in "
        r"row 3; use `missing=.drop.` .*`missing=.mean.` .*`drop=\['a'\]`.*\n.* `b`"
    )
    with pytest.raises(TableError, match=message) as caught:
        encode(frame)
    assert [error.column for error in caught.value.errors] == ["a", "b"]
    assert {error.fix for error in caught.value.errors} == {
        (Setting("missing", "mean"),)
    }
    with pytest.raises(DataError, match=r"column `t` must not miss.* 1 of 4.* row 2"):
        encode(frame_of(t=["x", None, "y", "x"]))
    encoder, _ = encode(frame.fillna(9))
    with pytest.raises(DataError, match="column `a` must not miss values"):
        encoder.apply_features(frame)


def test_rows_with_missing_cells_are_dropped():
    frame = frame_of(
        a=[1, np.nan, 3, 4], b=[7, 8, 7, 7], c=[np.nan] * 4, t=["u", "v", None, "w"]
    )
    encoder, encoded = encode(frame, missing="drop")
    # Without rows 2 and 3 `b` is constant, and `v` is no level.
    assert encoded.names == ("a", "t=w")
    assert encoded.rows.tolist() == [0, 3]
    assert encoded.y.tolist() == [1.0, 8.0]
    assert encoded.notes == ("left out 2 rows with missing cells (50 %)",)
    assert encoder.notes[0].startswith("left out 1 column without any value: `c`")
    assert encoder.notes[-1] == (
        "columns with missing cells, whose rows were left out: `a` (25 %), `t` (25 %)"
    )
    with pytest.raises(DataError, match="must have complete rows: every row misses"):
        encode(frame_of(a=[1, 2, None, None], b=[None, None, 1, 2]), missing="drop")
    with pytest.raises(DataError, match="must have complete rows: it has none"):
        encoder.apply_features(frame[1:2])


def test_missing_cells_are_filled_in():
    frame = frame_of(
        a=[1, np.nan, 3, 5],
        flag=[True, None, False, True],
        t=["u", None, "v", "u"],
        when=["2020-01-03", "2020-01-01", None, "2020-01-02"],
    )
    encoder, encoded = encode(frame, missing="mean")
    expected = [[1, 1, 0, 2], [3, 2 / 3, 0, 0], [3, 0, 1, 1], [5, 1, 0, 1]]
    np.testing.assert_allclose(encoded.X, expected, rtol=1e-15)
    assert encoder.notes[-1].endswith(
        "label: `a` (25 %), `flag` (25 %), `t` (25 %), `when` (25 %)"
    )
    # Columns that were complete have a mean, too.
    encoder, _ = encode(frame_of(a=[1, 2, 3, 6]), missing="mean")
    assert encoder.apply_features(pandas.DataFrame({"a": [None]})).X.tolist() == [[3.0]]


def test_rows_without_a_target():
    frame = frame_of(a=[1, 2, 3, 5]).assign(y=[1, np.nan, 2, 3])
    with pytest.raises(
        DataError,
        match=r"target `y` must not miss .*: 1 of 4.*row 2; use `missing=.drop.` to",
    ):
        encode(frame)
    for missing in ("drop", "mean"):
        encoder, encoded = encode(frame, missing=missing)
        assert encoded.rows.tolist() == [0, 2, 3]
        assert encoded.y.tolist() == [1, 2, 3]
        assert len(encoder.apply_features(frame).X) == 4


BAD = [
    (
        {"a": ["1", "2", "x", "4"]},
        r"column `a` must hold numbers: row 3 has 'x'; correct it, or use "
        r"`missing_values=\['x'\]`, `categorical=\['a'\]` or `drop=\['a'\]`",
    ),
    ({"a": [1, 2, "x", "x", 5, 6]}, r"has 'x' \(and 1 more such cells\)"),
    ({"a": ["1,5", "2,5", "3", "1,2"]}, "decimal points: .*'1,5'; use `decimal="),
    (
        {"a": ["2020-01-01", "2020-01-02", "soon", "2020-02-31"]},
        "column `a` must hold dates such as 2024-12-31: row 3 has 'soon'",
    ),
    ({"a": [1, 2, np.inf, 4]}, "`a` must hold numbers below 1e.100: row 3 has inf"),
    ({"a": [1, 2, 3, -1e150]}, "`a` must hold numbers below 1e.100: row 4 has -1e.150"),
    ({"a": [[1], [2], [3], [4]]}, "numbers, texts or dates: it holds list; .*drop="),
    (
        {"a": pandas.to_timedelta([1, 2, 3, 4], unit="D")},
        "numbers, texts or dates: it holds timedelta64",
    ),
    ({"a": [1j, 2, 3, 4]}, "numbers, texts or dates: it holds complex128"),
    ({"a": [1, 1, 1, 1]}, "must have features that vary: it has none"),
    ({"a": [1, 2, 3, 4], "b": list("pqrs")}, "`b` must have at most 3 .* has 4, .*'p'"),
    (
        {"c=x": [1, 2, 3, 4], "c": ["x", "z", "z", "z"]},
        "distinct names: 'c=x' is a column and a level",
    ),
    ({}, "must have a feature besides the target"),
]


@pytest.mark.parametrize(("columns", "message"), BAD)
def test_bad_columns(columns, message):
    rows = max([4, *(len(cells) for cells in columns.values())])
    frame = pandas.DataFrame(columns | {"y": np.arange(rows)})
    with pytest.raises(DataError, match=message) as caught:
        encode(frame, max_levels=3)
    assert "\n" not in str(caught.value)


TARGETS = [
    (["a", "b", "c", "c"], "target `y` must hold numbers: it is a category"),
    (["2020-01-01"] * 4, "target `y` must hold numbers: it is a date"),
    ([np.nan] * 4, "target `y` must have values: all are missing"),
    ([3, 3, 3, 3], "target `y` must vary: all its values are 3"),
    ([1e-200, 0, 2e-200, 0], "target `y` must reach 1e-140 somewhere"),
    (
        ["1", "2", "3", "z"],
        r"target `y` must hold numbers: row 4 has 'z'; correct it, or use "
        r"`missing_values=\['z'\]`\.",
    ),
    (
        ["1", "2", "3", "3 or 4"],
        r"target `y` must hold numbers: row 4 has '3 or 4'; correct it\.",
    ),
]


@pytest.mark.parametrize(("cells", "message"), TARGETS)
def test_bad_targets(cells, message):
    frame = frame_of(a=[1, 2, 3, 4]).assign(y=cells)
    with pytest.raises(DataError, match=message):
        encode(frame)


def test_rows_without_a_target_teach_nothing():
    frame = frame_of(a=[1, 2, 3, 4], t=["u", "v", "w", "w"], b=[1, 1, 1, 9])
    _, encoded = encode(frame.assign(y=[1, 2, 3, np.nan]), missing="mean")
    assert encoded.names == ("a", "t=v", "t=w")


def test_a_boolean_target():
    _, encoded = encode(frame_of(a=[1, 2, 3, 4]).assign(y=[True, False, True, True]))
    assert encoded.y.tolist() == [1, 0, 1, 1]


def test_choice_of_columns():
    frame = frame_of(**{name: [1, 2, 3, 4 + ord(name)] for name in "abcdefgh"})
    assert encode(frame, drop=["a", "c"])[1].names == tuple("bdefgh")
    assert encode(frame, only=["b", "a", "y"], drop=["a"])[1].names == ("b",)
    for settings in ({"drop": ["z"]}, {"only": ["z"]}, {"categorical": ["z"]}):
        with pytest.raises(
            DataError, match=r"must name columns: 'z' is none of `a`, .* 4"
        ):
            encode(frame, **settings)
    with pytest.raises(DataError, match="`drop` must not name the target"):
        encode(frame, drop=["y"])
    with pytest.raises(DataError, match="`target` must name columns: 'q'"):
        TableEncoder.from_table(frame, "q")
    with pytest.raises(DataError, match="besides the target"):
        encode(frame, only=["y"])
    twice = pandas.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    with pytest.raises(DataError, match="distinct names"):
        encode(twice)


def test_names_that_are_no_texts():
    with pytest.raises(DataError, match="must name columns by texts: a name is 0"):
        TableEncoder.from_table(pandas.DataFrame([[1, 2], [3, 5]]), 1)


def test_settings():
    frame = frame_of(a=[1, 2, 3, 4])
    with pytest.raises(ParameterError, match="`missing` must be one of error, drop"):
        encode(frame, missing="guess")
    with pytest.raises(ParameterError, match="`max_levels` must be an integer"):
        encode(frame, max_levels=0)


def test_columns_that_are_not_there():
    encoder, _ = encode(frame_of(a=[1, 2, 3, 4], b=[1, 2, 3, 5]))
    with pytest.raises(DataError, match="columns that are used: it lacks `b`"):
        encoder.apply_features(pandas.DataFrame({"a": [1]}))
    with pytest.raises(DataError, match="it lacks `y`"):
        encoder.apply(pandas.DataFrame({"a": [1], "b": [1]}))


@pytest.fixture
def rich():
    frame = frame_of(
        a=[1, np.nan, 3, 5],
        flag=[True, False, False, True],
        t=["u", "w", "v", "u"],
        when=["2020-01-03", "2020-01-01", "2020-01-07", "2020-01-02"],
    )
    return frame, TableEncoder.from_table(frame, "y", missing="mean")


def test_encoders_survive_json(rich):
    frame, encoder = rich
    again = TableEncoder.from_dict(
        json.loads(json.dumps(encoder.to_dict(), allow_nan=False))
    )
    assert again == encoder
    assert again.apply(frame).X.tolist() == encoder.apply(frame).X.tolist()


def test_another_policy_for_missing_cells():
    encoder, _ = encode(frame_of(a=[1, 2, 3, 6], t=list("uvvw")))
    new = pandas.DataFrame({"a": [5, None], "t": ["u", "w"]})
    with pytest.raises(DataError, match="column `a` must not miss"):
        encoder.apply_features(new)
    assert encoder.with_policy("drop").apply_features(new).rows.tolist() == [0]
    filled = encoder.with_policy("mean").apply_features(new)
    assert filled.X.tolist() == [[5, 1, 0], [3, 0, 1]]
    with pytest.raises(ParameterError, match="`missing` must be one of"):
        encoder.with_policy("guess")


def test_restricted_encoders_need_fewer_columns(rich):
    frame, encoder = rich
    encoded = encoder.restrict(["t", "a"]).apply_features(frame[["t", "a"]])
    assert encoded.names == ("a", "t=v", "t=w")
    assert encoded.blocks.tolist() == [0, 1, 1]


def test_encoding_equals_pandas():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "t": rng.choice(list("abcde"), 200),
            "x": rng.standard_normal(200),
            "u": rng.choice(["k", "l"], 200),
            "y": rng.standard_normal(200),
        }
    )
    _, encoded = encode(frame)
    for name, column in zip(encoded.names, encoded.X.T, strict=True):
        source, _, level = name.partition("=")
        wanted = frame[source] if not level else frame[source] == level
        assert np.array_equal(column, wanted.to_numpy(float))
    assert encoded.blocks.tolist() == [0, 0, 0, 0, 1, 2]


def tampered(entry, path, value):
    place = entry
    for key in path[:-1]:
        place = place[key]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value


TAMPERED = [
    (["target"], 3, "`target` is 3"),
    (["target_kind"], "date", "`target_kind` is 'date'"),
    (["missing"], "guess", "`missing` is 'guess'"),
    (["columns"], KeyError, "`columns` is missing"),
    (["columns"], {}, "`columns` is no list"),
    (["notes"], "x", "`notes` is no list"),
    (["columns", 0], "x", "an entry without a name is 'x'"),
    (["columns", 0, "name"], KeyError, "an entry without a name"),
    (["columns", 0, "kind"], "magic", "the kind of 'a' is 'magic'"),
    (["columns", 0, "fill"], "x", "`fill` of 'a' is 'x'"),
    (["columns", 0, "fill"], float("nan"), "`fill` of 'a' is nan"),
    (["columns", 0, "fill"], KeyError, "`fill` of 'a' is None"),
    (["columns", 3, "origin"], None, "`origin` of 'when' is None"),
    (["columns", 2, "levels"], ["x"], "`levels` of 't' must be distinct texts, two"),
    (["columns", 2, "levels"], ["x", "x"], "`levels` of 't' must be distinct texts"),
    (["columns", 2, "levels"], ["x", 1], "`levels` of 't' must be distinct texts"),
    (["columns", 2, "levels"], "xyz", "`levels` of 't' must be distinct texts"),
    (["columns", 0, "name"], "when", "distinct names: 'when'"),
]


@pytest.mark.parametrize(("path", "value", "message"), TAMPERED)
def test_tampered_encoders(rich, path, value, message):
    entry = rich[1].to_dict()
    tampered(entry, path, value)
    with pytest.raises(DataError, match=message):
        TableEncoder.from_dict(entry)


@pytest.mark.parametrize("key", ["origin", "levels"])
def test_fields_that_a_kind_does_not_use_are_not_read(rich, key):
    entry = rich[1].to_dict()
    tampered(entry, ["columns", 0, key], None)
    assert TableEncoder.from_dict(entry) == rich[1]


def test_foreign_encoders():
    with pytest.raises(
        DataError, match=r"`recipe` must say how columns are encoded: it"
    ):
        TableEncoder.from_dict([1])
