"""Which problems are solved by sweeps, and which in memory."""

import math

import numpy as np

from cardqp._validation import quadratic_matrix
from cardqp.columns import Columns
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP

FEWEST = 4000
"""With fewer columns a problem is solved in memory."""

MOST_BYTES = 4e9
"""The largest dense copy of the data that is made."""

MOST_HELD = 250e6
"""Bytes of columns, or of residuals, that are kept as dense copies; twice as much while
they are put together.  Columns of a larger working set are read when they are needed,
a few rows at a time."""

MANY_ROWS = 50_000
"""With more rows, fewer columns are looked at closely."""


def fewer(form: Columns, count: int) -> int:
    """As many of some columns that their Gram matrix costs no more with many rows."""
    return math.ceil(count * min(1.0, math.sqrt(MANY_ROWS / form.n_samples)))


def holds(form: Columns, count: int) -> bool:
    """Whether so many columns are kept as a dense copy."""
    return 8.0 * form.n_samples * count <= MOST_HELD


def batch_size(form: Columns, most: int) -> int:
    """How many residuals are swept at a time."""
    return max(min(most, int(MOST_HELD / (8.0 * form.n_samples))), 1)


def is_for_sweeps(problem: SparseQP) -> bool:
    """Whether a problem is solved by sweeps over its columns."""
    is_plain = problem.groups is None and problem.blocks is None
    is_plain = is_plain and len(problem.rows) == 0
    is_plain = is_plain and len(problem.forced_out) < problem.n
    is_wide = isinstance(problem.quadratic, Columns) and problem.n > FEWEST
    return is_wide and is_plain and not problem.is_semicontinuous.any()


def in_memory(problem: SparseQP) -> SparseQP:
    """The same problem with its matrix, or a factor of it, in memory.

    Raises
    ------
    ProblemError
        When that would be too large.
    """
    form = problem.quadratic
    if not isinstance(form, Columns):
        return problem
    size = 8.0 * form.n * min(form.n, form.n_samples)
    if size > MOST_BYTES:
        raise ProblemError(
            f"`X` must fit into memory for this ({size / 1e9:.0f} GB): rows, groups, "
            "blocks, thresholds, other methods and other solvers need a dense copy; "
            'use bounds and prices only, with method="exact".'
        )
    if form.n <= form.n_samples:
        return problem.with_quadratic(quadratic_matrix(form.dense()))
    return problem.with_quadratic(form.restrict(np.arange(form.n)))
