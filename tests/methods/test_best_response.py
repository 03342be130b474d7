import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Stop, best_response, spectrum
from cardqp.methods.best_response import BestResponse
from cardqp.methods.reply import reply_to_dual, reply_to_support
from tests.problems import KINDS, enumerate_optimum, random_problem


def next_support(level, support):
    dual, _ = reply_to_support(level, support)
    return reply_to_dual(level, dual).support


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_fixed_points_are_optimal_for_their_level_and_cycles_are_true(kind, seed):
    problem = random_problem(kind, seed)
    components = spectrum(problem)
    for k in {1, problem.n // 2, problem.n} - {0}:
        level = components.level(k)
        found = best_response(problem, k, spectrum=components)
        for now, after in zip(
            found.cycle, [*found.cycle[1:], *found.cycle[:1]], strict=True
        ):
            np.testing.assert_array_equal(next_support(level, now), after)
        if found.stop is Stop.FIXED_POINT:
            optimum, _ = enumerate_optimum(level.truncated)
            value = max(found.trace.bounds)
            assert value == pytest.approx(optimum, rel=1e-6, abs=1e-8)


def cycling_problem():
    for seed in range(100):
        problem = random_problem("free", seed)
        if best_response(problem).stop is Stop.CYCLE:
            return problem
    raise AssertionError("no random problem makes best response cycle")


def test_candidates_are_the_union_of_the_cycle():
    found = best_response(cycling_problem())
    assert len(found.cycle) >= 2
    assert found.candidates.tolist() == sorted(set(np.concatenate(found.cycle)))
    assert not np.array_equal(found.cycle[0], found.cycle[1])


@pytest.mark.parametrize(("max_iter", "window"), [(20, 6), (7, 1), (3, 10), (1, 1)])
def test_window_is_the_last_supports_of_a_fixed_number_of_iterations(max_iter, window):
    problem = cycling_problem()
    level = spectrum(problem).level(problem.n)
    support = reply_to_dual(level, level.zero()).support
    visited = []
    for _ in range(max_iter):
        support = next_support(level, support)
        visited.append(support)
    expected = sorted(set(np.concatenate(visited[-window:])))
    found = best_response(problem, problem.n, max_iter=max_iter, window=window)
    assert found.candidates.tolist() == expected


def test_paper_reply_without_rows_is_the_same():
    """alpha = -(I/eta + F_z F_z')^-1 F_z c_z, the paper's formula in k dimensions."""
    problem = SparseQP(
        random_problem("free", 2).Q, random_problem("free", 2).c, eta=3.0, sparsity=2
    )
    level = spectrum(problem).level(problem.n)
    support = np.array([0, 2])
    Fz = level.factor[:, support]
    expected = -np.linalg.solve(
        np.eye(level.k) / 3.0 + Fz @ Fz.T, Fz @ problem.c[support]
    )
    found, is_attained = reply_to_support(level, support)
    assert is_attained
    np.testing.assert_allclose(found.alpha, expected, atol=1e-10)


def test_infeasible_support_is_answered_by_a_ray():
    problem = SparseQP(
        np.eye(4),
        [-5.0, -4.0, 0.0, 0.1],
        eta=1.0,
        sparsity=2,
        A_eq=[[0.0, 0.0, 1.0, 1.0]],
        b_eq=[1.0],
    )
    found = best_response(problem)
    assert set(found.candidates) & {2, 3}
    assert found.trace.supports[0].tolist() == [0, 1]
    assert np.isfinite(found.lower_bound)


@pytest.mark.parametrize("kind", ["infeasible", "infeasible at this sparsity"])
def test_empty_problems_end_with_a_proof(kind):
    found = best_response(random_problem(kind, 1))
    assert found.stop is Stop.INFEASIBLE
    assert found.x is None


def test_proved_zeros_and_ones_agree_with_the_optimum():
    proved = 0
    for seed in range(30):
        problem = random_problem("free", seed)
        found = best_response(problem, problem.n)
        _, support = enumerate_optimum(problem)
        assert not set(found.zeros) & set(support)
        assert set(found.ones) <= set(support)
        proved += len(found.zeros) + len(found.ones)
    assert proved > 0


def test_limits_and_callback():
    problem = cycling_problem()
    assert best_response(problem, max_iter=1).stop is Stop.MAX_ITER
    stopped = best_response(problem, callback=lambda p: p.n_iter >= 2)
    assert stopped.stop is Stop.CALLBACK
    assert best_response(problem, time_limit=0.0).stop is Stop.TIME_LIMIT


@pytest.mark.parametrize("settings", [{"max_iter": 0}, {"window": 0}])
def test_bad_settings(settings):
    with pytest.raises(ParameterError, match="must be an integer, at least 1"):
        best_response(random_problem("free", 0), **settings)


def test_methods_are_settings_only():
    assert BestResponse() == BestResponse(max_iter=50, window=None)


def test_proofs_allow_for_the_rounding_of_the_upper_bound():
    """With equalities a fit is feasible only up to rounding; proofs must not care."""
    for seed in range(200):
        problem = random_problem("equality", seed)
        if problem.n > 7:
            continue
        found = best_response(problem)
        optimum, support = enumerate_optimum(problem)
        if np.isfinite(optimum):
            assert not set(found.zeros) & set(support)
            assert set(found.ones) <= set(support)
