from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from benchmarks.instances import standardised
from benchmarks.leaps import by_cardqp
from benchmarks.prediction import BEGIN, END
from benchmarks.ridge import expected_error
from benchmarks.scale_rows import shown
from benchmarks.selectors import choosers, on_random, on_tables
from benchmarks.selectors.__main__ import main
from benchmarks.selectors.choosers import (
    SEQUENTIAL,
    best_of_each_size,
    sequential,
    timed,
)
from benchmarks.selectors.limited import within
from benchmarks.selectors.on_random import BEST, Outcome, make, missed, summary
from benchmarks.selectors.referee import (
    DisagreementError,
    largest_difference,
    least_squares,
    loss,
    percent,
    proved,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

from cardqp.datasets import make_regression

LIMIT = 60.0


@pytest.fixture(scope="module")
def table():
    """Shifted columns, and a response that they explain in part."""
    case = make(4)
    return case.X[:, :9] + np.arange(9.0), case.y + 5.0


@pytest.fixture(scope="module")
def best(table):
    _, found = proved(*table, 4, LIMIT)
    return found


def squares(table, support):
    return least_squares(*table, np.array(support))[2]


def step_by_step(table, size, direction):
    """Forward or backward selection by the sum of squares, in the plainest way."""
    everything = set(range(table[0].shape[1]))
    chosen = set() if direction == "forward" else everything
    while len(chosen) != size:
        steps = everything - chosen if direction == "forward" else chosen
        moves = [sorted(chosen ^ {j}) for j in steps]
        chosen = set(min(moves, key=lambda support: squares(table, support)))
    return sorted(chosen)


class TestChoosers:
    @pytest.mark.parametrize("direction", ["forward", "backward"])
    @pytest.mark.parametrize("size", [1, 3, 6])
    def test_without_folds_steps_are_by_the_sum_of_squares(
        self, table, direction, size
    ):
        chosen = sequential(*table, size, direction=direction)
        assert chosen[size].tolist() == step_by_step(table, size, direction)

    def test_with_folds_the_score_is_that_of_cross_validation(self, table):
        X, y = table
        model = LinearRegression()
        scores = [cross_val_score(model, X[:, [j]], y, cv=5).mean() for j in range(9)]
        chosen = SEQUENTIAL["forward, 5 folds"](X, y, 1)
        assert chosen[1].tolist() == [np.argmax(scores)]

    def test_the_highest_score_of_each_size_is_kept(self):
        scored = [(0.1, (0,)), (0.3, (2,)), (0.2, (1,)), (0.6, (0, 1)), (0.5, (0, 2))]
        found = best_of_each_size(scored)
        assert {k: each.tolist() for k, each in found.items()} == {1: [2], 2: [0, 1]}

    def test_mlxtend_finds_the_best_subsets(self, table, best):
        pytest.importorskip("mlxtend", reason="mlxtend is not installed")
        chosen = choosers.exhaustive(*table, 4)
        assert largest_difference(*table, chosen, best) < 1e-12

    def test_it_is_said_that_mlxtend_is_missing(self, monkeypatch):
        monkeypatch.setattr(choosers, "find_spec", lambda _: None)
        with pytest.raises(SystemExit, match="pip install mlxtend"):
            main([])


class TestReferee:
    def test_the_least_sum_of_squares_is_that_of_enumeration(self, table, best):
        for size in best:
            least = min(squares(table, each) for each in combinations(range(9), size))
            assert best[size].rss == pytest.approx(least, rel=1e-12)

    def test_the_best_loses_nothing_and_others_what_they_lose(self, table, best):
        assert loss(*table, best[2].support, best[2]) == 0.0
        other = np.array([0, 1])
        lost = squares(table, other) / best[2].rss - 1.0
        assert lost > 0.0
        assert loss(*table, other, best[2]) == pytest.approx(lost)

    def test_a_better_subset_than_the_proved_one_ends_the_run(self, table, best):
        with pytest.raises(DisagreementError, match="better than the proved"):
            loss(*table, best[2].support, worse(best[2]))

    def test_another_size_is_no_comparison(self, table, best):
        with pytest.raises(DisagreementError, match="3 features instead of 2"):
            loss(*table, best[3].support, best[2])

    def test_exhaustive_searches_must_agree(self, table, best):
        chosen = {size: each.support for size, each in best.items()}
        assert largest_difference(*table, chosen, best) < 1e-12
        with pytest.raises(DisagreementError, match=r"differ by 1\.0e-08"):
            largest_difference(*table, chosen, best | {2: worse(best[2])})
        del chosen[4]
        with pytest.raises(DisagreementError, match="sizes"):
            largest_difference(*table, chosen, best)


def test_leaps_has_no_null_model(table):
    _, found = by_cardqp(*table, 2, 3, LIMIT)
    assert [(each.size, each.rank) for each in found] == [
        (size, rank) for size in (1, 2) for rank in (1, 2, 3)
    ]


def worse(subset):
    """A subset that is said to have a larger sum of squares than it has."""
    return replace(subset, rss=subset.rss * (1 + 1e-8))


@pytest.mark.slow
class TestLimit:
    def test_an_answer_within_the_limit_is_that_of_this_process(self, table):
        seconds, chosen = within(LIMIT, SEQUENTIAL["backward"], *table, 3)
        assert 0.0 < seconds < LIMIT
        assert chosen[3].tolist() == step_by_step(table, 3, "backward")

    def test_beyond_the_limit_there_is_none(self, table):
        assert within(0.01, SEQUENTIAL["backward, 5 folds"], *table, 2) is None

    def test_a_selector_that_fails_is_not_open(self, table):
        with pytest.raises(RuntimeError, match="ended with code 1"):
            within(LIMIT, SEQUENTIAL["forward"], *table, 9)


@pytest.fixture
def quick(monkeypatch):
    """The ways of scikit-learn that do not take seconds for a random table."""
    ways = {name: SEQUENTIAL[name] for name in ("forward", "backward")}
    monkeypatch.setattr(on_random, "SEQUENTIAL", ways)
    return ways


class TestRandomTables:
    def test_correlations_and_ratios_have_their_turns(self):
        cases = [make(number) for number in range(20)]
        grid = {(case.rho, case.snr) for case in cases}
        assert grid == {(r, s) for r in on_random.CORRELATIONS for s in (1.0, 3.0)}
        assert {np.count_nonzero(case.coefficients) for case in cases} == {8}
        widths = {case.X.shape[1] for case in cases}
        assert min(widths) >= 15
        assert max(widths) <= 30
        assert len(widths) > 5

    def test_the_expected_error_is_that_of_many_rows(self):
        data = make_regression(400_000, 6, sparsity=3, correlation=0.7, snr=2.0, seed=3)
        coef = data.coefficients + np.array([0.3, 0.0, -0.4, 0.5, 0.0, 0.0])
        residual = data.y - data.X @ coef - 0.5
        noise = data.y - data.X @ data.coefficients
        seen = (residual @ residual) / (noise @ noise)
        error = expected_error(data.coefficients, 0.7, 2.0)
        assert error(coef, 0.5) == pytest.approx(seen, rel=0.01)
        assert error(data.coefficients, 0.0) == 1.0

    def test_the_best_subset_is_never_worse(self, quick):
        found = list(on_random.outcomes(2, [2], LIMIT))
        assert [o.chooser for o in found] == 2 * [BEST, *quick]
        assert all(o.loss == 0.0 for o in found if o.chooser == BEST)
        assert all(o.loss >= 0.0 and o.error > 1.0 for o in found)

    def test_the_median_is_that_of_the_tables_that_are_missed(self):
        losses = (0.0, 0.01, 0.02, 0.09)
        some = [Outcome("forward", 0.5, 5, each, 2.0, 0.25) for each in losses]
        assert missed(some) == 0.75
        [row] = summary(some)
        assert row == "| 5 | forward | 75 % | 2 % | 9 % | 2.000 | 0.250 |"
        [row] = summary(some[:1])
        assert row == "| 5 | forward | 0 % |  | 0 % | 2.000 | 0.250 |"


class TestTables:
    @pytest.fixture
    def row(self, monkeypatch):
        """The cells of a row, where selectors run in this process."""
        monkeypatch.setattr(on_tables, "within", lambda _, *rest: timed(*rest))

        def cells(rows):
            [row] = rows(["diabetes"])
            return [cell.strip() for cell in row.strip("|").split("|")]

        return cells

    def test_steps_are_beside_the_best_subset(self, row):
        cells = row(lambda names: on_tables.sequential_rows(names, [5], LIMIT))
        header = on_tables.SEQUENTIAL_HEADER.strip("|").split("|")
        assert len(cells) == len(header)
        assert cells[:3] == ["diabetes", "10", "5"]
        X, y = standardised(*on_tables.tables()["diabetes"]())
        least = min(squares((X, y), each) for each in combinations(range(10), 5))
        steps = squares((X, y), step_by_step((X, y), 5, "forward"))
        assert cells[4].endswith(f", +{percent(steps / least - 1)}")

    def test_enumeration_is_beside_the_proof(self, row, monkeypatch):
        def enumerate_all(X, y, size):
            sizes = range(1, size + 1)
            best = (
                min(combinations(range(10), k), key=lambda s: squares((X, y), s))
                for k in sizes
            )
            return dict(zip(sizes, map(np.array, best), strict=True))

        monkeypatch.setattr(on_tables, "exhaustive", enumerate_all)
        monkeypatch.setattr(on_tables, "ENUMERATED", (("diabetes", 3),))
        cells = row(lambda names: on_tables.exhaustive_rows(names, LIMIT))
        assert cells[:5] == ["diabetes", "442", "10", "3", "175"]
        assert float(cells[8]) < 1e-12
        assert len(cells) == on_tables.EXHAUSTIVE_HEADER.count("|") - 1

    def test_what_is_not_done_is_open(self, row, monkeypatch):
        monkeypatch.setattr(on_tables, "within", lambda *_: None)
        cells = row(lambda names: on_tables.sequential_rows(names, [2], 1.5))
        assert cells[4:] == ["open after 1.5 s"] * len(SEQUENTIAL)
        monkeypatch.setattr(on_tables, "ENUMERATED", (("diabetes", 2),))
        cells = row(lambda names: on_tables.exhaustive_rows(names, 1.5))
        assert cells[6:] == ["open after 1.5 s", "", ""]


def test_rows_are_printed_as_they_come(capsys):
    def rows():
        yield "| 1 |"
        assert capsys.readouterr().out == "| a |\n|---|\n| 1 |\n"
        yield "| 2 |"

    assert list(shown("| a |", rows())) == ["| a |", "|---|", "| 1 |", "| 2 |"]


@pytest.mark.slow
def test_the_page_has_the_tables_and_the_picture(tmp_path, capsys, quick):
    pytest.importorskip("mlxtend", reason="mlxtend is not installed")
    page = tmp_path / "selectors.md"
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    arguments = ["--only", "none", "--random", "2", "--sizes", "2"]
    main([*arguments, "--publish", str(page)])
    text, printed = page.read_text(), capsys.readouterr().out.splitlines()
    assert all(line in text for line in printed)
    assert sum(line.startswith("| 2 |") for line in printed) == 1 + len(quick)
    assert "### 2 random tables" in text
    assert text.startswith("before\n")
    assert "(selectors.png)" in text
    assert (tmp_path / "selectors.png").stat().st_size > 1000
