from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.problem.quadratic import Factor, Gram, plane


def forms(seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((3, 5)) * 10.0 ** rng.uniform(-4, 4, 5)
    gram = SparseQP(F.T @ F, np.ones(5), eta=1.0, sparsity=1).quadratic
    assert isinstance(gram, Gram)
    return F, gram, Factor(F)


def exact(values):
    return np.array([Fraction(float(v)) for v in np.ravel(values)]).reshape(
        np.shape(values)
    )


@pytest.mark.parametrize("seed", range(20))
def test_tangents_stay_below_the_form_in_exact_arithmetic(seed):
    """The minorant, with its worst slope, never exceeds x'Qx (rational arithmetic)."""
    rng = np.random.default_rng(seed + 100)
    F, gram, factor = forms(seed)
    tangent_point = rng.standard_normal(5) / np.linalg.norm(F, axis=0)
    tangent_point[rng.random(5) < 0.3] = 0.0
    points = [tangent_point] + [
        rng.standard_normal(5) / np.linalg.norm(F, axis=0) for _ in range(5)
    ]
    for form, matrix in ((gram, exact(gram.array)), (factor, exact(F).T @ exact(F))):
        found = form.tangent(tangent_point)
        for point in points:
            x = exact(point)
            worst = exact(found.slope) @ x - exact(found.slope_error) @ abs(x)
            lower = worst - Fraction(found.offset) - exact(found.loss) @ (x * x)
            assert lower <= x @ matrix @ x


def test_planes_are_valid_for_any_alpha():
    F = np.random.default_rng(0).standard_normal((2, 4))
    alpha, x = np.array([3.0, -50.0]), np.array([1.0, 0.0, -2.0, 0.5])
    found = plane(F, alpha, (F**2).sum(axis=0))
    assert found.slope @ x - found.offset <= np.sum((F @ x) ** 2)


def test_both_forms_agree():
    F, gram, factor = forms(0)
    x = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    support = np.array([1, 3])
    np.testing.assert_allclose(gram.apply(x), factor.apply(x))
    np.testing.assert_allclose(gram.apply(x[:, None])[:, 0], factor.apply(x))
    np.testing.assert_allclose(gram.block(support), factor.block(support))
    np.testing.assert_allclose(gram.columns(support), factor.columns(support))
    np.testing.assert_allclose(gram.diagonal, factor.diagonal)
    np.testing.assert_allclose(gram.squared_norm(), factor.squared_norm())
    np.testing.assert_allclose(
        gram.restrict(support).dense(), factor.restrict(support).dense()
    )
    np.testing.assert_allclose(factor.dense(), F.T @ F)
