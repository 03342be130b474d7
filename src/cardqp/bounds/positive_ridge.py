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
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import (
    cholesky_defect,
    dependence_unit,
    eigenvalue_margin,
    lowered,
    raised,
)
from cardqp.bounds.definiteness import shifted
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import SparseQP
from cardqp.problem.independence import INDEPENDENT
from cardqp.problem.quadratic import Factor, Gram, QuadraticForm
from cardqp.problem.rows import power_of_two

MOST_LOSS = 0.25
"""The largest share of a ridge that rounding may take, twice the form's violation: what
is left of it proves as much as a slightly weaker one."""

MOST_PRICE = 1e-5
"""The most that a tiny ridge may take off the bound, relative to the objective ..."""

ABOVE_ROUNDING = 32.0
"""... unless that is less than so many defects of a factorisation."""

MOST_DECOMPOSED = 4000
"""The most variables for which an eigenvalue is computed: half a minute."""

VISIBLE = 1e-6
"""The least entry of a unit vector that counts as part of a dependence."""

WEAK_OR_BOUNDED = Phrase(
    "use a weak ridge, such as {}, or finite {} and {}",
    Setting("eta", 1e6),
    Setting("lower"),
    Setting("upper"),
)

BEYOND = 10.0
"""How far beyond rounding ``c`` must leave the range of ``Q`` to be told from it."""


def has_ridge(problem: SparseQP) -> bool:
    """Whether every ridge is positive."""
    return bool((problem.ridge > 0).all())


def with_positive_ridge(problem: SparseQP) -> SparseQP:
    """Return a problem with a positive ridge whose bounds hold for the one given.

    A problem that has a ridge everywhere is returned as it is; one whose ``Q`` is
    definite is changed into an equal one.  Where columns are dependent, the result
    is a minorant: nowhere larger, and smaller by next to nothing.  It is computed from
    the data alone, so that search and checker arrive at the same problem.

    Parameters
    ----------
    problem : SparseQP
        The problem, in memory.

    Raises
    ------
    ProblemError
        When columns are dependent and there is no rule for them, or the problem may be
        unbounded below.

    Examples
    --------
    >>> Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> problem = SparseQP(Q, np.ones(2), eta=None, sparsity=1)
    >>> with_positive_ridge(problem).ridge.round(6)
    array([0.9, 0.9])
    """
    if has_ridge(problem):
        return problem
    if problem.independence == 0.0:
        moved = _definite(problem)
        if moved is not None:
            return moved
        if _is_bounded(problem):
            return _paid(problem)
    return _cut(counted(problem))


def counted(problem: SparseQP) -> SparseQP:
    """Return the problem with the rule which points count, where columns depend.

    Without a ridge and with linearly dependent columns, only points whose nonzeros are
    independent count; otherwise all, and the problem is returned as it is.

    Raises
    ------
    ProblemError
        As for :func:`with_positive_ridge`.
    """
    is_ruled = has_ridge(problem) or problem.independence > 0.0
    if is_ruled or _definite(problem) is not None or _is_bounded(problem):
        return problem
    if not _is_cone(problem):
        raise ProblemError(
            "eta",
            "must be a number where columns of `Q` are linearly dependent and "
            "variables are not bounded",
            given="it is None",
            remedy=WEAK_OR_BOUNDED,
        )
    _refuse_unbounded(problem)
    return problem.with_independence(INDEPENDENT)


def describe(problem: SparseQP) -> str:
    """The dependent columns of a problem where not all points count, in words."""
    names = [problem.name_of(int(j)) for j in dependent_columns(problem)]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" * (len(names) > 8))
    return (
        f"{shown}: supports count if the least eigenvalue of their block of Q, scaled "
        f"to unit diagonal, is at least {problem.independence:g}"
    )


def _definite(problem: SparseQP) -> SparseQP | None:
    """The equal problem with a part of the diagonal in the ridge, if ``Q`` is definite.

    None if that is not certain in spite of rounding.
    """
    if _is_wide(problem.quadratic) and not problem.ridge.any():
        return None
    if problem.n > MOST_DECOMPOSED:
        raise ProblemError(
            "eta",
            f"must be a number for more than {MOST_DECOMPOSED} columns",
            given=f"it is None, and there are {problem.n}",
            remedy=Phrase("use a weak ridge, such as {}", Setting("eta", 1e6)),
        )
    moved = shifted(problem)
    if moved is None or not has_ridge(moved):
        return None
    loss = 2.0 * moved.quadratic.psd_violation
    return moved if (loss <= MOST_LOSS * moved.ridge).all() else None


def _is_bounded(problem: SparseQP) -> bool:
    """Whether all variables that lack a ridge have finite bounds."""
    lacks = problem.ridge == 0
    return bool(np.isfinite(problem.lower[lacks]).all()) and bool(
        np.isfinite(problem.upper[lacks]).all()
    )


def _is_cone(problem: SparseQP) -> bool:
    """Whether there are no rows, and no bounds but signs."""
    are_signs = np.isin(problem.lower, (0.0, -np.inf)).all()
    are_signs &= np.isin(problem.upper, (0.0, np.inf)).all()
    return len(problem.rows) == 0 and bool(are_signs)


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
    unit = _unit(problem)
    slope = -0.5 * unit * problem.c
    if isinstance(problem.quadratic, Factor) and _is_wide(problem.quadratic):
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


def _paid(problem: SparseQP) -> SparseQP:
    """The minorant with a tiny ridge, paid for by the constant within finite bounds."""
    tiny, share = _tiny(problem)
    lacks = tiny > 0
    reach = np.where(lacks, np.maximum(-problem.lower, problem.upper), 0.0)
    # What does not curve is linear: its size is that of its cost.
    size = np.maximum(np.abs(problem.c), 1.0) / np.maximum(reach, 1.0)
    is_curved = problem.quadratic.diagonal > 0
    tiny = np.where(lacks & ~is_curved, share * size, tiny)
    costs = np.sort(tiny * reach**2)[::-1][: problem.rule.width]
    price = float(costs.sum()) * raised(len(costs) + 6)
    ridged = problem.with_quadratic(problem.quadratic, problem.ridge + tiny)
    return ridged.with_linear(constant=lowered(problem.constant, price))


def _cut(problem: SparseQP) -> SparseQP:
    """The minorant for points with independent nonzeros: less of ``Q``, a tiny ridge.

    With ``G = Q + diag(ridge)`` at least ``t diag(G)`` on such nonzeros, what ``m G``
    lacks to ``G`` there is at least ``(1 - m) t diag(G)``: enough for the tiny ridge
    and for rounding.
    """
    tiny, share = _tiny(problem)
    unit = dependence_unit(problem.n)
    # The rule is tested in floats: bounds hold for twice as many points.
    least = 0.5 * problem.independence
    root = 1.0 - (share + unit) / least
    if not root > 0.5:
        raise ProblemError(
            "eta",
            "must be a number where so many columns of `Q` are linearly dependent",
            given=f"it is None, and there are {problem.n} columns",
            remedy=Phrase("use a weak ridge, such as {}", Setting("eta", 1e6)),
        )
    form = _scaled(problem.quadratic, root, unit)
    return problem.with_quadratic(form, root * root * problem.ridge + tiny)


def _scaled(form: QuadraticForm, root: float, unit: float) -> QuadraticForm:
    """The form times the square of a number below one."""
    if isinstance(form, Factor):
        return Factor(root * form.array)
    violation = form.psd_violation + unit * np.abs(form.diagonal)
    return Gram(root * root * form.dense(), violation, form.formed)


def dependent_columns(problem: SparseQP) -> IntArray:
    """The variables that take part in a linear dependence of columns, up to rounding.

    With fewer rows of a factor than columns there is little to tell: all of them.
    """
    if _is_wide(problem.quadratic):
        return np.arange(problem.n)
    _, directions = _flat_directions(problem)
    return np.flatnonzero((np.abs(directions) > VISIBLE).any(axis=1))


def _is_wide(form: QuadraticForm) -> bool:
    """Whether a factor has fewer rows than columns."""
    return isinstance(form, Factor) and len(form.array) < form.n


def _flat_directions(problem: SparseQP) -> tuple[FloatArray, FloatArray]:
    """Directions in which the matrix, scaled to unit diagonal, hardly curves.

    The eigenvalues that are no more than rounding, and eigenvectors in columns.
    """
    unit = _unit(problem)
    G = problem.quadratic.dense() + np.diag(problem.ridge)
    scaled = unit[:, None] * G * unit
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    is_flat = values <= cholesky_defect(problem.n) * max(float(values[-1]), 1.0)
    return values[is_flat], vectors[:, is_flat]


def _unit(problem: SparseQP) -> FloatArray:
    """The units in which curvatures are one, where there are any."""
    curvature = problem.quadratic.diagonal + problem.ridge
    return np.asarray(1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0)))


def _refuse_unbounded(problem: SparseQP) -> None:
    """Raise if ``c`` leaves the range of ``Q`` by more than rounding.

    Along a direction ``v`` of curvature ``k`` the objective falls by
    ``(c'v)^2 / (4 k)``, which is at most what there is to gain in all where ``c`` is
    in the range: the constant for a regression, about the gains of single variables
    otherwise.
    """
    form, unit = problem.quadratic, _unit(problem)
    slope = unit * problem.c
    gain = abs(problem.constant) + 0.25 * float(slope @ slope)
    if isinstance(form, Factor) and _is_wide(form):
        columns = (form.array * unit).T
        rest = slope - columns @ np.linalg.lstsq(columns, slope, rcond=None)[0]
        along, curvatures = np.array([rest @ rest]), np.zeros(1)
    else:
        curvatures, directions = _flat_directions(problem)
        along = (slope @ directions) ** 2
    noise = eigenvalue_margin(problem.n)
    if (along > BEYOND * 4.0 * np.maximum(curvatures, noise) * gain).any():
        raise ProblemError(
            "eta",
            "must be a number where `c` is not in the range of `Q`",
            given="it is None, and the objective may be unbounded below",
            remedy=WEAK_OR_BOUNDED,
        )
