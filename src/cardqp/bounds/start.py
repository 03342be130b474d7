"""The view of a problem without a ridge that a proof begins with, as a few numbers.

They are stored with a proof, so that a checker need not find them: only that they are
valid is checked (docs/theory.md#no-ridge).
"""

import math
from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.arithmetic.rounding import dependence_unit, lowered, raised
from cardqp.bounds.dependence import refuse_unbounded
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.independence import INDEPENDENT
from cardqp.problem.quadratic import Factor, Gram, QuadraticForm


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A positive ridge for a problem that lacks one.

    Attributes
    ----------
    ridge : (n,) array or None
        The ridge, which is taken off ``Q``: the problem stays the same.
    added : (n,) array or None
        What is added to the ridge.  Without a ``factor`` the constant pays for it, with
        the most that it can be within the bounds.
    factor : float or None
        The number that ``Q`` and the ridge are multiplied with, between 0 and 1.  It
        pays for what is added at points with independent nonzeros; only they count.
    """

    ridge: FloatArray | None = None
    added: FloatArray | None = None
    factor: float | None = None

    def view(self, problem: SparseQP) -> SparseQP:
        """Return the problem with the ridge: nowhere larger, at points that count.

        Raises ``ProblemError`` if the numbers are not valid for the problem.
        """
        if has_ridge(problem):
            raise ProblemError("A problem with a ridge needs no other start.")
        if self.ridge is not None and self.added is None and self.factor is None:
            _check(self.ridge, problem)
            view = problem.move_to_ridge(self.ridge - problem.ridge)
        elif self.added is None or self.ridge is not None:
            raise ProblemError("A start is a ridge, or what is added to it.")
        else:
            _check(self.added, problem)
            view = (
                self._paid(problem, self.added)
                if self.factor is None
                else self._cut(problem, self.added, self.factor)
            )
        if not has_ridge(view):
            raise ProblemError("A start must have a positive ridge.")
        return view

    def _paid(self, problem: SparseQP, added: FloatArray) -> SparseQP:
        """The minorant whose constant pays for the ridge within finite bounds."""
        reach = np.maximum(-problem.lower, problem.upper)
        # Infinity times zero is no number; nothing is paid where nothing is added.
        reach = np.where(added > 0, reach, 0.0)
        if not np.isfinite(reach).all():
            raise ProblemError("A ridge is added to a variable without bounds.")
        # A price that overflows leaves no bound, which is no reason to warn.
        with np.errstate(over="ignore"):
            costs = np.sort(added * reach**2)[::-1][: problem.rule.width]
        price = float(costs.sum()) * raised(len(costs) + 6)
        ridged = problem.with_quadratic(problem.quadratic, problem.ridge + added)
        return ridged.with_linear(constant=lowered(problem.constant, price))

    def _cut(self, problem: SparseQP, added: FloatArray, factor: float) -> SparseQP:
        """The minorant for points with independent nonzeros.

        With ``G = Q + diag(ridge)`` at least ``t diag(G)`` on such nonzeros, what
        ``m G`` lacks to ``G`` there is at least ``(1 - m) t diag(G)``: enough for the
        added ridge and for rounding.
        """
        problem = independent(problem)
        curvature = np.abs(problem.quadratic.diagonal) + problem.ridge
        is_curved = curvature > 0
        share = (added[is_curved] / curvature[is_curved]).max(initial=0.0)
        unit = dependence_unit(problem.n)
        if not (0 < factor < 1 and share + unit <= (1.0 - factor) * least(problem)):
            raise ProblemError("More is added to a ridge than what is taken off Q.")
        form = _scaled(problem.quadratic, factor, unit)
        return problem.with_quadratic(form, factor * problem.ridge + added)


def has_ridge(problem: SparseQP) -> bool:
    """Whether every ridge is positive."""
    return bool((problem.ridge > 0).all())


def independent(problem: SparseQP) -> SparseQP:
    """Return the problem with the rule that only independent nonzeros count.

    Raises ``ProblemError`` if there are rows or bounds, or no lower bound on the
    objective.
    """
    if problem.independence > 0.0:
        return problem
    if not is_cone(problem):
        raise ProblemError("With rows or bounds all points count.")
    refuse_unbounded(problem)
    return problem.with_independence(INDEPENDENT)


def is_cone(problem: SparseQP) -> bool:
    """Whether there are no rows, and no bounds but signs."""
    are_signs: BoolArray = np.isin(problem.lower, (0.0, -np.inf))
    are_signs &= np.isin(problem.upper, (0.0, np.inf))
    return len(problem.rows) == 0 and bool(are_signs.all())


def least(problem: SparseQP) -> float:
    """The least eigenvalue of points that count, in spite of rounding.

    The rule is tested in floats: bounds hold for twice as many points.
    """
    return 0.5 * problem.independence


def _check(numbers: FloatArray, problem: SparseQP) -> None:
    """Raise unless numbers are finite and not negative, one for each variable."""
    is_vector = isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"
    is_vector = is_vector and numbers.shape == (problem.n,)
    if not (is_vector and np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise ProblemError("A start needs a number for each variable.")


def _scaled(form: QuadraticForm, factor: float, unit: float) -> QuadraticForm:
    """The form times a number below one, or a little less."""
    if isinstance(form, Factor):
        root = math.nextafter(math.sqrt(factor), 0.0)
        return Factor(root * form.array)
    violation = form.psd_violation + unit * np.abs(form.diagonal)
    return Gram(factor * form.dense(), violation, form.formed)
