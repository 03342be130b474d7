"""Which problems are solved by sweeps, and which in memory."""

import math

from cardqp.problem import SparseQP, memory_copy
from cardqp.problem.streamed_form import StreamedForm

FEWEST = 4000
"""With fewer columns a problem is solved in memory."""

LARGE = 10**8
"""A table with so many entries is better read in sweeps than searched as a factor: in
smaller ones sweeps prove what is easy sooner, but less of what is hard."""


def is_worth_streaming(n_samples: int, n: int) -> bool:
    """Whether a table in memory is solved by sweeps.

    All its components fit into memory, so that every method works.
    """
    is_wide = n > FEWEST and n > n_samples
    is_large = n_samples * n >= LARGE
    return (
        is_wide
        and is_large
        and 8.0 * n_samples * (n + n_samples) <= memory_copy.MOST_BYTES
    )


MOST_HELD = 250e6
"""Bytes of columns, or of residuals, that are kept as dense copies; twice as much while
they are put together.  Columns of a larger working set are read when they are needed,
a few rows at a time."""

MANY_ROWS = 50_000
"""With more rows, fewer columns are looked at closely."""


def fewer(form: StreamedForm, count: int) -> int:
    """As many of some columns that their Gram matrix costs no more with many rows."""
    return math.ceil(count * min(1.0, math.sqrt(MANY_ROWS / form.n_samples)))


def holds(form: StreamedForm, count: int) -> bool:
    """Whether so many columns are kept as a dense copy."""
    return 8.0 * form.n_samples * count <= MOST_HELD


def batch_size(form: StreamedForm, most: int) -> int:
    """How many residuals are swept at a time."""
    return max(min(most, int(MOST_HELD / (8.0 * form.n_samples))), 1)


def is_streamed(problem: SparseQP) -> bool:
    """Whether a problem is solved by sweeps over its columns."""
    is_plain = problem.groups is None and problem.blocks is None
    is_plain = is_plain and len(problem.rows) == 0
    is_plain = is_plain and len(problem.forced_out) < problem.n
    form = problem.quadratic
    if not isinstance(form, StreamedForm) or problem.n <= FEWEST or not is_plain:
        return False
    is_regression = form.is_regression(problem.c, problem.constant)
    return is_regression and not problem.is_semicontinuous.any()


def has_streamed_levels(problem: SparseQP) -> bool:
    """Whether levels of the hierarchy are computed by sweeps, too.

    With more rows than columns the matrix is worth having, if it fits into memory.
    """
    form = problem.quadratic
    if not isinstance(form, StreamedForm) or not is_streamed(problem):
        return False
    return (
        form.n > form.n_samples or memory_copy.copy_size(form) > memory_copy.MOST_BYTES
    )


def can_copy(problem: SparseQP, n_columns: int) -> bool:
    """Whether so many columns of a problem fit into memory."""
    form = problem.quadratic
    if not isinstance(form, StreamedForm):
        return True
    return 8.0 * n_columns * form.n_samples <= memory_copy.MOST_BYTES
