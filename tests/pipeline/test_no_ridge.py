"""Problems without a ridge, by every method, against enumeration."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

from cardqp import (
    ParameterError,
    ProblemError,
    Solution,
    SparseQP,
    Status,
    alternatives,
    beck_hallak,
    best_response,
    block_decomposition,
    dual_program,
    hierarchy,
    path,
    safe_screen,
    solve,
    spectrum,
    warm_start,
)
from cardqp.arithmetic.rational import solve_exactly
from cardqp.backends import Scip
from cardqp.gram import GramAccumulator
from cardqp.methods import METHODS
from tests.arithmetic.exact import exact
from tests.problems import KINDS, enumerate_optimum, random_problem, rebuilt

ORACLE = 1e-7
"""Relative accuracy of the enumeration: nonnegative least squares in float64."""

DEFINITE = [kind for kind in KINDS if kind != "rank-deficient"]


def slack(optimum):
    return ORACLE * max(1.0, abs(optimum))


def without_ridge(kind, seed):
    return rebuilt(random_problem(kind, seed), eta=None)


@pytest.mark.parametrize("kind", DEFINITE)
def test_solve_equals_enumeration(kind, any_seed):
    problem = without_ridge(kind, any_seed)
    optimum, _ = enumerate_optimum(problem)
    for method in ("exact", "best-response", "dual-program"):
        solution = solve(problem, method=method)
        assert solution.verify().ok
        if np.isinf(optimum):
            assert solution.status is Status.INFEASIBLE
            continue
        assert solution.lower_bound <= optimum + slack(optimum)
        assert solution.objective >= optimum - slack(optimum)
        assert problem.feasibility(solution.x).holds()
        if method == "exact":
            assert solution.status is Status.OPTIMAL
            assert solution.objective <= optimum + 1e-4 * abs(optimum) + slack(optimum)


def dependent_data(seed, N=16, n=6):
    """Small integers whose columns depend exactly; N is a power of two.

    ``Q``, ``c`` and the constant are then free of rounding.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (N, n)).astype(float)
    X[:, 4] = X[:, 0] - 2.0 * X[:, 1]
    X[:, 5] = [X[:, 2], np.zeros(N), X[:, 3] - X[:, 4]][seed % 3]
    return X, X[:, :2] @ [2.0, 1.0] + rng.integers(-6, 7, N)


def least_squares(problem, support):
    """The least objective on a support, exactly; None if its columns depend."""
    part = list(support)
    Q, c = problem.Q[np.ix_(part, part)], problem.c[part]
    try:
        x = solve_exactly(2.0 * Q, -c)
    except ZeroDivisionError:
        return None
    return Fraction(problem.constant) + exact(c) @ np.array(x, dtype=object) / 2


def exact_optimum(problem, penalty=0.0):
    """By all supports with independent columns, in rational arithmetic."""
    best = Fraction(problem.constant)
    for size in range(1, problem.sparsity + 1):
        for support in itertools.combinations(range(problem.n), size):
            found = least_squares(problem, support)
            if found is not None:
                best = min(best, found + size * Fraction(penalty))
    return best


@pytest.mark.parametrize("seed", range(24))
def test_dependent_columns_against_rational_least_squares(seed):
    X, y = dependent_data(seed)
    settings = {"penalty": 0.125} if seed % 4 == 3 else {}
    problem = SparseQP.from_regression(
        X, y, eta=None, sparsity=1 + seed % 5, **settings
    )
    best = exact_optimum(problem, **settings)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok
    assert Fraction(solution.lower_bound) <= best
    assert solution.objective == pytest.approx(float(best), rel=1e-4)
    assert solution.stages[0].name == "dependent columns"
    nonzeros = solution.support
    assert np.linalg.matrix_rank(X[:, nonzeros]) == len(nonzeros)


@pytest.mark.parametrize("seed", range(24))
def test_dependent_columns_with_signs(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(8, 20)), 6))
    X[:, 2] = X[:, 0] + (-1) ** seed * X[:, 1]
    y = X[:, 0] + rng.standard_normal(len(X))
    size = 1 + seed % 5
    best = min(
        nnls(X[:, support], y)[1] ** 2 / len(y)
        for support in itertools.combinations(range(6), size)
    )
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=size, lower=0.0)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok
    assert solution.lower_bound <= best + 1e-12
    assert solution.objective == pytest.approx(best, rel=1.1e-4)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_bounds_dependent_columns(method):
    X, y = dependent_data(1)
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=3)
    best = float(exact_optimum(problem))
    solution = solve(problem, method=method)
    assert solution.verify().ok
    assert solution.lower_bound <= best
    assert solution.objective >= best - 1e-9


def test_dependent_points_are_no_solutions():
    X, y = dependent_data(0)
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=3)
    solution = solve(problem)
    x = np.zeros(6)
    x[[0, 1, 4]] = np.linalg.lstsq(X[:, [0, 1, 4]], y, rcond=None)[0]
    forged = replace(solution, x=x, support=np.flatnonzero(x))
    assert any("not feasible" in text for text in forged.verify().complaints)
    assert solve(problem, start=x).verify().ok


@pytest.mark.parametrize("seed", range(6))
def test_bounds_make_dependent_columns_harmless(seed):
    X, y = dependent_data(seed)
    limits = {"lower": -1.0, "upper": [0.0, 2.0, 1.0, 1.0, 3.0, 1.0]}
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=3, **limits)
    weak = SparseQP.from_regression(X, y, eta=1e9, sparsity=3, **limits)
    optimum, _ = enumerate_optimum(weak)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok
    assert solution.lower_bound <= optimum
    assert solution.objective == pytest.approx(optimum, rel=2e-4)


def test_more_columns_than_rows():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 12)), rng.standard_normal(8)
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=2)
    errors = [
        np.linalg.lstsq(X[:, pair], y, rcond=None)[1][0] / 8
        for pair in map(list, itertools.combinations(range(12), 2))
    ]
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(min(errors))
    assert solution.verify().ok


def test_unbounded_problems_are_errors():
    problem = SparseQP(np.ones((2, 2)), [1.0, -1.0], eta=None, sparsity=2)
    with pytest.raises(ProblemError, match="may be unbounded below; use a weak ridge"):
        solve(problem)
    bounded = SparseQP(
        np.ones((2, 2)), [1.0, -1.0], eta=None, sparsity=2, lower=-2.0, upper=2.0
    )
    solution = solve(bounded)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(-4.0)


def test_streamed_columns_need_a_ridge(monkeypatch):
    monkeypatch.setattr("cardqp.pipeline.solve.stays_streamed", lambda *_: True)
    X, y = dependent_data(0)
    problem = SparseQP.from_data(X, y, eta=None, sparsity=2)
    with pytest.raises(ProblemError, match="`eta` must be a number for data that are"):
        solve(problem)


def test_few_streamed_columns_come_into_memory():
    X, y = dependent_data(0)
    problem = SparseQP.from_data(X, y, eta=None, sparsity=2)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok


def definite_problem():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 12)) + rng.standard_normal((40, 1))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(40)
    return SparseQP.from_regression(X, y, eta=None, sparsity=3)


def test_archives_keep_that_there_is_no_ridge(tmp_path):
    problem = definite_problem()
    problem.save(tmp_path / "problem.npz")
    again = SparseQP.load(tmp_path / "problem.npz")
    assert np.isinf(again.eta).all()
    solution = solve(problem)
    solution.save(tmp_path / "solution.npz")
    assert Solution.load(tmp_path / "solution.npz", again).verify().ok


def test_changes_keep_that_there_is_no_ridge():
    problem = definite_problem()
    for other in (
        problem.with_limits(sparsity=2),
        problem.with_forced(forced_in=[1]),
        problem.with_linear(constant=1.0),
        problem.restrict(np.arange(5)),
        problem.with_quadratic(problem.quadratic, problem.ridge),
    ):
        assert (other.ridge == 0).all()
    moved = problem.move_to_ridge(np.full(12, 1e-3))
    assert (moved.ridge > 0).all()
    with pytest.raises(ProblemError, match="must keep every ridge positive"):
        problem.move_to_ridge(np.zeros(12))


def test_searches_are_resumed():
    problem = definite_problem()
    begun = solve(problem, node_limit=1, gap=1e-9)
    solution = solve(problem, resume=begun, gap=1e-9)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok


def test_functions_of_methods_take_problems_without_a_ridge():
    problem = definite_problem()
    best = solve(problem)
    for screen in (best_response, dual_program, warm_start):
        assert screen(problem).lower_bound <= best.objective
    for descend in (beck_hallak, block_decomposition):
        assert problem.feasibility(descend(problem).x).holds()
    screening = safe_screen(problem)
    assert not set(screening.zeros) & set(best.support)
    assert set(screening.ones) <= set(best.support)
    assert hierarchy(problem, [2, 12]).levels[-1].lower_bound <= best.objective
    assert [s.status for s in path(problem, [1, 2]).solutions] == [Status.OPTIMAL] * 2
    found = alternatives(problem, 5.0)
    assert found.verify().ok
    assert found.solutions[0].objective == pytest.approx(best.objective)


def test_a_spectrum_belongs_to_a_problem_with_a_ridge():
    problem = definite_problem()
    with pytest.raises(ParameterError, match="leave it out where `eta` is None"):
        best_response(problem, spectrum=spectrum(problem))


@pytest.mark.parametrize("formulation", ["perspective", "sos1", "indicator", "big-m"])
def test_another_solver_agrees(formulation):
    pytest.importorskip("pyscipopt")
    problem = definite_problem()
    best = solve(problem)
    other = solve(problem, backend=Scip(formulation=formulation))
    assert other.objective == pytest.approx(best.objective, rel=1e-4)
    assert other.verify().ok


def test_every_constructor_takes_no_ridge():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 5))
    y = X[:, 0] - X[:, 3] + rng.standard_normal(30)
    centred, target = X - X.mean(axis=0), y - y.mean()
    rows = GramAccumulator().update(X[:10], y[:10]).update(X[10:], y[10:])
    F, c = centred / np.sqrt(30), -2.0 * centred.T @ target / 30
    settings = {"eta": None, "sparsity": 2}
    constant = target @ target / 30
    problems = [
        SparseQP.from_regression(centred, target, **settings),
        SparseQP.from_data(centred, target, **settings),
        SparseQP.from_factor(F, c, constant=constant, **settings),
        SparseQP(F.T @ F, c, constant=constant, **settings),
        rows.problem(**settings),
        SparseQP.from_factor_model(
            F, np.full(5, 1e-12), c, constant=constant, **settings
        ),
    ]
    found = [solve(problem) for problem in problems]
    assert [solution.status for solution in found] == [Status.OPTIMAL] * 6
    values = [solution.objective for solution in found]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)


def test_a_ridge_for_some_variables_only():
    rng = np.random.default_rng(7)
    F = rng.standard_normal((3, 5))
    eta = [np.inf, 2.0, np.inf, 1.0, 5.0]
    problem = SparseQP(F.T @ F, rng.standard_normal(5), eta=eta, sparsity=2)
    optimum, _ = enumerate_optimum(problem)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok
    assert solution.objective == pytest.approx(optimum, rel=1e-4)
