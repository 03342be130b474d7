"""The perspective relaxation of a node: scaling, metric, and the call of the kernel.

Replacing ``x^2`` by its perspective ``x^2 / z`` gives the convex hull of one switched
variable with its square (Frangioni & Gentile 2006; Günlük & Linderoth 2010).  What is
solved, and why any iterate gives a bound: docs/theory.md#perspective.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.exceptions import BackendError
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.rows import Rows, power_of_two
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation import kernels
from cardqp.relaxation.assessment import Margins
from cardqp.relaxation.conic import relax_by_cones
from cardqp.relaxation.metric import Metric
from cardqp.relaxation.scaled_data import (
    NO_CLUSTERS,
    Batch,
    ClusterData,
    Data,
    GroupData,
    RankOneMetric,
    RowData,
)
from cardqp.relaxation.settings import DEFAULT, RelaxationSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop solving a relaxation.

    Attributes
    ----------
    tolerance : float
        Value and bound count as equal at this distance.
    cutoff : float
        The node is pruned once its bound is this large.
    slack : float
        For a node that cannot be pruned: stop once value and bound differ by at most
        this share of the distance from the value to the cutoff.
    is_over : callable
        Whether time is up.
    seconds_left : callable
        Seconds until the time limit; None if there is none.
    chunks : int, optional
        The most chunks of iterations; by default as many as the settings say.
    """

    tolerance: float
    cutoff: float = np.inf
    slack: float = 0.0
    is_over: Callable[[], bool] = lambda: False
    seconds_left: Callable[[], float | None] = lambda: None
    chunks: int | None = None


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solved relaxation, in the problem's units but for the warm start.

    Attributes
    ----------
    tangent_point, beta : arrays
        The tangent point and row multipliers at which Theorem 1 gives the best bound.
    switches : (n,) array
        The relaxed switches z, for rounding and branching.
    x, nu : arrays
        The last point and row multipliers: the warm start of the children, in scaled
        units.
    has_worked : bool
        Whether the rows are met, or the node is pruned.  If not, the node may be empty,
        or the method has failed to converge.
    by_cones : bool
        Whether the interior-point method solved it, and not the first-order kernel.
    """

    tangent_point: FloatArray
    beta: FloatArray
    switches: FloatArray
    x: FloatArray
    nu: FloatArray
    has_worked: bool
    by_cones: bool = False


class Iterates(NamedTuple):
    """Where the kernel has come to in some nodes, a row for each, in scaled units.

    Attributes
    ----------
    bounds : (k,) array
        The best bounds, without margins for rounding; not a number if not known.
    points, betas : (k, n) and (k, m) arrays
        The dual points that give them.
    switches : (k, n) array
        The relaxed switches z.
    x, nu : (k, n) and (k, m) arrays
        The last points and row multipliers.
    has_worked : (k,) bool array
        Whether the rows are met, or the node is pruned.
    is_done : (k,) bool array
        Whether there is nothing to go on for.
    by_cones : (k,) bool array
        Whether the interior-point method solved it.
    """

    bounds: FloatArray
    points: FloatArray
    betas: FloatArray
    switches: FloatArray
    x: FloatArray
    nu: FloatArray
    has_worked: BoolArray
    is_done: BoolArray
    by_cones: BoolArray

    def improved(self, later: "Iterates") -> "Iterates":
        """What later iterations have come to, with the best dual point of one node."""
        if later.bounds[0] > self.bounds[0] or not np.isfinite(self.bounds[0]):
            return later
        return later._replace(bounds=self.bounds, points=self.points, betas=self.betas)


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """A problem prepared for its relaxation to be solved many times.

    Variables are scaled to unit curvature and rows to unit length, both by powers of
    two, so that scaling introduces no rounding.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    unit : (n,) array
        Units of the variables: a scaled point times the unit is a point.
    row_scale : (m,) array
        Factors of the rows.
    data, rows, metric, margins
        What the kernels work with.  One of ``rows`` and ``metric`` is None.
    settings : RelaxationSettings
        How relaxations are solved.
    formed : Data or None
        The data with the matrix in place of a factor, for iterations only.
    """

    problem: SparseQP
    unit: FloatArray
    row_scale: FloatArray
    data: Data
    rows: RowData | None
    metric: RankOneMetric | None
    margins: Margins
    settings: RelaxationSettings = DEFAULT
    formed: Data | None = None

    @classmethod
    def prepare(
        cls,
        problem: SparseQP,
        *,
        is_reused: bool = False,
        settings: RelaxationSettings = DEFAULT,
    ) -> "Relaxation":
        """Scale the data and choose the metric.

        A good one is worth a decomposition if the relaxation is to be solved for many
        nodes.
        """
        form = problem.quadratic
        unit = 1.0 / power_of_two(np.sqrt(form.diagonal + problem.ridge))
        rows, row_scale = Rows(
            problem.rows.matrix * unit, problem.rows.rhs, problem.rows.is_equality
        ).scaled()
        is_gram = isinstance(form, Gram)
        if is_gram:
            matrix = unit[:, None] * form.array * unit
        else:
            matrix = np.ascontiguousarray((form.array * unit).T)
        ridge, groups = problem.ridge * unit**2, problem.rule.groups
        least = 1e-3 * float(ridge.max())
        # With rows, terms of rank one are just more rows of the same Newton system, so
        # that several are affordable; without, the scalar equation allows for one.
        if len(rows) > 0 and is_reused and problem.n <= settings.max_decomposed:
            metric = Metric.choose_many(
                matrix, is_gram, least, float(np.median(ridge)), len(rows), settings
            )
        else:
            # The derivative that the scalar equation needs does not know of groups.
            is_plain = groups is not None and len(rows) == 0
            metric = Metric.choose(matrix, is_gram, least, settings, plain=is_plain)
        data = _scaled_data(problem, unit, matrix, ridge, metric.lipschitz)
        margins = Margins(
            np.sqrt(form.diagonal + form.psd_violation) * unit,
            form.psd_violation * unit**2,
            float(problem.constant),
        )
        parts = metric.directions, metric.sigma
        if len(rows) == 0:
            rank_one = RankOneMetric(*parts)
            return cls(
                problem, unit, row_scale, data, None, rank_one, margins, settings
            )
        used = metric.sigma > 0
        row_data = RowData(
            rows.matrix, rows.rhs, rows.is_equality, *(part[used] for part in parts)
        )
        return cls(problem, unit, row_scale, data, row_data, None, margins, settings)

    def with_matrix(self, Q: FloatArray) -> "Relaxation":
        """The same relaxation, iterated with the matrix in place of a factor.

        Relaxed points are sparse, and products with them cost less with the matrix.
        Any dual point is as good as another: what it proves is told from the factor.
        """
        M = self.unit[:, None] * Q
        M *= self.unit
        return replace(self, formed=self.data._replace(M=M, is_gram=True))

    @property
    def prefers_cones(self) -> bool:
        """Whether there are many rows, or blocks, which the kernel does not support."""
        is_tall = len(self.row_scale) > self.settings.max_kernel_rows
        return self.problem.blocks is not None or is_tall

    def solve(
        self,
        subproblem: Subproblem,
        x: FloatArray,
        nu: FloatArray,
        effort: Effort,
        clusters: ClusterData = NO_CLUSTERS,
    ) -> Relaxed:
        """Solve the relaxation of a node from a warm start, which is in scaled units.

        The dual point is that with the best bound.  By interior points if
        :attr:`prefers_cones`.
        """
        if self.prefers_cones:
            by_cones = self.solve_by_cones(subproblem, effort)
            if by_cones is not None:
                return by_cones
        if self.problem.blocks is not None:
            nothing = np.zeros(self.problem.n), np.zeros(len(nu))
            on = subproblem.fixed_in.astype(float)
            return Relaxed(*nothing, on, x.copy(), nu.copy(), False)
        batch = Batch.single(
            subproblem.status,
            subproblem.remaining,
            clusters,
            self.data.w,
            effort.slack,
            x,
            nu,
        )
        # Compiled code cannot see the clock: it works in chunks, each a warm start of
        # the next.
        best = self.iterate(batch, effort)
        for _ in range(1, effort.chunks or self.settings.max_chunks):
            if best.is_done[0] or effort.is_over():
                break
            best = best.improved(self.iterate(batch, effort))
        return Relaxed(
            tangent_point=best.points[0] * self.unit,
            beta=best.betas[0] / self.row_scale,
            switches=best.switches[0],
            x=best.x[0],
            nu=best.nu[0],
            has_worked=bool(best.has_worked[0]),
        )

    def iterate(self, batch: Batch, effort: Effort) -> Iterates:
        """Solve the relaxations of some nodes by the kernel, in one chunk each.

        Their warm starts are updated; the slack is the batch's.
        """
        bounds, points, betas, switches, worst, is_done = kernels.relax(
            self.data if self.formed is None else self.formed,
            self.rows,
            self.metric,
            batch,
            effort.cutoff - self.problem.constant,
            effort.tolerance,
            self.settings.chunk,
        )
        # The bound at a point that is not finite is not finite either.
        is_finite = np.isfinite(bounds)
        if not is_finite.all():
            # Theorem 1 holds at any dual point, so zero is as good as another.
            points[~is_finite], betas[~is_finite] = 0.0, 0.0
        has_worked = is_finite & (is_done | (worst <= kernels.ROWS_MET))
        return Iterates(
            bounds,
            points,
            betas,
            switches,
            batch.x,
            batch.nu,
            has_worked,
            is_done,
            np.zeros(len(bounds), dtype=bool),
        )

    def stacked(self, relaxed: list[Relaxed]) -> Iterates:
        """Relaxations that were solved one by one, as those solved by the kernel."""
        has_worked = np.array([one.has_worked for one in relaxed])
        return Iterates(
            np.full(len(relaxed), np.nan),
            np.array([one.tangent_point / self.unit for one in relaxed]),
            np.array([one.beta * self.row_scale for one in relaxed]),
            np.array([one.switches for one in relaxed]),
            np.array([one.x for one in relaxed]),
            np.array([one.nu for one in relaxed]),
            has_worked,
            has_worked,
            np.array([one.by_cones for one in relaxed]),
        )

    def solve_by_cones(self, subproblem: Subproblem, effort: Effort) -> Relaxed | None:
        """Solve the relaxation of a node by interior points.

        Returns None if the node is empty or too large, or if the solver gives up, as it
        does when time is up.
        """
        is_large = self.problem.n > self.settings.max_conic_variables
        if is_large and self.problem.blocks is None:
            return None
        if effort.is_over():
            return None
        try:
            point = relax_by_cones(self.problem, subproblem, effort.seconds_left())
        except BackendError as error:
            log.info("%s", error)
            return None
        if point is None:
            return None
        nu = point.beta * self.row_scale / self.data.lipschitz
        return Relaxed(
            point.x,
            point.beta,
            point.switches,
            point.x / self.unit,
            nu,
            has_worked=True,
            by_cones=True,
        )

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Point and row multipliers of a cold start: zeros."""
        return np.zeros(self.problem.n), np.zeros(len(self.problem.rows))


def _scaled_data(
    problem: SparseQP,
    unit: FloatArray,
    matrix: FloatArray,
    ridge: FloatArray,
    lipschitz: float,
) -> Data:
    """The problem in scaled units, without its rows."""
    groups = problem.rule.groups
    bounds = np.concatenate([problem.lower, problem.upper])
    is_open = bool((np.isinf(bounds) | (bounds == 0)).all()) and groups is None
    return Data(
        M=matrix,
        is_gram=isinstance(problem.quadratic, Gram),
        c=problem.c * unit,
        w=ridge,
        lower=problem.lower / unit,
        upper=problem.upper / unit,
        is_open=is_open,
        theta=float(problem.rule.penalty),
        lipschitz=lipschitz,
        groups=None
        if groups is None
        else GroupData(groups.labels.copy(), groups.limits.copy()),
    )
