"""Fields that change when a problem is made from another one."""

from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.arithmetic.rounding import moved_diagonal_unit
from cardqp.exceptions import ProblemError
from cardqp.problem import validation as check
from cardqp.problem.data import ProblemData
from cardqp.problem.quadratic import Gram, QuadraticForm
from cardqp.problem.streamed_form import StreamedForm

Fields = dict[str, Any]


def restriction(
    problem: ProblemData, indices: IntArray, form: QuadraticForm | None
) -> Fields:
    """The fields of the problem on some variables, all others being zero."""
    forced_in = _places(problem.forced_in, indices)
    if len(forced_in) < len(problem.forced_in):
        raise ProblemError("indices", "must hold all that is forced in")
    limit, names = problem.sparsity, problem.names
    return {
        "quadratic": problem.quadratic.restrict(indices) if form is None else form,
        "c": problem.c[indices],
        "eta": problem.eta[indices],
        "sparsity": None if limit is None else min(limit, len(indices)),
        "rows": problem.rows.restrict(indices),
        "lower": problem.lower[indices],
        "upper": problem.upper[indices],
        "forced_in": forced_in,
        "forced_out": _places(problem.forced_out, indices),
        "groups": None if problem.groups is None else problem.groups[indices],
        "blocks": None if problem.blocks is None else problem.blocks[indices],
        "names": None if names is None else tuple(names[j] for j in indices),
    }


def lift(part: FloatArray, indices: IntArray, n: int) -> FloatArray:
    """Return the vector of length ``n`` that is ``part`` on ``indices``, else zero."""
    x = np.zeros(n)
    x[indices] = part
    return x


def _places(some: IntArray, indices: IntArray) -> IntArray:
    """Positions in ``indices`` of the variables that are in ``some``."""
    return np.flatnonzero(np.isin(indices, some)) if len(some) else some


def moved_diagonal(problem: ProblemData, diagonal: ArrayLike) -> Fields:
    """The form and ``eta`` once a diagonal is moved from ``Q`` to the ridge."""
    diagonal = check.vector("diagonal", diagonal, problem.n)
    ridge = problem.ridge + diagonal
    if not (ridge > 0).all():
        raise ProblemError("diagonal", "must keep every ridge positive")
    form = problem.quadratic
    Q = form.dense() - np.diag(diagonal)
    size = np.abs(form.diagonal) + np.abs(diagonal) + ridge
    # A matrix may itself stand for one that is off by its psd_violation.
    formed = 0 if isinstance(form, Gram) else form.formed
    rounding = moved_diagonal_unit(problem.n, formed) * size
    psd_violation = check.convexity_defect(Q) + rounding + form.psd_violation
    return {"quadratic": Gram(Q, psd_violation), "eta": 1.0 / ridge}


def limits(problem: ProblemData, sparsity: int | None, penalty: float | None) -> Fields:
    """The fields ``sparsity`` and ``penalty``, checked, where they are given."""
    fields: Fields = {}
    if sparsity is not None:
        fields["sparsity"] = check.sparsity(sparsity, problem.n)
        check.forced_in(problem.forced_in, problem.n, sparsity, problem.blocks)
    if penalty is not None:
        fields["penalty"] = check.penalty(penalty)
    return fields


def forced(
    problem: ProblemData, forced_in: ArrayLike | None, forced_out: ArrayLike | None
) -> Fields:
    """The fields ``forced_in`` and ``forced_out`` with more variables."""
    n, shared = problem.n, problem.blocks
    more = check.indices("forced_in", forced_in, n)
    fewer = check.indices("forced_out", forced_out, n)
    fixed_in = np.union1d(problem.forced_in, more)
    fixed_in = check.forced_in(fixed_in, n, problem.sparsity, shared)
    check.groups(problem.groups, problem.group_sparsity, n, fixed_in)
    fixed_out = np.union1d(problem.forced_out, fewer)
    fixed_out = check.forced_out(fixed_out, n, fixed_in, shared)
    return {"forced_in": fixed_in, "forced_out": fixed_out}


def linear(
    problem: ProblemData,
    c: ArrayLike | None,
    b: ArrayLike | None,
    b_eq: ArrayLike | None,
    constant: float | None,
) -> Fields:
    """The fields ``c``, ``rows`` and ``constant``, checked, where they are given."""
    is_data = isinstance(problem.quadratic, StreamedForm)
    if is_data and not (c is None and constant is None):
        raise ProblemError(
            None,
            "`c` and `constant` belong to the data of this problem",
            remedy="make another one with from_data",
        )
    fields: Fields = {}
    if c is not None:
        fields["c"] = check.vector("c", c, problem.n)
    if b is not None or b_eq is not None:
        fields["rows"] = problem.rows.with_rhs(_right_hand_sides(problem, b, b_eq))
    if constant is not None:
        fields["constant"] = check.scalar("constant", constant)
    return fields


def _right_hand_sides(
    problem: ProblemData, b: ArrayLike | None, b_eq: ArrayLike | None
) -> FloatArray:
    """Right-hand sides of all rows: the new ones, or the old where none is given."""
    above, equal = problem.b, problem.b_eq
    if b is not None:
        above = check.right_hand_side("b", b, len(above))
    if b_eq is not None:
        equal = check.right_hand_side("b_eq", b_eq, len(equal))
    return np.concatenate([above, equal])
