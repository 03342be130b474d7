"""Bounds from residuals where numbers are so small, or so large, that they are lost."""

from fractions import Fraction

import numpy as np

from cardqp import SparseQP
from cardqp.bounds.residual_bound import LEAST_SCALE, Residual
from cardqp.branch_and_bound.streamed.node_bounds import NodeResidual, bound_nodes
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS
from cardqp.branch_and_bound.streamed.tree import StreamedTree


def test_a_bound_near_the_smallest_number_is_below_the_optimum():
    x, y, ridge = -1.16853106e25, -1.88826949e-92, 9.90035833e-88
    problem = SparseQP.from_data([[x, 1.0]], [y], eta=1 / ridge, sparsity=1)
    weight = Fraction(float(problem.ridge[0]))
    optimum = Fraction(y) ** 2 * weight / (weight + Fraction(x) ** 2)
    assert 0 < optimum < Fraction(1e-300)
    tree = StreamedTree.initial(problem)
    assert Fraction(tree.root_bound) <= optimum
    assert Fraction(tree.certificate.lower_bound(problem)) <= optimum


def test_a_scale_that_loses_its_digits_proves_nothing():
    problem = SparseQP.from_data(np.eye(2), [1.0, 2.0], eta=1.0, sparsity=1)
    residual = Residual.of(problem.quadratic, problem.quadratic.target)
    assert residual.base(0.0) == 0.0
    assert residual.base(LEAST_SCALE) > 0.0
    assert residual.base(0.5 * LEAST_SCALE) == -np.inf
    assert residual.best_scale(-1e160) == 0.0
    assert residual.best_scale(-1e140) > 0.0


def test_a_node_with_costs_too_large_for_numbers_has_no_bound():
    X = np.array([[1e153, 1.0], [0.0, 1.0]])
    problem = SparseQP.from_data(X, [0.0, 10.0], eta=1e5, sparsity=1)
    nothing = np.zeros(0, dtype=np.intp)
    node = NodeResidual(nothing, nothing, np.array([-1.0, 9.0]))
    unfixed = np.ones(2, dtype=bool)
    form = problem.quadratic
    [found] = bound_nodes(problem, form, unfixed, [node], DEFAULT_SETTINGS)
    assert found.bound == -np.inf
    assert found.scale == 0.0
