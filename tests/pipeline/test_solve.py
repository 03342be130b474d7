import itertools
import signal
from fractions import Fraction

import numpy as np
import pytest

from cardqp import (
    ParameterError,
    ProblemError,
    SparseQP,
    Status,
    Stop,
    best_response,
    dual_program,
    solve,
    spectrum,
)
from cardqp.datasets import make_regression
from tests.problems import KINDS, enumerate_optimum, random_problem

METHODS = ("exact", "best-response", "dual-program")

ORACLE = 1e-7
"""Relative accuracy of the enumeration: nonnegative least squares in float64."""


def slack(optimum):
    return ORACLE * max(1.0, abs(optimum))


@pytest.mark.parametrize("kind", KINDS)
def test_solve_equals_enumeration(kind, any_seed):
    problem = random_problem(kind, any_seed)
    optimum, _ = enumerate_optimum(problem)
    for method in METHODS:
        solution = solve(problem, method=method)
        assert solution.verify().ok
        if np.isinf(optimum):
            assert solution.status is Status.INFEASIBLE
            assert solution.lower_bound == np.inf
            assert solution.x is None
            continue
        assert solution.lower_bound <= optimum + slack(optimum)
        assert solution.objective >= optimum - slack(optimum)
        assert problem.feasibility(solution.x).holds()
        if method == "exact":
            assert solution.status is Status.OPTIMAL
            assert solution.objective <= optimum + 1e-4 * abs(optimum) + slack(optimum)


@pytest.mark.parametrize("kind", [k for k in KINDS if "infeasible" not in k])
@pytest.mark.parametrize("seed", range(3))
def test_every_bound_of_every_level_and_iterate_is_below_the_optimum(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    components = spectrum(problem)
    for k, screen in itertools.product(
        range(1, problem.n + 1), (best_response, dual_program)
    ):
        found = screen(problem, k, spectrum=components)
        assert found.lower_bound <= optimum + slack(optimum)
        assert found.trace.bounds.max() <= optimum + slack(optimum)


@pytest.mark.parametrize(
    "kind", ["free", "penalty", "bounds", "rows", "rank-deficient"]
)
@pytest.mark.parametrize("seed", range(4))
def test_levels_rise_to_the_optimum(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    components = spectrum(problem)
    values = [
        solve(components.level(k).truncated, method="exact", gap=1e-9).objective
        for k in range(1, problem.n + 1)
    ]
    assert all(low <= high + slack(high) for low, high in itertools.pairwise(values))
    assert values[-1] == pytest.approx(optimum, rel=1e-6, abs=1e-9)


def regression(correlation=0.5, n=120, sparsity=5, **settings):
    data = make_regression(
        150, n, sparsity=sparsity, correlation=correlation, snr=3.0, seed=3
    )
    return SparseQP.from_regression(
        data.X, data.y, eta=10.0, sparsity=sparsity, **settings
    )


def test_larger_problem_is_proved_and_the_proof_replays():
    solution = solve(regression(), method="exact")
    assert solution.status is Status.OPTIMAL
    assert solution.stop is Stop.GAP
    assert solution.gap <= 1e-4
    assert solution.verify().lower_bound == pytest.approx(solution.lower_bound)


def test_methods_agree_on_a_larger_problem():
    problem = regression()
    exact = solve(problem, method="exact")
    for method in ("best-response", "dual-program"):
        other = solve(problem, method=method)
        assert other.lower_bound <= exact.objective * (1 + 1e-12)
        assert other.objective >= exact.lower_bound * (1 - 1e-12)
        assert [stage.name for stage in other.stages] == [
            "spectrum",
            "level",
            "screening",
            "reduced",
            "bound",
        ]


def test_candidates_that_leave_nothing_out_lead_to_a_proof():
    problem = SparseQP([[2.0, 1.0], [1.0, 2.0]], [-4.0, -4.1], eta=10.0, sparsity=1)
    assert len(best_response(problem).candidates) == 2
    solution = solve(problem, method="best-response")
    assert solution.status is Status.OPTIMAL
    assert [stage.name for stage in solution.stages][-2:] == ["screening", "search"]


def test_permuting_variables_permutes_the_answer():
    problem = random_problem("rows", 1)
    order = np.random.default_rng(0).permutation(problem.n)
    first = solve(problem, method="exact")
    second = solve(problem.restrict(order), method="exact")
    assert sorted(order[second.support]) == first.support.tolist()
    assert second.objective == pytest.approx(first.objective)


def test_scaling_the_objective_scales_the_value_and_leaves_x():
    problem = random_problem("rows", 2)
    scaled = SparseQP(
        1e3 * problem.Q,
        1e3 * problem.c,
        eta=problem.eta / 1e3,
        sparsity=problem.sparsity,
        A=problem.A,
        b=problem.b,
        constant=1e3 * problem.constant,
    )
    first, second = solve(problem, method="exact"), solve(scaled, method="exact")
    np.testing.assert_allclose(second.x, first.x, rtol=1e-6, atol=1e-9)
    assert second.objective == pytest.approx(1e3 * first.objective)


def test_runs_are_reproducible():
    problem = regression(correlation=0.9)
    first, second = (solve(problem, method="exact") for _ in range(2))
    assert first.n_nodes == second.n_nodes
    assert first.lower_bound == second.lower_bound
    np.testing.assert_array_equal(first.x, second.x)


def hard_problem():
    data = make_regression(40, 120, sparsity=12, correlation=0.9, snr=0.5, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=1000.0, sparsity=12)


def test_time_limit_keeps_the_best_answer():
    solution = solve(hard_problem(), method="exact", time_limit=0.3)
    assert solution.status is Status.FEASIBLE
    assert solution.stop is Stop.TIME_LIMIT
    assert np.isfinite(solution.lower_bound)
    assert solution.verify().ok


def test_no_time_at_all_still_gives_a_valid_answer():
    solution = solve(regression(), method="exact", time_limit=0.0)
    assert solution.status is Status.FEASIBLE
    assert solution.stop is Stop.TIME_LIMIT
    assert np.isfinite(solution.lower_bound)
    assert solution.verify().ok


def test_no_limit():
    assert solve(regression(), method="exact", time_limit=None).gap <= 1e-4


def test_callback_sees_progress_and_stops():
    seen = []

    def stop_at_ten(progress):
        seen.append(progress)
        return len(seen) == 10

    solution = solve(hard_problem(), method="exact", callback=stop_at_ten)
    assert solution.stop is Stop.CALLBACK
    assert solution.status is Status.FEASIBLE
    bounds = [progress.lower_bound for progress in seen]
    assert bounds == sorted(bounds)
    assert seen[-1].objective >= solution.lower_bound


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_keeps_the_best_answer(method):
    problem = hard_problem()
    solve(problem, method=method, time_limit=0.1)  # compiled before the clock starts
    calls = iter(range(3))

    def press_ctrl_c(_):
        if next(calls, None) == 2:
            signal.raise_signal(signal.SIGINT)

    solution = solve(problem, method=method, callback=press_ctrl_c)
    assert solution.stop is Stop.INTERRUPTED
    assert solution.verify().ok
    assert np.isfinite(solution.lower_bound)


@pytest.mark.parametrize(("kind", "seed"), [("rows", 38), ("rows+bounds", 77)])
def test_candidates_without_a_feasible_support_lead_to_a_search_everywhere(kind, seed):
    solution = solve(random_problem(kind, seed), method="best-response")
    names = [stage.name for stage in solution.stages]
    assert "reduced" in names
    assert names[-1] == "search"
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, "`method` must be one of exact"),
        ({"gap": -1.0}, "`gap` must be a number, at least 0"),
        ({"gap": np.nan}, "`gap` must be a number, at least 0"),
        ({"gap": "small"}, "`gap` must be a number, at least 0"),
        ({"time_limit": -1.0}, "`time_limit` must be a number, at least 0"),
        ({"callback": 3}, "`callback` must be a function"),
        (
            {"method": "exact", "level": 2},
            "`level` is for methods that work at one level",
        ),
        ({"spectrum": 3}, "`spectrum` must be a Spectrum"),
        ({"level": 0}, "`level` must lie between 1 and"),
        ({"level": 2.5}, "`level` must be an integer"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        solve(random_problem("free", 0), **{"method": "best-response"} | settings)


def factor_problem(**settings):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((8, 6))
    data = {"c": rng.standard_normal(6), "eta": 1.0, "sparsity": 2}
    return SparseQP(F.T @ F, **data | settings)


TRICKY = {
    "minimum variance": {
        "c": np.zeros(6), "A_eq": np.ones((1, 6)), "b_eq": [1.0], "lower": 0.0,
    },
    "a row through zero": {"A_eq": np.eye(6)[:1], "b_eq": [0.0], "sparsity": 6},
    "a difference of zero": {"A_eq": [[1.0, -1, 0, 0, 0, 0]], "b_eq": [0.0]},
    "only zero is feasible": {"A": np.ones((1, 6)), "b": [0.0], "lower": 0.0},
    "tiny bounds": {"lower": -1e-12, "upper": 1e-12},
    "tiny right-hand side": {"A": np.ones((1, 6)), "b": [1e-12], "lower": 0.0},
    "dependent equalities": {
        "A_eq": [[1.0] * 6, [0.3] * 6, [0.0] * 6], "b_eq": [1.0, 0.3, 0.0],
    },
    "rows that need certain variables": {"A": -np.eye(6)[:2], "b": -np.ones(2)},
    "bounds of no width": {"lower": 0.0, "upper": [0.0, 1, 1, 1, 1, 1]},
    "large numbers": {"c": 1e40 * np.ones(6), "constant": 1e60},
    "small numbers": {"c": 1e-40 * np.ones(6)},
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKY)
def test_tricky_problems_are_solved(name):
    problem = factor_problem(**TRICKY[name])
    for method in METHODS:
        solution = solve(problem, method=method)
        assert solution.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert solution.verify().ok
    exact = solve(problem, method="exact")
    assert exact.status is Status.OPTIMAL
    if "numbers" not in name and "tiny" not in name:
        optimum, _ = enumerate_optimum(problem)
        assert exact.objective == pytest.approx(optimum, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("sparsity", [0, 1])
def test_too_few_unbounded_variables_are_proved_too_few(sparsity):
    problem = SparseQP(
        np.eye(3), [1.0, 2.0, 3.0], eta=1.0, sparsity=sparsity, A_eq=np.eye(3)[:2],
        b_eq=[1.0, 1.0],
    )  # fmt: skip
    for method in METHODS:
        assert solve(problem, method=method).status is Status.INFEASIBLE


def test_constant_vector_in_the_kernel_of_q():
    ring = 2 * np.eye(50) - np.roll(np.eye(50), 1, 0) - np.roll(np.eye(50), -1, 0)
    problem = SparseQP(ring, -np.arange(50.0), eta=1.0, sparsity=3)
    assert solve(problem, method="exact").status is Status.OPTIMAL


@pytest.mark.parametrize("eta", [1e12, 1e16, 1e18])
def test_a_ridge_lost_in_rounding_is_said_to_be(eta):
    F = np.random.default_rng(0).standard_normal((3, 8))
    problem = SparseQP(F.T @ F, np.ones(8), eta=eta, sparsity=4)
    solution = solve(problem, method="exact", time_limit=5.0)
    assert solution.verify().ok
    if solution.lower_bound == -np.inf:
        assert "from_factor" in solution.advice


@pytest.mark.parametrize("eta", [1e10, 1e14, 1e16, 1e18])
@pytest.mark.parametrize("seed", range(12))
def test_a_ridge_near_rounding_proves_nothing_false(seed, eta):
    rng = np.random.default_rng(seed)
    F, c = rng.standard_normal((1, 3)), rng.standard_normal(3)
    problem = SparseQP.from_factor(F, c, eta=eta, sparsity=2)
    optimum = min(exact_value(problem, pair) for pair in ((0, 1), (0, 2), (1, 2)))
    for memory in (0, 2e9):
        solution = solve(problem, proof_memory=memory, time_limit=2.0)
        assert Fraction(solution.lower_bound) <= optimum
        assert solution.verify().ok


def exact_value(problem, pair):
    """The optimum on two variables of a problem given by one row, exactly."""
    f = [Fraction(float(problem.quadratic.array[0, j])) for j in pair]
    c = [Fraction(float(problem.c[j])) for j in pair]
    w = [1 / Fraction(float(problem.eta[j])) for j in pair]
    g = [[f[0] * f[0] + w[0], f[0] * f[1]], [f[0] * f[1], f[1] * f[1] + w[1]]]
    det = g[0][0] * g[1][1] - g[0][1] ** 2
    top = c[0] ** 2 * g[1][1] - 2 * c[0] * c[1] * g[0][1] + c[1] ** 2 * g[0][0]
    return -top / det / 4


@pytest.mark.parametrize("eta", [1e5, 1e8])
@pytest.mark.parametrize("seed", range(6))
def test_nearly_noise_free_data_end_with_a_sound_solution(seed, eta):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 20))
    y = X[:, :4].sum(axis=1) + 1e-6 * rng.standard_normal(15)
    problem = SparseQP.from_regression(X, y, eta=eta, sparsity=4)
    assert solve(problem, time_limit=5.0).verify().ok


def test_points_beyond_all_numbers_are_not_accepted():
    problem = SparseQP(np.zeros((2, 2)), [1e50, 1.0], eta=1e90, sparsity=1)
    solution = solve(problem, time_limit=2.0)
    assert solution.status is Status.FEASIBLE
    assert solution.verify().ok


def test_zero_is_optimal_and_the_objective_zero():
    problem = SparseQP(np.eye(2), [1.0, 2.0], eta=1.0, sparsity=1, lower=0.0)
    for method in METHODS:
        solution = solve(problem, method=method)
        assert solution.status is Status.OPTIMAL
        assert solution.objective == 0.0


def test_a_start_is_used_and_checked():
    problem = regression()
    best = solve(problem)
    again = solve(problem, start=best.x, time_limit=0.0)
    assert again.objective == pytest.approx(best.objective)
    everything = solve(problem, start=np.ones(problem.n), time_limit=0.0)
    assert len(everything.support) <= problem.sparsity
    with pytest.raises(ProblemError, match="`start` must have"):
        solve(problem, start=[1.0])


def test_a_weak_ridge_given_by_a_factor_is_not_lost_to_narrowing():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 20))
    X[:, 10:] = X[:, :10]
    y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.standard_normal(2000)
    problem = SparseQP.from_factor(
        X / np.sqrt(2000),
        -2.0 * X.T @ y / 2000,
        eta=1e12,
        sparsity=3,
        constant=float(y @ y / 2000),
    )
    assert solve(problem).status is Status.OPTIMAL
