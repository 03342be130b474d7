"""Nothing is claimed that is not so: points, statuses and verdicts at the extremes."""

import os
import platform
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Status, Stop, solve
from cardqp.bounds.farkas import proves_empty
from cardqp.certificate import Certificate, DualPoint, RootStep
from cardqp.methods import METHODS
from cardqp.subproblems.support_qp import SupportFit, fit_support

UNITS = SparseQP(
    np.zeros((2, 2)),
    [0.0, -6150.0],
    eta=10.0,
    sparsity=2,
    lower=[0.0, 2.44e-4],
    A=[[-6e-4, -65.0]],
    b=[-0.22],
    A_eq=[[1.8e-3, 2050.0]],
    b_eq=[1.0],
)
"""Columns in different units: a row is measured by its own terms."""

NARROW = SparseQP(
    np.zeros((2, 2)),
    [2.0, 3.0],
    eta=1e10,
    sparsity=2,
    A=[[-2.0, 0.0]],
    b=[-0.95],
    b_lower=[-1.45],
    lower=0.0,
)
"""A slope that wants points far beyond what the rows allow."""

FAR = SparseQP(
    np.eye(3),
    np.zeros(3),
    eta=1.0,
    sparsity=3,
    A=[[1e-13, 1.0, 0.0]],
    b=[-1.0],
    A_eq=[[1.0, 0.0, 1.0]],
    b_eq=[0.0],
    lower=[-np.inf, 0.0, -np.inf],
)
"""Feasible, but only far out."""

CONTRADICTION = SparseQP(
    np.zeros((3, 3)),
    [-18.4, 3.8e-5, -10.7],
    eta=[0.85, 1.35e-6, 0.19],
    sparsity=3,
    A_eq=[[-1489.4, -1.51e-3, 106.7], [-2271.7, 2.565e-4, -134.3]],
    b_eq=[-0.191, -4.17e-3],
    lower=[2.73e-5, 0.0, 4.55e-4],
    groups=[0, -1, -1],
    group_sparsity=[1],
)
"""Infeasible by a factor of two, in units that hide it."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("problem", "objective"), [(UNITS, 0.1 / 1.8e-3**2), (NARROW, 0.95), (FAR, 4e26)]
)
def test_all_methods_find_the_point_that_meets_the_rows(problem, objective, method):
    solution = solve(problem, method=method)
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    assert problem.feasibility(solution.x).holds(1e-12)
    assert solution.verify().ok


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_agree_that_there_is_no_point(method):
    solution = solve(CONTRADICTION, method=method)
    assert solution.status is Status.INFEASIBLE
    assert solution.verify().ok


def test_a_point_that_is_nearly_feasible_does_not_outweigh_a_proof():
    rows = {"A_eq": [[1.0], [1.0]], "b_eq": [1.0, 1.0 + 1e-7]}
    problem = SparseQP([[1.0]], [0.0], eta=1.0, sparsity=1, **rows)
    assert problem.feasibility([1.0]).holds()
    solution = solve(problem, start=[1.0])
    assert solution.x is None
    assert solution.lower_bound > problem.objective([1.0])
    assert solution.verify().ok
    assert solve(problem).status is Status.INFEASIBLE


def test_large_supports_meet_their_rows():
    """Beyond what is solved in rational arithmetic, by an interior-point method."""
    rng = np.random.default_rng(0)
    n = 450
    F = rng.standard_normal((20, n))
    problem = SparseQP.from_factor(
        F,
        rng.standard_normal(n),
        eta=10.0,
        sparsity=n,
        A=rng.standard_normal((3, n)),
        b=np.full(3, -1.0),
        A_eq=np.ones((1, n)),
        b_eq=[1.0],
        lower=-0.5,
        upper=0.5,
    )
    fit = fit_support(problem, np.arange(n))
    assert problem.feasibility(fit.x).holds(1e-12)


@pytest.mark.parametrize("eta", [1e8, 1e10, 1e12])
@pytest.mark.parametrize("seed", range(15))
def test_two_sided_rows_with_a_weak_ridge(seed, eta):
    rng = np.random.default_rng(seed)
    n = 5
    F, A = rng.standard_normal((2, n)), rng.standard_normal((2, n))
    fixed_in = np.abs(rng.standard_normal(n)) * (rng.random(n) < 0.6)
    middle = A @ fixed_in
    problem = SparseQP(
        F.T @ F,
        rng.standard_normal(n),
        eta=eta,
        sparsity=4,
        A=A,
        b=middle + 0.25,
        b_lower=middle - 0.25,
        lower=0.0,
    )
    solution = solve(problem)
    assert solution.x is not None
    assert solution.objective <= problem.objective(fixed_in) + 1e-9 * problem.magnitude(
        fixed_in
    )
    assert solution.verify().ok


def test_a_feasible_start_is_kept_where_its_support_cannot_be_fitted(monkeypatch):
    search = "branch_and_bound"
    for module in ("pipeline.searches", f"{search}.search", f"{search}.root"):
        monkeypatch.setattr(
            f"cardqp.{module}.fit_support", lambda p, _, **__: SupportFit.nothing(p)
        )
    x = np.array([0.6, 0.0])
    stopped = solve(NARROW, start=x, callback=lambda _: True)
    assert stopped.x.tolist() == x.tolist()
    assert stopped.stop is Stop.CALLBACK


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(8))
def test_limits_of_groups_hold_where_the_ridge_is_lost(seed, method):
    rng = np.random.default_rng(seed)
    n = 6
    F = rng.integers(-2, 3, (2, n)).astype(float)
    problem = SparseQP(
        F.T @ F,
        rng.integers(-2, 3, n).astype(float),
        eta=1e14,
        groups=rng.integers(-1, 2, n),
        group_sparsity=[1, 1],
    )
    solution = solve(problem, method=method)
    assert problem.feasibility(solution.x).holds()
    assert solution.verify().ok


@pytest.fixture(scope="module")
def honest():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((8, 6))
    return solve(SparseQP(F.T @ F, rng.standard_normal(6), eta=10.0, sparsity=2))


def test_a_point_better_than_what_is_proved_possible_is_refused():
    """It meets the row up to the tolerance, which is worth more than the optimum."""
    problem = SparseQP(
        np.eye(2),
        [1e8, -1e8],
        eta=1.0,
        sparsity=2,
        A_eq=[[1.0, -1.0]],
        b_eq=[1e-7],
    )
    solution = solve(problem)
    assert solution.objective == pytest.approx(10.0)
    assert solution.verify().ok
    x = np.ones(2)
    assert problem.feasibility(x).holds()
    forged = replace(
        solution, x=x, objective=problem.objective(x), lower_bound=4.0, gap=0.0
    )
    (complaint,) = forged.verify().complaints
    assert "proves to be out of reach" in complaint


def test_the_verdict_names_gap_and_tolerance(honest):
    found = honest.verify()
    assert found.ok
    assert f"{found.gap:.2e}" in found.verdict
    assert "within the tolerance of 1.00e-04" in found.verdict


def test_a_gap_can_be_asked_for(honest):
    assert honest.verify(gap=1e-3).ok
    (complaint,) = honest.verify(gap=0.0).complaints
    assert "which was asked for" in complaint
    with pytest.raises(ParameterError, match="`gap` must be a number, at least 0"):
        honest.verify(gap=-1.0)


def test_the_gap_asked_for_takes_the_place_of_the_one_in_the_file(honest):
    forged = replace(honest, tolerance=0.0)
    assert not forged.verify().ok
    assert forged.verify(gap=1e-4).ok


def test_nothing_is_optimal_with_a_large_gap(honest):
    rough = solve(honest.problem, gap=0.9)
    assert rough.status is Status.FEASIBLE
    assert rough.stop is Stop.GAP
    assert rough.has_gap
    forged = replace(rough, status=Status.OPTIMAL, tolerance=0.9999)
    assert "nothing is optimal" in forged.verify().complaints[0]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels of x86-64 only")
def test_honest_files_are_confirmed_by_other_kernels(tmp_path):
    """Terms of a million cancel to 1e-6; another BLAS adds them up in another order."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((200, 60)) + 3 * rng.standard_normal((200, 1))
    y = 100 * X[:, :4] @ [1.0, -1.0, 2.0, 0.5] + 1e-5 * rng.standard_normal(200)
    problem = SparseQP.from_regression(X, y, eta=1e10, sparsity=4)
    problem.save(tmp_path / "problem.npz")
    solve(problem, node_limit=50).save(tmp_path / "solution.npz")
    code = (
        "from cardqp import Solution, SparseQP\n"
        "problem = SparseQP.load('problem.npz')\n"
        "print(Solution.load('solution.npz', problem).verify().complaints)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"OPENBLAS_CORETYPE": "Prescott"},  # runs anywhere
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "()\n"


def test_groups_without_members_allow_everything(tmp_path):
    problem = SparseQP(
        np.eye(2), [-1.0, -1.0], eta=1.0, groups=[-1, -1], group_sparsity=1
    )
    problem.save(tmp_path / "problem.npz")
    assert SparseQP.load(tmp_path / "problem.npz").sparsity == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"A": [[-1.4]], "b": [-12.0], "lower": 0.0, "upper": 10.0},
        {"A": [[1.4], [-1.0]], "b": [-10.0, 8.0]},
    ],
)
def test_rays_among_the_smallest_numbers_prove_what_others_prove(settings):
    """Their products are rounded by up to a half."""
    problem = SparseQP(np.eye(1), [0.0], eta=1.0, sparsity=1, **settings)
    assert solve(problem).status is Status.OPTIMAL
    for size in (5e-324, 1e-320, 1e-300, 1.0, 1e300):
        ray = np.full(len(problem.rows), size)
        assert not proves_empty(problem, ray, problem.root)
    empty = SparseQP(
        np.eye(1), [0.0], eta=1.0, sparsity=1, A=[[1.0], [-1.0]], b=[-2.0, 1.0]
    )
    for size in (5e-324, 1e-320, 1.0, 1e300):
        assert proves_empty(empty, np.full(2, size), empty.root)


def test_multipliers_that_prove_nothing_buy_nothing():
    problem = SparseQP(
        np.eye(2), [-1.0, -2.0], eta=1.0, sparsity=1, A=[[1.0, 1.0]], b=[9.0]
    )
    solution = solve(problem)
    idle = RootStep(DualPoint(np.zeros(0, dtype=int), np.zeros(0), np.array([1e50])))
    certificate = Certificate((*solution.certificate.root[:1], idle))
    x = np.zeros(2)
    forged = replace(
        solution,
        x=x,
        support=np.zeros(0, dtype=int),
        objective=0.0,
        lower_bound=5.0,
        gap=0.0,
        status=Status.FEASIBLE,
        certificate=certificate,
    )
    assert "the certificate proves" in forged.verify().complaints[0]
    odd = RootStep(DualPoint(np.zeros(0, dtype=int), np.zeros(0), np.ones(3)))
    stretched = Certificate(
        (*solution.certificate.root, odd), solution.certificate.tree
    )
    assert replace(solution, certificate=stretched).verify().ok


@pytest.mark.parametrize("eta", [1e16, 1e18])
def test_gaps_are_not_measured_by_what_bounds_rule_out(eta):
    rng = np.random.default_rng(0)
    n = 12
    problem = SparseQP(
        np.zeros((n, n)),
        -1.0 - 0.5 * rng.random(n),
        eta=eta,
        sparsity=3,
        A=rng.random((1, n)),
        b=[1.5],
        lower=0.0,
        upper=1.0,
    )
    solution = solve(problem)
    claimed = (solution.objective - solution.lower_bound) / abs(solution.objective)
    assert solution.gap == pytest.approx(claimed, abs=1e-12)
    assert solution.verify().ok


def test_points_that_rounding_puts_below_a_bound_are_confirmed():
    problem = SparseQP(
        np.ones((2, 2)),
        [2.0, -2.0],
        eta=1.0,
        sparsity=2,
        A=[[0.0, -(2.0**-10)], [-2048.0, 2048.0]],
        b=[0.0, 0.0],
        A_eq=[[-(2.0**27), -(2.0**26)]],
        b_eq=[-1024.0],
    )
    assert solve(problem).verify().ok


def test_a_status_has_a_point_or_has_none(honest):
    nothing = {"x": None, "support": np.zeros(0, dtype=int), "objective": np.inf}
    for status in (Status.FEASIBLE, Status.OPTIMAL):
        forged = replace(honest, **nothing, gap=np.inf, status=status)
        assert "but there is no point" in forged.verify().complaints[0]
    for status in (Status.INFEASIBLE, Status.UNKNOWN):
        forged = replace(honest, status=status)
        assert "but there is a point" in forged.verify().complaints[0]


def test_what_is_forced_in_is_not_below_its_threshold():
    problem = SparseQP(
        np.eye(2), [1e10, 0.0], eta=1.0, sparsity=1, forced_in=[0], lower=[1e-7, 0.0]
    )
    assert not problem.feasibility([0.0, 0.0]).holds()
    assert solve(problem).objective == pytest.approx(1000.0)


@pytest.mark.parametrize(
    "problem",
    [
        SparseQP(
            1e45 * np.eye(3),
            np.zeros(3),
            eta=1.0,
            sparsity=2,
            A_eq=[[1.0, 0.0, 1.0]],
            b_eq=[1e60],
        ),
        SparseQP(
            np.eye(3),
            [-1.0, -2.0, -3.0],
            eta=1.0,
            sparsity=1,
            A_eq=1e-99 * np.ones((1, 3)),
            b_eq=[1e99],
        ),
    ],
)
def test_extreme_numbers_have_an_answer(problem):
    with np.errstate(all="ignore"):
        assert solve(problem, time_limit=5).verify().ok
