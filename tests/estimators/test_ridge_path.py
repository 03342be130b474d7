"""Models of all sizes and the choice among them."""

import re

import numpy as np
import pytest

from cardqp import ParameterError, SparseRidge, SparseRidgePath
from tests.estimators.data import regression


def test_each_size_is_the_model_of_that_size():
    X, y = regression()
    found = SparseRidgePath([1, 3, 5]).fit(X, y)
    assert found.path_.sparsities == (1, 3, 5)
    for row, size in enumerate((1, 3, 5)):
        single = SparseRidge(size, eta=found.eta_, standardize=True).fit(X, y)
        np.testing.assert_allclose(found.coef_path_[row], single.coef_, rtol=1e-9)
        assert found.intercept_path_[row] == pytest.approx(single.intercept_)


def test_bic_by_its_definition():
    X, y = regression()
    found = SparseRidgePath(range(1, 6), criterion="bic").fit(X, y)
    for size, value in zip(found.path_.sparsities, found.criterion_path_, strict=True):
        left = y - SparseRidge(size, refit=True).fit(X, y).predict(X)
        share = np.mean(left**2) / y.var()
        assert value == pytest.approx(80 * np.log(share) + size * np.log(80))
    assert found.n_nonzero_coefs_ == 1 + int(np.argmin(found.criterion_path_))
    assert len(found.support_) == found.n_nonzero_coefs_


@pytest.mark.slow
def test_criteria_differ_in_how_much_they_ask():
    X, y = regression(60, 40)
    sizes = [
        SparseRidgePath(range(1, 11), criterion=name).fit(X, y).n_nonzero_coefs_
        for name in ("ebic", "bic", "aic")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] == 3
    assert sizes[2] > 3


def test_sizes_by_default():
    X, y = regression()
    assert SparseRidgePath().fit(X, y).path_.sparsities == tuple(range(1, 13))
    inside = SparseRidgePath(always_include=[0, 2]).fit(X, y)
    assert inside.path_.sparsities == tuple(range(2, 13))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nonzero_coefs": []}, "`n_nonzero_coefs` must be one size or more"),
        ({"n_nonzero_coefs": 3}, "`n_nonzero_coefs` must be one size or more"),
        ({"ebic_gamma": np.nan}, "`ebic_gamma` must be a number, at least 0"),
        ({"criterion": "cp"}, "`criterion` must be one of aic, bic, ebic"),
    ],
)
def test_messages(settings, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        SparseRidgePath(**settings).fit(*regression())
