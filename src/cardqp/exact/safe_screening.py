"""Safe screening: variables proved zero or nonzero at the converged relaxation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp import _validation as check
from cardqp._iterate import Watch
from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import DualProof
from cardqp.convex.support_qp import SupportFit
from cardqp.dual.bound import SeparableBound
from cardqp.exact.incumbent import grow_greedily, improve, round_switches
from cardqp.exact.published_screening import PublishedScreening, screen_as_published
from cardqp.exact.relaxation import Effort, Relaxation, Relaxed
from cardqp.exceptions import ParameterError
from cardqp.problem import SparseQP
from cardqp.screening.result import attainable, best_fit
from cardqp.spectral.choose import choose_level
from cardqp.spectral.level import DualPoint, Level
from cardqp.spectral.spectrum import Spectrum

ACCURACY = 1e-7
"""Gap of the relaxation, relative to the size of the objective."""


@dataclass(frozen=True, slots=True)
class SafeScreening:
    """What Theorem 2 proves at one dual point.

    Attributes
    ----------
    zeros, ones, undecided : int arrays
        Variables that are zero, or nonzero, in every point whose objective is at most
        ``upper_bound``, and those about which nothing is proved; with blocks, ``ones``
        are the variables of blocks that are not zero.
    lower_bound : float
        A bound on the optimum.
    upper_bound : float
        The value that the proofs refer to.
    x : (n,) array or None
        The best feasible point that was met on the way.
    dual : DualProof or DualPoint
        The dual point behind the proofs: a tangent point of ``Q`` with multipliers of
        the rows, or a dual point of the level.
    """

    zeros: IntArray
    ones: IntArray
    undecided: IntArray
    lower_bound: float
    upper_bound: float
    x: FloatArray | None
    dual: DualProof | DualPoint

    @property
    def candidates(self) -> IntArray:
        """Variables that are not proved zero."""
        return np.union1d(self.ones, self.undecided)


@dataclass(frozen=True, slots=True)
class PerspectiveScreening:
    """Prove variables zero at the perspective relaxation, then search the rest.

    Parameters
    ----------
    legacy : int, optional
        Screen as the published script does, given the number of observations; see
        :func:`cardqp.exact.published_screening.screen_as_published`.  Its candidates
        are guesses.

    References
    ----------
    Atamtürk and Gómez, "Safe screening rules for l0-regression from perspective
    relaxations", ICML 2020.
    """

    legacy: int | None = None

    def __post_init__(self) -> None:
        if self.legacy is not None:
            check.count("legacy", self.legacy)

    def run(
        self, problem: SparseQP, watch: Watch
    ) -> SafeScreening | PublishedScreening:
        """Screen a problem."""
        if self.legacy is not None:
            return screen_as_published(problem, self.legacy, lambda: watch.is_over)
        relaxed, bound, dual = _relax(problem, lambda: watch.is_over)
        fit = _round(problem, relaxed, lambda: watch.is_late)
        return _conclude(problem, fit, bound, dual)


def safe_screen(
    problem: SparseQP,
    upper_bound: float | None = None,
    level: int | None = None,
    *,
    spectrum: Spectrum | None = None,
) -> SafeScreening:
    """Prove variables zero or nonzero by the converged relaxation (Theorem 2).

    This is the rule of Atamtürk and Gómez, "Safe screening rules for l0-regression from
    perspective relaxations", ICML 2020, with rows and bounds and at any dual point.

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
    check.instance("problem", problem, SparseQP)
    dual: DualProof | DualPoint
    if level is None:
        relaxed, bound, dual = _relax(problem)
    else:
        relaxed, bound, dual = _relax_level(choose_level(problem, level, spectrum))
    upper = None
    if upper_bound is not None:
        upper = check.scalar("upper_bound", upper_bound)
    return _conclude(problem, _round(problem, relaxed), bound, dual, upper)


def _conclude(
    problem: SparseQP,
    fit: SupportFit,
    bound: SeparableBound,
    dual: DualProof | DualPoint,
    upper: float | None = None,
) -> SafeScreening:
    """Theorem 2 at a bound, for all points as good as a fit, or as a value."""
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
    is_zero, is_one = on > upper, (off > upper) | root.inside
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


def _relax(
    problem: SparseQP, is_over: Callable[[], bool] = lambda: False
) -> tuple[Relaxed, SeparableBound, DualProof]:
    """The converged relaxation, its bound, and the dual point behind it."""
    relaxed = _solve_root(problem, is_over)
    proof = DualProof.at(relaxed.anchor, relaxed.beta)
    return relaxed, proof.bound(problem), proof


def _relax_level(level: Level) -> tuple[Relaxed, SeparableBound, DualPoint]:
    """The same at a level of the hierarchy."""
    relaxed = _solve_root(level.truncated)
    point = level.touching(relaxed.anchor, relaxed.beta)
    return relaxed, level.bound(point), point


def _solve_root(
    problem: SparseQP, is_over: Callable[[], bool] = lambda: False
) -> Relaxed:
    """The relaxation of a problem, as well as it can be solved."""
    tolerance = ACCURACY * (abs(problem.constant) + problem.single_gain)
    relaxation, effort = Relaxation.prepare(problem), Effort(tolerance, is_over=is_over)
    return relaxation.solve(problem.root, *relaxation.start(), effort)


def _round(
    problem: SparseQP,
    relaxed: Relaxed,
    is_over: Callable[[], bool] = lambda: False,
) -> SupportFit:
    """A good feasible point, if rounding finds one."""
    supports = (
        round_switches(problem, problem.root, relaxed.switches),
        grow_greedily(problem, problem.forced_in, is_over),
    )
    return improve(problem, best_fit(problem, supports, is_over), is_over)
