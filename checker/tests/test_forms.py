"""Proofs of semidefiniteness, and the diagonal that a matrix lacks."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from cardqp_check.forms import missing_diagonal
from cardqp_check.rounding import exact


def is_semidefinite(M, v):
    """Whether ``M + diag(v)`` has no negative eigenvalue, in rational arithmetic.

    The signs of the coefficients of the characteristic polynomial alternate then.
    """
    n = len(M)
    rows = [[fmpq(*float(entry).as_integer_ratio()) for entry in row] for row in M]
    for j, added in enumerate(v.tolist()):
        rows[j][j] += fmpq(*added.as_integer_ratio())
    signs = fmpq_mat(rows).charpoly().coeffs()
    return all(c * (-1) ** (n - k) >= 0 for k, c in enumerate(signs))


@pytest.mark.parametrize("rank", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_missing_is_enough_and_small(rank, seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((rank, 6)) * 10.0 ** rng.uniform(-6, 6, 6)
    M = F.T @ F
    M = (M + M.T) / 2
    v = missing_diagonal(exact(M))
    assert is_semidefinite(M, v)
    assert (v <= 2e-13 * M.diagonal()).all()
    assert (v == 0).all() == (rank >= 6) or rank == 6


def test_variables_that_do_not_occur_lack_nothing():
    M = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    v = missing_diagonal(exact(M))
    assert is_semidefinite(M, v)
    assert v[2] < 1e-300


@pytest.mark.parametrize(
    "M",
    [
        [[0.0, 1.0], [1.0, 0.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[-1.0, 0.0], [0.0, 1.0]],
        [[0.0, 1e-300], [1e-300, 1e300]],
    ],
)
def test_what_is_far_from_semidefinite_lacks_much(M):
    M = np.array(M)
    v = missing_diagonal(exact(M))
    assert is_semidefinite(M, v)
    assert not is_semidefinite(M, 0.0 * v)


def nearly_semidefinite(kind, n, noise, rng):
    """A form with few rows and symmetric noise; or with noise alone in some rows."""
    F, E = rng.standard_normal((2, n)), rng.standard_normal((n, n)) * noise
    E += E.T
    np.fill_diagonal(E, 0.0)
    M = F.T @ F + E
    if kind == "a hollow row":
        M[0], M[:, 0] = E[0], E[:, 0]
    return {"hollow": E, "negative": -np.diag(rng.uniform(0.1, 1, n) * noise)}.get(
        kind, (M + M.T) / 2
    )


@pytest.mark.parametrize("noise", [1e-17, 1e-13, 1e-11])
@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("kind", ["noisy", "a hollow row", "hollow", "negative"])
@pytest.mark.parametrize("unit", [0, 8])
def test_no_more_is_missing_than_an_eigenvalue(kind, n, noise, unit):
    """Relative to curvatures, 1 where there is none, and but for rounding."""
    rng = np.random.default_rng(n)
    M = nearly_semidefinite(kind, n, noise, rng)
    units = 2.0 ** rng.integers(-3 * unit, 3 * unit + 1, n)
    units[0] = 1.0
    M = M * units * units[:, None]
    v = missing_diagonal(exact(M))
    assert is_semidefinite(M, v)
    size = np.abs(M.diagonal())
    if kind == "hollow":
        size = np.abs(M).max(axis=1)
    size = np.where(size > 0, size, 1.0)
    least = np.linalg.eigvalsh(M / np.sqrt(size) / np.sqrt(size)[:, None])[0]
    assert (v <= (1.01 * max(-least, 0.0) + 2 * n**2 * 2.0**-53) * size).all()


def test_zeros_lack_nothing():
    assert (missing_diagonal(exact(np.zeros((3, 3)))) == 0).all()
    assert (missing_diagonal(exact(np.diag([1.0, 0.0, 1e-300]))) == 0).all()


def test_a_matrix_without_variables_lacks_nothing():
    assert missing_diagonal(exact(np.zeros((0, 0)))).shape == (0,)
