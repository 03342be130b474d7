import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from cardqp import ParameterError, ProblemError, SparseQP, Status
from cardqp.models import SparseControl
from examples import control as example


def random_system(seed, n_states=3, n_inputs=2):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n_states, n_states))
    A *= 0.95 / np.abs(np.linalg.eigvals(A)).max()
    B = rng.standard_normal((n_states, n_inputs))
    F, G = rng.standard_normal((2, 4, max(n_states, n_inputs)))
    Q = F[:, :n_states].T @ F[:, :n_states]
    R = 0.2 * G[:, :n_inputs].T @ G[:, :n_inputs] + 0.1 * np.eye(n_inputs)
    return A, B, Q, R


def random_control(seed, horizon=4, *, n_states=3, n_inputs=2, **settings):
    system = random_system(seed, n_states, n_inputs)
    settings = {"max_actuations": 3} | settings
    return SparseControl(*system, horizon, **settings)


def simulated_cost(control, x0, inputs):
    """The cost, stage by stage."""
    x, cost = np.asarray(x0, dtype=float), 0.0
    for u in inputs:
        cost += x @ control.Q @ x + u @ control.R @ u
        x = control.A @ x + control.B @ u
    return cost + x @ control.terminal @ x


def enumerated(control, x0, limit, bound=np.inf):
    """The least cost over all supports, by least squares with bounds."""
    size = control.horizon * control.n_inputs
    origin = simulated_cost(control, x0, np.zeros((control.horizon, control.n_inputs)))
    eye = np.eye(size).reshape(size, control.horizon, control.n_inputs)
    H = np.array([[_curvature(control, u, v) for v in eye] for u in eye])
    c = [simulated_cost(control, x0, u) - origin - H[i, i] for i, u in enumerate(eye)]
    c, best = np.array(c), origin
    for support in itertools.combinations(range(size), limit):
        root = np.linalg.cholesky(H[np.ix_(support, support)]).T
        target = scipy.linalg.solve_triangular(root, -0.5 * c[list(support)], trans="T")
        found = scipy.optimize.lsq_linear(root, target, (-bound, bound), tol=1e-12)
        best = min(best, origin + 2.0 * found.cost - target @ target)
    return best


def _curvature(control, u, v):
    nothing = np.zeros(control.n_states)
    both, first, second = (
        simulated_cost(control, nothing, inputs) for inputs in (u + v, u, v)
    )
    return 0.5 * (both - first - second)


@pytest.mark.parametrize("seed", range(5))
def test_condensed_cost_is_the_simulated_cost(seed):
    rng = np.random.default_rng(seed)
    control = random_control(seed, horizon=5)
    for _ in range(5):
        x0, inputs = rng.standard_normal(3), rng.standard_normal((5, 2))
        cost = simulated_cost(control, x0, inputs)
        assert control.problem(x0).objective(inputs.ravel()) == pytest.approx(
            cost, rel=1e-10
        )
    assert repr(control).startswith("SparseControl(n_states=3, n_inputs=2, horizon=5")


@pytest.mark.parametrize("bound", [np.inf, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_as_good_as_enumeration(seed, bound):
    control = random_control(seed, input_lower=-bound, input_upper=bound)
    x0 = np.random.default_rng(seed).standard_normal(3)
    step = control.step(x0)
    best = enumerated(control, x0, 3, bound)
    # Enumeration is accurate to about 1e-7; the gap is the one asked for.
    assert best * (1 - 1e-7) <= step.objective <= best * (1 + 1e-4)
    assert step.lower_bound <= best * (1 + 1e-7)
    assert step.status is Status.OPTIMAL
    assert step.gap <= 1e-4
    assert step.solution.verify().ok
    assert np.count_nonzero(step.inputs) <= 3
    assert np.abs(step.inputs).max() <= bound
    assert step.objective == pytest.approx(simulated_cost(control, x0, step.inputs))
    np.testing.assert_array_equal(step.first, step.inputs[0])
    np.testing.assert_array_equal(step.states, control.simulate(x0, step.inputs))
    assert 0 < step.seconds < 60


def test_the_ridge_leaves_little_to_the_quadratic_part():
    control = random_control(0, horizon=6)
    problem = control.problem(np.ones(3))
    assert np.linalg.eigvalsh(problem.Q)[0] > 0
    least = np.linalg.eigvalsh(problem.Q + np.diag(problem.ridge))[0]
    assert problem.ridge.mean() > 0.8 * least
    assert (problem.ridge > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_states_are_kept(seed):
    x0 = np.array([1.0, -1.0, 1.0])
    free = random_control(seed, max_actuations=8).step(x0)
    # All states but one may go as far as without bounds; that one may not.
    reach = np.abs(free.states[1:]).max(axis=0)
    most = 2.0 * reach
    most[0] = 0.8 * reach[0]
    control = random_control(
        seed, max_actuations=8, state_lower=-most, state_upper=most
    )
    tight = control.step(x0)
    assert tight.status is Status.OPTIMAL
    assert (np.abs(tight.states[1:]) <= most * (1 + 1e-7)).all()
    assert tight.objective > free.objective
    assert tight.solution.verify().ok


def test_states_that_cannot_be_kept_are_proved_so():
    control = random_control(1, max_actuations=1, state_lower=-0.1, state_upper=0.1)
    step = control.step([5.0, 5.0, 5.0])
    assert step.status is Status.INFEASIBLE
    assert step.inputs is None
    assert step.first is None
    assert step.states is None
    assert step.objective == step.lower_bound == np.inf
    assert step.solution.verify().ok
    assert control.step([0.01, 0.0, 0.0]).status is Status.OPTIMAL


def disturbed_loop(control, n_steps=6, *, reset=False):
    rng = np.random.default_rng(7)
    x, steps = 2.0 * rng.standard_normal(control.n_states), []
    for _ in range(n_steps):
        if reset:
            control.reset()
        steps.append(control.step(x, gap=1e-6))
        disturbance = 0.3 * rng.standard_normal(control.n_states)
        x = control.A @ x + control.B @ steps[-1].first + disturbance
    return steps


def test_a_warm_start_does_not_change_the_optimum():
    bounds = {"input_lower": -0.7, "input_upper": 0.7}
    warm = disturbed_loop(random_control(2, horizon=6, **bounds))
    cold = disturbed_loop(random_control(2, horizon=6, **bounds), reset=True)
    for one, other in zip(warm, cold, strict=True):
        assert one.status is other.status is Status.OPTIMAL
        assert one.objective == pytest.approx(other.objective, rel=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_another_split_does_not_change_the_optimum(seed):
    control = random_control(seed, horizon=8, n_states=5, n_inputs=3, input_upper=0.5)
    x0 = 2.0 * np.random.default_rng(seed).standard_normal(5)
    given, best = (control.step(x0, optimise_split=flag) for flag in (False, True))
    assert given.status is best.status is Status.OPTIMAL
    assert given.lower_bound <= best.objective
    assert best.lower_bound <= given.objective
    assert given.objective == pytest.approx(best.objective, rel=1e-4)


def test_loops_are_repeatable():
    first, second = (disturbed_loop(random_control(3, horizon=6)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.inputs, other.inputs)
        assert one.lower_bound == other.lower_bound
        assert one.solution.n_nodes == other.solution.n_nodes


def test_a_step_changes_vectors_only():
    control = random_control(4, state_upper=3.0, names=["pump", "valve"])
    x0, x1 = np.array([1.0, 0.0, -1.0]), np.array([0.5, 2.0, 0.0])
    one, other = control.problem(x0), control.problem(x1)
    assert one.quadratic is other.quadratic
    assert one.rows.matrix is other.rows.matrix
    assert one.names[:3] == ("pump[0]", "valve[0]", "pump[1]")
    anew = SparseQP(
        one.Q,
        other.c,
        eta=one.eta,
        sparsity=3,
        A=one.A,
        b=other.b,
        constant=other.constant,
    )
    inputs = np.random.default_rng(0).standard_normal(8)
    assert other.objective(inputs) == anew.objective(inputs)
    drift = np.concatenate([control.A @ x1, control.A @ control.A @ x1])
    np.testing.assert_allclose(other.b[:6], 3.0 - drift)
    np.testing.assert_array_equal(other.b, anew.b)


def test_time_is_limited_and_the_bound_still_reported():
    control = random_control(5, horizon=10, n_states=8, n_inputs=4, max_actuations=8)
    step = control.step(3.0 * np.ones(8), time_limit=0.0)
    assert step.status is Status.FEASIBLE
    assert np.isfinite(step.lower_bound)
    assert step.lower_bound <= step.objective
    assert step.solution.verify().ok


def test_the_default_terminal_weight():
    A, B, Q, R = random_system(6)
    control = random_control(6)
    np.testing.assert_allclose(
        control.terminal, scipy.linalg.solve_discrete_are(A, B, Q, R)
    )
    # Nothing can be done about the first state, which grows: no finite cost to go.
    lost = SparseControl(
        np.diag([2.0, 0.5]), [[0.0], [1.0]], np.eye(2), [[1.0]], 2, max_actuations=1
    )
    np.testing.assert_array_equal(lost.terminal, np.eye(2))


def test_nothing_to_do():
    control = random_control(0)
    step = control.step(np.zeros(3))
    assert step.objective == 0.0
    assert not step.inputs.any()
    still = random_control(0, max_actuations=0).step(np.ones(3))
    assert still.status is Status.OPTIMAL
    assert not still.inputs.any()


def test_an_input_without_effect_is_never_used():
    A, B, Q, R = random_system(0)
    B[:, 1] = 0.0
    step = SparseControl(A, B, Q, np.diag([R[0, 0], 1.0]), 4, max_actuations=8).step(
        [1.0, 2.0, 3.0]
    )
    assert step.status is Status.OPTIMAL
    assert np.abs(step.inputs[:, 1]).max() <= 1e-9


def test_limits_for_each_stage():
    control = random_control(2, max_actuations=None, max_actuations_per_stage=1)
    step = control.step([1.0, -2.0, 1.0])
    assert step.status is Status.OPTIMAL
    assert (np.count_nonzero(step.inputs, axis=1) <= 1).all()
    both = random_control(2, max_actuations=2, max_actuations_per_stage=1)
    step = both.step([1.0, -2.0, 1.0])
    assert (np.count_nonzero(step.inputs, axis=1) <= 1).all()
    assert np.count_nonzero(step.inputs) <= 2


SKEW = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

BAD_INPUT = [
    ({"A": np.ones((2, 3))}, "`A` must be square and not empty"),
    ({"A": np.full((3, 3), np.nan)}, r"`A` must be finite: A\[0, 0\]"),
    ({"B": np.ones((2, 2))}, "`B` must have 3 rows, one per state"),
    ({"B": np.ones((3, 0))}, "and a column per input"),
    ({"Q": np.eye(2)}, r"`Q` must have the shape \(3, 3\)"),
    ({"Q": SKEW}, "`Q` must be symmetric: .* pass"),
    ({"Q": -np.eye(3)}, "`Q` must be positive semidefinite: .* add at least 1 to"),
    ({"R": np.eye(3)}, r"`R` must have the shape \(2, 2\)"),
    ({"R": np.zeros((2, 2))}, "`R` must be positive definite: .* must cost something"),
    ({"terminal": -np.eye(3)}, "`terminal` must be positive semidefinite"),
    ({"terminal": np.eye(2)}, "`terminal` must have the shape"),
    ({"max_actuations": None}, "`max_actuations` or `max_actuations_per_stage` is mis"),
    ({"max_actuations": 9}, "`max_actuations` must be an integer between 0 and 8"),
    ({"max_actuations": 1.5}, "`max_actuations` must be an integer"),
    ({"max_actuations_per_stage": 3}, "`max_actuations_per_stage` must be an integer"),
    ({"input_lower": 1.0, "input_upper": 0.5}, "`input_lower` must not exceed"),
    ({"input_upper": [1.0]}, "`input_upper` must be a number or have 2 entries"),
    ({"state_upper": np.nan}, "`state_upper` must not be NaN"),
    ({"state_lower": np.inf}, "`state_lower` and `state_upper` must leave room"),
    ({"names": ["pump"]}, "`names` must have 2 entries, one per input"),
    ({"names": ["a", "a"]}, "`names` must be distinct"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_INPUT)
def test_bad_input_gets_one_clear_error(changes, message):
    arguments = dict(zip("ABQR", random_system(0), strict=True))
    arguments |= {"horizon": 4, "max_actuations": 3} | changes
    with pytest.raises(ProblemError, match=message):
        SparseControl(**arguments)


@pytest.mark.parametrize("horizon", [0, 2.5, True])
def test_bad_horizons(horizon):
    with pytest.raises(ParameterError, match="`horizon` must be an integer, at least"):
        random_control(0, horizon=horizon)


def test_bad_states_and_settings():
    control = random_control(0)
    with pytest.raises(ProblemError, match="`x0` must have 3 entries, one per state"):
        control.step([1.0])
    with pytest.raises(ProblemError, match=r"`x0` must be finite: x0\[0\] is nan"):
        control.problem([np.nan, 0.0, 0.0])
    with pytest.raises(ParameterError, match="`time_limit` must be a number"):
        control.step(np.ones(3), time_limit=-1.0)
    with pytest.raises(ProblemError, match="`inputs` must have 2 dimensions"):
        control.simulate(np.ones(3), np.ones(3))


def test_the_example_draws_a_loop(tmp_path, capsys):
    picture = tmp_path / "loop.png"
    example.main([str(picture), "--steps", "4", "--carts", "2"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "thrusts in 4 stages" in capsys.readouterr().out
