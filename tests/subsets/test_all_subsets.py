"""All best subsets against enumeration."""

import signal

import numpy as np
import pandas as pd
import pytest

import cardqp
from cardqp._iterate import Stop
from cardqp.exceptions import NotSolvedError, ParameterError, ProblemError
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


def test_a_search_that_runs_to_its_end():
    table = random_table(1, "duplicate")
    found = cardqp.all_subsets(table.X, table.y, max_size=12)
    assert found.stop is Stop.COMPLETED
    missing = f"Sizes above {found.sizes[-1]} are missing: no subset was found."
    assert found.notes[-1] == missing


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
    assert len(found) == 6


def test_no_time_at_all():
    table = random_table(1, "plain")
    with pytest.raises(NotSolvedError, match="found: the time limit was reached"):
        cardqp.all_subsets(table.X, table.y, time_limit=0)


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
    assert found.sizes == (1, 2, 3)
    for size, rows in enumerated(table).items():
        counted = [rss for rss, support in rows if least_eigenvalue(X, support) > 1e-4]
        listed = [each.rss for each in found if each.size == size]
        assert listed == pytest.approx(counted[:n_best])


def least_eigenvalue(X, support):
    correlation = np.atleast_2d(np.corrcoef(X[:, support], rowvar=False))
    return np.linalg.eigvalsh(correlation)[0]


def test_as_many_rows_as_there_are_targets():
    table = random_table(1, "plain")
    frame = pd.DataFrame(table.X)
    frame.columns = [f"c{j}" for j in frame.columns]
    with pytest.raises(ProblemError, match="same number of rows"):
        cardqp.all_subsets(frame, table.y[:-1])
    with pytest.raises(ParameterError, match="`criterion` must be one of"):
        cardqp.all_subsets(frame, table.y).plot(criterion="r2")
