r"""Problems without a ridge: equal ones, or minorants, that have one.

Theorem 1 needs a positive diagonal, not a ridge (docs/theory.md#no-ridge).

* Where ``Q`` is positive definite, a part of its own diagonal takes the place of the
  ridge, and the problem stays the same.
* Where columns of ``Q`` are linearly dependent, up to rounding, and all variables that
  lack a ridge have finite bounds, a tiny ridge is added, and what it can cost within
  the bounds is taken off the constant.
* Where they are dependent and there are neither rows nor bounds but signs, a point with
  dependent nonzeros is no better than one with fewer.  So only points with independent
  nonzeros count, and for them a tiny ridge is less than what is taken off ``Q``.
"""

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import (
    cholesky_defect,
    dependence_unit,
    moved_diagonal_unit,
)
from cardqp.bounds.definiteness import shifted
from cardqp.bounds.dependence import WEAK_OR_BOUNDED, is_wide, unit_curvature
from cardqp.bounds.start import Start, has_ridge, independent, is_cone, least
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.independence import INDEPENDENT
from cardqp.problem.quadratic import Factor, Gram
from cardqp.problem.rows import power_of_two
from cardqp.problem.streamed_form import StreamedForm

MOST_LOSS = 0.25
"""The largest share of a ridge that rounding may take, twice the form's violation: what
is left of it proves as much as a slightly weaker one."""

MOST_PRICE = 1e-5
"""The most that a tiny ridge may take off the bound, relative to the objective ..."""

ABOVE_ROUNDING = 8.0
"""... unless that is less than so many defects of a factorisation, which would take
more than an eighth of it otherwise."""

MOST_DECOMPOSED = 4000
"""The most variables for which an eigenvalue is computed: half a minute."""


def with_positive_ridge(problem: SparseQP) -> SparseQP:
    """Return a problem with a positive ridge whose bounds hold for the one given.

    A problem that has a ridge everywhere is returned as it is; one whose ``Q`` is
    definite is changed into an equal one.  Where columns are dependent, the result is a
    minorant: nowhere larger, and smaller by next to nothing.  It is computed from the
    data alone, so that search and checker arrive at the same problem.

    Raises ``ProblemError`` if columns are dependent and there is no rule for them, if
    the problem may be unbounded below, or if its data are not in memory.

    Examples
    --------
    >>> Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> problem = SparseQP(Q, np.ones(2), eta=None, sparsity=1)
    >>> with_positive_ridge(problem).ridge.round(3)
    array([0.9, 0.9])
    """
    start = find_start(problem)
    return problem if start is None else start.view(problem)


def find_start(problem: SparseQP) -> Start | None:
    """Return the numbers that :func:`with_positive_ridge` changes a problem by.

    None if the problem has a ridge.  Raises as that function does.
    """
    if has_ridge(problem):
        return None
    if isinstance(problem.quadratic, StreamedForm):
        raise ProblemError(
            "eta",
            "must be a number for data that are read block by block",
            given="it is None",
            remedy=Phrase(
                "use a weak ridge, such as {}, or fewer columns, with from_regression",
                Setting("eta", 1e6),
            ),
        )
    if problem.independence == 0.0:
        definite = _definite(problem)
        if definite is not None:
            return definite
        if _is_bounded(problem):
            return _paid(problem)
    return _cut(counted(problem))


def counted(problem: SparseQP) -> SparseQP:
    """Return the problem with the rule which points count, where columns depend.

    Without a ridge and with linearly dependent columns, only points whose nonzeros are
    independent count; otherwise all, and the problem is returned as it is.  Raises as
    :func:`with_positive_ridge` does.
    """
    is_ruled = has_ridge(problem) or problem.independence > 0.0
    if is_ruled or _definite(problem) is not None or _is_bounded(problem):
        return problem
    if not is_cone(problem):
        raise ProblemError(
            "eta",
            "must be a number where columns of `Q` are linearly dependent and "
            "variables are not bounded",
            given="it is None",
            remedy=WEAK_OR_BOUNDED,
        )
    return independent(problem)


def without_cut(given: SparseQP, ridged: SparseQP) -> SparseQP:
    """Return the problem that a tiny ridge was added to, where columns depend.

    That is ``given``, with the rule.  What :func:`with_positive_ridge` made of it,
    ``ridged``, is returned if all points count.
    """
    if ridged.independence == 0.0 or has_ridge(given):
        return ridged
    return given.with_independence(ridged.independence)


def is_counted(problem: SparseQP, x: FloatArray) -> bool:
    """Whether a point of a problem without a ridge counts: see :func:`counted`.

    Independent nonzeros do in any case, which is quick to find out.
    """
    is_independent = problem.with_independence(INDEPENDENT).is_independent(x)
    return is_independent or counted(problem).is_independent(x)


def _definite(problem: SparseQP) -> Start | None:
    """The start with a part of the diagonal in the ridge, if ``Q`` is definite.

    None if that is not certain in spite of rounding.
    """
    if is_wide(problem.quadratic) and not problem.ridge.any():
        return None
    if problem.n > MOST_DECOMPOSED:
        raise ProblemError(
            "eta",
            f"must be a number for more than {MOST_DECOMPOSED} columns",
            given=f"it is None, and there are {problem.n}",
            remedy=Phrase("use a weak ridge, such as {}", Setting("eta", 1e6)),
        )
    candidates = [problem] if not problem.ridge.any() else [problem, _merged(problem)]
    for candidate in candidates:
        moved = shifted(candidate)
        if moved is not None and has_ridge(moved):
            loss = 2.0 * moved.quadratic.psd_violation
            if (loss <= MOST_LOSS * moved.ridge).all():
                return Start(ridge=moved.ridge)
    return None


def _merged(problem: SparseQP) -> SparseQP:
    """The equal problem with all of its ridge in ``Q``, which may then be definite."""
    form = problem.quadratic
    G = form.dense() + np.diag(problem.ridge)
    rounding = moved_diagonal_unit(problem.n, form.formed) * np.abs(G.diagonal())
    violation = check.convexity_defect(G) + rounding + form.psd_violation
    return problem.with_quadratic(Gram(G, violation), np.zeros(problem.n))


def _is_bounded(problem: SparseQP) -> bool:
    """Whether all variables that lack a ridge have finite bounds."""
    lacks = problem.ridge == 0
    return bool(np.isfinite(problem.lower[lacks]).all()) and bool(
        np.isfinite(problem.upper[lacks]).all()
    )


def _tiny(problem: SparseQP) -> tuple[FloatArray, float]:
    """A tiny ridge for the variables that lack one, and its share of the curvature.

    Variables without curvature, which no point that counts makes use of, get a ridge
    of one.
    """
    form = problem.quadratic
    curvature = np.abs(form.diagonal) + problem.ridge
    is_curved = curvature > 0
    defect = form.psd_violation[is_curved] / curvature[is_curved]
    most = max(cholesky_defect(problem.n), float(defect.max(initial=0.0)))
    affordable = 0.5 * INDEPENDENT * MOST_PRICE * _relative_objective(problem)
    share = max(ABOVE_ROUNDING * most, min(affordable, INDEPENDENT))
    # A power of two, so that it does not depend on the last digits of a computation.
    share = float(power_of_two(np.array([share]))[0])
    tiny = np.where(is_curved, share * curvature, 1.0)
    return np.where(problem.ridge > 0, 0.0, tiny), share


def _relative_objective(problem: SparseQP) -> float:
    """The least objective without a limit on nonzeros, over what is gained there."""
    unit = unit_curvature(problem)
    slope = -0.5 * unit * problem.c
    if isinstance(problem.quadratic, Factor) and is_wide(problem.quadratic):
        columns = (problem.quadratic.array * unit).T
        gain = (
            float(np.linalg.norm(np.linalg.lstsq(columns, slope, rcond=None)[0])) ** 2
        )
    else:
        G = unit[:, None] * problem.quadratic.dense() * unit
        G[np.diag_indices(problem.n)] += problem.ridge * unit**2
        x = np.linalg.lstsq(G, slope, rcond=cholesky_defect(problem.n))[0]
        gain = float(slope @ x)
    return abs(problem.constant - gain) / gain if gain > 0 else 1.0


def _paid(problem: SparseQP) -> Start:
    """The start with a tiny ridge, paid for by the constant within finite bounds."""
    tiny, share = _tiny(problem)
    lacks = tiny > 0
    reach = np.where(lacks, np.maximum(-problem.lower, problem.upper), 0.0)
    # What does not curve is linear: its size is that of its cost.
    size = np.maximum(np.abs(problem.c), 1.0) / np.maximum(reach, 1.0)
    is_curved = problem.quadratic.diagonal > 0
    return Start(added=np.where(lacks & ~is_curved, share * size, tiny))


def _cut(problem: SparseQP) -> Start:
    """The start for points with independent nonzeros: less of ``Q``, a tiny ridge."""
    tiny, share = _tiny(problem)
    root = 1.0 - (share + dependence_unit(problem.n)) / least(problem)
    if not root > 0.5:
        raise ProblemError(
            "eta",
            "must be a number where so many columns of `Q` are linearly dependent",
            given=f"it is None, and there are {problem.n} columns",
            remedy=Phrase("use a weak ridge, such as {}", Setting("eta", 1e6)),
        )
    return Start(added=tiny, factor=root * root)
