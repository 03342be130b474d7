"""Problems without a ridge: the equal problem that has one.

Theorem 1 needs a positive diagonal, not a ridge.  Where ``Q`` is positive definite, a
part of its own diagonal takes the place of the ridge (docs/theory.md#no-ridge).
"""

import numpy as np

from cardqp.bounds.definiteness import shifted
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import SparseQP

MOST_LOSS = 0.25
"""The largest share of a ridge that rounding may take, twice the form's violation: what
is left of it proves as much as a slightly weaker one."""


def with_positive_ridge(problem: SparseQP) -> SparseQP:
    """Return a problem with the same optimum in which every ridge is positive.

    A problem that has a ridge everywhere is returned as it is.  Otherwise a share of
    the diagonal of ``Q`` is moved to the ridge, which changes no objective.  Computed
    from the data alone, so that search and checker arrive at the same problem.

    Parameters
    ----------
    problem : SparseQP
        The problem, in memory.

    Raises
    ------
    ProblemError
        When the columns of ``Q`` are linearly dependent, up to rounding.

    Examples
    --------
    >>> Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> problem = SparseQP(Q, np.ones(2), eta=None, sparsity=1)
    >>> with_positive_ridge(problem).ridge.round(6)
    array([0.9, 0.9])
    """
    if (problem.ridge > 0).all():
        return problem
    moved = shifted(problem)
    if moved is not None and _is_certain(moved):
        return moved
    raise ProblemError(
        "eta",
        "must be a number where columns of `Q` are linearly dependent",
        given="it is None",
        remedy=Phrase("use a weak ridge, such as {}", Setting("eta", 1e6)),
    )


def _is_certain(problem: SparseQP) -> bool:
    """Whether rounding leaves most of every ridge."""
    loss = 2.0 * problem.quadratic.psd_violation
    return bool((loss <= MOST_LOSS * problem.ridge).all())
