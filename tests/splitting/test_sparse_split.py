from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP, solve
from cardqp.bounds.sparse_minorant import (
    offdiagonal_loss,
    ridge_left,
    sparse_minorant,
    top_row_sums,
)
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.datasets import make_regression
from cardqp.exceptions import ProblemError
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.ascent import optimise_split, signed_start
from cardqp.splitting.settings import AscentSettings
from cardqp.splitting.sparse_split import (
    Levels,
    Split,
    highest_level,
)
from cardqp.splitting.split_bound import SplitBound, in_units
from cardqp.splitting.supergradient import supergradient
from tests.problems import enumerate_optimum, random_problem


def sparse_problem(kind, seed):
    """A free problem of some size, with a ridge that leaves room for splits."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(4, 10))
    rank = n - 2 if kind == "nearly singular" else n + 3
    F = rng.standard_normal((rank, n))
    F[:, 0] = F[:, 1] + (1e-9 if kind == "nearly singular" else 0.3) * F[:, 0]
    c = 3.0 * rng.standard_normal(n) + 0.5
    ridge = rng.uniform(0.5, 3.0, n if kind == "vector ridge" else None)
    unit = np.ones(n)
    if kind == "wild scales":
        unit = 10.0 ** rng.uniform(-6, 6, n)
    eta = 1.0 / (ridge * unit**2)
    settings = {"eta": eta, "sparsity": int(rng.integers(1, n)), "constant": 5.0}
    if kind == "factor":
        return SparseQP.from_factor(F, c, **settings)
    if kind == "signs":
        signs = rng.integers(-1, 2, n)
        settings["lower"] = np.where(signs > 0, 0.0, -np.inf)
        settings["upper"] = np.where(signs < 0, 0.0, np.inf)
    if kind == "thresholds":
        settings |= {"lower": 0.1, "upper": 3.0}
    Q = unit[:, None] * (F.T @ F / rank) * unit
    return SparseQP((Q + Q.T) / 2, c * unit, **settings)


def signed(problem, x):
    """The nearest point, in magnitude, with the signs that the problem asks for."""
    return np.where(problem.signs == 0, x, np.abs(x) * problem.signs)


KINDS = (
    *("plain", "factor", "vector ridge", "nearly singular", "wild scales"),
    *("signs", "thresholds"),
)


def splits(problem, seed):
    """Matrices to split off: a shrunk Q, its truncations, and noise about them."""
    rng = np.random.default_rng([8, seed])
    root = np.sqrt(problem.ridge)
    scaled = problem.Q / root[:, None] / root
    values, vectors = np.linalg.eigh(scaled)
    yield problem.Q
    yield 0.9 * problem.Q
    for level in (0.5, 1.0, 3.0):
        above = (vectors * np.maximum(values - level, 0.0)) @ vectors.T
        noise = rng.standard_normal((problem.n, 2))
        for P in (above, above + 0.05 * noise @ noise.T):
            yield root[:, None] * P * root


def sparse_points(problem, seed, count=60):
    rng = np.random.default_rng([9, seed])
    for _ in range(count):
        x = np.zeros(problem.n)
        size = int(rng.integers(1, problem.sparsity + 1))
        support = rng.choice(problem.n, size, replace=False)
        x[support] = rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 2)
        yield signed(problem, x / np.sqrt(problem.ridge))


def exact_objective(problem, x):
    """The objective in rational arithmetic; the ridge is one over eta, exactly."""
    x = [Fraction(float(v)) for v in x]
    array = [[Fraction(float(v)) for v in row] for row in problem.quadratic.array]
    if type(problem.quadratic).__name__ == "Factor":
        square = sum(
            sum(f * v for f, v in zip(row, x, strict=True)) ** 2 for row in array
        )
    else:
        square = sum(
            x[i] * array[i][j] * x[j] for i in range(len(x)) for j in range(len(x))
        )
    ridge = sum(v * v / Fraction(float(e)) for v, e in zip(x, problem.eta, strict=True))
    linear = sum(Fraction(float(a)) * v for a, v in zip(problem.c, x, strict=True))
    return Fraction(problem.constant) + linear + square + ridge


def minorants(problem, seed):
    for P in splits(problem, seed):
        try:
            yield sparse_minorant(problem, P)
        except ProblemError:
            continue


def optimal_points(problem):
    if not problem.is_unconstrained:
        return
    _, support = enumerate_optimum(problem)
    support = list(support)
    G = problem.Q[np.ix_(support, support)] + np.diag(problem.ridge[support])
    x = np.zeros(problem.n)
    x[support] = np.linalg.solve(G, -0.5 * problem.c[support])
    yield x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_minorant_is_below_at_sparse_points(kind, seed):
    problem = sparse_problem(kind, seed)
    found = list(minorants(problem, seed))
    assert len(found) >= 2
    for minorant in found:
        for x in (*sparse_points(problem, seed), *optimal_points(problem)):
            rounding = 1e-14 * problem.n**2 * problem.magnitude(x)
            assert minorant.objective(x) <= problem.objective(x) + rounding


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_minorant_is_below_in_exact_arithmetic(kind, seed):
    """Worst signs included: equality would hold there without rounding."""
    problem = sparse_problem(kind, seed)
    for minorant in minorants(problem, seed):
        points = [*sparse_points(problem, seed, 5), *optimal_points(problem)]
        points += worst_points(problem, minorant)
        for x in points:
            assert exact_objective(minorant, x) <= exact_objective(problem, x)


def worst_points(problem, minorant):
    """Points with the signs that make the residual's entries all count against us."""
    R = problem.Q - minorant.Q
    for j in range(problem.n):
        x = np.zeros(problem.n)
        x[j] = problem.signs[j] or 1.0
        best = signed(problem, -x[j] * np.sign(R[j]))
        gain = -x[j] * best * R[j] / np.sqrt(problem.ridge)
        gain[j] = -np.inf
        others = np.argsort(-gain)[: problem.sparsity - 1]
        x[others] = best[others]
        yield x / np.sqrt(problem.ridge)


def test_exact_arithmetic_where_nothing_is_left_over():
    """With sparsity 1 and no P the minorant is the problem, but for rounding."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((40, 6))
    for eta in (3.0, 1e7, 1e-7):
        problem = SparseQP.from_factor(F, rng.standard_normal(6), eta=eta, sparsity=1)
        minorant = sparse_minorant(problem, np.zeros((6, 6)))
        for x in np.eye(6):
            below, above = (exact_objective(p, x) for p in (minorant, problem))
            assert below <= above
            assert float(above - below) < 1e-12 * float(abs(above) + abs(below))


@pytest.mark.parametrize("seed", range(40))
def test_any_matrix_is_valid_or_refused(seed):
    rng = np.random.default_rng([10, seed])
    problem = sparse_problem(KINDS[seed % len(KINDS)], seed)
    root = np.sqrt(problem.ridge)
    size = 10.0 ** rng.uniform(-16, 0)
    P = rng.standard_normal((problem.n, problem.n)) * size
    if seed % 2:
        P = 0.9 * problem.Q / root[:, None] / root + P + P.T
    try:
        minorant = sparse_minorant(problem, root[:, None] * P * root)
    except ProblemError:
        return
    root_choice = Subproblem.root(problem.n, problem.sparsity)
    optimum, _ = enumerate_optimum(problem)
    for x in sparse_points(problem, seed, 30):
        rounding = 1e-14 * problem.n**2 * problem.magnitude(x)
        assert minorant.objective(x) <= problem.objective(x) + rounding
        bound = tangent_bound(minorant, x, np.zeros(0)).value(root_choice)
        assert bound <= optimum + 1e-12 * problem.magnitude(x)


def test_what_the_problem_itself_is_off_is_paid_for():
    problem = sparse_problem("plain", 3)
    moved = problem.move_to_ridge(-0.3 * problem.ridge)
    minorant = sparse_minorant(moved, 0.9 * problem.Q)
    for x in (*sparse_points(problem, 3, 5), *worst_points(problem, minorant)):
        assert exact_objective(minorant, x) <= exact_objective(problem, x)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.eye(2), "must have the shape"),
        (np.full((3, 3), np.nan), "must be finite"),
        (-np.eye(3), "`P` must be positive semidefinite"),
        (100.0 * np.eye(3), "leave every ridge positive"),
    ],
)
def test_matrices_that_are_refused(P, message):
    problem = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1)
    with pytest.raises(ProblemError, match=message):
        sparse_minorant(problem, P)


def test_minorant_keeps_constraints_and_names():
    problem = random_problem("everything at once", 1)
    minorant = sparse_minorant(problem, problem.Q)
    assert (minorant.A == problem.A).all()
    assert (minorant.b_eq == problem.b_eq).all()
    assert (minorant.lower == problem.lower).all()
    assert minorant.penalty == problem.penalty
    assert minorant.sparsity == problem.sparsity


@pytest.mark.parametrize("kind", KINDS)
def test_highest_level_leaves_enough_and_little_more(kind):
    problem = sparse_problem(kind, 2)
    levels = Levels.of(problem)
    level, enough = highest_level(problem, levels), AscentSettings().start_ridge_share
    ridge = sparse_minorant(problem, levels.above(level)).ridge
    assert (ridge >= (1 - 1e-9) * enough * problem.ridge).all()
    if 2.0 * level < levels.values[0]:
        ridge = ridge_left(problem, levels.above(2.0 * level))
        assert (ridge < enough * problem.ridge).any()


def test_levels_add_up():
    """What is above two levels differs by the part between them, in any units."""
    for kind in ("vector ridge", "factor"):
        problem = sparse_problem(kind, 1)
        levels = Levels.of(problem)
        np.testing.assert_allclose(levels.above(0.0), problem.Q, atol=1e-9)
        high = levels.values[0]
        assert not levels.above(high).any()


def test_sparse_reach_by_hand():
    R = np.array([[5.0, -3.0, 1.0], [-3.0, 4.0, 2.0], [1.0, 2.0, 0.0]])
    free = offdiagonal_loss(R, np.array([0, 0, 0]))
    reach, cut = top_row_sums(free, 2)
    assert reach.tolist() == cut.tolist() == [3.0, 3.0, 2.0]
    assert top_row_sums(free, 1)[0].tolist() == [0.0, 0.0, 0.0]
    assert top_row_sums(free, 3)[0].tolist() == [4.0, 5.0, 3.0]


@pytest.mark.parametrize(
    ("signs", "reach"),
    [
        ([1, 1, 1], [3.0, 3.0, 0.0]),
        ([-1, -1, -1], [3.0, 3.0, 0.0]),
        ([1, 1, -1], [4.0, 5.0, 3.0]),
        ([1, -1, 1], [0.0, 2.0, 2.0]),
        ([1, 1, 0], [4.0, 5.0, 3.0]),
        ([1, -1, 0], [1.0, 2.0, 3.0]),
    ],
)
def test_entries_count_only_if_signs_let_them(signs, reach):
    R = np.array([[5.0, -3.0, 1.0], [-3.0, 4.0, 2.0], [1.0, 2.0, 0.0]])
    assert top_row_sums(offdiagonal_loss(R, np.array(signs)), 3)[0].tolist() == reach


def test_signs_of_bounds():
    lower, upper = [0.0, 0.5, -1.0, -2.0, -1.0], [1.0, 2.0, 0.0, -1.0, 1.0]
    problem = SparseQP(
        np.eye(5), np.ones(5), eta=1.0, sparsity=2, lower=lower, upper=upper
    )
    assert problem.signs.tolist() == [1, 1, -1, -1, 0]


def regression(N=60, n=60, eta=300.0, **settings):
    data = make_regression(N, n, sparsity=5, correlation=0.9, snr=3.0, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=5, **settings)


def long_only(n):
    return {"lower": 0.0, "A_eq": np.ones((1, n)), "b_eq": 0.3}


def unsplit_bound(problem, subproblem):
    relaxation = Relaxation.prepare(problem)
    relaxed = relaxation.solve(subproblem, *relaxation.start(), Effort(1e-8))
    return tangent_bound(problem, relaxed.tangent_point, relaxed.beta).value(subproblem)


def test_the_ascent_improves_the_bound():
    problem = regression()
    root = problem.root
    upper = problem.objective(good_point(problem))
    levels = Levels.of(problem)
    start = levels.above(highest_level(problem, levels))
    first = Split.relax(problem, root, start, np.zeros(60), Effort(1e-6 * upper))
    found = optimise_split(problem, root, start, upper, upper, seconds=60.0)
    assert max(first.bound, unsplit_bound(problem, root)) < found.bound <= upper
    again = tangent_bound(found.minorant, found.tangent_point, np.zeros(0)).value(root)
    assert again == found.bound
    assert upper - found.bound < 0.7 * (upper - first.bound)


def test_ascent_from_a_wide_factor():
    problem = regression(N=40)
    upper = problem.objective(good_point(problem))
    start = Levels.of(problem).above(1.0)
    found = optimise_split(problem, problem.root, start, upper, upper, seconds=60.0)
    assert unsplit_bound(problem, problem.root) < found.bound <= upper


def test_the_ascent_ends_where_a_split_is_good_enough():
    problem = regression()
    upper = problem.objective(good_point(problem))
    start = Levels.of(problem).above(1.0)
    asked = []

    def is_enough(split):
        asked.append(split.bound)
        return True

    found = optimise_split(
        problem, problem.root, start, upper, upper, is_enough=is_enough
    )
    assert asked == [found.bound]


def good_point(problem):
    from cardqp.heuristics.local_search import grow_greedily, improve
    from cardqp.subproblems.support_qp import fit_support

    support = grow_greedily(problem, np.zeros(0, dtype=np.intp))
    return improve(problem, fit_support(problem, support)).x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_ascent_never_loses_and_never_passes_the_optimum(kind, seed):
    problem = sparse_problem(kind, seed)
    root = Subproblem.root(problem.n, problem.sparsity)
    optimum, _ = enumerate_optimum(problem)
    zero = np.zeros(problem.n)
    for P in list(splits(problem, seed))[1::4]:
        start = Split.relax(problem, root, P, zero, Effort(1e-9))
        found = optimise_split(problem, root, P, optimum, abs(optimum))
        if start is None or found is None:
            continue
        assert found.bound >= start.bound - 2e-5 * abs(optimum)
        assert found.bound <= optimum + 1e-9 * abs(optimum)


def test_ascent_is_reproducible_and_respects_branches():
    problem = regression()
    root = Subproblem.root(60, 5)
    upper = problem.objective(good_point(problem))
    start = Levels.of(problem).above(4.0)
    fixed_in = np.array([3, 7])
    branch = root.decide(fixed_in, np.array([0]))
    one, two = (
        optimise_split(problem, branch, start, upper, upper, seconds=60.0)
        for _ in range(2)
    )
    assert one.bound == two.bound
    assert (one.P == two.P).all()
    assert one.bound >= optimise_split(problem, root, start, upper, upper).bound - 1e-3


def test_time_limits_leave_a_valid_split():
    problem = regression()
    root = Subproblem.root(60, 5)
    start = Levels.of(problem).above(4.0)
    found = optimise_split(problem, root, start, 1.0, 1.0, seconds=0.0)
    np.testing.assert_allclose(found.P, start, rtol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"lower": 0.0}, long_only(60)])
def test_supergradient_agrees_with_differences_of_the_bound(settings):
    """Along the ascent direction, away from kinks: concave, so a tangent from above."""
    problem = regression(**settings)
    root = Subproblem.root(60, 5)
    unit = 1.0 / np.sqrt(problem.ridge)
    function = SplitBound(in_units(problem, unit), root, 1e-9, np.full(problem.n, 0.01))
    start = Levels.of(problem).above(4.0)
    x, nu = np.zeros(60), np.zeros(len(problem.rows))
    for _ in range(10):
        point = function.at(start * unit[:, None] * unit, x, nu)
        x, nu = point.x, point.nu
    slope = supergradient(point, 5, AscentSettings().supergradient)
    direction = slope.times(point.P)
    direction = direction + direction.T
    small = 1e-6 / slope.inner(direction)
    moved = function.at(point.P + small * direction, point.x, point.nu)
    assert moved.bound - point.bound == pytest.approx(1e-6, rel=0.3)


def test_no_split_with_a_penalty():
    problem = random_problem("penalty", 0)
    root = Subproblem.root(problem.n, problem.rule.limit)
    assert optimise_split(problem, root, problem.Q, 1.0, 1.0) is None


def test_known_signs_allow_for_a_better_split():
    """Long-only: less is left open than by the same ascent that ignores signs."""
    returns = 0.5 + np.random.default_rng(0).standard_normal((60, 40))
    settings = {"eta": 1e3, "sparsity": 5, "A_eq": np.ones((1, 40)), "b_eq": 1.0}
    covariance = returns.T @ returns / 60
    problem = SparseQP(covariance, np.zeros(40), lower=0.0, **settings)
    best, root = solve(problem, time_limit=None).objective, problem.root
    start = signed_start(problem)
    found = optimise_split(problem, root, start, best, best)
    unsigned = SparseQP(covariance, np.zeros(40), lower=-1e-6, **settings)
    start = Levels.of(unsigned).above(highest_level(unsigned, Levels.of(unsigned)))
    without = optimise_split(unsigned, root, start, best, best)
    assert best >= found.bound - 1e-9
    assert best - found.bound < 0.5 * (best - without.bound)


def test_nothing_to_gain():
    """Where x is zero, and where the relaxation is exact, there is no way up."""
    flat = SparseQP(np.eye(40) + 0.1, np.zeros(40), eta=1.0, sparsity=3)
    root = Subproblem.root(40, 3)
    found = optimise_split(flat, root, 0.5 * flat.Q, 1.0, 1.0)
    assert found.bound == pytest.approx(0.0, abs=1e-9)
    single = SparseQP(np.eye(40), np.arange(40.0), eta=1.0, sparsity=1)
    found = optimise_split(
        single, Subproblem.root(40, 1), 0 * single.Q + 0.1, 0.0, 200.0
    )
    assert found.bound <= -(39.0**2) / 8.0 + 1e-9


def test_no_split_where_it_makes_no_sense():
    problem = sparse_problem("plain", 0)
    nothing = Subproblem.root(problem.n, 0)
    assert optimise_split(problem, nothing, problem.Q, 1.0, 1.0) is None
    huge = 100.0 * np.diag(problem.ridge) + problem.Q
    root = Subproblem.root(problem.n, problem.sparsity)
    assert optimise_split(problem, root, huge, 1.0, 1.0) is None
