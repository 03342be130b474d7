"""Why a problem is infeasible, in words."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from cardqp.problem import SparseQP
from cardqp.problem.rows import Rows
from cardqp.problem.sparsity.subproblem import smallest
from cardqp.solution.conflict import (
    Conflict,
    Jump,
    find_conflict,
    least_terms,
    unlimited,
)

DIGITS, MOST_DIGITS = 4, 17
"""Significant digits of numbers, and the most where these must differ from a limit."""

NOISE = 1e-12
"""Numbers that are this close, relatively, to a round one are shown as that."""


@dataclass(frozen=True, slots=True)
class RowName:
    """The quantity that a row limits, by name.

    Attributes
    ----------
    text : str
        Its name, such as "the sum of the weights".
    is_turned : bool
        Whether the row has its negative on the left, as lower limits have.
    """

    text: str
    is_turned: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """How a model calls the parts of its problem.

    Attributes
    ----------
    singular, plural : str
        What is chosen.
    rows : tuple of RowName
        One for each row; by default they go by their places in the problem.
    n_auxiliary : int
        Variables that are in the support in any case and that nobody counts.
    """

    singular: str = "nonzero"
    plural: str = "nonzeros"
    rows: tuple[RowName, ...] = ()
    n_auxiliary: int = 0

    def row(self, rows: Rows, i: int) -> RowName:
        """The name of a row."""
        if self.rows:
            return self.rows[i]
        m = int(np.count_nonzero(~rows.is_equality))
        if i >= m:
            return RowName(f"A_eq[{i - m}] @ x")
        # Lower limits are kept so: nobody thinks of them with these signs.
        coefficients = rows.matrix[i]
        is_turned = bool((coefficients < 0).any() and (coefficients <= 0).all())
        return RowName(f"-A[{i}] @ x" if is_turned else f"A[{i}] @ x", is_turned)

    def count(self, limit: int) -> str:
        """A limit of the problem as a number of what is chosen."""
        number = max(limit - self.n_auxiliary, 0)
        return f"{number} {self.singular if number == 1 else self.plural}"


BLOCKS = Words("block", "blocks")


def why_infeasible(problem: SparseQP, words: Words | None = None) -> str:
    """Return a clause that says why no point is feasible; "" if that is not simple.

    Parameters
    ----------
    problem : SparseQP
        A problem without a feasible point.
    words : Words, optional
        Names of its rows and of what is chosen.

    Examples
    --------
    >>> limits = {"sparsity": 5, "lower": 0.0, "upper": 0.1}
    >>> budget = {"A_eq": np.ones((1, 8)), "b_eq": 0.75}
    >>> problem = SparseQP(np.eye(8), np.zeros(8), eta=1.0, **limits, **budget)
    >>> known, more = why_infeasible(problem).split(", and ")
    >>> print(known)
    A_eq[0] @ x is at most 0.5 (5 x 0.1) with at most 5 nonzeros within the bounds
    >>> print(more)
    must be 0.75; it takes 8 nonzeros or more
    """
    conflict = find_conflict(problem)
    if conflict is None:
        return ""
    known = words or (Words() if problem.blocks is None else BLOCKS)
    if isinstance(conflict, Jump):
        return _about_jump(problem, conflict, known)
    return _about(problem, conflict, known)


def _about(problem: SparseQP, conflict: Conflict, words: Words) -> str:
    row, others = _row(problem, conflict.row, words), ""
    if conflict.others:
        each = (_row(problem, i, words) for i in conflict.others)
        others = " where " + " and ".join(f"{o.name} is {o.rule}" for o in each)
    extreme = row.extreme(conflict.sign, conflict.least)
    if not conflict.others:
        extreme += _product(problem, conflict, row)
    within, more = _within(problem, conflict, words), ""
    if conflict.enough is not None:
        more = f"; it takes {words.count(conflict.enough)} or more"
    return f"{row.name} is {extreme}{within}{others}, and must be {row.rule}{more}"


def _about_jump(problem: SparseQP, jump: Jump, words: Words) -> str:
    row, few = _row(problem, jump.row, words), words.count(jump.count)
    below, above = row.extreme(-1.0, -jump.most), row.extreme(1.0, jump.least)
    known = f"{below} with {few} or fewer and {above} with more"
    if jump.count == words.n_auxiliary:
        known = f"{above} with any {words.singular}"
    elif jump.count == words.n_auxiliary + 1:
        known = f"{below} with {few} and {above} with more"
    return f"{row.name} is {known}, and must be {row.rule}"


def _within(problem: SparseQP, conflict: Conflict, words: Words) -> str:
    """What a statement rests on: the number of nonzeros, their bounds, groups."""
    has_bounds = np.isfinite(problem.lower).any() or np.isfinite(problem.upper).any()
    limits = ["bounds"] * bool(has_bounds)
    limits += ["limits of groups"] * (problem.groups is not None)
    inside = f" within the {' and '.join(limits)}" if limits else ""
    if conflict.enough is None:
        return inside
    return f" with at most {words.count(problem.root.limit)}{inside}"


def _product(problem: SparseQP, conflict: Conflict, row: "_Row") -> str:
    """The terms that make up a sum, if they are all alike."""
    root = unlimited(problem) if conflict.enough is None else problem.root
    if root.groups is not None or root.blocks is not None:
        return ""
    slope = conflict.sign * problem.rows.matrix[conflict.row]
    terms = least_terms(problem, slope)
    rest = smallest(np.minimum(terms[root.undecided], 0.0), root.remaining)
    used = np.concatenate([terms[root.fixed_in], rest])
    used = used[used != 0]
    if len(used) < 2 or (used != used[0]).any():
        return ""
    return f" ({len(used)} x {conflict.sign * row.turn * used[0]:.{DIGITS}g})"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row by its name, and the limit of what it names."""

    name: str
    turn: float
    rhs: float
    is_equality: bool

    @property
    def rule(self) -> str:
        """What must hold, as in "is at most 2"."""
        limit = f"{self.turn * self.rhs:.12g}"
        if self.is_equality:
            return limit
        return f"at {'least' if self.turn < 0 else 'most'} {limit}"

    def extreme(self, sign: float, least: float) -> str:
        """What holds, if ``sign`` times the left-hand side of the row is so large."""
        is_upper = sign * self.turn < 0
        value, limit = sign * self.turn * least, self.turn * self.rhs
        return f"at {'most' if is_upper else 'least'} {shown(value, limit, is_upper)}"


def _row(problem: SparseQP, i: int, words: Words) -> _Row:
    rows, name = problem.rows, words.row(problem.rows, i)
    turn = -1.0 if name.is_turned else 1.0
    return _Row(name.text, turn, float(rows.rhs[i]), bool(rows.is_equality[i]))


def shown(value: float, limit: float, is_upper: bool) -> str:
    """A number rounded away from a limit, with enough digits to differ from it.

    Examples
    --------
    >>> shown(0.123456, 0.2, True), shown(0.9999999, 1.0, True)
    ('0.1235', '0.9999999')
    """
    rounding = ROUND_CEILING if is_upper else ROUND_FLOOR
    inward = value - (NOISE if is_upper else -NOISE) * abs(value)
    for digits in range(DIGITS, MOST_DIGITS + 1):
        context = Context(prec=digits, rounding=rounding)
        rounded = float(context.create_decimal_from_float(inward))
        if rounded < limit if is_upper else rounded > limit:
            break
    return f"{rounded:.{digits}g}"
