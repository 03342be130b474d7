"""The principal components of Q, computed once and passed on."""

import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from cardqp._keywords import did_you_mean
from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import eigenpair_unit
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor, Gram, QuadraticForm
from cardqp.problem.streamed_form import StreamedForm
from cardqp.spectral.level import Level, Margin, skewness
from cardqp.spectral.streamed import components

log = logging.getLogger(__name__)

LANCZOS_SHARE = 0.05
"""Lanczos pays when fewer than this share of the eigenvectors is wanted ..."""

LANCZOS_SIZE = 400
"""... of a matrix at least this large.  Otherwise LAPACK is quicker."""

ENOUGH = 0.05
"""Raising the level adds little once eta * lambda_{k+1} is below this."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Leading eigenvalues and eigenvectors of ``Q``, in descending order.

    Attributes
    ----------
    problem : SparseQP
        The problem whose ``Q`` was decomposed.
    eigenvalues : (r,) array
        Descending; negative rounding errors are set to zero.
    eigenvectors : (n, r) array
        One column per eigenvalue.
    known_margin : Margin or None
        The margin with which levels lie below ``Q``, if it is known; otherwise it is
        measured when the first level is asked for.
    """

    problem: SparseQP
    eigenvalues: FloatArray
    eigenvectors: FloatArray
    known_margin: Margin | None = None

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def level(self, k: int) -> Level:
        """The truncated problem that keeps ``k`` eigenvectors.

        Levels beyond the rank of a complete decomposition are the problem itself.
        """
        k = min(check.level(k, self._highest()), len(self))
        margin = self.margin
        kept = np.sqrt(margin.share * self.eigenvalues[:k])
        factor = kept[:, None] * self.eigenvectors[:, :k].T
        return Level(
            self.problem, factor, np.full(self.problem.n, margin.psd_violations[k - 1])
        )

    def _highest(self) -> int:
        n = self.problem.n
        is_complete = len(self) == min(n, rank_bound(self.problem.quadratic))
        return n if is_complete else len(self)

    @cached_property
    def margin(self) -> Margin:
        """Margins with which levels lie below ``Q``: measured, not assumed.

        With ``E = QV - VL`` and orthonormal ``V``, ``Q - VLV'`` is at least ``-2|E|``
        times the identity; the departure of ``V`` from orthonormality comes on top, and
        twice what ``Q`` lacks to be semidefinite, or to be the matrix it stands for.
        """
        if self.known_margin is not None:
            return self.known_margin
        values = self.eigenvalues
        vectors = self.eigenvectors
        form = self.problem.quadratic
        residual = form.apply(vectors) - vectors * values
        column_norms = np.einsum("ij,ij->j", residual, residual)
        # Rounding of the residual itself: products by a factor do not know that terms
        # cancel in Q, and are as large as its trace.
        is_formed = isinstance(form, Gram)
        size = np.sqrt(form.squared_norm()) if is_formed else form.diagonal.sum()
        unit = eigenpair_unit(form.n, form.formed) * np.sqrt(
            np.arange(1, len(self) + 1)
        )
        common = 4 * skewness(vectors) * values[0] + 2 * form.psd_violation.max()
        return Margin(1.0, 2 * np.sqrt(np.cumsum(column_norms)) + unit * size + common)

    def of(self, problem: SparseQP) -> "Spectrum":
        """Return this decomposition for another problem with the same ``Q``.

        Raises
        ------
        ParameterError
            When the problem has another quadratic form.
        """
        if problem is self.problem:
            return self
        if problem.quadratic is not self.problem.quadratic:
            raise ParameterError(
                "spectrum",
                "must belong to the problem",
                given="it was computed from another Q",
                remedy=Phrase(
                    "leave it out where {} is None, as a part of Q is moved to the "
                    "ridge first",
                    Setting("eta"),
                ),
            )
        return replace(self, problem=problem, known_margin=self.margin)

    def truncation_error(self) -> FloatArray:
        """``|Q - Q_k|`` in the Frobenius norm for ``k = 1, ..., r``."""
        squares = self.eigenvalues**2
        if self._highest() == self.problem.n:
            # Nothing is left out: sums from the small end lose no digits.
            tail = np.cumsum(squares[::-1])[::-1]
            return np.asarray(np.sqrt(np.append(tail[1:], 0.0)))
        rest = self.problem.quadratic.squared_norm() - np.cumsum(squares)
        return np.asarray(np.sqrt(np.maximum(rest, 0.0)))

    def k_hat(self, ratio: float = 0.1) -> int:
        """The smallest ``k`` whose error is below ``ratio`` times that of ``k = 1``.

        Raises
        ------
        ParameterError
            When too few eigenvectors were computed to tell.
        """
        error = self.truncation_error()
        small = np.flatnonzero(error < ratio * error[0])
        if len(small):
            return int(small[0]) + 1
        if self._highest() == len(self) < self.problem.n:
            raise ParameterError(
                "max_level",
                "must be larger",
                given=(
                    f"with {len(self)} eigenvectors the error is still above {ratio} "
                    "of that of the first"
                ),
            )
        return len(self)

    def default_level(self) -> int:
        """The level beyond which bounds gain little: ``eta * lambda < 0.05``."""
        weakest = float(self.problem.ridge.min())
        large = np.flatnonzero(self.eigenvalues >= ENOUGH * weakest)
        return int(large[-1]) + 1 if len(large) else 1


@did_you_mean
def spectrum(problem: SparseQP, max_level: int | None = None) -> Spectrum:
    """Decompose ``Q`` into principal components.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    max_level : int, optional
        Number of eigenvectors; all by default.  A few of many are computed
        by Lanczos iterations, more by a full decomposition.  Data with very many
        columns are streamed: see :func:`cardqp.spectral.streamed.components`.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.diag([1.0, 4.0]), [1.0, 1.0], eta=1.0, sparsity=1)
    >>> spectrum(problem).eigenvalues
    array([4., 1.])
    """
    check_problem(problem)
    form = problem.quadratic
    most = min(problem.n, rank_bound(form))
    count = most if max_level is None else min(check.level(max_level, problem.n), most)
    if isinstance(form, StreamedForm):
        found = components(form, count)
        return Spectrum(problem, found.values, found.vectors, found.margin)
    if most >= LANCZOS_SIZE and count <= LANCZOS_SHARE * most:
        values, vectors = _lanczos(form, count)
    elif isinstance(form, Factor) and len(form.array) < problem.n:
        values, vectors = _from_factor(form.array, count)
    else:
        values, vectors = _full(form)
    order = np.argsort(-values, kind="stable")[:count]
    return Spectrum(
        problem, np.maximum(values[order], 0.0), np.ascontiguousarray(vectors[:, order])
    )


def rank_bound(form: QuadraticForm) -> int:
    """An upper bound on the rank of ``Q`` that is known without computing."""
    if isinstance(form, StreamedForm):
        return form.n_samples
    return max(len(form.array), 1) if isinstance(form, Factor) else form.n


def _from_factor(F: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Eigenpairs of F'F from the singular value decomposition of a wide F."""
    if len(F) == 0:
        return np.zeros(1), np.eye(F.shape[1], 1)
    _, singular, right = scipy.linalg.svd(F, full_matrices=False, check_finite=False)
    return singular[:count] ** 2, right[:count].T


def _full(form: QuadraticForm) -> tuple[FloatArray, FloatArray]:
    values, vectors = scipy.linalg.eigh(form.dense(), check_finite=False)
    return values, vectors


def _lanczos(form: QuadraticForm, count: int) -> tuple[FloatArray, FloatArray]:
    operator = scipy.sparse.linalg.LinearOperator(
        (form.n, form.n), matvec=form.apply, dtype=np.float64
    )
    start = np.random.default_rng(0).standard_normal(form.n)
    try:
        values, vectors = scipy.sparse.linalg.eigsh(operator, k=count, v0=start)
    except scipy.sparse.linalg.ArpackNoConvergence:
        log.info("Lanczos iterations did not converge: decomposing Q in full")
        return _full(form)
    # Lanczos vectors are orthonormal only to the solver's tolerance.
    vectors, triangle = np.linalg.qr(vectors)
    return values, vectors * np.sign(np.diag(triangle))
