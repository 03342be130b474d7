"""The rules for the data of linear systems: each has one message, raised here only."""

import scipy.linalg

from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ProblemError
from cardqp.problem import validation as check


def linear_system(A: ArrayLike, B: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The matrices of ``x+ = A x + B u``, with a state and an input at least."""
    A, B = check.real_array("A", A, 2), check.real_array("B", B, 2)
    check.square("A", A)
    rule = f"must have {len(A)} rows, one per state, and a column per input"
    check.shaped(len(B) == len(A) and B.shape[1] > 0, "B", rule, B)
    return A, B


def state_weight(name: str, value: ArrayLike, n: int) -> FloatArray:
    """A symmetric positive semidefinite weight of ``n`` states."""
    weight = check.symmetric_matrix(name, value, n)
    eigenvalues = scipy.linalg.eigvalsh(weight, check_finite=False)
    if eigenvalues[0] < -check.CONVEXITY_TOLERANCE * max(eigenvalues[-1], 0.0):
        check.refuse_indefinite(name, eigenvalues[0])
    return weight


def input_weight(value: ArrayLike, n: int) -> FloatArray:
    """A symmetric positive definite weight of ``n`` inputs."""
    weight = check.symmetric_matrix("R", value, n)
    eigenvalues = scipy.linalg.eigvalsh(weight, check_finite=False)
    if not eigenvalues[0] > check.CONVEXITY_TOLERANCE * eigenvalues[-1]:
        raise ProblemError(
            "R",
            "must be positive definite",
            given=f"its smallest eigenvalue is {eigenvalues[0]:.3g}",
            remedy="every input must cost something",
        )
    return weight
