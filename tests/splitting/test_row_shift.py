"""Forms shifted along an equality row: the same objective, and minorants below it."""

import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, solve
from cardqp.bounds.row_shift import shift_by_row, shifting_row
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.certificate import Certificate, DualPoint, Reduction
from cardqp.certificate.archive import from_arrays, to_arrays
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.root import RootState, RootStep
from cardqp.exceptions import ProblemError
from cardqp.methods import RootSettings, SearchSettings
from cardqp.splitting.settings import TrackingSettings
from cardqp.splitting.tracking_start import scaled_start, tracking_shift
from tests.problems import enumerate_optimum


def tracking(seed, n=9, weeks=14, sparsity=3, ridge=1e-6):
    """An index, made of all assets, and what they have in common."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((weeks, 1)) + 0.5 * rng.standard_normal((weeks, n))
    y = X @ rng.dirichlet(np.ones(n))
    return SparseQP.from_regression(
        X,
        y,
        eta=1.0 / ridge,
        sparsity=sparsity,
        A_eq=np.ones((1, n)),
        b_eq=1.0,
        lower=0.0,
    )


def exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def exact_value(Q, ridge, c, constant, x):
    n = len(x)
    Q = np.array(exact(Q)).reshape(n, n)
    x, linear, diagonal = np.array(exact(x)), np.array(exact(c)), np.array(exact(ridge))
    return x @ Q @ x + diagonal @ x**2 + linear @ x + Fraction(float(constant))


@pytest.mark.parametrize("seed", range(20))
def test_below_in_exact_arithmetic(seed):
    """At sparse points that meet the row exactly, and not by more than rounding."""
    rng = np.random.default_rng([5, seed])
    n, size = 6, 10.0 ** rng.integers(-6, 6)
    F = rng.standard_normal((8, n))
    problem = SparseQP(
        F.T @ F,
        rng.standard_normal(n) * size,
        eta=1.0,
        sparsity=3,
        A_eq=np.ones((1, n)),
        b_eq=1.0,
    )
    v = rng.standard_normal(n) * size
    shifted = shift_by_row(problem, v)
    support = rng.choice(n, 3, replace=False)
    x = np.zeros(n)
    x[support[:2]] = rng.integers(-200, 200, 2) / 128
    x[support[2]] = 1.0 - x.sum()
    form = shifted.quadratic
    lowered = form.array - np.diag(form.psd_violation)
    data = shifted.ridge, shifted.c, shifted.constant, x
    below = exact_value(lowered, *data)
    true = exact_value(problem.Q, problem.ridge, problem.c, problem.constant, x)
    assert below <= true
    magnitude = problem.magnitude(x) + np.abs(v).sum() * np.abs(x).sum() ** 2
    assert float(true - below) <= 1e-12 * magnitude


@pytest.mark.parametrize("seed", range(10))
def test_minorants_of_the_shifted_form_are_below(seed):
    problem = tracking(seed)
    shift = tracking_shift(problem)
    shifted = shift_by_row(problem, shift)
    P, weights = scaled_start(shifted)
    minorant = sparse_minorant(shifted, P, weights)
    rng = np.random.default_rng([6, seed])
    for _ in range(50):
        x = np.zeros(problem.n)
        x[rng.choice(problem.n, 3, replace=False)] = rng.dirichlet(np.ones(3))
        assert minorant.objective(x) <= problem.objective(x) * (1 + 1e-9) + 1e-12


def test_the_shift_makes_the_objective_a_form():
    problem = tracking(0)
    shifted = shift_by_row(problem, tracking_shift(problem))
    x = np.zeros(9)
    x[[1, 4]] = 0.25, 0.75
    value = x @ shifted.quadratic.array @ x + shifted.ridge @ x**2
    assert value == pytest.approx(problem.objective(x), rel=1e-9)
    assert np.linalg.eigvalsh(shifted.quadratic.array)[0] > -1e-12


ALWAYS = Exact(
    SearchSettings(
        root=RootSettings(
            easy_nodes=0,
            tiny_nodes=0,
            split_gap=0.0,
            tight_gap=0.0,
            row_shift_gap=0.0,
            least_shrinking=1e-9,
        )
    )
)
"""A search that always tries a split along the row."""


@pytest.mark.parametrize("seed", range(12))
def test_against_enumeration(seed):
    problem = tracking(seed)
    optimum, _ = enumerate_optimum(problem)
    solution = solve(problem, method=ALWAYS)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-4)
    assert solution.lower_bound <= optimum * (1 + 1e-9)
    assert solution.verify().ok


def test_some_certificates_have_a_shift():
    found = [
        step.reduction.row_shift
        for seed in range(6)
        for step in solve(
            tracking(seed, n=16, sparsity=4), method=ALWAYS
        ).certificate.root
        if step.reduction is not None
    ]
    assert any(shift is not None for shift in found)


def certificate_with(problem, shift):
    """A certificate of two steps: a minorant of a shifted form, and a dual point."""
    shifted = shift_by_row(problem, tracking_shift(problem))
    P, weights = scaled_start(shifted)
    reduction = Reduction(np.arange(problem.n), None, P, weights, row_shift=shift)
    nothing = DualPoint.at(np.zeros(problem.n), np.zeros(1))
    steps = RootStep(nothing, reduction=reduction), RootStep(nothing)
    return Certificate(steps, ProofTree.empty())


BAD = {
    "NaN": np.full(9, np.nan),
    "infinite": np.full(9, np.inf),
    "overflowing": np.full(9, 1e308),
    "too few": np.ones(8),
    "too many": np.ones(10),
    "a matrix": np.ones((9, 9)),
    "integers": np.ones(9, dtype=int),
    "text": np.full(9, "1.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_forged_shifts_prove_nothing(name):
    problem = tracking(1)
    step = certificate_with(problem, BAD[name]).root[0]
    with pytest.raises(ProblemError):
        RootState.start(problem).after(step)


def test_shifts_need_a_minorant_and_a_row():
    problem = tracking(1)
    step = certificate_with(problem, tracking_shift(problem)).root[0]
    bare = replace(step.reduction, minorant=None, weights=None)
    with pytest.raises(ProblemError):
        RootState.start(problem).after(replace(step, reduction=bare))
    free = SparseQP(problem.Q, problem.c, eta=problem.eta, sparsity=3)
    assert shifting_row(free) is None
    assert tracking_shift(free) is None
    with pytest.raises(ProblemError, match="equality row"):
        shift_by_row(free, np.ones(9))


def test_another_shift_proves_what_is_true():
    """Any shift is valid: a forged one may only make the bound worse."""
    problem = tracking(2)
    optimum, _ = enumerate_optimum(problem)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shift = tracking_shift(problem) + 0.01 * rng.standard_normal(9)
        certificate = certificate_with(problem, shift)
        try:
            state = RootState.start(problem).after(certificate.root[0])
        except ProblemError:
            continue
        assert state.after(certificate.root[1]).lower_bound <= optimum


def test_files_keep_shifts():
    problem = tracking(1)
    shift = tracking_shift(problem)
    stored = io.BytesIO()
    np.savez(stored, **to_arrays(certificate_with(problem, shift)))
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as arrays:
        again = from_arrays(dict(arrays))
    np.testing.assert_array_equal(again.root[0].reduction.row_shift, shift)
    assert "root.0.row_shift" not in to_arrays(certificate_with(problem, None))


def test_no_start_without_a_variance():
    problem = tracking(1)
    shifted = shift_by_row(problem, tracking_shift(problem))
    flat = shifted.with_quadratic(replace(shifted.quadratic, array=np.zeros((9, 9))))
    assert scaled_start(flat) is None


def test_the_first_level_that_leaves_a_ridge_is_taken():
    problem = tracking(0, n=20, weeks=30, sparsity=6)
    shifted = shift_by_row(problem, tracking_shift(problem))
    levels = 1.0, 0.5, 0.2, 0.1
    alone = [scaled_start(shifted, TrackingSettings(levels=(one,))) for one in levels]
    first = next(i for i, start in enumerate(alone) if start is not None)
    assert first > 0
    P, weights = scaled_start(shifted, TrackingSettings(levels=levels))
    np.testing.assert_array_equal(P, alone[first][0])
    np.testing.assert_array_equal(weights, alone[first][1])
    assert (sparse_minorant(shifted, P, weights).ridge > 0).all()
    assert scaled_start(shifted, TrackingSettings(levels=levels[:first])) is None
