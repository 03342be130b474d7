import numpy as np
import pytest

from cardqp import SparseQP
from tests.problem.small import make


def test_objective_has_all_terms():
    problem = make(
        np.diag([1.0, 2.0, 3.0]), [1.0, -1.0, 0.0], eta=[1.0, 2.0, 4.0], penalty=0.5,
        constant=10.0,
    )  # fmt: skip
    # 10 + (2 - 3) + (4 + 18) + (4 + 4.5) + 2 * 0.5
    assert problem.objective([2.0, 3.0, 0.0]) == 40.5


def test_feasibility_measures_each_constraint():
    problem = make(
        A=[[1.0, 1.0, 0.0]], b=[2.0], A_eq=[[0.0, 0.0, 1.0]], b_eq=[1.0], upper=2.0
    )  # fmt: skip
    found = problem.feasibility([2.5, 1.5, 0.5])
    assert found.rows == 2.0 / (2.5 + 1.5 + 2.0)
    assert found.equalities == 0.5 / (0.5 + 1.0)
    assert found.bounds == pytest.approx(0.2)
    assert found.cardinality == 2
    assert not found.holds()
    assert problem.feasibility([0.0, 0.0, 1.0]).holds()


def test_feasibility_of_thresholds_and_forced_variables():
    problem = SparseQP(
        np.eye(3),
        np.zeros(3),
        eta=1.0,
        sparsity=2,
        lower=[0.5, -1.0, 0.5],
        upper=1.0,
        forced_in=[0],
        forced_out=[1],
    )
    assert problem.feasibility([0.5, 0.0, 0.0]).holds()
    assert problem.feasibility([0.5, 0.0, 1.0]).holds()
    for wrong in ([0.0, 0.0, 0.5], [0.5, 0.1, 0.0], [0.5, 0.0, 0.2]):
        assert problem.feasibility(wrong).bounds > 0.1
