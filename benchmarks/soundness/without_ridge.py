"""Problems without a ridge: equal ones with a ridge, or which supports count.

Where the form is definite, a part of it takes the place of the ridge.  Where columns
are dependent, all points count if bounds are finite; a tiny ridge then changes the
optimum by next to nothing.  Otherwise only points with independent nonzeros count.
"""

from fractions import Fraction

import numpy as np
from flint import fmpq

from benchmarks.soundness.active_set import Number
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.scaled import Scaled, is_semidefinite, rational

TINY = fmpq(1, 2**100)
"""A ridge that no float can tell from none, in units of the curvature."""

LEAST = fmpq(1, 20_000)
"""Columns with less of their curvature left, given others, are dependent.  The solver
decides in floats, at twice as much: bounds hold for all that counts at this number."""

CLEAR = 4 * LEAST
"""With more they are independent however this is computed."""


def lacks_ridge(problem: Exact) -> bool:
    """Whether some ridge is zero."""
    return not all(problem.ridge)


def is_boxed(problem: Exact) -> bool:
    """Whether all variables without a ridge have finite bounds."""
    return all(
        problem.ridge[j] or None not in (problem.lower[j], problem.upper[j])
        for j in range(problem.n)
    )


def is_cone(problem: Exact) -> bool:
    """Whether there are no rows, and no bounds but signs."""
    ends = {*problem.lower, *problem.upper}
    return not problem.A and ends <= {None, Fraction(0)}


def move_form(problem: Scaled) -> bool:
    """Move half of the least eigenvalue to the ridge; whether the form is definite."""
    least = 0.5 * float(np.linalg.eigvalsh(problem.G)[0])
    if not least > 0:
        return False
    shift = [rational(least)] * problem.problem.n
    if not is_semidefinite(_shifted(problem, shift)):
        return False
    _move(problem, shift)
    return True


def move_least(problem: Scaled) -> None:
    """Move what supports that count leave of each column's curvature.

    What is left of the form is semidefinite on these supports.  Columns without
    curvature, which are in none of them, get any ridge.
    """
    diagonal = [row[j] + problem.ridge[j] for j, row in enumerate(problem.Q)]
    _move(problem, [LEAST * v if v > 0 else LEAST for v in diagonal])
    problem.clear = CLEAR


def add_tiny(problem: Scaled) -> None:
    """Give variables without a ridge a tiny one."""
    problem.added = [TINY * (v == 0) for v in problem.ridge]
    problem.ridge = [v + t for v, t in zip(problem.ridge, problem.added, strict=True)]


def _move(problem: Scaled, shift: list[Number]) -> None:
    problem.Q, problem.ridge = _shifted(problem, shift), shift
    problem.is_definite = True


def _shifted(problem: Scaled, shift: list[Number]) -> list[list[Number]]:
    """The form with all of the ridge, and a part of its diagonal less."""
    rows = [list(row) for row in problem.Q]
    for j, row in enumerate(rows):
        row[j] += problem.ridge[j] - shift[j]
    return rows
