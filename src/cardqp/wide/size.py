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

LARGE = 10**8
"""A table with so many entries is better read in sweeps than searched as a factor: in
smaller ones sweeps prove what is easy sooner, but less of what is hard."""


def is_worth_sweeps(n_samples: int, n: int) -> bool:
    """Whether a table in memory is solved by sweeps.

    All its components fit into memory, so that every method works.
    """
    is_wide = n > FEWEST and n > n_samples
    is_large = n_samples * n >= LARGE
    return is_wide and is_large and 8.0 * n_samples * (n + n_samples) <= MOST_BYTES


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
    form = problem.quadratic
    if not isinstance(form, Columns) or problem.n <= FEWEST or not is_plain:
        return False
    is_regression = form.is_regression(problem.c, problem.constant)
    return is_regression and not problem.is_semicontinuous.any()


def has_swept_levels(problem: SparseQP) -> bool:
    """Whether levels of the hierarchy are computed by sweeps, too.

    With more rows than columns the matrix is worth having, if it fits into memory.
    """
    form = problem.quadratic
    if not isinstance(form, Columns) or not is_for_sweeps(problem):
        return False
    return form.n > form.n_samples or _copy_size(form) > MOST_BYTES


def can_copy(problem: SparseQP, n_columns: int) -> bool:
    """Whether so many columns of a problem fit into memory."""
    form = problem.quadratic
    if not isinstance(form, Columns):
        return True
    return 8.0 * n_columns * form.n_samples <= MOST_BYTES


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
    size = _copy_size(form)
    if size > MOST_BYTES:
        raise ProblemError(
            f"`X` must fit into memory for this ({size / 1e9:.0f} GB): rows, groups, "
            "blocks, thresholds, other methods and other solvers need a dense copy; "
            'use bounds and prices only, with method="exact", or "best-response" or '
            '"dual-program" at a low level.'
        )
    if form.n <= form.n_samples:
        return problem.with_quadratic(quadratic_matrix(form.dense()))
    return problem.with_quadratic(form.restrict(np.arange(form.n)))


def _copy_size(form: Columns) -> float:
    """Bytes of the matrix, or of a factor if that is smaller."""
    return 8.0 * form.n * min(form.n, form.n_samples)
