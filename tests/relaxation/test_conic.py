import numpy as np
import pytest

from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.relaxation.conic import relax_by_cones
from cardqp.relaxation.relaxation import Effort, Relaxation
from tests.problems import OWN_SWITCHES, enumerate_optimum, n_switched, random_problem

FEASIBLE_KINDS = [kind for kind in OWN_SWITCHES if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_cones_and_the_first_order_method_relax_alike(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    root, relaxation = problem.root, Relaxation.prepare(problem)
    effort = Effort(1e-9 * abs(optimum))
    expected = relaxation.solve(root, *relaxation.start(), effort)
    found = relax_by_cones(problem, root)
    values = [
        tangent_bound(problem, tangent_point, beta).value(root)
        for tangent_point, beta in (
            (expected.tangent_point, expected.beta),
            (found.x, found.beta),
        )
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-5, abs=1e-7)
    assert values[1] <= optimum + 1e-9 * abs(optimum)
    assert n_switched(problem, found.switches) <= problem.rule.limit + 1e-6
