"""Ascents in a split and its weights at once."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, solve
from cardqp.bounds.row_shift import shift_by_row
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.ascent import optimise_split, signed_start
from cardqp.splitting.joint_ascent import JointAscent, optimise_jointly
from cardqp.splitting.quasi_newton import Memory
from cardqp.splitting.settings import JointSettings, SplittingSettings
from cardqp.splitting.sparse_split import Split
from cardqp.splitting.tracking_start import scaled_start, tracking_shift
from tests.problems import enumerate_optimum
from tests.splitting.test_row_shift import ALWAYS, tracking
from tests.splitting.test_sparse_split import (
    KINDS,
    good_point,
    regression,
    sparse_points,
    sparse_problem,
    splits,
)

ACCURATE = JointSettings(iterations=20_000, step_accuracy=1e-13)


def along_row(problem, settings=None):
    """An ascent from the form of active returns."""
    shifted = shift_by_row(problem, tracking_shift(problem))
    size, start = problem.objective(good_point(problem)), scaled_start(shifted)
    return JointAscent(shifted, problem.root, *start, size, settings or JointSettings())


def plain(problem, size, settings=None):
    """An ascent from the form as it is, with equal weights."""
    return JointAscent(
        problem,
        problem.root,
        signed_start(problem),
        np.ones(problem.n),
        size,
        settings or JointSettings(),
    )


def ascents():
    yield along_row(tracking(1, n=20, weeks=40, sparsity=5), ACCURATE)
    yield plain(regression(), 1.0, ACCURATE)
    yield plain(regression(lower=np.where(np.arange(60) % 2, 0.0, -1.0)), 1.0, ACCURATE)


@pytest.mark.parametrize(
    ("which", "length", "error"), [(0, 1e-5, 0.1), (1, 1e-7, 1e-4), (2, 1e-7, 1e-4)]
)
def test_gradients_agree_with_differences(which, length, error):
    """In the factor and in the weights, at a place that is nowhere special.

    Relaxations with rows are not so accurate.
    """
    ascent = list(ascents())[which]
    for _ in range(3):
        ascent.step()
    rng = np.random.default_rng(which)
    noise = 1e-5 * rng.standard_normal(ascent.point.place.shape)
    at, x, nu = ascent.function.at, ascent.point.x, ascent.point.nu
    middle = at(ascent.point.place + noise, x, nu)
    factor = rng.standard_normal(noise.shape)
    factor[:, -1] = 0.0
    logs = rng.standard_normal(noise.shape)
    logs[:, :-1] = 0.0
    for direction in (factor, logs):
        step = length * direction
        ends = [at(middle.place + f * step, middle.x, middle.nu) for f in (-1.0, 1.0)]
        difference = ends[1].value - ends[0].value
        expected = 2.0 * np.vdot(middle.gradient, step)
        assert difference == pytest.approx(expected, rel=error)


@pytest.mark.parametrize("seed", range(6))
def test_tracking_against_enumeration(seed):
    problem = tracking(seed)
    optimum, _ = enumerate_optimum(problem)
    ascent = along_row(problem)
    before = ascent.split()
    found = optimise_jointly([ascent]).split()
    assert before.bound < found.bound <= optimum * (1 + 1e-9)
    rng = np.random.default_rng([12, seed])
    for _ in range(50):
        x = np.zeros(problem.n)
        x[rng.choice(problem.n, 3, replace=False)] = rng.dirichlet(np.ones(3))
        assert found.minorant.objective(x) <= problem.objective(x) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_never_loses_and_never_passes_the_optimum(kind, seed):
    problem = sparse_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    zero, ones, size = np.zeros(problem.n), np.ones(problem.n), abs(optimum)
    for P in list(splits(problem, seed))[1::4]:
        start = Split.relax(problem, problem.root, P, zero, Effort(1e-9))
        # A factor of all of it; the reward could make up for a lower bound.
        settings = JointSettings(least_eigenvalue=1e-12, ridge_reward=0.0)
        ascent = JointAscent(problem, problem.root, P, ones, size, settings)
        best = optimise_jointly([ascent])
        found = best and best.split()
        if start is None or found is None:
            continue
        assert found.bound >= start.bound - 2e-4 * size
        assert found.bound <= optimum + 1e-9 * size
        for x in sparse_points(problem, seed, 20):
            rounding = 1e-14 * problem.n**2 * problem.magnitude(x)
            assert found.minorant.objective(x) <= problem.objective(x) + rounding


def test_the_split_proves_what_the_ascent_has_reached():
    """Units and weights are those of the problem again."""
    for ascent in (
        along_row(tracking(3, n=20, weeks=40, sparsity=5)),
        plain(regression(), 1.0),
    ):
        best = optimise_jointly([ascent])
        assert best.split().bound == pytest.approx(best.bound, rel=2e-3)


def test_it_leaves_less_than_steps_by_supergradients():
    problem = tracking(0, n=40, weeks=80, sparsity=6)
    shifted = shift_by_row(problem, tracking_shift(problem))
    P, weights = scaled_start(shifted)
    upper = problem.objective(good_point(problem))
    old = optimise_split(shifted, problem.root, P, upper, upper, weights=weights)
    new = optimise_jointly(
        [JointAscent(shifted, problem.root, P, weights, upper)]
    ).split()
    assert old.bound < new.bound <= upper
    assert upper - new.bound < 0.8 * (upper - old.bound)


def test_the_best_start_goes_on():
    problem = tracking(0, n=20, weeks=40, sparsity=5)
    size = problem.objective(good_point(problem))
    candidates = plain(problem, size), along_row(problem)
    best = optimise_jointly(candidates)
    assert best is candidates[1]
    assert best.bound > candidates[0].bound
    alone = optimise_jointly([along_row(problem)], settings=JointSettings(max_steps=50))
    assert best.bound > alone.bound


def test_ascents_are_reproducible_and_respect_branches():
    problem = tracking(2, n=20, weeks=40, sparsity=5)
    one, two = (optimise_jointly([along_row(problem)]).split() for _ in range(2))
    assert one.bound == two.bound
    np.testing.assert_array_equal(one.P, two.P)
    np.testing.assert_array_equal(one.weights, two.weights)
    shifted = shift_by_row(problem, tracking_shift(problem))
    status = np.zeros(20, dtype=np.int8)
    status[:6], status[6] = -1, 1
    branch = Subproblem.of_status(status, problem.rule)
    size = problem.objective(good_point(problem))
    ascent = JointAscent(shifted, branch, *scaled_start(shifted), size)
    assert optimise_jointly([ascent]).bound > one.bound


def test_limits():
    problem = tracking(2, n=20, weeks=40, sparsity=5)
    first = along_row(problem).bound
    assert optimise_jointly([along_row(problem)], seconds=0.0).bound == first
    assert optimise_jointly([along_row(problem)], is_over=lambda: True) is None
    assert optimise_jointly([]) is None
    # A bound at hand that is out of reach, and one that is not.
    assert optimise_jointly([along_row(problem)], least=1e9) is None
    assert optimise_jointly([along_row(problem)], least=first) is not None
    asked = []

    def is_enough(ascent):
        asked.append(ascent.bound)
        return True

    best = optimise_jointly([along_row(problem)], is_enough=is_enough)
    assert asked == [best.bound]
    assert best.bound > first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [0, 12])
def test_trees_of_small_and_of_large_problems(seed, most):
    """Splits and weights are optimised together up to a number of variables."""
    problem = tracking(seed, n=12, sparsity=4)
    optimum, _ = enumerate_optimum(problem)
    splitting = SplittingSettings(joint=JointSettings(max_variables=most))
    settings = replace(ALWAYS.settings, splitting=splitting)
    solution = solve(problem, method=Exact(settings))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-4)
    assert solution.lower_bound <= optimum * (1 + 1e-9)
    assert solution.verify().ok


def test_nothing_is_split_without_a_size():
    """A point that costs nothing at all, where nothing could gain."""
    problem = SparseQP(np.eye(6) + 0.1, np.zeros(6), eta=1.0, sparsity=2, lower=0.0)
    solution = solve(problem, method=ALWAYS)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0.0


def test_a_start_that_leaves_no_ridge():
    problem = sparse_problem("signs", 0)
    huge = 100.0 * np.diag(problem.ridge) + problem.Q
    ascent = JointAscent(problem, problem.root, huge, np.ones(problem.n), 1.0)
    assert ascent.point is None
    assert not ascent.step()
    assert ascent.split() is None
    assert ascent.bound == -np.inf
    assert optimise_jointly([ascent]) is None


def test_nothing_to_start_from():
    """The matrix may be zero, and the sparsity one."""
    problem = SparseQP(np.eye(6), np.arange(6.0), eta=1.0, sparsity=1, lower=-9.0)
    ascent = JointAscent(problem, problem.root, np.zeros((6, 6)), np.ones(6), 10.0)
    optimum, _ = enumerate_optimum(problem)
    found = optimise_jointly([ascent]).split()
    assert found.bound == pytest.approx(optimum, rel=1e-6)


def test_steps_that_fail_are_relaxed_more_accurately():
    ascent = along_row(tracking(2, n=20, weeks=40, sparsity=5))
    # No step rises by more than the gradient promises.
    ascent.settings = replace(ascent.settings, least_rise=0.999999, max_trials=2)
    before = ascent.function.iterations
    while ascent.step():
        pass
    assert ascent.function.iterations >= ascent.settings.max_iterations > before


def test_memory_meets_the_last_secant_equation():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    hessian, memory = root @ root.T, Memory(4, 0.1)
    gradient = rng.standard_normal(6)
    assert np.linalg.norm(memory.direction(gradient)) == pytest.approx(0.1)
    for _ in range(9):
        step = rng.standard_normal(6)
        memory.add(step, hessian @ step)
        np.testing.assert_allclose(memory.direction(hessian @ step), step)
    assert len(memory.pairs) == 4
    memory.add(step, -hessian @ step)
    np.testing.assert_allclose(memory.direction(hessian @ step), step)


def test_memory_learns_a_quadratic():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((5, 8))
    hessian, memory, x = root @ root.T, Memory(20, 0.1), rng.standard_normal(5)
    for _ in range(5):
        direction = memory.direction(-hessian @ x)
        # The best length, so that five steps are enough.
        length = -(x @ hessian @ direction) / (direction @ hessian @ direction)
        memory.add(length * direction, hessian @ (length * direction))
        x = x + length * direction
    assert np.abs(x).max() < 1e-9
