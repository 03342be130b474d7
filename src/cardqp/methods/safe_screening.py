"""Safe screening: variables proved zero or nonzero at the converged relaxation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cardqp._iterate import Watch
from cardqp._keywords import did_you_mean
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate import DualPoint
from cardqp.exceptions import ParameterError
from cardqp.heuristics.independent_supports import thinned
from cardqp.heuristics.local_search import grow_greedily, improve, round_switches
from cardqp.methods.context import SolveContext
from cardqp.methods.screening import SafeScreening, attainable, best_fit
from cardqp.methods.stages import screen_problem
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.relaxation.relaxation import Effort, Relaxation, Relaxed
from cardqp.spectral.choose_level import choose_level
from cardqp.spectral.level import LevelPoint
from cardqp.spectral.spectrum import Spectrum
from cardqp.subproblems.support_qp import SupportFit

ACCURACY = 1e-7
"""Gap of the relaxation, relative to the size of the objective."""


@dataclass(frozen=True, slots=True)
class PerspectiveScreening:
    """Prove variables zero at the perspective relaxation, then search the rest.

    References
    ----------
    Atamtürk and Gómez, "Safe screening rules for l0-regression from perspective
    relaxations", ICML 2020.
    """

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = True

    def run_stages(self, context: SolveContext) -> bool:
        """Screen the problem; return False: the search proves the zeros itself."""
        return screen_problem(context, self.run)

    def run(self, problem: SparseQP, watch: Watch) -> SafeScreening:
        """Relax a problem, round its solution, and fix variables at its dual point."""
        relaxed = _relax(problem, lambda: watch.is_over)
        dual = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        fit = _round(problem, relaxed, lambda: watch.is_late)
        return _build_screening(problem, fit, dual.bound(problem), dual)


@did_you_mean
def safe_screen(
    problem: SparseQP,
    upper_bound: float | None = None,
    level: int | None = None,
    *,
    spectrum: Spectrum | None = None,
) -> SafeScreening:
    """Prove variables zero or nonzero at the converged relaxation.

    This is the rule of Atamtürk and Gómez, "Safe screening rules for l0-regression from
    perspective relaxations", ICML 2020, with rows and bounds and at any dual point:
    Theorem 2 (docs/theory.md#theorem-2).

    Parameters
    ----------
    problem : SparseQP
        The problem.
    upper_bound : float, optional
        A value that some feasible point attains, constant included.  By default one is
        found by rounding the relaxation and swapping variables.
    level : int, optional
        Relax the problem cut down to this many eigenvectors; by default the problem
        itself, which proves more.
    spectrum : Spectrum, optional
        The decomposition of ``Q``, for ``level``.

    Examples
    --------
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> safe_screen(problem).zeros
    array([2])
    """
    check_problem(problem)
    dual: DualPoint | LevelPoint
    ridged = with_positive_ridge(problem)
    if level is None:
        relaxed = _relax(ridged)
        dual = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        bound = dual.bound(ridged)
    else:
        cut = choose_level(problem, level, spectrum)
        relaxed = _relax(cut.truncated)
        dual = cut.touching(relaxed.tangent_point, relaxed.beta)
        bound = cut.bound(dual)
    upper = None
    if upper_bound is not None:
        upper = check.scalar("upper_bound", upper_bound)
    fit = thinned(ridged, _round(ridged, relaxed))
    if fit.x is not None:
        # What a point attains is its objective, not that of a minorant.
        fit = SupportFit(fit.x, fit.beta, problem.value(fit.x))
    return _build_screening(problem, fit, bound, dual, upper)


def _build_screening(
    problem: SparseQP,
    fit: SupportFit,
    bound: SeparableBound,
    dual: DualPoint | LevelPoint,
    upper: float | None = None,
) -> SafeScreening:
    """Fix variables by Theorem 2 (docs/theory.md#theorem-2).

    The result holds for all points that are as good as a fit, or as a value if one is
    given.
    """
    root, lower = problem.root, bound.value(problem.root)
    if upper is None:
        upper = attainable(problem, fit)
    elif upper < lower:
        raise ParameterError(
            "upper_bound",
            "must be attained by some feasible point",
            given=f"it is {upper}, below the proved bound {lower}",
        )
    on, off = bound.fixing_bounds(root)
    is_zero, is_one = on > upper, (off > upper) | root.fixed_in
    is_zero[problem.forced_out] = True
    return SafeScreening(
        zeros=np.flatnonzero(is_zero),
        ones=np.flatnonzero(is_one),
        undecided=np.flatnonzero(~(is_zero | is_one)),
        lower_bound=lower,
        upper_bound=upper,
        x=fit.x,
        dual=dual,
    )


def _relax(problem: SparseQP, is_over: Callable[[], bool] = lambda: False) -> Relaxed:
    """Solve the relaxation of a problem to the gap ACCURACY."""
    tolerance = ACCURACY * (abs(problem.constant) + problem.single_gain)
    relaxation, effort = Relaxation.prepare(problem), Effort(tolerance, is_over=is_over)
    return relaxation.solve(problem.root, *relaxation.start(), effort)


def _round(
    problem: SparseQP,
    relaxed: Relaxed,
    is_over: Callable[[], bool] = lambda: False,
) -> SupportFit:
    """Return a good feasible point, if rounding or greedy growth finds one."""
    supports = (
        round_switches(problem, problem.root, relaxed.switches),
        grow_greedily(problem, problem.forced_in, is_over),
    )
    return improve(problem, best_fit(problem, supports, is_over), is_over)
