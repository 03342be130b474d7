"""Settings of the perspective relaxation: what is chosen, not what is proved."""

from dataclasses import dataclass

from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check


@did_you_mean
@dataclass(frozen=True, slots=True)
class RelaxationSettings:
    """How the relaxation of a node is solved.

    None of them affects the validity of a bound: Theorem 1 holds at whatever point the
    iterations end.

    Parameters
    ----------
    chunk : int
        Iterations of the first-order method between two checks of the clock.
    max_chunks : int
        The most chunks for one relaxation.
    eigenvalue_tolerance : float
        Relative accuracy of the eigenvalues from which a metric is chosen; they are
        raised by it, so that the metric stays above ``2 Q``.
    dominance : float
        A leading eigenvalue this many times the second gets a rank-one term of the
        metric.
    max_decomposed : int
        The most variables for which a metric with several terms comes from a full
        eigendecomposition.
    max_metric_terms : int
        The most rank-one terms of such a metric.
    base_iterations : float
        Iterations that a relaxation takes in any metric, in the model from which the
        number of terms is chosen.
    term_cost : float
        What a term, or a row, adds to the cost of an iteration in that model, times the
        square of their number.
    max_kernel_rows : int
        With more rows than this an interior-point method is faster than the
        first-order one.
    max_conic_variables : int
        The most variables for which the interior-point method is used.
    """

    chunk: check.Count = 200
    max_chunks: check.Count = 10
    eigenvalue_tolerance: check.Positive = 0.01
    dominance: check.AtLeastOne = 1.5
    max_decomposed: check.Whole = 1000
    max_metric_terms: check.Whole = 32
    base_iterations: check.NotNegative = 4.0
    term_cost: check.NotNegative = 0.001
    max_kernel_rows: check.Whole = 400
    max_conic_variables: check.Whole = 1000

    def __post_init__(self) -> None:
        check.ranges(self)


DEFAULT = RelaxationSettings()
