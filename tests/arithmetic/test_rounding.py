"""The lemmas that margins rest on, and that margins are nowhere else."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cardqp
from cardqp.arithmetic.rounding import (
    NORM_FACTOR,
    SMALLEST_NORMAL,
    UNIT_ROUNDOFF,
    gamma,
    lowered,
    mean_unit,
    raised,
    variance_unit,
)
from tests.arithmetic.exact import are_covered, cancelling, exact, numbers

U = Fraction(UNIT_ROUNDOFF)


def in_any_order(rng, terms):
    """The sum of terms by a random tree of additions."""
    terms = list(terms)
    while len(terms) > 1:
        i, j = sorted(rng.choice(len(terms), 2, replace=False))
        terms.append(terms.pop(j) + terms.pop(i))
    return terms[0]


def fused(x, y):
    """An inner product whose terms are multiplied and added with one rounding each."""
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        total = float(Fraction(total) + Fraction(a) * Fraction(b))
    return total


def test_the_units_are_those_of_the_format():
    assert 1.0 + UNIT_ROUNDOFF == 1.0 < 1.0 + 2.0 * UNIT_ROUNDOFF
    assert np.finfo(float).tiny == SMALLEST_NORMAL
    assert np.finfo(float).eps == 2 * UNIT_ROUNDOFF


def test_sums_in_any_order():
    """Lemma 1."""
    rng, shares = np.random.default_rng(0), []
    for n in (2, 3, 7, 40):
        for _ in range(20):
            terms = cancelling(rng, np.ones(n))
            error = abs(Fraction(in_any_order(rng, terms)) - sum(exact(terms)))
            shares.append(error / ((n - 1) * U * sum(abs(exact(terms)))))
    assert are_covered(shares)


def test_the_bound_for_sums_is_sharp():
    n = 1000
    terms = np.append(1.0, np.full(n - 1, UNIT_ROUNDOFF))
    total = 0.0
    for term in terms:
        total += term
    error = sum(exact(terms)) - Fraction(total)
    assert Fraction(999, 1000) < error / ((n - 1) * U * sum(exact(terms))) <= 1


@pytest.mark.parametrize(
    "product",
    [
        np.dot,
        fused,
        lambda x, y: (x * y).sum(),
        lambda x, y: np.einsum("i,i->", x, y),
        lambda x, y: in_any_order(np.random.default_rng(1), x * y),
    ],
)
def test_inner_products_in_any_order(product):
    """Lemma 2."""
    rng, shares = np.random.default_rng(2), []
    for n in (1, 2, 3, 10, 64):
        for _ in range(10):
            x = numbers(rng, n)
            y = cancelling(rng, x) if n > 1 else numbers(rng, n)
            terms = exact(x) * exact(y)
            error = abs(Fraction(float(product(x, y))) - sum(terms))
            shares.append(error / (n * U * sum(abs(terms))))
    assert are_covered(shares)


def test_products_that_are_rounded_to_nothing():
    """Lemma 11: each is off by half of the least number at most."""
    rng, least = np.random.default_rng(3), Fraction(2) ** -1075
    shares = []
    for _ in range(50):
        n = int(rng.integers(1, 20))
        x, y = 1e-162 * rng.standard_normal(n), 1e-162 * rng.standard_normal(n)
        error = abs(Fraction(float(x @ y)) - sum(exact(x) * exact(y)))
        shares.append(error / (n * least))
    assert are_covered(shares)
    assert 2**53 * least == Fraction(SMALLEST_NORMAL)


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_many_roundings_in_a_row(n):
    """Lemma 3."""
    above, below = (1 + U) ** n - 1, 1 / (1 - U) ** n - 1
    assert above <= below <= Fraction(gamma(n)) * (1 + 4 * U)
    assert below > Fraction(gamma(n)) * (1 - 4 * U) ** n * Fraction(99, 100)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1001, 10**6])
def test_a_raised_number_is_not_below_the_exact_one(n):
    """Lemma 5, for numbers just above and just below a power of two."""
    rng = np.random.default_rng(n)
    lowest = (1 - U) ** min(n, 2000) if n < 2000 else 1 - n * U
    for value in (1.0, math.nextafter(1.0, 2.0), *rng.uniform(1.0, 2.0, 20)):
        assert Fraction(value * raised(n)) * lowest >= Fraction(value)
    assert raised(n) - 1.0 <= (n + 5) * UNIT_ROUNDOFF
    assert raised(np.array([n]))[0] == raised(n)


def test_a_lowered_number_is_below_the_difference():
    rng, lost = np.random.default_rng(4), 0
    for value, margin in zip(numbers(rng, 200), numbers(rng, 200) ** 2, strict=True):
        difference = Fraction(value) - Fraction(margin)
        assert Fraction(lowered(value, margin)) <= difference
        assert abs(Fraction(lowered(value, margin)) - difference) <= 4 * U * (
            abs(Fraction(value)) + Fraction(margin)
        )
        lost += Fraction(value - margin) > difference
    assert lost > 20  # a plain difference would not do
    assert lowered(math.inf, 1.0) == math.inf
    assert lowered(-math.inf, 1.0) == -math.inf


def test_one_per_cent_covers_a_computed_norm():
    rng, shares = np.random.default_rng(5), []
    for n in (1, 5, 200):
        x = numbers(rng, n, spread=1.0)
        computed = Fraction(float(np.sqrt(x @ x))) ** 2
        off = abs(computed / sum(exact(x) ** 2) - 1)
        shares.append(off / ((n + 3) * U))
    assert are_covered(shares)
    assert (1 + 10**13 * UNIT_ROUNDOFF) ** 2 < NORM_FACTOR


@pytest.mark.parametrize("value", [0.1, 1e8 / 3.0, 1e-9 / 7.0])
def test_what_does_not_vary_has_no_variance_to_speak_of(value):
    shares = []
    for n in (3, 10, 1001):
        rows = np.full(n, value)
        mean = rows.mean()
        deviation = abs(Fraction(mean) - Fraction(value)) / Fraction(value)
        assert deviation <= Fraction(mean_unit(n))
        second = float(rows @ rows) / n
        shares.append(
            abs(Fraction(second - mean * mean)) / Fraction(variance_unit(n) * second)
        )
    assert max(shares) <= 1


def test_margins_are_defined_in_one_place():
    """No module has a unit roundoff, or the machine's, of its own."""
    folder = Path(cardqp.__file__).parent
    home = folder / "arithmetic" / "rounding.py"
    bare = re.compile(
        r"UNIT_ROUNDOFF|finfo|float_info.epsilon|2(\.0)?\s*\*\*\s*-\s*5[23]\b"
    )
    sources = [path for path in folder.rglob("*.py") if path != home]
    assert len(sources) > 100
    assert bare.search(home.read_text())
    assert [path.name for path in sources if bare.search(path.read_text())] == []


def test_every_margin_is_accounted_for():
    """The document has a section or a row on each name."""
    home = Path(cardqp.__file__).parent / "arithmetic" / "rounding.py"
    document = Path(__file__).parents[2] / "docs" / "rounding.md"
    source, told = home.read_text(), document.read_text()
    names = re.findall(r"^def (\w+)|^([A-Z_]+) = ", source, flags=re.MULTILINE)
    names = {function or constant for function, constant in names}
    assert len(names) > 30
    assert {name for name in names if f"`{name}`" not in told} == set()
