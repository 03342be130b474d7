"""What is proved about the error of a regression, which is never negative."""

from dataclasses import replace

from cardqp.bounds.gap import relative_gap
from cardqp.solution import Solution


def about_error(solution: Solution) -> Solution:
    """The solution of a regression, with what is known of every squared error.

    No mean of squares is negative, nor is a ridge: if the certificate proves less than
    zero, zero takes the place of its bound, and no gap is beyond 1.  The certificate
    knows only of a quadratic program, and ``verify`` finds what it proves: the copy is
    for what is told about errors.
    """
    if solution.lower_bound >= 0:
        return solution
    gap = relative_gap(solution.problem, solution.x, solution.objective, 0.0)
    return replace(solution, lower_bound=0.0, gap=gap)
