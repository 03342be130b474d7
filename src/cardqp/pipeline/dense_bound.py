"""What is proved without the search: the optimum of the problem without its limits.

A search that ends early may know less than the plain ridge regression on all columns.
The tangent at the minimiser over all points, sparse or not, bounds the problem at least
by the objective there, up to rounding: it is one more dual point at the root.
"""

from dataclasses import replace

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.certificate import Certificate, DualPoint, RootStep
from cardqp.certificate.root import RootState
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, lift
from cardqp.problem.quadratic import Factor
from cardqp.problem.streamed_form import StreamedForm

MOST = 4000
"""The largest system of equations that is solved: half a second."""


def with_dense_bound(
    problem: SparseQP, certificate: Certificate, bound: float
) -> tuple[Certificate, float]:
    """The certificate of a bound, begun by the dense minimiser if that proves more.

    Where data are streamed, or there are too many of them, nothing changes.
    """
    if isinstance(problem.quadratic, StreamedForm):
        return certificate, bound
    try:
        given = RootState.start(problem, certificate.ridge_start).problem
    except ProblemError:
        return certificate, bound
    x = dense_minimiser(given)
    if x is None:
        return certificate, bound
    point = DualPoint.at(x, np.zeros(len(given.rows)))
    proved = point.bound(given).value(given.root)
    if not proved > bound:
        return certificate, bound
    return replace(certificate, root=(RootStep(point), *certificate.root)), proved


def dense_minimiser(problem: SparseQP) -> FloatArray | None:
    """The minimiser among all points, whatever rows, bounds and limits say.

    Variables that are forced out are zero.  None if a system is too large, or singular.
    """
    kept = np.setdiff1d(np.arange(problem.n), problem.forced_out)
    part = problem.restrict(kept)
    form, ridge, target = part.quadratic, part.ridge, -0.5 * part.c
    is_wide = isinstance(form, Factor) and len(form.array) < part.n
    if (len(form.array) if is_wide else part.n) > MOST:
        return None
    try:
        if is_wide:
            x = _by_rows(form.array, ridge, target)
        else:
            factor = scipy.linalg.cho_factor(form.dense() + np.diag(ridge))
            x = scipy.linalg.cho_solve(factor, target)
    except (scipy.linalg.LinAlgError, ValueError):
        return None
    return lift(x, kept, problem.n)


def _by_rows(F: FloatArray, ridge: FloatArray, target: FloatArray) -> FloatArray:
    """The solution of ``(F'F + diag(ridge)) x = target`` by a system of F's rows."""
    weighted = F / ridge
    system = scipy.linalg.cho_factor(weighted @ F.T + np.eye(len(F)))
    x = np.zeros(len(target))
    for _ in range(2):
        # The second pass takes off what the first one lost to cancellation.
        residual = target - F.T @ (F @ x) - ridge * x
        inner = scipy.linalg.cho_solve(system, weighted @ residual)
        x = x + residual / ridge - weighted.T @ inner
    return np.asarray(x)
