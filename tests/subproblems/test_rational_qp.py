import numpy as np
import pytest

from cardqp.subproblems.rational_qp import ExactQP


def program(seed, k=4, m=3, units=0.0):
    """A random program in a box; rows and variables in units up to 10^units."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((k, k))
    unit, row_unit = (10.0 ** rng.uniform(-units, units, size) for size in (k, m))
    hessian = (B @ B.T + 0.1 * np.eye(k)) * np.multiply.outer(unit, unit)
    normals = np.vstack(
        [
            row_unit[:, None] * rng.standard_normal((m, k)) * unit,
            np.diag(unit),
            -np.diag(unit),
        ]
    )
    rhs = np.concatenate([row_unit * rng.standard_normal(m), np.full(2 * k, 0.7)])
    is_equality = np.zeros(len(rhs), dtype=bool)
    is_equality[:m] = rng.random(m) < 0.3
    hessian = (hessian + hessian.T) / 2
    return ExactQP(
        hessian, 3 * rng.standard_normal(k) * unit, normals, rhs, is_equality
    )


@pytest.mark.parametrize("units", [0.0, 8.0])
@pytest.mark.parametrize("seed", range(25))
def test_optimality_conditions_or_a_ray(seed, units):
    qp = program(seed, units=units)
    x, multipliers = qp.solve()
    free = ~qp.is_equality
    assert (multipliers[free] >= 0).all()
    sizes = np.abs(qp.normals).T @ np.abs(multipliers)
    if x is None:
        assert np.abs(qp.normals.T @ multipliers).max() <= 1e-13 * sizes.max()
        assert qp.rhs @ multipliers < 0
        return
    excess = qp.normals @ x - qp.rhs
    terms = np.abs(qp.normals) @ np.abs(x) + np.abs(qp.rhs)
    assert (excess[free] <= 1e-14 * terms[free]).all()
    assert (np.abs(excess[~free]) <= 1e-14 * terms[~free]).all()
    slope = qp.hessian @ x + qp.slope + qp.normals.T @ multipliers
    sizes += np.abs(qp.hessian) @ np.abs(x) + np.abs(qp.slope)
    assert (np.abs(slope) <= 1e-13 * sizes).all()
    slack = np.abs(excess) > 1e-12 * terms
    assert not multipliers[slack].any()


def test_both_endings_occur():
    endings = {program(seed).solve()[0] is None for seed in range(25)}
    assert endings == {True, False}


def test_dependent_equalities_hold_or_contradict_each_other():
    normals = np.array([[1.0, 1.0], [2.0, 2.0]])
    both = np.ones(2, dtype=bool)
    twice = ExactQP(np.eye(2), np.zeros(2), normals, np.array([1.0, 2.0]), both)
    assert twice.solve()[0].tolist() == [0.5, 0.5]
    against = ExactQP(np.eye(2), np.zeros(2), normals, np.array([1.0, 3.0]), both)
    x, ray = against.solve()
    assert x is None
    assert (normals.T @ ray == 0).all()
    assert ray @ against.rhs < 0


def test_a_singular_form_is_refused():
    with pytest.raises(ZeroDivisionError, match="singular"):
        ExactQP(
            np.zeros((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1), np.array([False])
        ).solve()
