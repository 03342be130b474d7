"""The convex quadratic program that remains once the support is known.

Solvers work in floating point with absolute tolerances.  None of them is trusted: a
point counts if it meets the constraints of the problem itself, and that there is none
is proved by a Farkas ray alone (docs/theory.md#feasibility).
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rational import is_positive_definite
from cardqp.arithmetic.rounding import definite_share
from cardqp.bounds.farkas import proves_empty
from cardqp.exceptions import BackendError
from cardqp.problem import SparseQP, lift
from cardqp.problem.feasibility import FEASIBILITY_TOLERANCE, SOLVED_TOLERANCE
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.validation import LARGEST
from cardqp.subproblems.interior_point import minimise
from cardqp.subproblems.rational_qp import ExactQP
from cardqp.subproblems.scaled_qp import ScaledQP, SupportQP
from cardqp.subproblems.violation import polish

log = logging.getLogger(__name__)

ACTIVE_SET_LIMIT = 400
"""The largest support for the active-set method; larger ones, with constraints, go to
an interior-point method."""

MOST_EXACT = 16
"""The largest support whose program is solved in rational arithmetic, if need be.
Integers grow with the size of the systems, and the time much faster."""

PRIMAL_TOLERANCE = 1e-9
"""Constraint violation accepted by the active-set method, after scaling."""

RAY_CURVATURE = 1e-8
"""That of x beside the squares of violations, in the search for a Farkas ray."""

NOISE = 1e-13
"""Entries this small in scaled units are rounding errors of a zero."""

Answer = tuple[FloatArray | None, FloatArray]
"""A minimiser and the multipliers of the rows; without a minimiser, None and a Farkas
ray."""

# Exit flags of daqp.
_OPTIMAL, _INFEASIBLE = 1, -1


@dataclass(frozen=True, slots=True)
class SupportFit:
    """The best point on a support, if one was found.

    Attributes
    ----------
    x : (n,) array or None
        The minimiser, feasible and zero off the support; None when there is no such
        point, or the solvers failed to find it.  Only a Farkas ray proves the former.
    beta : (m,) array
        Multipliers of the rows; without a point zeros, or a candidate for a Farkas ray.
    objective : float
        Its objective, constant and penalty included; infinite without a point.
    """

    x: FloatArray | None
    beta: FloatArray
    objective: float

    @classmethod
    def nothing(cls, problem: SparseQP) -> "SupportFit":
        """Return a fit without a point."""
        return cls(None, np.zeros(len(problem.rows)), np.inf)

    @classmethod
    def known(cls, problem: SparseQP, x: FloatArray) -> "SupportFit":
        """Return a fit at a given point, without a point if it is infeasible.

        The point need not be a minimiser.
        """
        if not problem.violations(x).holds():
            return cls.nothing(problem)
        return cls(x, np.zeros(len(problem.rows)), problem.value(x))


def fit_support(
    problem: SparseQP, support: IntArray, *, needs_proof: bool = False
) -> SupportFit:
    """Minimise the objective over the points that vanish off the support.

    A Cholesky factorisation where there are no rows and no bound matters; ``daqp``
    (dual active set) otherwise.  Where it gives up, or its point does not meet the
    rows, small programs are solved again in rational arithmetic, and large ones by
    ``clarabel`` (interior point).

    If a solver reports infeasibility and its ray does not prove it, the next one is
    tried where ``needs_proof``.  Such a report is hardly ever wrong, so that heuristics
    that try many supports do without.
    """
    if len(support) == 0:
        return _accept(problem, np.zeros(problem.n), np.zeros(len(problem.rows)))
    program = SupportQP.of(problem, support)
    if len(problem.rows) == 0:
        part = _solve_free(program.G, program.c)
        is_within = (part >= program.lower) & (part <= program.upper)
        if problem.is_unconstrained or bool(is_within.all()):
            return _accept(problem, lift(part, support, problem.n), np.zeros(0))
    return _fit_constrained(problem, support, program, needs_proof)


def _accept(problem: SparseQP, x: FloatArray, beta: FloatArray) -> SupportFit:
    """Return the fit at a point, without a point if it is infeasible."""
    if not (np.abs(x) < LARGEST).all():
        return SupportFit.nothing(problem)
    if not problem.is_unconstrained and not problem.violations(x).holds():
        return SupportFit.nothing(problem)
    return SupportFit(x, beta, problem.value(x))


def _fit_constrained(
    problem: SparseQP, support: IntArray, program: SupportQP, needs_proof: bool
) -> SupportFit:
    """Return the first answer that meets the constraints to SOLVED_TOLERANCE.

    Without one, return the first that is feasible to the problem's own tolerance.
    """
    best = SupportFit.nothing(problem)
    for part, multipliers in _answers(program):
        beta = problem.rows.project(multipliers)
        if part is None:
            best = SupportFit(None, beta, np.inf) if best.x is None else best
            if not needs_proof or _is_empty(problem, support, beta):
                return best
            continue
        within, violation, value = program.judged(part)
        x = lift(within, support, problem.n)
        if violation > FEASIBILITY_TOLERANCE or not problem.is_allowed(x):
            continue
        fit = SupportFit(x, beta, problem.constant + value + problem.price(x))
        if violation <= SOLVED_TOLERANCE:
            return fit
        best = fit if best.x is None else best
    return best


def _is_empty(problem: SparseQP, support: IntArray, ray: FloatArray) -> bool:
    """Return whether a ray proves that a support has no feasible point."""
    fixed_in = np.zeros(problem.n, dtype=bool)
    fixed_in[support] = True
    return proves_empty(problem, ray, Subproblem(fixed_in, ~fixed_in, problem.n))


def _answers(program: SupportQP) -> Iterator[Answer]:
    """Yield the answers of solvers, cheapest first; each is computed when asked for."""
    size = len(program.c)
    if size <= MOST_EXACT:
        yield from _answer(_active_set, ScaledQP.of(program, by_rows=False))
        yield from _answer_exactly(program)
        return
    solvers = (_active_set, _interior_point)
    for solver in solvers[size > ACTIVE_SET_LIMIT :]:
        for by_rows in (False, True):
            yield from _answer(solver, ScaledQP.of(program, by_rows=by_rows))


def _answer(solver: Callable[[ScaledQP], Answer], scaled: ScaledQP) -> Iterator[Answer]:
    """Yield the answer of a solver in the problem's units; nothing if it gives up."""
    try:
        part, beta = solver(scaled)
    except BackendError as err:
        log.info("%s", err)
        return
    beta = beta / scaled.row_unit
    if part is None:
        yield None, beta
        return
    part[np.abs(part) <= NOISE] = 0.0
    yield scaled.unit * part, beta
    # Computed only if the caller did not accept the point as it is.
    yield scaled.unit * scaled.repaired(part), beta


def _answer_exactly(program: SupportQP) -> Iterator[Answer]:
    """Yield the answer in rational arithmetic, if ``G`` is positive definite."""
    G, c, lower, upper, matrix, rhs, is_equation = program
    eye, above, below = np.eye(len(c)), np.isfinite(upper), np.isfinite(lower)
    normals = np.vstack([matrix, eye[above], -eye[below]])
    limits = np.concatenate([rhs, upper[above], -lower[below]])
    is_equality = np.zeros(len(limits), dtype=bool)
    is_equality[: len(rhs)] = is_equation
    form = 2.0 * G
    # Rounding in G may make it indefinite: a diagonal of the size of the errors then
    # makes up for it.
    for share in (0.0, definite_share(len(G))):
        hessian = form + share * np.diag(form.diagonal())
        if is_positive_definite(hessian):
            exact = ExactQP(hessian, c, normals, limits, is_equality)
            part, multipliers = exact.solve()
            yield part, multipliers[: len(rhs)]
            return


def _solve_free(block: FloatArray, c: FloatArray) -> FloatArray:
    try:
        factor = scipy.linalg.cho_factor(block, check_finite=False)
    except scipy.linalg.LinAlgError:
        # The ridge is lost in the rounding of the block: the least-norm solution is as
        # good as any.
        return np.asarray(np.linalg.lstsq(block, -0.5 * c, rcond=None)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, -0.5 * c, check_finite=False))


def _active_set(scaled: ScaledQP) -> Answer:
    x, multipliers, flag = _run_daqp(scaled)
    if flag == _INFEASIBLE:
        # From 0.11 on, daqp does not fill in the multipliers of such programs.
        return None, _least_squares_ray(scaled)
    if flag != _OPTIMAL or not np.isfinite(x).all():
        count = len(scaled.slope)
        raise BackendError(f"daqp gave up on {count} variables (exit flag {flag})")
    return x, multipliers


def _run_daqp(scaled: ScaledQP) -> tuple[FloatArray, FloatArray, int]:
    """A point, the multipliers of the rows, and an exit flag."""
    import daqp

    x, _, flag, info = daqp.solve(
        scaled.hessian,
        scaled.slope,
        scaled.matrix,
        scaled.upper,
        scaled.lower,
        scaled.sense,
        primal_tol=PRIMAL_TOLERANCE,
    )
    return np.asarray(x), np.asarray(info["lam"][len(scaled.slope) :]), int(flag)


def _least_squares_ray(scaled: ScaledQP) -> FloatArray:
    """Return a candidate for a Farkas ray of a program that seems to be infeasible.

    The least violations ``v`` of the rows ``Ax <= b + v`` in the sum of squares are
    such a ray: between the bounds ``v'Ax`` is least at the minimiser, and above
    ``v'b`` there by ``|v|^2``.  A little curvature makes the program in ``(x, v)``
    strictly convex.
    """
    m, k = scaled.matrix.shape
    lower, upper, sense = scaled.lower, scaled.upper, scaled.sense
    wide, plain = np.full(m, np.inf), np.zeros(m, dtype=sense.dtype)
    elastic = scaled._replace(
        hessian=np.diag(np.repeat([RAY_CURVATURE, 1.0], [k, m])),
        slope=np.zeros(k + m),
        matrix=np.hstack([scaled.matrix, -np.eye(m)]),
        lower=np.concatenate([lower[:k], -wide, lower[k:]]),
        upper=np.concatenate([upper[:k], wide, upper[k:]]),
        sense=np.concatenate([sense[:k], plain, sense[k:]]),
    )
    x, _, flag = _run_daqp(elastic)
    size = np.abs(x[k:]).max(initial=0.0)
    if flag != _OPTIMAL or not 0 < size < np.inf:
        return np.zeros(m)
    return polish(x[k:] / size, scaled.rows, *scaled.box)


def _interior_point(scaled: ScaledQP) -> Answer:
    rows, eye, (lower, upper) = scaled.rows, np.eye(len(scaled.slope)), scaled.box
    above, below = np.isfinite(upper), np.isfinite(lower)
    equal_first = np.argsort(~rows.is_equality, kind="stable")
    bounds = [upper[above], -lower[below]]
    rhs = np.concatenate([rows.rhs[equal_first], *bounds])
    n_equal = int(rows.is_equality.sum())
    answer = minimise(
        scaled.hessian,
        scaled.slope,
        np.vstack([rows.matrix[equal_first], eye[above], -eye[below]]),
        rhs,
        n_equal=n_equal,
        n_below=len(rhs) - n_equal,
    )
    if answer is None:
        return None, np.zeros(len(rows))
    x, multipliers = answer
    beta = np.empty(len(rows))
    beta[equal_first] = multipliers[: len(rows)]
    return x, beta
