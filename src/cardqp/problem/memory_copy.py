"""Problems whose data are kept as they are, brought into memory."""

from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Gram
from cardqp.problem.sparse_qp import SparseQP
from cardqp.problem.streamed_form import StreamedForm

MOST_BYTES = 4e9
"""The largest dense copy of the data that is made."""


def copy_size(form: StreamedForm) -> float:
    """Bytes of the matrix, or of a factor if that is smaller."""
    return 8.0 * form.n * min(form.n, form.n_samples)


def in_memory(problem: SparseQP) -> SparseQP:
    """Return the problem with its matrix, or a factor of it, in memory.

    Bounds proved for it hold for the data: its form accounts for the rounding.

    Raises
    ------
    ProblemError
        When that would be too large.
    """
    form = problem.quadratic
    if not isinstance(form, StreamedForm):
        return problem
    size = copy_size(form)
    if size > MOST_BYTES:
        raise ProblemError(
            "X",
            f"must fit into memory for this ({size / 1e9:.0f} GB)",
            given=(
                "rows, groups, blocks, thresholds, other methods and other solvers "
                "need a dense copy"
            ),
            remedy=Phrase(
                'use bounds and prices only, with {}, or "best-response" or '
                '"dual-program" at a low level',
                Setting("method", "exact"),
            ),
        )
    dense = form.in_memory
    largest = float(form.diagonal.max())
    if isinstance(dense, Gram) and largest > check.LARGEST:
        raise ProblemError(
            "X",
            f"must have mean squares below {check.LARGEST:g}",
            given=f"those of column {form.diagonal.argmax()} are {largest:.3g}",
            remedy="rescale it",
        )
    return problem.with_quadratic(dense)
