import numpy as np
import pytest

from cardqp import ParameterError, Progress, SparseQP, Stop, Trace, solve
from cardqp.datasets import make_regression


def problem(n_samples=150, n=40, sparsity=6):
    data = make_regression(n_samples, n, sparsity=sparsity, correlation=0.7, seed=3)
    return SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=sparsity)


def seen(seconds, objective=np.inf, lower_bound=-np.inf, stage="search", **more):
    return Progress(stage, 7, seconds, objective, lower_bound, **more)


def test_the_last_point_is_the_solution():
    trace = Trace()
    solution = solve(problem(), callback=trace)
    trace.close(solution)
    last = trace.points[-1]
    assert (last.objective, last.lower_bound, last.n_iter) == (
        solution.objective,
        solution.lower_bound,
        solution.n_nodes,
    )
    assert len(trace) >= 2
    columns = trace.to_dict()
    assert list(columns) == ["seconds", "stage", "n_iter", "objective", "lower_bound"]
    assert {len(values) for values in columns.values()} == {len(trace)}
    assert columns["seconds"] == sorted(columns["seconds"])
    assert columns["stage"][-1] == "solution"


def test_a_problem_that_is_solved_at_once_has_one_point():
    trace = Trace()
    easy = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    trace.close(solve(easy, callback=trace))
    assert [point.objective for point in trace.points] == [-2.0]


def test_only_what_changes_is_kept():
    trace = Trace()
    for second, (objective, bound) in enumerate(
        [
            (np.inf, -np.inf),
            (np.inf, -np.inf),
            (5.0, -np.inf),
            (5.0, 1.0),
            (5.0, 1.001),  # less than a thousandth of the gap
            (5.0, 1.1),
            (4.0, 1.1),
            (6.0, 0.0),  # the best so far stays
        ]
    ):
        trace(seen(float(second), objective, bound))
    columns = trace.to_dict()
    assert columns["seconds"] == [0.0, 2.0, 3.0, 5.0, 6.0]
    assert columns["objective"] == [np.inf, 5.0, 5.0, 5.0, 4.0]
    assert columns["lower_bound"] == [-np.inf, -np.inf, 1.0, 1.1, 1.1]


def test_bounds_without_a_point_are_compared_with_themselves():
    trace = Trace()
    for second, bound in enumerate([-10.0, -9.999, -5.0]):
        trace(seen(float(second), lower_bound=bound))
    assert trace.to_dict()["lower_bound"] == [-10.0, -5.0]


def test_a_bound_of_a_part_does_not_count():
    trace = Trace()
    trace(seen(0.0, 5.0, 4.9, is_partial=True))
    trace(seen(1.0, 5.0, 2.0))
    assert trace.to_dict()["lower_bound"] == [-np.inf, 2.0]


def test_no_bound_is_above_the_optimum_when_candidates_are_searched():
    whole = problem(200, 60, 8)
    optimum = solve(whole).objective
    parts = []
    trace = Trace(then=lambda p: parts.append(p.is_partial))
    solve(whole, method="best-response", level=1, callback=trace)
    assert any(parts)
    assert not all(parts)
    assert max(trace.to_dict()["lower_bound"]) <= optimum


def test_a_new_run_begins_anew():
    trace = Trace()
    trace(seen(3.0, 5.0))
    trace(seen(1.0, 9.0))
    assert trace.to_dict()["objective"] == [9.0]
    trace.close(solve(problem()))
    trace(seen(100.0, 8.0))
    assert trace.to_dict()["objective"] == [8.0]


def test_closing_again_replaces_the_end():
    trace, solution = Trace(), solve(problem())
    trace.close(solution)
    trace.close(solution)
    assert len(trace) == 1


def test_the_next_callback_decides():
    trace = Trace(then=lambda _: True)
    assert solve(problem(), callback=trace).stop is Stop.CALLBACK
    assert len(trace) == 1
    assert Trace()(seen(0.0)) is None
    assert Trace(then=lambda _: False)(seen(0.0)) is False


def test_bad_arguments():
    with pytest.raises(ParameterError, match="`then` must be a function: it is 3"):
        Trace(then=3)
    with pytest.raises(ParameterError, match="`solution` must be a Solution"):
        Trace().close("done")
