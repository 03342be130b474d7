"""The published script of safe screening, faults included, to explain its numbers."""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import ParameterError
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.subproblems.support_qp import fit_support

ALTERNATIONS = 60
"""How often the script optimises the coefficients and the switches in turn."""


def screen_as_published(problem: SparseQP, n_samples: int) -> IntArray:
    """Screen a regression as the script behind the paper's tables does.

    It differs from :func:`cardqp.safe_screen` in what it gets wrong:

    - sums of squares are not divided by the number of observations, so that the
      relaxation is that of ``N eta`` instead of ``eta``;
    - the bound that it gives is divided by ``N``, what variables gain is not: the rules
      compare numbers of different units;
    - the value that is rounded to has the coefficients of ``eta`` and the ridge of
      ``N eta``;
    - sixty alternations need not have converged.

    Parameters
    ----------
    problem : SparseQP
        A regression without rows, bounds and penalty, and one ridge for all.
    n_samples : int
        The number of observations, which the problem itself does not know.

    Returns
    -------
    int array
        The variables that the script keeps.  Nothing is proved about the others.
    """
    check.count("n_samples", n_samples)
    _check_plain(problem)
    s, N, eta = problem.rule.limit, n_samples, float(problem.eta[0])
    x, z = _alternate(problem, 1.0 / (N * eta))
    used = z > 0
    loss = problem.objective(x) - problem.ridge @ (x * x)
    relaxed = loss + (x[used] ** 2 / z[used]).sum() / (N * eta)
    # X'r of the script, squared, from the slope of the mean squared error.
    gains = (0.5 * N * (problem.c + 2.0 * problem.quadratic.apply(x))) ** 2
    order = np.argsort(-gains, kind="stable")
    last, following = gains[order[s - 1]], gains[order[s]]
    fit = fit_support(problem, np.sort(order[:s]))
    rounded = fit.x if fit.x is not None else np.zeros(problem.n)
    upper = fit.objective - (1.0 - 1.0 / N) * (problem.ridge @ rounded**2)
    is_out = (gains <= following) & (upper <= relaxed - eta * (gains - last))
    return np.flatnonzero(~is_out)


def _check_plain(problem: SparseQP) -> None:
    is_plain = problem.is_unconstrained and problem.penalty is None
    if not is_plain or np.ptp(problem.ridge) > 0 or len(problem.forced_in):
        raise ParameterError(
            "problem",
            "must be a regression with a sparsity, one ridge and nothing else",
            given="the published script knows no other",
        )
    if problem.rule.limit in (0, problem.n):
        raise ParameterError("sparsity", "must be between 1 and the variables less one")


def _alternate(problem: SparseQP, ridge: float) -> tuple[FloatArray, FloatArray]:
    """Coefficients for given switches and switches for given coefficients, in turn."""
    Q, c, s = problem.Q, problem.c, problem.rule.limit
    z = np.ones(problem.n)
    x = _coefficients(Q, c, z, ridge)
    for _ in range(ALTERNATIONS):
        z = _switches(np.abs(x), s)
        x = _coefficients(Q, c, z, ridge)
    return x, z


def _coefficients(
    Q: FloatArray, c: FloatArray, z: FloatArray, ridge: float
) -> FloatArray:
    """The minimiser of ``c'x + x'Qx + ridge sum x^2/z``, zero where z is."""
    root = np.sqrt(z)
    inner = root[:, None] * Q * root + ridge * np.eye(len(z))
    factor = scipy.linalg.cho_factor(inner, check_finite=False)
    return np.asarray(root * scipy.linalg.cho_solve(factor, -0.5 * root * c))


def _switches(size: FloatArray, s: int) -> FloatArray:
    """The minimiser of ``sum size^2/z`` subject to ``z <= 1`` and ``sum z <= s``.

    It is ``min(1, size / t)``, with the largest entries at one.
    """
    ranked = np.sort(size)[::-1]
    # If so many entries are at one, the others share what is left.
    shared = ranked[::-1].cumsum()[::-1][:s] / np.arange(s, 0, -1)
    t = float(shared[np.argmax(ranked[:s] <= shared)])
    if t == 0:
        return np.asarray(size > 0, dtype=np.float64)
    return np.minimum(1.0, size / t)
