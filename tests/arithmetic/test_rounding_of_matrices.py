"""Margins of matrices in the place of Q, and of elimination, in exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, spectrum
from cardqp.arithmetic.rational import is_positive_definite, solve_exactly
from cardqp.arithmetic.rounding import (
    COMPLETION_UNIT,
    UNIT_ROUNDOFF,
    cholesky_defect,
    component_unit,
    definite_share,
    eigenpair_unit,
    eigenvalue_margin,
    formed_unit,
    inverse_unit,
    moved_diagonal_unit,
    orthonormality_error,
    sparse_minorant_unit,
)
from cardqp.backends.bounds import _inverse
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.certificate.completions import completion_bound, gain_error
from cardqp.certificate.dropping_kernel import drop
from cardqp.certificate.full_gain import FullGain
from cardqp.models import BinaryQP
from cardqp.problem.quadratic import Factor, Gram
from cardqp.problem.streamed_form import StreamedForm
from cardqp.problem.validation import quadratic
from cardqp.spectral.level import skewness
from tests.arithmetic.exact import (
    are_covered,
    exact,
    is_semidefinite,
    numbers,
)

U = Fraction(UNIT_ROUNDOFF)
SEEDS = range(12)


def length(values):
    """The Euclidean norm of rationals, about."""
    return Fraction(math.sqrt(sum(np.ravel(values) ** 2)))


def diagonal(values):
    result = np.zeros((len(values), len(values)), dtype=object)
    result[np.diag_indices(len(values))] = values
    return result


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_what_a_matrix_lacks_to_be_semidefinite(n):
    """A matrix of rank one, as rounded, is hardly ever semidefinite."""
    indefinite = 0
    for seed in SEEDS:
        f = numbers(np.random.default_rng(seed), n, spread=3.0)
        Q = np.multiply.outer(f, f)
        defect = quadratic.convexity_defect(Q)
        assert is_semidefinite(exact(Q) + diagonal(exact(defect)))
        indefinite += not is_semidefinite(exact(Q))
        least = cholesky_defect(n) * np.diag(Q)
        np.testing.assert_allclose(defect, least, rtol=1e-12)
    assert indefinite > 5 or n == 1


def test_the_defect_is_not_vacuous():
    needed = []
    for seed in range(60):
        f = np.random.default_rng(seed).uniform(0.5, 1.0, 3)
        Q = np.multiply.outer(f, f)
        defect = exact(quadratic.convexity_defect(Q))
        needed.append(not is_semidefinite(exact(Q) + diagonal(defect / 1000)))
    assert any(needed)


@pytest.mark.parametrize("size", [1e-15, 1e-13, 1e-11])
def test_a_matrix_that_is_not_quite_semidefinite(size):
    """Eigenvalues say what is missing; a factorisation has to confirm it."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        Q = (V * np.append(np.full(5, 1.0), -size)) @ V.T
        Q = 0.5 * (Q + Q.T)
        defect = quadratic.convexity_defect(Q)
        assert is_semidefinite(exact(Q) + diagonal(exact(defect)))
        assert not is_semidefinite(exact(Q))
        assert (defect <= 20 * size + 4 * cholesky_defect(6)).all()


def test_eigenvalues_that_promise_too_much_are_not_believed(monkeypatch):
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    Q = (V * np.array([1.0, 1.0, 1.0, 1.0, -1e-10])) @ V.T
    Q = 0.5 * (Q + Q.T)
    monkeypatch.setattr(
        quadratic.scipy.linalg, "eigvalsh", lambda *_, **__: np.array([0.0, 1.0])
    )
    defect = quadratic.convexity_defect(Q)
    assert is_semidefinite(exact(Q) + diagonal(exact(defect)))


def test_a_diagonal_that_is_moved():
    shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((7, 4))
        problem = SparseQP(
            F.T @ F, np.ones(4), eta=rng.uniform(0.1, 3.0, 4), sparsity=2
        )
        moved = rng.uniform(-0.3, 0.02, 4) * problem.ridge
        after = problem.move_to_ridge(moved)
        # What is left of the objective, on the diagonal: all else is as it was.
        before = exact(problem.Q.diagonal()) + 1 / exact(problem.eta)
        now = exact(after.quadratic.diagonal) + 1 / exact(after.eta)
        size = np.abs(problem.Q.diagonal()) + np.abs(moved) + after.ridge
        shares += list(abs(now - before) / exact(moved_diagonal_unit(4, 0) * size))
        paid = moved_diagonal_unit(4, 0) * size
        assert (after.quadratic.psd_violation >= paid).all()
    assert are_covered(shares)


def test_a_gram_matrix_against_its_data():
    shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((9, 3)) * 10.0 ** rng.uniform(-2, 2, 3)
        form = StreamedForm.read(X, np.ones(9)).in_memory
        true = exact(X).T @ exact(X) / 9
        off = exact(form.array) - true
        paid = exact(form.psd_violation)
        for side in (off, -off):
            assert is_semidefinite(diagonal(paid) + side)
        roots = np.sqrt(np.multiply.outer(form.diagonal, form.diagonal))
        unit = formed_unit(3, form.formed) / 3
        shares += list((abs(off) / exact(unit * roots)).ravel())
    assert are_covered(shares)


def test_ridges_of_sparse_minorants():
    """On every pair of variables the objective of the minorant is below."""
    lost = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        # Rows of the rest with the same entry everywhere: the estimate is attained.
        Q = np.full((3, 3), rng.uniform(0.1, 0.3)) + np.diag(rng.uniform(1.0, 2.0, 3))
        ridge = np.full(3, rng.uniform(2.0, 3.0))
        problem = SparseQP(Q, np.ones(3), eta=1.0 / ridge, sparsity=2)
        P = np.diag(rng.uniform(0.1, 0.5, 3))
        found = sparse_minorant(problem, P)
        rest = exact(problem.Q) - exact(found.Q)
        gained = 1 / exact(found.eta) - 1 / exact(problem.eta)
        plain = exact(np.diag(Q - P) - np.abs(Q[0, 1]))
        for pair in itertools.combinations(range(3), 2):
            block = np.ix_(pair, pair)
            assert is_semidefinite(rest[block] - diagonal(gained[list(pair)]))
            lost += not is_semidefinite(rest[block] - diagonal(plain[list(pair)]))
        size = 1.0 + np.diag(Q) / ridge + np.abs(rest.diagonal().astype(float))
        given_up = (plain - gained) / exact(ridge * size)
        assert max(given_up) <= 2 * Fraction(sparse_minorant_unit(2, 0))
    assert lost > 3


def test_ridges_of_sparse_minorants_with_weights():
    """On every pair, where both variables get exactly what the weights give them."""
    lost = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        weights = rng.uniform(0.5, 2.0, 3)
        # Entries for which each row has the same largest product: all are attained.
        rest = rng.uniform(0.1, 0.3) / np.multiply.outer(weights, weights)
        ridge = np.full(3, rng.uniform(2.0, 3.0))
        P = np.diag(rng.uniform(0.1, 0.5, 3))
        Q = rest + P + np.diag(rng.uniform(1.0, 2.0, 3))
        problem = SparseQP(Q, np.ones(3), eta=1.0 / ridge, sparsity=2)
        found = sparse_minorant(problem, P, weights)
        off = exact(problem.Q) - exact(found.Q)
        gained = 1 / exact(found.eta) - 1 / exact(problem.eta)
        h, size = exact(weights), abs(off)
        for pair in itertools.combinations(range(3), 2):
            block = np.ix_(pair, pair)
            assert is_semidefinite(off[block] - diagonal(gained[list(pair)]))
            i, j = pair
            plain = np.diag(Q - P)[[i, j]] - np.array(
                [float(size[i, j] * h[j] / h[i]), float(size[i, j] * h[i] / h[j])]
            )
            lost += not is_semidefinite(off[block] - diagonal(exact(plain)))
        row = [max(size[i, j] * h[i] for i in range(3) if i != j) for j in range(3)]
        left = off.diagonal() - np.array(row) / h
        magnitude = 1 + (exact(np.diag(Q)) + abs(off.diagonal()) + row / h) / exact(
            ridge
        )
        given_up = (left - gained) / (exact(ridge) * magnitude)
        assert min(given_up) >= 0
        assert max(given_up) <= 2 * Fraction(sparse_minorant_unit(2, 0))
    assert lost > 3


def test_columns_that_are_not_quite_orthonormal():
    shares = []
    for seed in SEEDS:
        V = np.linalg.qr(np.random.default_rng(seed).standard_normal((8, 3)))[0]
        V *= 1.0 + 1e-9 * np.random.default_rng(seed).standard_normal(3)
        product = exact(V).T @ exact(V)
        true = product - diagonal(np.array([Fraction(1)] * 3))
        assert exact(skewness(V))[-1] ** 2 >= (true**2).sum()
        off = exact(V.T @ V) - product
        error = exact(orthonormality_error(8, np.arange(1, 4)))[-1]
        shares.append(length(off) / error)
    assert are_covered(shares)


@pytest.mark.parametrize("shape", [(8, 4), (60, 3)])
@pytest.mark.parametrize("is_factor", [False, True])
def test_residuals_of_eigenvectors(shape, is_factor):
    shares, k = [], 2
    for seed in SEEDS:
        F = np.random.default_rng(seed).standard_normal(shape)
        form = Factor(F) if is_factor else Gram(F.T @ F, np.zeros(shape[1]))
        Q = exact(F).T @ exact(F) if is_factor else exact(form.array)
        values, vectors = np.linalg.eigh(form.dense())
        values, vectors = values[-k:], vectors[:, -k:]
        computed = form.apply(vectors) - vectors * values
        true = Q @ exact(vectors) - exact(vectors) * exact(values)
        size = form.diagonal.sum() if is_factor else np.linalg.norm(form.array)
        unit = eigenpair_unit(shape[1], form.formed)
        # They count twice in what a level gives up.
        shares.append(2 * length(exact(computed) - true))
        shares[-1] /= Fraction(unit * np.sqrt(k) * size)
    assert are_covered(shares)


def test_products_with_a_basis_and_a_rotation():
    shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 4))
        P = np.linalg.qr(rng.standard_normal((12, 3)))[0]
        rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        computed = (X.T @ P) @ rotation
        off = exact(computed) - exact(X).T @ exact(P) @ exact(rotation)
        allowed = component_unit(12, 3) * np.sqrt(3) * np.linalg.norm(X, axis=0)
        shares += [
            length(row) / Fraction(a) for row, a in zip(off, allowed, strict=True)
        ]
    assert are_covered(shares)


@pytest.mark.parametrize("shape", [(3, 5), (5, 5), (300, 3)])
@pytest.mark.parametrize("is_factor", [False, True])
def test_levels_lie_below_the_form(shape, is_factor):
    sticks_out = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        F = rng.standard_normal(shape) * 10.0 ** rng.uniform(-1, 1, shape[1])
        c = np.ones(shape[1])
        settings = {"eta": 1.0, "sparsity": 1}
        if is_factor:
            problem = SparseQP.from_factor(F, c, **settings)
            Q = exact(F).T @ exact(F)
        else:
            problem = SparseQP(F.T @ F, c, **settings)
            Q = exact(problem.Q)
        found = spectrum(problem)
        for k in range(1, len(found) + 1):
            level = found.level(k)
            rest = Q - exact(level.factor).T @ exact(level.factor)
            assert is_semidefinite(rest + diagonal(exact(level.psd_violation)))
            sticks_out += not is_semidefinite(rest)
    assert sticks_out > 5


def test_streamed_levels_lie_below_the_data():
    sticks_out = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 4)) * 10.0 ** rng.uniform(-1, 1, 4)
        problem = SparseQP.from_data(X, np.ones(6), eta=1.0, sparsity=1)
        found = spectrum(problem)
        Q = exact(X).T @ exact(X) / 6
        for k in (1, 2, 4):
            level = found.level(k)
            product = exact(level.factor).T @ exact(level.factor)
            rest = Q + diagonal(exact(level.psd_violation)) - product
            assert is_semidefinite(rest)
            # Without the share that levels give up, they would stick out.
            whole = product / Fraction(found.margin.share)
            sticks_out += not is_semidefinite(Q - whole)
    assert sticks_out > 5


def exact_gain(problem, support):
    Q, index = exact(problem.quadratic.array), list(support)
    G = Q[np.ix_(index, index)] + diagonal(1 / exact(problem.eta)[index])
    slope, gain = exact(problem.c)[index], Fraction(0)
    for k in range(len(index)):
        gain += slope[k] ** 2 / G[k, k]
        share = G[k + 1 :, k] / G[k, k]
        slope[k + 1 :] -= share * slope[k]
        G[k + 1 :, k + 1 :] -= np.multiply.outer(share, G[k, k + 1 :])
    return gain / 4


@pytest.mark.parametrize("eta", [1.0, 1e6, 1e10])
def test_gains_by_elimination(eta):
    shares, lost = [], 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        # Nearly parallel columns: pivots are lost in rounding.
        F = rng.standard_normal((5, 1)) + 1e-7 * rng.standard_normal((5, 4))
        c = rng.standard_normal(4)
        problem = SparseQP(F.T @ F, c, eta=eta, sparsity=4, constant=1.0)
        error = gain_error(problem, 4)
        fixed_in, nothing = np.arange(4), np.arange(0)
        proved = completion_bound(problem, fixed_in, nothing, 0, error)
        plain = completion_bound(problem, fixed_in, nothing, 0, 0.0)
        true = Fraction(1) - exact_gain(problem, range(4))
        if np.isfinite(proved):
            assert Fraction(proved) <= true
            lost += Fraction(plain) > true
            gain = abs(Fraction(plain) - true) / exact_gain(problem, range(4))
            shares.append(gain / Fraction(error))
    assert max(shares) <= 1
    assert lost > 2 or eta == 1.0
    assert are_covered(shares) or eta != 1e6


@pytest.mark.parametrize("as_factor", [False, True])
def test_gains_after_variables_are_dropped(as_factor):
    """In all orders: the true gain is at most the computed one with its errors."""
    shares, inverses = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((7, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
        F[:, 1] = F[:, 0] + 10.0 ** rng.uniform(-4, -1) * F[:, 1]
        form = Factor(F) if as_factor else F.T @ F
        problem = SparseQP(form, rng.standard_normal(5), eta=1e6, sparsity=2)
        full = FullGain.of(problem, np.arange(5))
        F = exact(F)
        Q = F.T @ F if as_factor else exact(problem.Q)
        G = Q + diagonal(1 / exact(problem.eta))
        M = np.block(
            [[np.array([[full.gain]]), full.b[None]], [full.b[:, None], full.H]]
        )
        left, names = M, list(range(5))
        while len(names) > 1:
            p = 1 + int(rng.integers(len(names)))
            order = np.array([q for q in range(len(left)) if q != p])
            out = np.empty((len(order), len(order)))
            drop.py_func(left, p, order, len(order), out)
            left = out
            del names[p - 1]
            c = exact(problem.c)[names]
            true = c @ solve_exactly(G[np.ix_(names, names)], c)
            excess = true * (1 - Fraction(full.share)) - Fraction(left[0, 0])
            assert excess <= Fraction(full.error)
            shares.append(abs(true - Fraction(left[0, 0])) / Fraction(full.error))
            assert Fraction(full.threshold(float(true))) < Fraction(left[0, 0])
        H = exact(full.H)
        rest = np.abs(diagonal([Fraction(1)] * 5) - G @ H)
        root = exact(np.sqrt(full.G.diagonal()))
        weighted = rest * root / root[:, None]
        inverses.append(max(weighted.sum(axis=1)) / Fraction(full.share))
    assert max(inverses) <= 1
    assert max(shares) > Fraction(1, 10**6)


def test_the_bound_of_a_completion_is_rounded_down():
    rng, shares = np.random.default_rng(0), []
    for _ in range(300):
        gain, error = abs(rng.standard_normal()), 10.0 ** rng.uniform(-13, -9)
        constant = gain * (1 + 1e-10 * rng.standard_normal())
        raised = Fraction(gain) * (1 + Fraction(error))
        plain = Fraction(constant - gain * (1.0 + error))
        scale = Fraction(constant) + Fraction(gain)
        too_high = plain - Fraction(constant) + raised
        shares.append(too_high / (Fraction(COMPLETION_UNIT) * scale))
    assert are_covered(shares)


def test_the_error_of_an_inverse():
    shares, products = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((6, 4))
        F[:, 1] = F[:, 0] + 10.0 ** rng.uniform(-5, -3) * F[:, 1]
        F /= np.linalg.norm(F, axis=0) / 1.5
        G = F.T @ F
        try:
            H, error = _inverse(G, 0)
        except ParameterError:
            continue
        columns = [solve_exactly(G, unit) for unit in np.eye(4)]
        off = abs(exact(H) - np.array(columns, dtype=object).T)
        shares.append(off.sum(axis=1).max() / Fraction(error))
        off = abs(exact(np.eye(4) - G @ H) - exact(np.eye(4)) + exact(G) @ exact(H))
        allowed = inverse_unit(4, 0) * np.abs(H).sum(axis=1).max()
        products.append(off.sum(axis=1).max() / Fraction(allowed))
    assert len(shares) > 5
    assert are_covered(shares)
    assert are_covered(products)


def test_zero_one_programs_as_sparse_ones():
    shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        Q = numbers(rng, 4, 4, spread=1.0)
        Q, c = 0.5 * (Q + Q.T), numbers(rng, 4, spread=1.0)
        program = BinaryQP(Q, c)
        problem = program.problem
        for x in itertools.product((0, 1), repeat=4):
            point = np.array(x, dtype=object)
            given = point @ exact(program.Q) @ point + exact(program.c) @ point
            shifted = point @ exact(problem.Q) @ point + exact(problem.c) @ point
            shifted += (point / exact(problem.eta)).sum()
            shares.append(abs(shifted - given) / Fraction(program._rounding))
    assert are_covered(shares)


def test_decisions_that_rounding_could_turn():
    """Eigenvalues are as good as hoped for, and a little diagonal makes definite."""
    definite = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        least = np.linalg.eigvalsh((V * np.arange(6)) @ V.T)[0]
        assert abs(least) <= 5 * eigenvalue_margin(6)
        f = rng.uniform(0.5, 1.0, 5)
        Q = np.multiply.outer(f, f)
        share = definite_share(5)
        definite += is_positive_definite(Q)
        assert is_positive_definite(Q + share * np.diag(np.diag(Q)))
    assert definite < len(SEEDS)
