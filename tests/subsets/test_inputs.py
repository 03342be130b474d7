"""What all subsets are made from: tables, arrays, and sums of rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import BestSubset, all_subsets
from cardqp.exceptions import DataError, ParameterError, ProblemError
from cardqp.gram import GramAccumulator
from tests.subsets.tables import Table, enumerated


@pytest.fixture(scope="module")
def mixed():
    """Numbers, a category of three labels, true and false, and a target."""
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame({name: rng.standard_normal(n) for name in "abc"})
    frame["city"] = rng.choice(["Oslo", "Rome", "Bern"], n, p=[0.5, 0.3, 0.2])
    frame["flag"] = rng.random(n) < 0.5
    signal = frame["a"] - 2.0 * (frame["city"] == "Rome") + 0.4 * frame["flag"]
    return frame, (signal + rng.standard_normal(n)).rename("price")


def dummies(frame):
    """The table as numbers by hand; the most frequent label has no column."""
    numbers = frame.drop(columns="city").astype(float)
    base = frame["city"].mode()[0]
    for label in sorted(set(frame["city"]) - {base}):
        numbers[f"city={label}"] = (frame["city"] == label).astype(float)
    labels = [name.split("=")[0] for name in numbers]
    return numbers, labels


def assert_same_table(found, expected):
    assert [(s.size, s.rank, s.features) for s in found] == [
        (s.size, s.rank, s.features) for s in expected
    ]
    for a, b in zip(found, expected, strict=True):
        assert a.rss == pytest.approx(b.rss, rel=1e-9)
        assert a.measures == pytest.approx(b.measures, rel=1e-9, nan_ok=True)
        assert a.status == b.status


def test_texts_are_categories_that_count_once(mixed):
    frame, y = mixed
    found = all_subsets(frame, y, n_best=40, max_size=9)
    numbers, labels = dummies(frame)
    table = Table(numbers.to_numpy(), y.to_numpy(), {"blocks": labels})
    for size, rows in enumerated(table).items():
        listed = [each for each in found if each.size == size]
        assert len(listed) == len(rows)
        for each, (rss, support) in zip(listed, rows, strict=True):
            assert each.rss == pytest.approx(rss, rel=1e-9)
            # The table has its columns in an order of its own.
            assert set(each.features) == {numbers.columns[j] for j in support}
            assert len(each.units) == size
    assert found.sizes == (0, 1, 2, 3, 4, 5)
    with_city = [each for each in found if "city" in each.units]
    assert all({"city=Bern", "city=Rome"} <= set(s.features) for s in with_city)
    assert len(with_city) == 16


def test_columns_of_a_table_are_named_or_counted_as_they_are(mixed):
    frame, y = mixed
    by_name = all_subsets(frame, y, always_include=["city"])
    assert all("city" in each.units for each in by_name)
    assert by_name.sizes == (1, 2, 3, 4, 5)
    mask = frame.columns == "city"
    for given in ([3], mask):
        assert_same_table(all_subsets(frame, y, always_include=given), by_name)
    together = all_subsets(frame, y, blocks={"city": 1, "b": 1}, n_best=20)
    for each in together:
        assert ("b" in each.features) == ("city=Rome" in each.features)
        assert ("city=Rome" in each.features) == ("city=Bern" in each.features)
    by_label = all_subsets(frame, y, blocks=["u", "v", "w", "v", None], n_best=20)
    assert_same_table(by_label, together)
    assert together.sizes == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("policy", ["drop", "mean"])
def test_missing_cells(mixed, policy):
    frame, y = mixed[0].copy(), mixed[1]
    frame.loc[[3, 30], "a"] = np.nan
    frame.loc[7, "city"] = None
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    if policy == "drop":
        kept = frame.notna().all(axis=1)
        filled, rest, left = frame[kept], y[kept], weights[kept]
    else:
        filled = frame.fillna({"a": frame["a"].mean(), "city": "Oslo"})
        rest, left = y, weights
    found = all_subsets(frame, y, missing=policy, sample_weight=weights)
    expected = all_subsets(filled, rest, sample_weight=left)
    assert_same_table(found, expected)
    assert found.n_samples == len(rest)
    assert any("missing cells" in note for note in found.notes)


def test_complaints_about_a_table_can_be_followed(mixed):
    frame, y = mixed[0].copy(), mixed[1]
    frame.loc[[3, 30], "a"] = np.nan
    with pytest.raises(DataError, match=r"`X.drop\(columns=\['a'\]\)`") as caught:
        all_subsets(frame, y)
    assert "use `missing='drop'`" in str(caught.value)
    assert all_subsets(frame.drop(columns=["a"]), y).sizes == (0, 1, 2, 3, 4)
    with pytest.raises(DataError, match="the target `price` must not miss values"):
        all_subsets(frame[["b"]], y.where(y < 1.0))
    with pytest.raises(DataError, match="`X` must have distinct names of columns"):
        all_subsets(pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]), [1, 2, 4])


def test_names_that_are_numbers_are_as_without_names(mixed):
    X, y = mixed[0][["a", "b", "c"]].to_numpy(), mixed[1].to_numpy()
    found = all_subsets(pd.DataFrame(X), y)
    assert_same_table(found, all_subsets(X, y))
    assert found.names == ("x0", "x1", "x2")


def test_polars_frames_are_as_those_of_pandas(mixed):
    polars = pytest.importorskip("polars")
    frame, y = mixed
    table = polars.DataFrame({name: frame[name].to_list() for name in frame})
    target = polars.Series("price", y.to_list())
    assert_same_table(all_subsets(table, target), all_subsets(frame, y))
    numbers = table.select("a", "b", "c")
    model = BestSubset(3).fit(numbers, target)
    expected = BestSubset(3).fit(frame[["a", "b", "c"]], y)
    assert_same_table(model.subsets_, expected.subsets_)
    assert model.get_feature_names_out().tolist() == ["a"]
    assert model.inference().features == ("intercept", "a")
    assert model.to_statsmodels(numbers, target).params.index.tolist()[1:] == ["a"]
    resampled = model.bootstrap(numbers, target, n_resamples=3, random_state=0)
    assert resampled.features == ("a", "b", "c")


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_matrices(mixed, make):
    X, y = mixed[0][["a", "b", "c"]].to_numpy(), mixed[1].to_numpy()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    assert_same_table(all_subsets(make(X), y), all_subsets(X, y))
    assert_same_table(
        BestSubset(3).fit(make(X), y).subsets_, all_subsets(X, y, n_best=1)
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("is_weighted", [True, False])
def test_sums_of_rows_are_as_the_rows(mixed, fit_intercept, is_weighted):
    X, y = mixed[0][["a", "b", "c"]], mixed[1]
    weights = np.arange(90) % 4 if is_weighted else None
    rows = GramAccumulator()
    for part in np.array_split(np.arange(90), 5):
        each = None if weights is None else weights[part]
        rows.update(X.iloc[part], y.iloc[part].to_numpy(), each)
    settings = {"fit_intercept": fit_intercept}
    found = all_subsets(rows, **settings)
    assert_same_table(found, all_subsets(X, y, sample_weight=weights, **settings))
    assert found.names == ("a", "b", "c")
    model = BestSubset(3, n_best=3, **settings).fit(rows)
    whole = BestSubset(3, n_best=3, **settings).fit(X, y, weights)
    assert_same_table(model.subsets_, whole.subsets_)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)
    assert model.get_feature_names_out().tolist() == list(whole.get_feature_names_out())
    errors = [m.inference().standard_error for m in (model, whole)]
    np.testing.assert_allclose(*errors, rtol=1e-8)
    assert model.solution_.verify().ok


def test_categories_in_sums_of_files_stay_together(mixed, tmp_path):
    frame, y = mixed
    frame.assign(price=y).to_parquet(tmp_path / "rows.parquet")
    rows = GramAccumulator.from_files(tmp_path / "rows.parquet", target="price")
    assert_same_table(all_subsets(rows), all_subsets(frame, y))
    found = all_subsets(rows, always_include=["city"])
    assert_same_table(found, all_subsets(frame, y, always_include=["city"]))


def test_weights_are_repeated_rows_in_all_measures(mixed):
    frame, y = mixed
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = all_subsets(frame, y, sample_weight=counts)
    repeated = all_subsets(frame.loc[frame.index.repeat(counts)], np.repeat(y, counts))
    assert_same_table(weighted, repeated)
    for a, b in zip(weighted, repeated, strict=True):
        assert set(a.measures) == {
            *("r2", "adjusted_r2", "cp", "aic", "aicc", "bic", "ebic")
        }
        np.testing.assert_allclose(a.coef, b.coef, rtol=1e-8, atol=1e-12)


ARRAY, TARGET = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12.0)

BAD = [
    ({"y": TARGET[:-1]}, ProblemError, "same number of rows: X has 12, y has 11"),
    ({"y": None}, ParameterError, "`y` must be given"),
    ({"X": ARRAY[:0], "y": TARGET[:0]}, ProblemError, "`X` must have rows"),
    ({"X": ARRAY[:, :0]}, ProblemError, "`X` must have columns"),
    ({"X": ARRAY[:, 0]}, ProblemError, "`X` must have 2 dimensions"),
    ({"sample_weight": -TARGET}, ProblemError, "`sample_weight` must not be negative"),
    ({"sample_weight": 0 * TARGET}, ProblemError, "`sample_weight` must be positive"),
    ({"sample_weight": TARGET[1:]}, ProblemError, "`sample_weight` must have 12"),
    ({"missing": "ignore"}, ParameterError, "`missing` must be one of error, drop"),
    ({"criterion": "cv"}, ParameterError, "`criterion` must be one of bic, aic"),
    ({"always_include": ["a"]}, ParameterError, "`always_include` must hold indices"),
    ({"always_include": [3]}, ProblemError, "`always_include` must hold indices"),
    ({"blocks": [1, 2]}, ParameterError, "`blocks` must have one label for each"),
    ({"max_size": 0}, ParameterError, "`max_size` must be an integer, at least 1"),
    ({"n_best": 0}, ParameterError, "`n_best` must be an integer, at least 1"),
    ({"time_limit": -1}, ParameterError, "`time_limit` must be a number"),
]


@pytest.mark.parametrize(("given", "error", "words"), BAD)
def test_one_complaint_that_names_the_argument(given, error, words):
    with pytest.raises(error, match=words):
        all_subsets(**{"X": ARRAY, "y": TARGET, **given})


@pytest.mark.parametrize("made", [pd.DataFrame, np.asarray])
def test_weights_of_a_table_are_checked_as_those_of_an_array(made):
    with pytest.raises(ProblemError, match="`sample_weight` must not be negative"):
        all_subsets(made(ARRAY), TARGET, sample_weight=-TARGET)


def test_settings_of_a_table_name_its_columns(mixed):
    frame, y = mixed
    constant = frame.assign(one=1.0)
    words = "`always_include` must name columns that are used: 'one' was left out"
    with pytest.raises(ParameterError, match=words):
        all_subsets(constant, y, always_include=["one"])
    with pytest.raises(ParameterError, match="'nobody' is none"):
        all_subsets(frame, y, always_include=["nobody"])
    with pytest.raises(ParameterError, match="'nobody' is none"):
        all_subsets(frame, y, blocks={"nobody": 1})
    with pytest.raises(ParameterError, match="one label for each of the 5 features"):
        all_subsets(frame, y, blocks=[1, 2])


def test_nothing_beside_sums_of_rows():
    rows = GramAccumulator().update(ARRAY, TARGET)
    words = "must be left out where X is a GramAccumulator"
    for fit in (all_subsets, BestSubset().fit):
        with pytest.raises(ParameterError, match=f"`y` {words}"):
            fit(rows, TARGET)
        with pytest.raises(ParameterError, match=f"`sample_weight` {words}"):
            fit(rows, sample_weight=TARGET)
    with pytest.raises(ParameterError, match="`criterion` must be another than cv"):
        BestSubset(criterion="cv").fit(rows)
    with pytest.raises(ProblemError, match="rows whose weight is positive"):
        all_subsets(GramAccumulator())
