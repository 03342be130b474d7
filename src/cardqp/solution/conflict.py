"""Rows that contradict each other, found where a few of them are to blame.

What is found is certain: a ray proves, by itself, that the rows contradict each other
within the bounds and the sparsity rule (docs/theory.md#theorem-8), or an equality lies
between the sums of fewer and of more terms.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.farkas import combine, proves_empty
from cardqp.problem import SparseQP
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.violation import least_violation

MOST_NAMED = 4
"""The most rows of a conflict that counts as simple."""

MOST_ENTRIES = 3e4
"""The most nonzeros of all rows for which linear programs are solved, some dozens."""

CANCELLED = 1e-12
"""Slopes of this share of their terms are the rounding of zero."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row that cannot be met where some others are.

    Attributes
    ----------
    row : int
        The row.
    sign : float
        1 if its left-hand side is too large, -1 if it is too small.
    least : float
        What ``sign`` times the left-hand side is at least, where the others hold.
    others : tuple of int
        The other rows; often there are none.
    enough : int or None
        The least number of nonzeros with which these rows may hold; None if ``least``
        is the same for any number.
    """

    row: int
    sign: float
    least: float
    others: tuple[int, ...]
    enough: int | None


@dataclass(frozen=True, slots=True)
class Jump:
    """An equality that is out of reach with few nonzeros and with many.

    Attributes
    ----------
    row : int
        The row.
    count : int
        Up to so many nonzeros are few.
    most, least : float
        The largest left-hand side with few nonzeros, and the least one with more.
    """

    row: int
    count: int
    most: float
    least: float


def find_conflict(problem: SparseQP) -> Conflict | Jump | None:
    """Return a simple reason why a problem is infeasible, if one is found.

    One that more nonzeros do not help with comes first, for others stay behind it.
    """
    found = _of_rows(problem, unlimited(problem)) or _jump(problem)
    if found is None and problem.root.limit < problem.n:
        return _of_rows(problem, problem.root)
    return found


def unlimited(problem: SparseQP) -> Subproblem:
    """The branch of all supports, whatever their size."""
    return replace(problem.root, limit=problem.n)


def least_terms(problem: SparseQP, slope: FloatArray) -> FloatArray:
    """The least value of ``slope_j x_j`` within the bounds of each variable."""
    with np.errstate(invalid="ignore"):
        ends = np.minimum(slope * problem.lower, slope * problem.upper)
    return np.where(slope == 0, 0.0, ends)


def _least(problem: SparseQP, slope: FloatArray, subproblem: Subproblem) -> float:
    """The least value of ``slope @ x`` in a branch, rounded down."""
    terms = least_terms(problem, slope)
    terms[~(subproblem.fixed_in | subproblem.undecided)] = 0.0
    return subproblem.total(terms)


def _of_rows(problem: SparseQP, branch: Subproblem) -> Conflict | None:
    return _single(problem, branch) or _several(problem, branch)


def _single(problem: SparseQP, branch: Subproblem) -> Conflict | None:
    """A row that no support meets within the bounds, if there is one."""
    rows = problem.rows
    for i, is_equality in enumerate(rows.is_equality):
        for sign in (1.0, -1.0) if is_equality else (1.0,):
            if _least(problem, sign * rows.matrix[i], branch) > sign * rows.rhs[i]:
                ray = np.zeros(len(rows))
                ray[i] = sign
                if proves_empty(problem, ray, branch):
                    return _conflict(problem, i, ray)
    return None


def _jump(problem: SparseQP) -> Jump | None:
    """An equality that lies between the sums of fewer and of more terms."""
    rows = problem.rows
    if problem.blocks is not None:
        return None
    for i in np.flatnonzero(rows.is_equality):
        slope, rhs = rows.matrix[i], float(rows.rhs[i])
        least = _sums(problem, least_terms(problem, slope))
        most = -_sums(problem, least_terms(problem, -slope))
        margin = SOLVED_TOLERANCE * (abs(rhs) + _sizes(problem, slope))
        is_few, is_many = most < rhs - margin, least > rhs + margin
        few = int(is_few.argmin())  # so many entries are few from the start
        if 0 < few < len(is_few) and is_many[few:].all():
            count = len(problem.forced_in) + few - 1
            below, above = float(most[:few].max()), float(least[few:].min())
            return Jump(int(i), count, below, above)
    return None


def _sizes(problem: SparseQP, slope: FloatArray) -> FloatArray:
    """The most that the sizes of so many terms add up to."""
    terms = np.minimum(least_terms(problem, slope), least_terms(problem, -slope))
    return -_sums(problem, terms)


def _sums(problem: SparseQP, terms: FloatArray) -> FloatArray:
    """The least sums of terms, by the number of them: from the forced ones on.

    Limits of groups are ignored, which makes sums smaller.
    """
    root = problem.root
    rest = np.sort(terms[root.undecided])[: root.remaining]
    return np.cumsum(np.concatenate([[terms[root.fixed_in].sum()], rest]))


def _several(problem: SparseQP, branch: Subproblem) -> Conflict | None:
    """A few rows that contradict each other, none of which can be left out."""
    rows = problem.rows
    if len(rows) < 2 or np.count_nonzero(rows.matrix) > MOST_ENTRIES:
        return None
    prices = np.zeros(len(rows))
    for i in _needed(problem, branch):
        prices[i] = np.inf
    # Inequalities come first: limits, rather than what makes up the model.
    for i in np.flatnonzero(prices).tolist():
        alone = prices.copy()
        alone[i] = 1.0
        ray = _ray(problem, branch, alone)
        if ray[i] != 0:
            return _conflict(problem, i, ray)
    return None


def _needed(problem: SparseQP, branch: Subproblem) -> list[int]:
    """A few rows that contradict each other, without any more; none if not found.

    Equalities, and rows that come first, are preferred.
    """
    m = len(problem.rows)

    def is_contradictory(some: list[int]) -> bool:
        prices = np.isin(np.arange(m), some).astype(float)
        return bool(_ray(problem, branch, prices).any())

    rows = sorted(range(m), key=lambda i: not problem.rows.is_equality[i])
    needed = list[int]()
    if not is_contradictory(rows):
        return needed
    while len(needed) <= MOST_NAMED:
        # The last row of the shortest list that contradicts itself is needed.
        lengths = range(len(rows))
        known = tuple(needed)
        length = bisect_left(
            lengths, True, key=lambda t: is_contradictory([*known, *rows[:t]])
        )
        if length == 0:
            return needed
        rows, last = rows[: length - 1], rows[length - 1]
        needed.append(last)
    return []


def _ray(problem: SparseQP, branch: Subproblem, prices: FloatArray) -> FloatArray:
    """A ray that proves that rows contradict each other, or zeros.

    Rows whose violation costs nothing are not used.
    """
    ray = least_violation(problem, branch, prices).ray
    ray[prices == 0] = 0.0
    return ray if proves_empty(problem, ray, branch) else np.zeros(len(ray))


def _conflict(problem: SparseQP, row: int, ray: FloatArray) -> Conflict:
    """The conflict that a ray proves, as one about a row where the others hold."""
    rows = problem.rows
    ray = ray / abs(ray[row])
    slope, size = combine(rows, ray)
    slope[np.abs(slope) <= CANCELLED * size] = 0.0
    others = ray.copy()
    others[row] = 0.0
    enough = _enough(problem, ray)
    branch = unlimited(problem) if enough is None else problem.root
    return Conflict(
        row=row,
        sign=float(np.sign(ray[row])),
        least=_least(problem, slope, branch) - float(others @ rows.rhs),
        others=tuple(np.flatnonzero(others).tolist()),
        enough=enough,
    )


def _enough(problem: SparseQP, ray: FloatArray) -> int | None:
    """The least number of nonzeros for which a ray does not prove a contradiction."""
    root, counts = problem.root, range(problem.root.limit, problem.n + 1)
    place = bisect_left(
        counts,
        True,
        key=lambda limit: not proves_empty(problem, ray, replace(root, limit=limit)),
    )
    return counts[place] if place < len(counts) else None
