"""Which problems are streamed, and how much of their data is held at a time."""

import math

from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.problem import SparseQP, memory_copy
from cardqp.problem.streamed_form import StreamedForm


def is_worth_streaming(
    n_samples: int, n: int, settings: StreamedSettings = DEFAULT_SETTINGS
) -> bool:
    """Whether a table that is in memory is streamed rather than kept as a factor.

    It must be wide and large, but not so large that its principal components do not fit
    into memory: every method works on the tables that estimators are given.
    """
    is_wide = n > settings.min_columns and n > n_samples
    is_large = n_samples * n >= settings.min_entries
    # Eigenvectors of X'X and of XX'.
    components = 8.0 * n_samples * (n + n_samples)
    return is_wide and is_large and components <= memory_copy.MOST_BYTES


def is_streamed(
    problem: SparseQP, settings: StreamedSettings = DEFAULT_SETTINGS
) -> bool:
    """Whether the streamed search solves a problem.

    It is for regressions on data with many columns, each of which is chosen by itself:
    rows, groups, blocks and thresholds tie columns together, or make the cost of one
    that is switched on jump, which bounds from residuals do not know of.
    """
    is_plain = problem.groups is None and problem.blocks is None
    is_plain = is_plain and len(problem.rows) == 0
    is_plain = is_plain and len(problem.forced_out) < problem.n
    form = problem.quadratic
    is_many = problem.n > settings.min_columns
    if not isinstance(form, StreamedForm) or not is_many or not is_plain:
        return False
    is_regression = form.is_regression(problem.c, problem.constant)
    return is_regression and not problem.is_semicontinuous.any()


def has_streamed_levels(
    problem: SparseQP, settings: StreamedSettings = DEFAULT_SETTINGS
) -> bool:
    """Whether levels of the hierarchy are computed from streamed data, too.

    With more rows than columns the matrix is worth having, if it fits into memory.
    """
    form = problem.quadratic
    if not isinstance(form, StreamedForm) or not is_streamed(problem, settings):
        return False
    is_wide = form.n > form.n_samples
    return is_wide or memory_copy.copy_size(form) > memory_copy.MOST_BYTES


def can_copy(problem: SparseQP, n_columns: int) -> bool:
    """Whether so many columns of a problem fit into memory."""
    form = problem.quadratic
    if not isinstance(form, StreamedForm):
        return True
    return 8.0 * n_columns * form.n_samples <= memory_copy.MOST_BYTES


def scaled_count(form: StreamedForm, count: int, settings: StreamedSettings) -> int:
    """A number of columns, made smaller for data with many rows.

    The Gram matrix of ``m`` columns takes ``N m^2`` operations: with ``m`` falling as
    the root of ``N`` it takes as many as with ``many_rows`` rows.
    """
    return math.ceil(count * min(1.0, math.sqrt(settings.many_rows / form.n_samples)))


def fits_dense(form: StreamedForm, count: int, max_bytes: float) -> bool:
    """Whether a dense copy of so many columns takes no more than ``max_bytes``."""
    return 8.0 * form.n_samples * count <= max_bytes


def batch_size(form: StreamedForm, settings: StreamedSettings) -> int:
    """Number of residuals bounded in one pass, limited by memory; at least one."""
    held = int(settings.max_dense_bytes / (8.0 * form.n_samples))
    return max(min(settings.batch_size, held), 1)
