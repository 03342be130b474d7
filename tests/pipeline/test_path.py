import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Status, Stop, path, solve
from cardqp.datasets import make_regression


def problem():
    data = make_regression(80, 12, sparsity=4, correlation=0.7, seed=1)
    return SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=4)


def test_each_point_is_the_answer_for_its_sparsity():
    found = path(problem(), [3, 1, 2, 50])
    assert found.sparsities == (1, 2, 3)
    for sparsity, solution in zip(found.sparsities, found.solutions, strict=True):
        alone = solve(problem().with_limits(sparsity=sparsity))
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(alone.objective, rel=1e-4)
        assert len(solution.support) <= sparsity
    objectives = found.to_dict()["objective"]
    assert objectives == sorted(objectives, reverse=True)
    assert len(str(found).splitlines()) == len(found) + 1


def test_callback_ends_the_path():
    seen = []
    found = path(problem(), range(1, 6), callback=lambda p: seen.append(p) or True)
    assert len(found) == 1
    assert found.solutions[0].stop in (Stop.CALLBACK, Stop.GAP)


def test_plot_draws_the_objective():
    found = path(problem(), range(1, 5))
    ax = found.plot()
    objective = ax.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(objective, found.to_dict()["objective"])


@pytest.mark.parametrize(
    ("sparsities", "message"),
    [
        (3, "must be a list of integers"),
        ([], "at least one number"),
        ([99], "up to n = 12"),
        ([-1], "`sparsities` must hold integers, at least 0"),
        ([1, "a"], "`sparsities` must hold integers, at least 0"),
        ([[1]], "`sparsities` must hold integers, at least 0"),
    ],
)
def test_bad_sparsities(sparsities, message):
    with pytest.raises(ParameterError, match=message):
        path(problem(), sparsities)
