"""Variables that share a switch."""

import numpy as np
import pytest

from cardqp import ProblemError, SparseQP, Status, best_response, safe_screen, solve
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.certificate import Certificate, Kind, ProofLog
from tests.problems import enumerate_optimum, random_problem, rebuilt


def regression(**settings):
    """Twelve columns in four blocks, of which the second and the last matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = X[:, 3:6].sum(axis=1) - X[:, 9:].sum(axis=1) + 0.5 * rng.standard_normal(60)
    blocks = np.repeat([7, 2, 5, 3], 3)
    return SparseQP.from_regression(X, y, eta=10.0, blocks=blocks, **settings)


def test_whole_blocks_are_chosen():
    solution = solve(regression(sparsity=2))
    assert solution.status is Status.OPTIMAL
    assert solution.support.tolist() == [3, 4, 5, 9, 10, 11]
    assert solution.verify().ok


def test_a_block_pays_once():
    problem = regression(penalty=0.1)
    x = np.zeros(12)
    x[3:5] = 1.0
    free = SparseQP(problem.Q, problem.c, eta=10.0, sparsity=12)
    smooth = free.objective(x) + problem.constant
    assert problem.objective(x) == pytest.approx(smooth + 0.1)
    assert problem.support_of(x).tolist() == [3, 4, 5]
    assert problem.feasibility(x).holds()


def test_blocks_of_one_variable_change_nothing():
    for seed in range(6):
        problem = random_problem("rows+bounds", seed)
        alone = rebuilt(problem, blocks=np.arange(problem.n)[::-1])
        first, second = solve(problem, gap=1e-6), solve(alone, gap=1e-6)
        assert first.status is second.status
        if first.x is not None:
            assert second.objective == pytest.approx(first.objective, rel=2e-6)


def test_what_is_forced_is_a_whole_block():
    problem = regression(sparsity=2, forced_in=[0], forced_out=[10])
    assert problem.forced_in.tolist() == [0, 1, 2]
    assert problem.forced_out.tolist() == [9, 10, 11]
    assert solve(problem).support.tolist() == [0, 1, 2, 3, 4, 5]


def test_screening_decides_whole_blocks():
    problem = regression(sparsity=2)
    screened = safe_screen(problem)
    for decided in (screened.zeros, screened.ones):
        assert problem.rule.blocks.closed(np.isin(np.arange(12), decided)).sum() == len(
            decided
        )
    candidates = best_response(problem, 3).candidates
    assert len(candidates) % 3 == 0


def test_minorants_hold_for_as_many_variables_as_blocks_have():
    problem = regression(sparsity=2)
    assert problem.rule.width == 6
    minorant = sparse_minorant(problem, 0.9 * problem.Q)
    optimum, _ = enumerate_optimum(problem)
    assert enumerate_optimum(minorant)[0] <= optimum + 1e-9 * abs(optimum)


def test_a_long_run_goes_on_later():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 30)) + rng.standard_normal((40, 1))
    y = X[:, ::4].sum(axis=1) + 3.0 * rng.standard_normal(40)
    problem = SparseQP.from_regression(
        X, y, eta=5.0, sparsity=4, blocks=np.arange(30) // 3
    )
    begun = solve(problem, node_limit=3, gap=1e-7)
    done, whole = solve(problem, resume=begun, gap=1e-7), solve(problem, gap=1e-7)
    assert done.status is whole.status is Status.OPTIMAL
    assert done.objective == pytest.approx(whole.objective, rel=1e-6)
    assert done.verify().ok


def test_a_block_of_many_variables_is_not_beyond_the_limit():
    """A forged proof must not count the variables of a block that is switched on."""
    problem = regression(sparsity=1, forced_in=[0])
    log = ProofLog(0, 12)
    log.open(1)
    log.record(0, Kind.COMPLETED)
    assert Certificate((), log.tree()).lower_bound(problem) == -np.inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"blocks": [0, 1]}, "`blocks` must give the block of each of the 3"),
        ({"blocks": [0.0, 1.0, 1.0]}, "`blocks` must give the block of each"),
        (
            {"blocks": [0, 0, 1], "groups": [0, 0, 0], "group_sparsity": 1},
            "`blocks` and `groups` exclude each other",
        ),
        (
            {"blocks": [0, 0, 1], "lower": [0.1, 0.0, 0.0]},
            "`blocks` need bounds that 0 is between",
        ),
        (
            {"blocks": [0, 0, 1], "forced_in": [0, 2]},
            "it names 2 blocks, and `sparsity` is 1",
        ),
        (
            {"blocks": [0, 0, 1], "forced_in": [0], "forced_out": [1]},
            "`forced_out` must not name what `forced_in` names",
        ),
    ],
)
def test_refuses(settings, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1, **settings)
