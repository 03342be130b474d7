"""Strong parts, in floats, against rational arithmetic: Lemmas 13 and 14.

A part that counts as weak must be weak.  Where all correlations and all slopes are the
same, sets gain just as much as their parts say: there thresholds leave no room.
"""

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.arithmetic.rounding import PART_MARGIN, PART_ROOM, UNIT_ROUNDOFF
from cardqp.certificate.completions import gain_error
from cardqp.certificate.strong_parts import cut_off_bound
from cardqp.heuristics.completed_supports import Supports
from tests.arithmetic.exact import are_covered
from tests.arithmetic.strong_parts import (
    CODES,
    exact_gain,
    float_below,
    listed,
    symmetric,
)
from tests.relaxation.test_completion import exact_gain as exact_quarter

U, MARGIN = Fraction(UNIT_ROUNDOFF), Fraction(PART_MARGIN)
PAIR_UNITS, TRIPLE_UNITS = 60, 25_000
"""By how much tests may be off, in units of what is to be gained: Lemma 13."""

both_codes = pytest.mark.parametrize("code", CODES.values(), ids=CODES)
both_sizes = pytest.mark.parametrize("remaining", [3, 4])


def pair_at(rng, factor):
    """A pair whose enlarged correlation may leave hardly any room."""
    room = rng.choice([1.0, 0.3, 0.01, 1.02 * PART_ROOM, (1 + 1e-9) * PART_ROOM])
    R = symmetric(2, rng.choice([-1.0, 1.0]) * math.sqrt(1.0 - room) / factor)
    angle = rng.uniform(0.0, 2.0 * np.pi)
    s = np.array([np.cos(angle), np.sin(angle)]) * 10.0 ** rng.choice([-90, 0, 90])
    return R, s


def triple_at(rng):
    """A triple, with three halves of its correlations, that leaves hardly any room."""
    f, d, v = 1.5, *rng.choice([0.5, 0.01, 1.02 * PART_ROOM, 1.0001 * PART_ROOM], 2)
    t, side = rng.choice([-1.0, 1.0]) * math.sqrt(1.0 - d), math.sqrt(1.0 - v)
    angle, lacking = rng.uniform(0.0, 2.0 * np.pi), rng.choice([0.5, 0.9, 0.01, 1e-8])
    p, q = side * np.cos(angle), side * np.sin(angle)
    angle = rng.uniform(0.0, 2.0 * np.pi)
    first, y = math.sqrt(1.0 - lacking) * np.array([np.cos(angle), np.sin(angle)])
    R = symmetric(3, t / f)
    R[0, 2] = R[2, 0] = p / f
    R[1, 2] = R[2, 1] = (t * p + q * math.sqrt(d)) / f
    last = p * first + q * y + rng.choice([-1.0, 1.0]) * math.sqrt(lacking * v)
    s = np.array([first, t * first + y * math.sqrt(d), last])
    return R, s * 10.0 ** rng.choice([-90, 0, 90])


def pair_excess(R, s, factor, enough):
    """By how much a pair gains more than enough, times its determinant."""
    r, a, b = factor * Fraction(R[0, 1]), *map(Fraction, s)
    return a * a + b * b - 2 * r * a * b - enough * (1 - r * r)


def triple_excess(R, s, enough):
    """By how much the third variable gains more than enough, times what is left."""
    t, p, w = (Fraction(3, 2) * Fraction(R[pair]) for pair in ((0, 1), (0, 2), (1, 2)))
    first, second, last = map(Fraction, s)
    d, a, b = 1 - t * t, second - t * first, w - t * p
    slope, room = last - p * first - a * b / d, 1 - p * p - b * b / d
    return slope**2 - (enough - first**2 - a * a / d) * room


def last_marked(is_marked, below, above):
    """The largest number, up to rounding, for which a part is marked."""
    assert is_marked(below)
    assert not is_marked(above)
    while below < (middle := 0.5 * (below + above)) < above:
        below, above = (middle, above) if is_marked(middle) else (below, middle)
    return below


@both_codes
@both_sizes
def test_a_pair_that_is_not_marked_is_weak(code, remaining):
    rng, shares = np.random.default_rng(remaining), []
    factor, share = remaining - 1, Fraction(2, remaining)
    for _ in range(60):
        R, s = pair_at(rng, factor)
        gain = exact_gain(R, s, (0, 1), factor) / share

        def is_marked(start, R=R, s=s):
            return code.pairs(R, s, remaining, start)[1, 0]

        assert is_marked(float_below(gain))
        if Fraction(factor * R[0, 1]) ** 2 < 1 - Fraction(PART_ROOM):
            start = last_marked(is_marked, float_below(gain), 1.001 * float(gain))
            enough = share * Fraction(start)
            off = pair_excess(R, s, factor, enough) + MARGIN * enough
            shares.append(abs(off) / (PAIR_UNITS * U * enough))
    assert len(shares) > 30
    assert are_covered(shares)


@both_codes
def test_a_triple_that_is_not_marked_is_weak(code):
    rng, shares, share = np.random.default_rng(0), [], Fraction(3, 4)
    for _ in range(80):
        R, s = triple_at(rng)
        gain = exact_gain(R, s, range(3), Fraction(3, 2)) / share
        start = float_below(gain)
        for i, j, k in permutations(range(3)):
            assert code.thirds(R, s, i, j, start)[k]

        def is_marked(start, R=R, s=s):
            return code.thirds(R, s, 0, 1, start)[2]

        start = last_marked(is_marked, start, 1.001 * start)
        enough = share * Fraction(start)
        # With next to nothing left to gain, a pair counts as strong by itself.
        if Fraction(start) < gain * (1 + 2 * MARGIN):
            continue
        off = triple_excess(R, s, enough) + MARGIN * enough
        shares.append(abs(off) / (TRIPLE_UNITS * U * enough))
    assert len(shares) > 30
    assert are_covered(shares)


@both_codes
def test_a_part_without_room_is_strong(code):
    """Whatever it gains: its form may be indefinite."""
    s = np.array([1e-3, 1e-3, 1e-3, 0.0])
    for room in (0.99 * PART_ROOM, 1e-16, 0.0, -1e-16, -0.5):
        correlation = math.sqrt(1.0 - room)
        for remaining in (3, 4):
            R = symmetric(4, correlation / (remaining - 1))
            assert code.pairs(R, s, remaining, 1.0)[np.tril_indices(4, -1)].all()
        R = symmetric(4, 0.0)
        R[0, 1] = R[1, 0] = correlation / 1.5
        assert code.thirds(R, s, 0, 1, 1.0).tolist() == [False, False, True, True]
        assert code.thirds(R, s, 0, 2, 1.0).tolist() == [False, True, False, False]


def mutual(rng, n, remaining):
    """Some variables that are all alike, up to their signs, among others."""
    least = -1.0 / (remaining - 1)
    r, a = rng.uniform(0.95 * least, -0.05), rng.uniform(0.5, 2.0)
    R, s = symmetric(n, 0.0), 0.3 * rng.standard_normal(n)
    members = rng.choice(n, remaining, replace=False)
    R[np.ix_(members, members)] = symmetric(remaining, r)
    s[members] = a
    sign = rng.choice([-1.0, 1.0], n)
    return R * np.multiply.outer(sign, sign), s * sign


def tied(rng, n, remaining):
    """All variables alike."""
    r = rng.uniform(-0.9 / (n - 1), 1.0 / (remaining - 1))
    return symmetric(n, r), np.full(n, rng.uniform(0.5, 2.0))


def of_columns(F, rng):
    F = F / np.sqrt((F * F).sum(axis=0))
    R = F.T @ F
    np.fill_diagonal(R, 1.0)
    return R, F.T @ rng.standard_normal(len(F))


def scattered(rng, n, _remaining):
    """Columns with small correlations, and with large ones."""
    F = rng.standard_normal((n + 2, n))
    return of_columns(F + rng.uniform(0.0, 2.0) * rng.standard_normal((n + 2, 1)), rng)


def opposite(rng, n, _remaining):
    """Columns that are close to others or to their opposites."""
    F = rng.standard_normal((n + 2, n))
    near = 10.0 ** rng.uniform(-4.0, -1.0)
    F[:, 1::2] = near * F[:, 1::2] - F[:, ::2][:, : n // 2]
    return of_columns(F, rng)


def without_room(rng, n, remaining):
    """Correlations that, enlarged, leave as much room as there must be."""
    factor = rng.choice([remaining - 1.0, 1.5])
    ulps = rng.integers(-3, 4, (n, n)) * 1e-16
    R = np.sqrt(1.0 - PART_ROOM) / factor * (1.0 + ulps)
    sign = rng.choice([-1.0, 1.0], n)
    R = np.tril(R, -1) * np.multiply.outer(sign, sign)
    R += R.T + np.eye(n)
    alike = rng.choice([-1.0, 1.0]) if rng.random() < 0.5 else sign
    return R, alike * rng.uniform(0.9, 1.1, n)


SETTINGS = (mutual, tied, scattered, opposite, without_room)


@both_codes
@both_sizes
@pytest.mark.parametrize("setting", SETTINGS)
def test_sets_that_gain_more_have_a_part_that_is_tried(setting, remaining, code):
    rng, n_sets, n_without = np.random.default_rng(1), 0, 0
    for _ in range(12):
        n = int(rng.integers(4 if remaining == 3 else 5, 10 if remaining == 3 else 8))
        R, s = setting(rng, n, remaining)
        gains = {
            members: exact_gain(R, s, members)
            for members in combinations(range(n), remaining)
        }
        gains = {m: gain for m, gain in gains.items() if 0 < gain < math.inf}
        most = float_below(max(gains.values()))
        for members, gain in gains.items():
            start = float_below(gain)
            assert code.completes(R, s, members, start)
            if code is CODES["search"]:
                parts = [set(part) for part in listed(R, s, remaining, start).tolist()]
                assert any(part <= set(members) for part in parts)
            n_without += not code.completes(R, s, members, most)
        n_sets += len(gains)
    assert n_sets > 100
    # Otherwise all were tried, whatever they gain.
    assert n_without > 0 or setting in (tied, without_room)


@both_codes
@both_sizes
@pytest.mark.parametrize("setting", [mutual, tied, scattered, without_room])
def test_the_best_set_is_found_as_soon_as_it_gains_more(setting, remaining, code):
    """Gains of these sets are computed to twelve digits."""
    rng, n_found = np.random.default_rng(2), 0
    for _ in range(10):
        n = int(rng.integers(5, 9))
        R, s = setting(rng, n, remaining)
        gains = [exact_gain(R, s, m) for m in combinations(range(n), remaining)]
        if max(gains) == math.inf:
            continue
        best = float(max(gains))
        for share in (1e-7, 1e-10):
            gain = code.gain(R, s, remaining, best * (1.0 - share))
            assert gain == pytest.approx(best, rel=1e-12)
            n_found += 1
        above = best * (1.0 + 1e-7)
        assert code.gain(R, s, remaining, above) == above
    assert n_found > 5


def problem_with(R, s, rng, remaining, eta, spread):
    """A problem with two variables more, which are on; scaled, the others are R, s."""
    n = len(s)
    B = rng.uniform(-1.0, 1.0, (2, n))
    G = np.block([[np.eye(2), B], [B.T, R + B.T @ B]])
    c = np.append(rng.standard_normal(2), s)
    c[2:] += B.T @ c[:2]
    ridge = min(1.0 / eta, 0.5 * np.linalg.eigvalsh(G)[0])
    scale = 2.0 ** np.round(rng.uniform(-spread, spread, n + 2))
    return SparseQP(
        (G - ridge * np.eye(n + 2)) * np.multiply.outer(scale, scale),
        c * scale,
        eta=1.0 / (ridge * scale**2),
        sparsity=remaining + 2,
        constant=float(rng.choice([0.0, 1.0, -300.0])),
    )


@both_sizes
@pytest.mark.parametrize("eta", [20.0, 1e9], ids=["ridge", "weak"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_no_bound_of_a_node_is_above_its_optimum(setting, eta, remaining):
    rng, n_cut = np.random.default_rng(3), 0
    fixed_in = np.arange(2)
    for _ in range(4):
        n = int(rng.integers(remaining + 1, 8))
        R, s = setting(rng, n, remaining)
        spread = rng.choice([0.0, 20.0])
        problem = problem_with(R, s, rng, remaining, eta, spread)
        free, supports = np.arange(2, n + 2), Supports.of(problem)
        error = gain_error(problem, remaining + 2)
        best = Fraction(problem.constant) - max(
            exact_quarter(problem, (*fixed_in, *more))
            for more in combinations(free, remaining)
        )
        gain = problem.constant - float(best)
        for share in (-0.1, -1e-6, -1e-12, 0.0, 1e-15, 1e-12, 1e-10, 1e-6, 0.1):
            cutoff = float(best) + share * gain
            node = (fixed_in, free, remaining)
            proved = cut_off_bound(problem, *node, cutoff, error)
            assert proved == -math.inf or Fraction(proved) <= best
            n_cut += proved == cutoff
            found = supports and supports.best_below(cutoff, *node)
            assert found is None or Fraction(found[0]) <= best
    assert n_cut >= 4
