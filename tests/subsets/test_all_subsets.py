"""All best subsets against enumeration."""

import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import cardqp
from cardqp._iterate import Stop
from cardqp.exceptions import NotSolvedError, ParameterError, ProblemError
from cardqp.pipeline.alternatives import alternatives
from tests.subsets.tables import KINDS, Table, enumerated, random_table


def assert_same(found, table, n_best):
    """Every size and rank is that of the enumeration."""
    total = ((table.y - table.y.mean()) ** 2).sum() + 1e-300
    expected = enumerated(table)
    assert found.sizes == tuple(expected)
    for size, rows in expected.items():
        listed = [each for each in found if each.size == size]
        assert len(listed) == min(n_best, len(rows))
        for each, (rss, support) in zip(listed, rows, strict=False):
            assert each.rss == pytest.approx(rss, rel=1e-8, abs=1e-11 * total)
            assert each.lower_bound <= rss + 1e-12 * total
            assert each.status == "OPTIMAL"
            same = [s for value, s in rows if abs(value - rss) <= 1e-9 * total]
            assert tuple(each.support.tolist()) in same
            assert len(set(map(tuple, same))) == len(same)
            assert support in same


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(4))
def test_every_size_and_rank_is_that_of_enumeration(kind, part):
    for seed in range(18 * part, 18 * part + 18):
        table, n_best = random_table(seed, kind), 1 + seed % 4
        found = cardqp.all_subsets(
            table.X, table.y, max_size=12, n_best=n_best, **table.options
        )
        assert_same(found, table, n_best)


@pytest.mark.parametrize("way", ["callback", "ctrl-c"])
def test_branch_and_bound_is_a_part_of_the_search(monkeypatch, way):
    # Nothing is searched by dropping variables.
    monkeypatch.setattr("cardqp.subsets.listing.FIRST", 0)
    monkeypatch.setattr("cardqp.subsets.listing.MOST_EXPECTED", -1.0)
    table, stages = random_table(1, "plain"), []

    def end(progress):
        stages.append(progress.stage)
        if not progress.stage.startswith("subsets of 2, "):
            return False
        if way == "ctrl-c":
            signal.raise_signal(signal.SIGINT)
        return way == "callback"

    found = cardqp.all_subsets(table.X, table.y, n_best=1, callback=end)
    assert found.at(1).status == "OPTIMAL"
    assert found.sizes[-1] <= 2
    expected = Stop.CALLBACK if way == "callback" else Stop.INTERRUPTED
    assert found.stop is expected
    assert f"are missing: {expected.value}." in found.notes[-1]
    assert not any(stage.startswith("subsets of 3") for stage in stages)


def cut_short(monkeypatch, stops):
    """Let branch and bound list two subsets of some sizes, and end there."""
    monkeypatch.setattr("cardqp.subsets.listing.FIRST", 0)
    monkeypatch.setattr("cardqp.subsets.listing.MOST_EXPECTED", -1.0)

    def fewer(problem, *args, **options):
        found = alternatives(problem, *args, **options)
        stop = stops.get(problem.sparsity)
        if stop is None:
            return found
        return replace(
            found, solutions=found.solutions[:2], is_complete=False, stop=stop
        )

    monkeypatch.setattr("cardqp.subsets.sizes.alternatives", fewer)


@pytest.mark.parametrize("stop", [Stop.STALLED, Stop.NODE_LIMIT])
def test_ranks_that_are_missing_are_named(monkeypatch, stop):
    cut_short(monkeypatch, {1: stop, 2: stop})
    table = random_table(1, "plain")
    found = cardqp.all_subsets(table.X, table.y, max_size=3, n_best=4)
    assert found.notes == (f"Ranks 3 to 4 of sizes 1, 2 are missing: {stop.value}.",)
    listed = [(each.size, each.rank) for each in found]
    assert listed == [
        (0, 1),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        *((3, k) for k in (1, 2, 3, 4)),
    ]
    found = cardqp.all_subsets(table.X, table.y, max_size=2, n_best=3)
    assert found.notes == (f"Rank 3 of sizes 1, 2 is missing: {stop.value}.",)
    assert cardqp.all_subsets(table.X, table.y, max_size=2, n_best=2).notes == ()


def test_ranks_that_do_not_exist_are_not_missing(monkeypatch):
    monkeypatch.setattr("cardqp.subsets.listing.FIRST", 0)
    monkeypatch.setattr("cardqp.subsets.listing.MOST_EXPECTED", -1.0)
    table = random_table(2, "plain")
    n = table.X.shape[1]
    found = cardqp.all_subsets(table.X, table.y, max_size=n, n_best=100)
    assert len(found) == 2**n
    assert found.notes == ()
    assert_same(found, table, 100)


def test_a_search_that_runs_to_its_end():
    table = random_table(1, "duplicate")
    found = cardqp.all_subsets(table.X, table.y, max_size=12)
    assert found.stop is Stop.COMPLETED
    assert found.notes[-1] == (
        f"Sizes above {found.sizes[-1]} are missing: no subset of independent features "
        "was found."
    )


def test_all_ranks_where_there_are_more_features_than_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 45))
    y = 2 * X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(30)
    found = cardqp.all_subsets(X, y, max_size=2, n_best=3)
    expected = enumerated(Table(X, y), most=2)
    for each in found:
        rss, support = expected[each.size][each.rank - 1]
        assert each.rss == pytest.approx(rss)
        assert tuple(each.support.tolist()) == support
        assert each.status == "OPTIMAL"
    assert len(found) == 1 + 6


@pytest.mark.parametrize("N", [5, 8, 9])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_size_is_beyond_what_rows_can_tell_apart(N, fit_intercept):
    # As many features as rows, more, and fewer: sizes end where fits are perfect.
    rng = np.random.default_rng(N)
    table = Table(rng.standard_normal((N, 8)), 3.0 * rng.standard_normal(N))
    table.options["fit_intercept"] = fit_intercept
    rank = min(N - fit_intercept, 8)
    found = cardqp.all_subsets(table.X, table.y, max_size=99, n_best=4, **table.options)
    assert found.sizes == tuple(range(rank + 1))
    total = ((table.y - fit_intercept * table.y.mean()) ** 2).sum()
    for size, rows in enumerated(table).items():
        counted = [
            rss
            for rss, support in rows
            if least_eigenvalue(table.X, support, fit_intercept) > 1e-4 or rank == 8
        ]
        listed = [each for each in found if each.size == size]
        # Where fits are perfect, all are equal but for rounding.
        assert [each.rss for each in listed] == pytest.approx(
            counted[: len(listed)], rel=1e-7, abs=1e-10 * total
        )
        assert len(listed) == min(4, len(counted))
    if rank < 8:
        assert "Linearly dependent" in found.notes[0]
        assert found.notes[-1].startswith(f"Sizes above {rank} are missing")
    assert np.isnan(found.at(rank).measures["adjusted_r2"]) == (
        rank == N - fit_intercept
    )


def test_cp_of_perfect_fits_is_not_known():
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(ParameterError, match="`criterion` must be another than cp"):
        cardqp.all_subsets(X, X[:, 0] - X[:, 3], criterion="cp")


def test_no_time_at_all():
    table = random_table(1, "plain")
    with pytest.raises(NotSolvedError, match="found: the time limit was reached"):
        cardqp.all_subsets(table.X, table.y, time_limit=0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_null_model_comes_first_and_may_be_chosen(fit_intercept):
    rng = np.random.default_rng(3)
    X, noise = (
        rng.standard_normal((50, 4)),
        2.0 * fit_intercept + rng.standard_normal(50),
    )
    found = cardqp.all_subsets(X, noise, fit_intercept=fit_intercept)
    null = found.at(0)
    fit = sm.OLS(noise, np.ones(50)).fit()
    expected = fit.ssr if fit_intercept else noise @ noise
    assert null.rss == null.lower_bound == pytest.approx(expected)
    assert (null.features, null.status, null.measures["r2"]) == ((), "OPTIMAL", 0.0)
    assert null.intercept == pytest.approx(noise.mean() if fit_intercept else 0.0)
    if fit_intercept:
        assert null.measures["bic"] == pytest.approx(fit.bic)
        assert null.measures["aic"] == pytest.approx(fit.aic)
    assert found.best("bic") is null
    assert "(none)  <" in str(found)
    assert cardqp.all_subsets(X, noise, always_include=[1]).sizes == (1, 2, 3, 4)


@pytest.mark.parametrize("n", [3, 60])
def test_a_target_that_does_not_vary(n):
    X = np.random.default_rng(0).standard_normal((40, n))
    found = cardqp.all_subsets(X, np.full(40, 0.1))
    assert found.sizes == (0,)
    assert found.notes[-1] == "Sizes above 0 are missing: the target does not vary."
    best = found.best()
    assert (best.intercept, best.rss) == (pytest.approx(0.1), pytest.approx(0.0))
    assert np.isnan(best.measures["r2"])
    with pytest.raises(NotSolvedError, match="found: the target does not vary"):
        cardqp.all_subsets(X, np.full(40, 0.1), always_include=[0])


def test_a_constant_column_changes_nothing_else():
    # Two columns that nearly depend explain together what neither does alone.
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 60))
    X = np.column_stack([a, a + 0.005 * b, c])
    y = b + 0.1 * rng.standard_normal(60)
    alone = cardqp.all_subsets(X, y)
    beside = cardqp.all_subsets(np.column_stack([np.full(60, 7.1), X]), y)
    assert alone.best().support.tolist() == [0, 1]
    assert beside.best().support.tolist() == [1, 2]
    assert [s.rss for s in beside] == pytest.approx([s.rss for s in alone])
    assert beside.notes[0] == "Constant, and in no subset: x0."
    # Without an intercept it is a column as any other.
    table = Table(np.column_stack([np.full(60, 7.1), X]), y, {"fit_intercept": False})
    assert_same(cardqp.all_subsets(table.X, y, n_best=1, fit_intercept=False), table, 1)


def test_among_equals_the_first_is_chosen():
    table = random_table(3, "duplicate")
    n = table.X.shape[1]
    found = cardqp.all_subsets(table.X, table.y, n_best=4)
    assert found.best("bic").rank == found.best("aic").rank == 1
    together = f"Linearly dependent, and not chosen together: x0, x{n - 1}."
    assert found.notes[0].startswith(together)


def test_mallows_cp_is_not_known_without_errors():
    table = random_table(1, "plain")
    few = table.X.shape[1] + 1
    with pytest.raises(ParameterError, match="`criterion` must be another than cp"):
        cardqp.all_subsets(table.X[:few], table.y[:few], criterion="cp")


@pytest.mark.parametrize("n_best", [1, 3])
def test_nearly_dependent_columns_hide_nothing(n_best):
    # Beside two equal columns there are three that nearly depend, and would gain most.
    rng = np.random.default_rng(0)
    noise = np.column_stack([np.ones(200), rng.standard_normal((200, 4))])
    a, b, e, z = 200**0.5 * np.linalg.qr(noise)[0][:, 1:].T
    X = np.column_stack([a, b, b + 0.003 * a + 1e-4 * e, z, z])
    table = Table(X, 3 * e + 0.3 * z + 0.2 * a)
    found = cardqp.all_subsets(X, table.y, n_best=n_best)
    assert found.sizes == (0, 1, 2, 3)
    for size, rows in enumerated(table).items():
        counted = [rss for rss, support in rows if least_eigenvalue(X, support) > 1e-4]
        listed = [each.rss for each in found if each.size == size]
        assert listed == pytest.approx(counted[:n_best])


def least_eigenvalue(X, support, is_centred=True):
    if not support:
        return 1.0
    columns = X[:, support] - is_centred * X[:, support].mean(axis=0)
    scaled = columns / np.sqrt((columns**2).sum(axis=0))
    return np.linalg.eigvalsh(scaled.T @ scaled)[0]


def test_as_many_rows_as_there_are_targets():
    table = random_table(1, "plain")
    frame = pd.DataFrame(table.X)
    frame.columns = [f"c{j}" for j in frame.columns]
    with pytest.raises(ProblemError, match="same number of rows"):
        cardqp.all_subsets(frame, table.y[:-1])
    with pytest.raises(ParameterError, match="`criterion` must be one of"):
        cardqp.all_subsets(frame, table.y).plot(criterion="r2")
