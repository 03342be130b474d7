"""Settings of the streamed search: what is refused, and that they are used."""

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, solve
from cardqp.branch_and_bound.streamed.settings import (
    CoarseningSettings,
    StreamedSettings,
)
from tests.problems import enumerate_optimum
from tests.streamed import exact


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"batch_size": 0}, "`batch_size` must be an integer, at least 1: it is 0"),
        ({"leaf_columns": 2.5}, "`leaf_columns` must be an integer, at least 1"),
        ({"min_columns": -1}, "`min_columns` must be a number, at least 0"),
        ({"root_slack": -0.1}, "`root_slack` must be a number, at least 0"),
        ({"scales": ()}, r"`len\(scales\)` must be an integer, at least 1"),
        ({"coarse_scales": (1.0, -0.5)}, "`coarse_scales` must be a number, at least"),
    ],
)
def test_messages(fields, message):
    with pytest.raises(ParameterError, match=message):
        StreamedSettings(**fields)


def test_coarsening_must_grow():
    """The loop over ever more nodes would not end otherwise."""
    with pytest.raises(ParameterError, match="`growth` must be a number, at least 2"):
        CoarseningSettings(growth=1)


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 14)), rng.standard_normal(20)
    return SparseQP.from_data(X, y, eta=50.0, sparsity=4)


def test_small_problems_are_streamed_if_asked_for(problem):
    assert not solve(problem).certificate.is_streamed(problem)
    streamed = solve(problem, method=exact())
    assert streamed.certificate.is_streamed(streamed.problem)
    assert streamed.objective == pytest.approx(solve(problem).objective, rel=1e-9)


def test_smaller_batches_take_more_passes(problem):
    def n_passes(batch_size):
        last = solve(problem, method=exact(batch_size=batch_size)).stages[-1]
        assert last.name == "search"
        return int(last.detail.split(" passes")[0])

    assert n_passes(1) > n_passes(32)


def test_one_scale_is_no_closed_form():
    """With a penalty, costs do not grow with the square of the scale."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 9)), rng.standard_normal(20)
    problem = SparseQP.from_data(X, y, eta=50.0, sparsity=4, penalty=0.02)
    found = solve(problem, method=exact(scales=(0.97,), root_columns=1), node_limit=30)
    assert len(found.certificate.tree.scale) > 2
    assert (found.certificate.tree.scale == 0.97).all()
    assert found.lower_bound <= enumerate_optimum(problem)[0]
    proved = found.certificate.lower_bound(problem)
    assert proved == pytest.approx(found.lower_bound, rel=1e-9)
