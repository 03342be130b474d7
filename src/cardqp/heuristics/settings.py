"""Settings of the heuristics: how long to search for better points."""

from dataclasses import dataclass

from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check


@did_you_mean
@dataclass(frozen=True, slots=True)
class HeuristicSettings:
    """How hard feasible points are searched for.

    Parameters
    ----------
    max_greedy_steps : int
        Variables that a support gains one by one; what it lacks then is added at once.
    max_swaps : int
        The most exchanges of one local search.
    n_entering : int
        How many variables are tried in the place of another one, with rows or bounds.
    n_perturbations : int
        How often an iterated local search perturbs its best support.
    perturbation_size : int
        How many variables a perturbation exchanges.
    max_linear_programs : int
        The most linear programs that a dive solves.
    max_completion_variables : int
        The most variables for which ``Q`` is formed so that the last places of a
        support can be filled by trying all ways.
    max_completion_error : float
        The largest relative error of a gain computed in this way.
    max_hits : int
        With rows or bounds, the most completions of a node that are solved one by one
        after all have been tried without their rows.
    """

    max_greedy_steps: check.Whole = 200
    max_swaps: check.Count = 1000
    n_entering: check.Count = 5
    n_perturbations: check.Count = 30
    perturbation_size: check.Count = 3
    max_linear_programs: check.Count = 60
    max_completion_variables: check.Whole = 4000
    max_completion_error: check.Share = 0.1
    max_hits: check.Whole = 20

    def __post_init__(self) -> None:
        check.ranges(self)


DEFAULT = HeuristicSettings()
