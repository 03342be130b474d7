import json
import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from benchmarks.peers.adapters.prices import find_price
from benchmarks.peers.environments import PEERS, last_line
from benchmarks.peers.records import OURS, Record, Records, geometric_mean, ratio
from benchmarks.peers.referee import TOLERANCE, judge
from benchmarks.peers.runner import Claim
from benchmarks.peers.tasks import Reference, Task, price_between

import cardqp
from cardqp.datasets import make_regression
from cardqp.subproblems.support_qp import fit_support

LIMIT = 60.0


def make_problem(n_samples=30, n_features=12):
    data = make_regression(n_samples, n_features, sparsity=3, correlation=0.5, seed=1)
    return cardqp.SparseQP.from_regression(data.X, data.y, eta=5.0, sparsity=3)


@pytest.fixture(scope="module")
def problem():
    return make_problem()


def best(problem, sparsity):
    """The optimum by enumeration, which needs no compiled code to be loaded."""
    supports = combinations(range(problem.n), sparsity)
    fits = (fit_support(problem, np.array(support)) for support in supports)
    return min(fits, key=lambda fit: fit.objective)


@pytest.fixture(scope="module")
def optimum(problem):
    return best(problem, 3)


@pytest.fixture(scope="module")
def reference(optimum):
    lower_bound = optimum.objective * (1 - 1e-6)
    return Reference(optimum.objective, lower_bound, float(np.abs(optimum.x).max()))


@pytest.fixture(scope="module")
def claim(optimum):
    return Claim(optimum.x, optimum.objective * (1 - 5e-5), True, 1.0)


class TestReferee:
    def test_a_sound_claim_is_a_proof(self, problem, reference, claim):
        verdict = judge(problem, reference, claim, LIMIT)
        assert verdict.status == "proved"
        assert verdict.objective == pytest.approx(reference.objective, rel=1e-12)
        assert verdict.gap == pytest.approx(5e-5, rel=1e-6)
        assert verdict.certified_gap == pytest.approx(1e-6, rel=1e-6)

    def test_the_support_is_fitted_again(self, problem, reference, claim):
        verdict = judge(problem, reference, replace(claim, x=2 * claim.x), LIMIT)
        assert verdict.objective == pytest.approx(reference.objective, rel=1e-12)

    @pytest.mark.parametrize(
        "change",
        [
            {"claims_optimal": False},
            {"seconds": LIMIT + 1},
            {"bound": math.nan},
            {"bound": 0.0},
        ],
    )
    def test_half_a_proof_is_open(self, problem, reference, claim, change):
        assert judge(problem, reference, replace(claim, **change), LIMIT).status == (
            "open"
        )

    def test_a_bound_above_a_known_point_is_wrong(self, problem, reference, claim):
        high = replace(claim, bound=reference.objective * (1 + 2 * TOLERANCE))
        assert judge(problem, reference, high, LIMIT).status == "wrong"

    def test_another_support_is_wrong(self, problem, reference, claim):
        x = np.roll(claim.x, 1)
        moved = replace(claim, x=x, bound=-1.0)
        assert judge(problem, reference, moved, LIMIT).status == "wrong"

    @pytest.mark.parametrize("count", [2, 4])
    def test_another_number_of_nonzeros_is_no_proof(
        self, problem, reference, claim, count
    ):
        x = np.zeros(problem.n)
        x[:count] = 1.0
        other = replace(claim, x=x)
        assert judge(problem, reference, other, LIMIT).status == "sparsity"

    def test_a_point_below_our_bound_is_noticed(self, problem, reference, claim):
        too_high = replace(reference, lower_bound=1.1 * reference.objective)
        assert judge(problem, too_high, claim, LIMIT).status == "BELOW"


@pytest.mark.parametrize("shape", [(30, 12), (12, 12), (8, 12)])
def test_compressed_rows_have_the_same_objective(shape):
    problem = make_problem(*shape)
    task = Task.of(problem)
    assert len(task.y) <= problem.n + 1
    x = np.random.default_rng(0).standard_normal(problem.n)
    residual = task.y - task.X @ x
    ridge = task.units * problem.ridge[0]
    total = residual @ residual + ridge * (x @ x)
    # The square roots of small eigenvalues lose half of the digits.
    assert total / task.units == pytest.approx(problem.objective(x), rel=1e-7)


def test_at_the_price_the_number_of_nonzeros_is_ours(problem):
    optima = [best(problem, k).objective for k in range(5)]
    price = price_between(optima[2], optima[3], optima[4])
    assert np.argmin(optima + price * np.arange(5)) == 3


def test_without_a_price_there_is_none():
    assert price_between(10.0, 9.0, 7.0) is None


def row(solver, status="proved", seconds=1.0):
    return Record("rho 0.5", 0, solver, LIMIT, status, seconds)


class TestRatio:
    def test_the_best_peer_that_proves_counts(self):
        peers = {
            "a": row("a", "open", 0.1),
            "b": row("b", seconds=6.0),
            "c": row("c", seconds=4.0),
        }
        assert ratio(row(OURS, seconds=2.0), peers) == 2.0

    def test_no_peer_no_ratio(self):
        assert math.isnan(ratio(row(OURS), {"a": row("a", "open")}))

    def test_without_our_proof_we_are_charged_the_limit(self):
        ours = row(OURS, "open", 0.5)
        assert ratio(ours, {"a": row("a", seconds=6.0)}) == pytest.approx(0.1)

    def test_geometric_mean_skips_rows_without_ratio(self):
        assert geometric_mean([2.0, math.nan, 8.0]) == pytest.approx(4.0)
        assert math.isnan(geometric_mean([math.nan]))


class TestRecords:
    def test_what_is_in_the_file_is_found_again(self, tmp_path):
        path = tmp_path / "results" / "peers.jsonl"
        Records(path).add(row("a", seconds=3.0))
        found = Records(path).find("rho 0.5", 0, "a", LIMIT)
        assert (found.seconds, found.status) == (3.0, "proved")
        assert math.isnan(found.gap)

    def test_another_time_limit_is_another_row(self, tmp_path):
        path = tmp_path / "peers.jsonl"
        Records(path).add(row("a"))
        assert Records(path).find("rho 0.5", 0, "a", 10.0) is None

    def test_a_line_cut_short_is_forgotten(self, tmp_path):
        path = tmp_path / "peers.jsonl"
        Records(path).add(row("a"))
        whole = path.read_text()
        path.write_text(whole + whole[:20])
        Records(path).add(row("b"))
        again = Records(path)
        assert again.find("rho 0.5", 0, "a", LIMIT) is not None
        assert again.find("rho 0.5", 0, "b", LIMIT) is not None

    def test_lines_are_strict_json(self):
        def refuse(constant):
            raise AssertionError(constant)

        json.loads(row("a", seconds=math.inf).to_json(), parse_constant=refuse)


def test_every_peer_has_an_adapter():
    assert all(peer.adapter.exists() for peer in PEERS.values())


def test_the_last_error_is_quoted():
    assert last_line("ERROR: no such package\nWARNING: old pip\n") == (
        "ERROR: no such package"
    )
    assert last_line("one\ntwo\n\n") == "two"


@pytest.mark.parametrize("wanted", [1, 3, 7])
def test_a_price_for_a_number_of_nonzeros_is_found(wanted):
    gains = np.array([9.0, 5.0, 4.0, 2.0, 1.0, 0.5, 0.1, 0.01])
    prices = {10.0: 0}
    price = find_price(lambda p: int((gains > p).sum()), prices, wanted)
    assert (gains > price).sum() == wanted
    assert prices[price] == wanted


def test_no_price_where_the_number_of_nonzeros_jumps():
    assert find_price(lambda p: 0 if p > 1.0 else 4, {10.0: 0}, 2) is None
