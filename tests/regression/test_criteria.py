"""Information criteria by their definitions."""

from math import comb, log

import pytest

from cardqp import ParameterError
from cardqp.regression import criterion

SIZES = {"n_samples": 50, "n_coefs": 4, "n_chosen": 3, "n_units": 12}


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("aic", 2 * 4),
        ("bic", 4 * log(50)),
        ("ebic", 4 * log(50) + 2 * log(comb(12, 3))),
    ],
)
def test_definition(name, price):
    expected = 50 * log(0.25) + price
    assert criterion(name, 0.25, **SIZES) == pytest.approx(expected, rel=1e-12)


def test_gamma_weighs_the_choice():
    half = criterion("ebic", 0.5, gamma=0.5, **SIZES)
    assert half == pytest.approx(50 * log(0.5) + 4 * log(50) + log(comb(12, 3)))


def test_a_perfect_fit_is_finite_and_no_better_than_rounding():
    assert criterion("bic", 0.0, **SIZES) == criterion("bic", 1e-15, **SIZES)


def test_unknown_name():
    with pytest.raises(ParameterError, match="`criterion` must be one of aic, bic"):
        criterion("dic", 1.0, **SIZES)
