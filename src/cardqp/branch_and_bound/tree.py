"""The state of the search in memory: the presolve, relaxations, what it has tried."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.bounds.node_ridges import NodeRidges
from cardqp.branch_and_bound.clusters import near
from cardqp.branch_and_bound.inactive_bounds import is_within
from cardqp.branch_and_bound.presolve import PresolveState
from cardqp.branch_and_bound.search_tree import Node, SearchTree
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.certificate import Certificate, Kind, ProofLog, RootStep
from cardqp.heuristics.completed_supports import PenalisedSupports, Supports
from cardqp.heuristics.independent_supports import thinned
from cardqp.heuristics.local_search import improve, iterated_local_search
from cardqp.problem import SparseQP, lift
from cardqp.relaxation.relaxation import Relaxation
from cardqp.relaxation.strong_pairs import MOST_FREE
from cardqp.subproblems.support_qp import SupportFit, fit_support

if TYPE_CHECKING:
    from cardqp.branch_and_bound.dropping import Dropping


@dataclass(slots=True, kw_only=True)
class Tree(SearchTree):
    """The state of the search in memory.

    Attributes
    ----------
    presolved : PresolveState
        The problem as the presolve at the root has left it.
    x, nu : arrays
        The warm start of the root's relaxation: the point in the problem's units, the
        row multipliers scaled.
    supports : Supports or None
        Enumerates completions of supports, where there are neither rows nor bounds.
    penalised : PenalisedSupports or None
        Enumerates them without their rows and bounds, where there are some.
    is_near : (n, n) bool array or None
        Which variables form clusters to branch on; None to branch on single variables.
    has_rule : bool
        Whether it has been decided what to branch on.
    n_by_cones : int
        Relaxations by interior points, mostly because the kernel failed.
    n_cut_off, n_in_vain, most_free : int
        Nodes whose completions by four variables were enumerated, those that had too
        many, and up to how many undecided variables it is tried.
    n_perturbations : int
        How many iterated local searches have started at the incumbent.
    tightened : float
        The number of variables when a diagonal was last optimised.
    split : float
        The number of variables when a split by signs was last optimised.
    left_bounds : bool
        Whether bounds were dropped at the root, and a point that violates them was
        found to be better than any other: the search must start again, with them.
    tried_function : bool
        Whether a split by a matrix function has been tried.
    may_drop : bool
        Whether supports may be searched by dropping variables as well.
    dropping : Dropping or None
        That search, once it has begun.
    """

    presolved: PresolveState
    x: FloatArray
    nu: FloatArray
    supports: Supports | None = None
    penalised: PenalisedSupports | None = None
    is_near: BoolArray | None = None
    has_rule: bool = False
    n_by_cones: int = 0
    n_cut_off: int = 0
    n_in_vain: int = 0
    most_free: int = MOST_FREE[4]
    n_perturbations: int = 0
    tightened: float = np.inf
    split: float = np.inf
    left_bounds: bool = False
    tried_function: bool = False
    may_drop: bool = True
    dropping: "Dropping | None" = None
    _relaxations: dict[Kind, Relaxation] = field(default_factory=dict)
    _ridges: NodeRidges | None = None

    @classmethod
    def initial(
        cls,
        problem: SparseQP,
        presolved: PresolveState | None = None,
        settings: SearchSettings = DEFAULT,
    ) -> "Tree":
        """The tree of a problem before its root is processed."""
        presolved = PresolveState.start(problem) if presolved is None else presolved
        x, nu = np.zeros(presolved.problem.n), np.zeros(len(problem.rows))
        return cls(
            problem=problem,
            best=SupportFit.nothing(problem),
            presolved=presolved,
            x=x,
            nu=nu,
            settings=settings,
        )

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the presolved problem."""
        return self.relaxation_of(Kind.POINT)

    def relaxation_of(self, kind: Kind) -> Relaxation:
        """The relaxation whose dual points prove nodes of a kind.

        Without the sparse minorant for ``Kind.FULL``.  It is prepared on first use.
        """
        if kind == Kind.FULL and not self.has_minorant:
            kind = Kind.POINT
        if kind not in self._relaxations:
            is_full = kind == Kind.FULL
            problem = (
                self.presolved.without_minorant if is_full else self.presolved.problem
            )
            self._relaxations[kind] = Relaxation.prepare(
                problem, is_reused=True, settings=self.settings.relaxation
            )
        return self._relaxations[kind]

    def node_ridges(self, kind: Kind) -> NodeRidges | None:
        """The higher ridges that the relaxation of a kind has in nodes, if it has some.

        That with the sparse minorant does.
        """
        rest = self.presolved.rest
        if kind != Kind.POINT or rest is None:
            return None
        if self._ridges is None:
            self._ridges = NodeRidges.of(rest, self.presolved.problem)
        return self._ridges

    @property
    def kernel_fails(self) -> bool:
        """Whether the first-order kernel fails so often that it is not tried first."""
        is_often = self.n_by_cones >= self.settings.max_failures
        return is_often and 2 * self.n_by_cones > self.n_nodes

    def note_cut_off(self, is_success: bool) -> None:
        """Note whether enumerating completions by four variables ended a node.

        Where it mostly fails, it is tried in nodes with fewer undecided variables only.
        """
        self.n_cut_off += is_success
        self.n_in_vain += not is_success
        if self.n_in_vain > self.settings.max_in_vain + self.n_cut_off:
            self.most_free = 3 * self.most_free // 4
            self.n_cut_off = self.n_in_vain = 0

    @property
    def node_slack(self) -> float:
        """How nearly the relaxations of nodes are solved that must be branched on.

        With rows, relaxations converge slowly near the end.  Where variables are
        semi-continuous, fewer of them can be fixed at points that are not solved.
        """
        has_rows = len(self.problem.rows) > 0
        if has_rows and not self.problem.is_semicontinuous.any():
            return self.settings.row_node_slack
        return self.settings.node_slack

    @property
    def has_minorant(self) -> bool:
        """Whether the presolved problem is a sparse minorant."""
        return self.presolved.without_minorant is not self.presolved.problem

    def update_incumbent(
        self, fit: SupportFit, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Update the incumbent by a feasible point of the presolved problem.

        A better point is first improved by local search, as long as there is time.
        """
        if not fit.objective < self.best.objective:
            return
        original, settings = self.presolved.original, self.settings.heuristics
        fit = improve(original, thinned(original, fit), is_over, settings)
        self.keep_inside(thinned(original, fit))

    def keep_inside(self, fit: SupportFit) -> None:
        """Keep a point of the presolved problem, unless it violates dropped bounds."""
        if fit.x is None:
            return
        presolved, x = self.presolved, fit.x
        if presolved.uncut is not presolved.original:
            # The best point with a tiny ridge is not quite the best one without.
            again = fit_support(presolved.uncut, np.flatnonzero(x)).x
            x = x if again is None else again
        x = lift(x, presolved.indices, self.problem.n)
        if self.drops_bounds and not is_within(self.problem, x):
            self.left_bounds = True
        else:
            self.keep(SupportFit(x, fit.beta, self.problem.value(x)))

    @property
    def drops_bounds(self) -> bool:
        """Whether a step at the root has dropped the bounds of variables."""
        return any(s.reduction and s.reduction.drops_bounds for s in self.steps)

    def iterated_local_search(self, is_over: Callable[[], bool]) -> None:
        """Run an iterated local search from the incumbent, unless time is up."""
        x, presolved = self.best.x, self.presolved
        if x is None or np.count_nonzero(x[presolved.indices]) < np.count_nonzero(x):
            # It uses variables that the presolve has fixed to zero: no better point
            # does, and the presolved problem cannot express it.
            return
        start = SupportFit(x[presolved.indices], self.best.beta, self.best.objective)
        found = iterated_local_search(
            presolved.original,
            start,
            self.n_perturbations,
            is_over,
            self.settings.heuristics,
        )
        self.n_perturbations += 1
        found = thinned(presolved.original, found)
        if found.objective < self.best.objective:
            self.keep_inside(found)

    def step_root(
        self,
        step: RootStep,
        presolved: PresolveState,
        relaxation: Relaxation | None = None,
    ) -> None:
        """Record a step of the presolve and what it leaves.

        The relaxation of the problem that is left may be at hand.
        """
        self.steps.append(step)
        if presolved.problem is not self.presolved.problem:
            # Scaling and metric belong to the old problem.
            self._relaxations, self._ridges = {}, None
        if relaxation is not None:
            self._relaxations[Kind.POINT] = relaxation
        self.presolved = presolved

    def begin(self, accuracy: float) -> None:
        """End the presolve: open the root node, and the log if a proof is kept.

        Dual points are stored in single precision if that costs no more in a bound than
        the accuracy.
        """
        self.is_rooted = True
        self.prepare_supports()
        self.start_clusters()
        if self.keep_proof:
            self.log = self._new_log(self._is_single(accuracy))
        self.open_root()

    def restart(self) -> None:
        """Begin again at the root, with another branching rule; nodes are lost."""
        self.heap, self.stack, self.pruned_bound = [], [], np.inf
        self.closed_share = 0.0
        if self.log is not None:
            self.log = self._new_log(self.log.is_single)
        self.open_root()

    def prepare_supports(self) -> None:
        """Prepare the enumeration of completions."""
        problem, settings = self.presolved.original, self.settings.heuristics
        self.supports = Supports.of(problem, settings)
        self.penalised = PenalisedSupports.of(problem, settings)

    def form_matrix(self) -> None:
        """Solve relaxations with the matrix where the problem has a factor.

        Only where the matrix is at hand for the enumeration of completions.
        """
        relaxation, supports = self.relaxation, self.supports
        if supports is None or relaxation.data.is_gram or relaxation.formed is not None:
            return
        Q = supports.G.copy()
        Q[np.diag_indices(len(Q))] -= self.presolved.original.ridge
        self._relaxations[Kind.POINT] = relaxation.with_matrix(Q)

    def start_clusters(self) -> None:
        """Branch on clusters from the start, or not at all, if the settings say so."""
        settings = self.settings.clusters
        self.has_rule = settings.rule != "auto" or self.supports is None
        if settings.rule == "always" and settings.correlations:
            self.use_clusters(settings.correlations[0])

    def use_clusters(self, correlation: float | None) -> None:
        """Branch on clusters of columns with at least this correlation; None: on none.

        Where completions are not enumerated, single variables are branched on.
        """
        self.is_near = None
        if correlation is not None and self.supports is not None:
            ridge = self.presolved.original.ridge
            self.is_near = near(self.supports, ridge, correlation)

    def root(self) -> Node:
        """The root node."""
        entries = np.flatnonzero(self.x)
        values = self.x[entries] / self.relaxation.unit[entries]
        status = self.presolved.subproblem.status
        lower_bound = self.presolved.lower_bound
        return Node(lower_bound, 0, 0, status, entries, values, self.nu)

    def _new_log(self, single: bool) -> ProofLog:
        """An empty proof."""
        problem = self.presolved.problem
        return ProofLog(len(problem.rows), problem.n, single=single)

    def _is_single(self, accuracy: float) -> bool:
        """Whether single precision loses next to nothing in a proof.

        Theorem 1 holds at the rounded tangent point as well; the bound there is lower
        by a relative error of about 2^-24, or by its square times the ratio of the
        curvatures to a weak ridge.  Only where there are neither rows nor bounds, and
        numbers are within the range of single precision.
        """
        x, problem = self.best.x, self.presolved.problem
        if x is None or not problem.is_unconstrained:
            return False
        size, loss = np.abs(x).max(initial=0.0), self.problem.magnitude(x)
        reach = (np.abs(problem.c) / problem.ridge).max()
        fits = size > 1e-25 and reach < 1e25
        ratio = (problem.quadratic.diagonal / problem.ridge).max()
        error = 2.0**-24 * max(1.0, 2.0**-24 * ratio)
        return bool(fits and error * loss <= accuracy)

    @property
    def stage(self) -> str:
        """What the search does, for the progress report."""
        return "branch and bound"

    @property
    def lower_bound(self) -> float:
        """The lower bound proved so far: the least over all leaves (Theorem 7)."""
        presolved = self.presolved
        if not self.is_rooted:
            return min(presolved.pruned_bound, presolved.lower_bound)
        return min(presolved.pruned_bound, self.pruned_bound, self.least_open)

    @property
    def certificate(self) -> Certificate:
        """The proof so far; if nodes are not recorded, the steps at the root."""
        return Certificate(tuple(self.steps), self.proof, self.presolved.ridge_start)
