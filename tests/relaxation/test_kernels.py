from types import SimpleNamespace

import numba
import numpy as np
import pytest

from cardqp.relaxation.array_loops import largest_sum
from cardqp.relaxation.kernels import multiply
from cardqp.relaxation.prox import make_step, prox_rank_one, take_step
from cardqp.relaxation.row_prox import prox_rows, solve_damped
from cardqp.relaxation.scaled_data import Coupling, Data, RankOneMetric

# Only other kernels call these: here they get an entrance of their own.
PARTS = (take_step, prox_rows, prox_rank_one, largest_sum, solve_damped, multiply)
PARTS += (make_step,)
kernels = SimpleNamespace(
    **{part.py_func.__name__: numba.njit(part.py_func) for part in PARTS}
)


OPEN = ["free", "signs"]
KINDS = [*OPEN, "box", "thresholds"]


def prox_data(lower, upper):
    """Data of which the prox sees bounds and metric."""
    n = len(lower)
    return Data(
        M=np.eye(n),
        is_gram=True,
        c=np.zeros(n),
        w=np.ones(n),
        lower=lower,
        upper=upper,
        is_open=all(np.all(np.isinf(t) | (t == 0)) for t in (lower, upper)),
        theta=0.0,
        lipschitz=1.0,
        groups=None,
    )


def form(M, is_gram):
    """Data of which a product sees the matrix or factor."""
    unbounded = np.full(len(M), np.inf)
    return prox_data(-unbounded, unbounded)._replace(M=M, is_gram=is_gram)


def prox_step(data, rho, status, remaining, r_most=np.inf, size=1.0):
    """The step of a node whose data have a ridge that makes it rho."""
    theta = 0.0 if np.isinf(r_most) else 0.5 / (size * r_most**2)
    own = data._replace(w=0.5 * rho / size, lipschitz=1.0 / size, theta=theta)
    return kernels.make_step(own, status, int(remaining))


def prox_problem(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    v, rho = rng.standard_normal(n), 10.0 ** rng.uniform(-1, 1, n)
    if kind in OPEN:
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    else:
        lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    if kind == "signs":
        lower[::2], upper[1::3] = 0.0, 0.0
    if kind == "thresholds":
        lower[::2] = 0.3 * upper[::2]
        upper[1::4] = 0.3 * lower[1::4]
    status = rng.choice([0, 0, 0, 1, -1], n).astype(np.int8)
    return rng, v, rho, lower, upper, status, float(rng.integers(0, n))


def prox_cost(x, z, v, rho, price):
    on = z > 0
    assert (x[~on] == 0).all()
    return (
        0.5 * np.sum((x - v) ** 2)
        + 0.5 * np.sum(rho[on] * x[on] ** 2 / z[on])
        + price * z.sum()
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(40))
def test_prox_beats_random_neighbours(seed, kind, price):
    rng, v, rho, lower, upper, status, remaining = prox_problem(seed, kind)
    n = len(v)
    x, z = np.empty(n), np.empty(n)
    r_most = np.sqrt(0.5 / price) if price else np.inf
    data = prox_data(lower, upper)
    step = prox_step(data, rho, status, remaining, r_most)
    kernels.take_step(data, step, status, v, 0.0, x, z)
    free = status == 0
    assert z[free].sum() <= remaining + 1e-9
    assert (z[status == 1] == 1).all()
    assert (z[status == -1] == 0).all()
    best = prox_cost(x, z, v, rho, price)
    for _ in range(200):
        size = 10.0 ** rng.uniform(-4, 0)
        z_near = np.clip(z + size * rng.standard_normal(n), 0, 1)
        z_near[~free] = z[~free]
        if z_near[free].sum() > remaining:
            z_near[free] *= remaining / z_near[free].sum()
        on = z_near > 0
        ratio = (x + size * rng.standard_normal(n))[on] / z_near[on]
        x_near = np.zeros(n)
        x_near[on] = z_near[on] * np.clip(ratio, lower[on], upper[on])
        assert prox_cost(x_near, z_near, v, rho, price) >= best - 1e-9


@pytest.mark.parametrize("kind", OPEN)
@pytest.mark.parametrize("price", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(40))
def test_steps_without_branches_are_those_of_the_general_kernels(seed, kind, price):
    rng, v, rho, lower, upper, status, remaining = prox_problem(seed, kind)
    n, data = len(v), prox_data(lower, upper)
    step = prox_step(
        data, rho, status, remaining, np.sqrt(0.5 / price) if price else np.inf
    )
    A, b = rng.standard_normal((2, n)), rng.standard_normal(2)
    rows = Coupling(A, b, np.array([True, False]), np.ones(2))
    metric = RankOneMetric(A[:1], np.array([2.0]))
    found = []
    for is_open in (True, False):
        assert data.is_open
        own = data._replace(is_open=is_open)
        x, z, nu, points = np.empty(n), np.empty(n), np.zeros(2), []
        kernels.take_step(own, step, status, v, 0.0, x, z)
        points += [x.copy(), z.copy()]
        kernels.prox_rows(own, rows, step, status, v, 0.0, nu, x, z)
        points += [x.copy(), z.copy(), nu]
        kernels.prox_rank_one(
            own, metric, step, status, v, A[1], 0.0, 0.0, np.empty(n), x, z
        )
        found.append([*points, x.copy()])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_prox_with_rows_meets_its_optimality_conditions(seed, kind):
    rng, v, rho, lower, upper, status, remaining = prox_problem(seed, kind)
    n = len(v)
    status, remaining = np.zeros(n, dtype=np.int8), max(remaining, 1.0)
    data = prox_data(lower, upper)
    step = prox_step(data, rho, status, remaining)
    start_x, start_z = np.empty(n), np.empty(n)
    kernels.take_step(data, step, status, v, 0.0, start_x, start_z)
    A = rng.standard_normal((2, n))
    A /= np.linalg.norm(A, axis=1)[:, None]
    # Rows that cut the plain solution off but keep half of it feasible.
    b = A @ (0.5 * start_x)
    equal = np.array([True, False])
    dual_regularisation = np.array([rng.choice([0.0, 0.3]), 0.0])
    nu, x, z = np.zeros(2), np.empty(n), np.empty(n)
    rows = Coupling(A, b, equal, dual_regularisation)
    _, worst = kernels.prox_rows(data, rows, step, status, v, 0.0, nu, x, z)
    assert worst < 1e-8
    assert nu[1] >= 0
    excess = A @ x - b
    assert abs(excess[0] - dual_regularisation[0] * nu[0]) < 1e-8
    assert excess[1] < 1e-8
    assert abs(nu[1] * excess[1]) < 1e-8
    # x is the plain prox at the shifted point.
    again_x, again_z = np.empty(n), np.empty(n)
    kernels.take_step(data, step, status, v - A.T @ nu, 0.0, again_x, again_z)
    np.testing.assert_allclose(again_x, x, atol=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_largest_sum(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.standard_normal(rng.integers(1, 20)), rng.integers(0, 3))
    count = int(rng.integers(0, len(values) + 2))
    expected = np.sort(values)[::-1][:count].sum()
    assert kernels.largest_sum(values.copy(), count) == pytest.approx(expected)


def test_damped_solve_is_a_solve_when_undamped():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    J, rhs = root @ root.T, rng.standard_normal(4)
    np.testing.assert_allclose(
        kernels.solve_damped(J, rhs, 0.0), np.linalg.solve(J, rhs)
    )
    dependent = np.ones((2, 2))
    assert np.isfinite(kernels.solve_damped(dependent, np.ones(2), 1e-10)).all()


def test_products_in_both_forms():
    F = np.random.default_rng(0).standard_normal((3, 5))
    x = np.array([0.0, 1.0, 0.0, -2.0, 0.0])
    np.testing.assert_allclose(kernels.multiply(form(F.T @ F, True), x), F.T @ F @ x)
    transposed = np.ascontiguousarray(F.T)
    np.testing.assert_allclose(
        kernels.multiply(form(transposed, False), x), F.T @ F @ x
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_tilted_prox_solves_its_equation(seed, kind):
    rng, y, rho, lower, upper, status, remaining = prox_problem(seed, kind)
    n = len(y)
    slope, direction = rng.standard_normal(n), rng.standard_normal(n)
    direction /= np.linalg.norm(direction)
    sigma, size = 10.0 ** rng.uniform(-1, 3), 10.0 ** rng.uniform(-2, 1)
    data, metric = (
        prox_data(lower, upper),
        RankOneMetric(direction[None, :], np.array([sigma])),
    )
    step = prox_step(data, rho, status, remaining, size=size)
    v, x, z = np.empty(n), np.empty(n), np.empty(n)
    _, multiplier = kernels.prox_rank_one(
        data, metric, step, status, y, slope, 0.0, 0.0, v, x, z
    )
    moved = direction @ (x - y)
    assert moved == pytest.approx(multiplier / sigma, rel=1e-2, abs=1e-12)
    # x is the plain prox at the tilted point.
    plain_x, plain_z = np.empty(n), np.empty(n)
    point = y - size * (slope + multiplier * direction)
    kernels.take_step(data, step, status, point, 0.0, plain_x, plain_z)
    np.testing.assert_allclose(plain_x, x, atol=1e-9)


@pytest.mark.parametrize("count", range(9))
def test_products_skip_zeros_whatever_their_number(count):
    Q = np.random.default_rng(0).standard_normal((8, 8))
    x = np.zeros(8)
    x[:count] = np.arange(1.0, count + 1)
    np.testing.assert_allclose(kernels.multiply(form(Q + Q.T, True), x), (Q + Q.T) @ x)
