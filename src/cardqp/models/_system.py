"""The rules for the data of linear systems: each has one message, raised here only."""

from typing import Any

import scipy.linalg

from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ProblemError
from cardqp.problem import validation as check


def linear_system(A: ArrayLike, B: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The matrices of ``x+ = A x + B u``, with a state and an input at least."""
    A, B = check.real_array("A", A, 2), check.real_array("B", B, 2)
    if A.shape[0] != A.shape[1] or len(A) == 0:
        raise ProblemError(f"`A` must be square and not empty: its shape is {A.shape}.")
    if len(B) != len(A) or B.shape[1] == 0:
        raise ProblemError(
            f"`B` must have {len(A)} rows, one per state, and a column per input: its "
            f"shape is {B.shape}."
        )
    return A, B


def state_weight(name: str, value: ArrayLike, n: int) -> FloatArray:
    """A symmetric positive semidefinite weight of ``n`` states."""
    weight = check.symmetric_matrix(name, value, n)
    eigenvalues = scipy.linalg.eigvalsh(weight, check_finite=False)
    if eigenvalues[0] < -check.CONVEXITY_TOLERANCE * max(eigenvalues[-1], 0.0):
        raise ProblemError(
            f"`{name}` must be positive semidefinite: its smallest eigenvalue is "
            f"{eigenvalues[0]:.3g}; add at least {-eigenvalues[0]:.3g} to its diagonal."
        )
    return weight


def input_weight(value: ArrayLike, n: int) -> FloatArray:
    """A symmetric positive definite weight of ``n`` inputs."""
    weight = check.symmetric_matrix("R", value, n)
    eigenvalues = scipy.linalg.eigvalsh(weight, check_finite=False)
    if not eigenvalues[0] > check.CONVEXITY_TOLERANCE * eigenvalues[-1]:
        raise ProblemError(
            "`R` must be positive definite: its smallest eigenvalue is "
            f"{eigenvalues[0]:.3g}; every input must cost something."
        )
    return weight


def actuations(name: str, value: Any, most: int) -> None:
    """How many inputs may be nonzero, of so many."""
    if not check.is_integer(value) or not 0 <= value <= most:
        raise ProblemError(
            f"`{name}` must be an integer between 0 and {most}, the number of inputs "
            f"there are: it is {value!r}."
        )
