"""Safe screening: variables proved zero or nonzero at the converged relaxation."""

from dataclasses import dataclass

import numpy as np

from cardqp import _validation as check
from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import DualProof
from cardqp.convex.support_qp import SupportFit
from cardqp.dual.bound import SeparableBound
from cardqp.exact.incumbent import grow_greedily, improve, round_switches
from cardqp.exact.relaxation import Effort, Relaxation, Relaxed
from cardqp.exceptions import ParameterError
from cardqp.problem import SparseQP
from cardqp.screening.result import attainable, best_fit
from cardqp.sparsity import Choice
from cardqp.spectral.choose import choose_level
from cardqp.spectral.level import DualPoint
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


def safe_screen(
    problem: SparseQP,
    upper_bound: float | None = None,
    level: int | None = None,
    *,
    spectrum: Spectrum | None = None,
) -> SafeScreening:
    """Prove variables zero or nonzero by the converged relaxation (Theorem 2).

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
    root = problem.root
    relaxed, bound, dual = _relax(problem, root, level, spectrum)
    fit = _round(problem, root, relaxed)
    if upper_bound is None:
        upper = attainable(problem, fit)
    else:
        upper = check.scalar("upper_bound", upper_bound)
    lower = bound.value(root)
    if upper < lower:
        raise ParameterError(
            f"`upper_bound` must be attained by some feasible point: it is {upper}, "
            f"below the proved bound {lower}."
        )
    on, off = bound.fixing_bounds(root)
    is_zero, is_one = on > upper, (off > upper) | root.inside
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
    problem: SparseQP, root: Choice, level: int | None, spectrum: Spectrum | None
) -> tuple[Relaxed, SeparableBound, DualProof | DualPoint]:
    """The converged relaxation, its bound, and the dual point behind it."""
    tolerance = ACCURACY * (abs(problem.constant) + problem.single_gain)
    if level is None:
        relaxation = Relaxation.prepare(problem)
        relaxed = relaxation.solve(root, *relaxation.start(), Effort(tolerance))
        proof = DualProof.at(relaxed.anchor, relaxed.beta)
        return relaxed, proof.bound(problem), proof
    truncated = choose_level(problem, level, spectrum)
    relaxation = Relaxation.prepare(truncated.truncated)
    relaxed = relaxation.solve(root, *relaxation.start(), Effort(tolerance))
    point = DualPoint(2.0 * (truncated.factor @ relaxed.anchor), relaxed.beta)
    return relaxed, truncated.bound(point), point


def _round(problem: SparseQP, root: Choice, relaxed: Relaxed) -> SupportFit:
    """A good feasible point, if rounding finds one."""
    supports = (
        round_switches(problem, root, relaxed.switches),
        grow_greedily(problem, problem.forced_in),
    )
    return improve(problem, best_fit(problem, supports))
