import numpy as np
import pytest

from cardqp.dual.bound import tangent_bound
from cardqp.exact.relaxation import Relaxation
from cardqp.sparsity import Choice
from tests.problems import KINDS, enumerate_optimum, random_problem

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_value_and_bound_of_the_relaxation_meet_below_the_optimum(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    relaxation = Relaxation.prepare(problem)
    root = Choice.root(problem.n, problem.rule.limit)
    start = relaxation.start()
    relaxed = relaxation.solve(root, *start, np.inf, 1e-8 * abs(optimum), 0.0)
    proved = tangent_bound(problem, relaxed.anchor, relaxed.beta).value(root)
    assert relaxed.rows_met
    assert proved <= optimum + 1e-7 * abs(optimum)
    assert relaxed.switches.sum() <= problem.rule.limit + 1e-6


def test_scaling_is_exact():
    problem = random_problem("badly scaled", 0)
    relaxation = Relaxation.prepare(problem)
    np.testing.assert_array_equal(relaxation.c / relaxation.unit, problem.c)
    assert relaxation.matrix.diagonal().max() <= 4.0
