"""The search for better supports by dropping variables, beside branch and bound.

Where the ridge is weak, relaxations are loose and the tree is large; a search that
needs no relaxation is then often over first.  Either one may end the search: the root
is proved by that which does.  Where columns are linearly dependent and there is no
ridge, parts of the root in which they are not are searched one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.circuits import Part, independent_parts
from cardqp.branch_and_bound.dropping_kernel import (
    DONE,
    FOUND,
    DropState,
    advance,
    estimate_steps,
)
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind, ProofLog
from cardqp.certificate.completions import gain_error
from cardqp.certificate.dropping import gain_at, is_searchable
from cardqp.certificate.full_gain import FullGain
from cardqp.heuristics.independent_supports import thinned
from cardqp.heuristics.local_search import improve
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import fit_support

SPARE_STEPS, SPARE_FACTOR = 1000, 1.25
"""What a replay may take beyond the steps of the search.  It begins with the best
cutoff, and hardly ever takes as many."""


def is_weak(problem: SparseQP, share: float) -> bool:
    """Whether a problem has neither rows nor bounds, and little of a ridge.

    Most ridges are at most a share of the curvature of ``Q``.
    """
    if not is_searchable(problem):
        return False
    most = share * np.abs(problem.quadratic.diagonal)
    return bool(2 * np.count_nonzero(problem.ridge <= most) > problem.n)


def initial_state(full: FullGain, n_inside: int, places: int) -> DropState:
    """The search before its first step; the first variables are in every support."""
    n, n_free = len(full.c), len(full.c) - n_inside
    levels = n_free + 1
    b, H = full.b[n_inside:], full.H[n_inside:, n_inside:]
    loss = b * b / H.diagonal()
    order = np.argsort(-loss, kind="stable")
    inside = np.full(places, -1)
    inside[:n_inside] = np.arange(n_inside)
    return DropState(
        H=_first(levels, H),
        b=_first(levels, b),
        variable=_first(levels, np.arange(n_inside, n)),
        order=_first(levels, order),
        loss=_first(levels, loss[order]),
        gain=_first(levels, full.gain),
        size=_first(levels, n_free),
        n_free=_first(levels, n_free),
        n_dropped=_first(levels, 0),
        n_in=_first(levels, n_inside),
        inside=inside,
        R=_first(places + 1, full.G),
        c=_first(places + 1, full.c),
        own=_first(places + 1, 0.0),
        slope=np.zeros(n_free),
        room=np.zeros(n_free),
        at=np.zeros(2, np.intp),
    )


def _first(count: int, value: Any) -> Any:
    """Room for so many arrays, or numbers, of which the first is given."""
    array = np.asarray(value)
    result = np.zeros((count, *array.shape), array.dtype)
    result[0] = array
    return result


@dataclass(slots=True)
class PartSearch:
    """A search of a part of the root, whose columns are independent.

    Supports have so many places.  The state is None before the first step and after the
    last.
    """

    part: Part
    full: FullGain
    places: int
    state: DropState | None = None

    @classmethod
    def of(cls, problem: SparseQP, part: Part) -> "PartSearch | None":
        """Prepare a part; None if rounding would be too much."""
        full = FullGain.of(problem, part.index)
        places = min(problem.rule.limit, len(part.index))
        return None if full is None else cls(part, full, places)

    def fresh(self) -> DropState:
        """The search before its first step."""
        return initial_state(self.full, len(self.part.fixed_in), self.places)

    def is_over(self, threshold: float) -> bool:
        """Whether there is nothing to be found, as all variables gain too little."""
        return self.full.gain <= threshold

    def expected(self, threshold: float, n_dives: int) -> float:
        """How many steps to expect in all."""
        if self.is_over(threshold):
            return 0.0
        fresh = self.fresh()
        # A fixed seed: estimates decide what is done, and runs can be repeated.
        draws = np.random.default_rng(0).random((n_dives, len(fresh.gain)))
        return float(estimate_steps(fresh, threshold, draws))


@dataclass(slots=True)
class Dropping:
    """A search by dropping variables, which goes on from where it was.

    Attributes
    ----------
    original : SparseQP
        The problem as given, with the variables that the presolve has left.
    parts : list of PartSearch
        The root, or parts of it that have no dependent columns.
    error : float
        The relative error of the gain of a support.
    at : int
        How many parts are over.
    n_steps : int
        Steps so far.
    is_estimated : bool
        Whether it has been estimated how many follow.
    """

    original: SparseQP
    parts: list[PartSearch]
    error: float
    at: int = 0
    n_steps: int = 0
    is_estimated: bool = False

    @classmethod
    def begin(cls, tree: Tree) -> "Dropping | None":
        """Begin at the root of a tree; None if it is not worth it."""
        presolved, settings = tree.presolved, tree.settings.dropping
        fixed_in = np.flatnonzero(presolved.subproblem.fixed_in)
        free = np.flatnonzero(presolved.subproblem.undecided)
        original, n_left = presolved.uncut, len(fixed_in) + len(free)
        is_small = n_left <= settings.max_variables
        if not (is_small and len(free) and is_searchable(original)):
            return None
        parts = independent_parts(original, fixed_in, free)
        if parts is None:
            return None
        found = [PartSearch.of(original, part) for part in parts if len(part.index)]
        searches = [search for search in found if search is not None]
        if len(searches) < len(found):
            return None
        return cls(original, searches, gain_error(original, original.rule.limit))

    def wanted(self, cutoff: float) -> float:
        """The gain of supports that are of interest.

        It is lower than a replay has it, which is then sure to find no less.
        """
        return gain_at(self.original.constant, cutoff) * (1.0 - 4.0 * self.error)

    def thresholds(self, search: PartSearch, cutoff: float) -> tuple[float, float]:
        """The gains up to which nodes, and supports, are of no interest."""
        wanted = self.wanted(cutoff)
        return search.full.threshold(wanted), wanted * (1.0 - self.error)

    def loss(self, cutoff: float) -> float:
        """What rounding costs, in units of the objective."""
        wanted = 4.0 * (self.original.constant - cutoff)
        least = [min(self.thresholds(search, cutoff)) for search in self.parts]
        return 0.25 * (wanted - min(least, default=wanted))

    def expected(self, cutoff: float, n_dives: int) -> float:
        """How many steps to expect from here on."""
        left = self.parts[self.at :]
        dives = max(1, n_dives // max(len(left), 1))
        return sum(
            search.expected(self.thresholds(search, cutoff)[0], dives)
            for search in left
        )

    def advance(self, cutoff: float, n_steps: int) -> tuple[bool, IntArray | None]:
        """Take some steps; return whether it is over, and a better support if found."""
        while self.at < len(self.parts) and n_steps > 0:
            search = self.parts[self.at]
            thresholds = self.thresholds(search, cutoff)
            code, steps = DONE, 0
            if search.state is None and not search.is_over(thresholds[0]):
                search.state = search.fresh()
            if search.state is not None:
                code, steps, _, support = advance(search.state, *thresholds, n_steps)
            self.n_steps += steps
            n_steps -= steps
            if code == FOUND:
                return False, search.part.index[support]
            if code == DONE:
                search.state = None
                self.at += 1
        return self.at == len(self.parts), None


@dataclass(frozen=True, slots=True)
class DroppingPhase:
    """The turns of a search by dropping in a tree, before its presolve and after it.

    The gap is the relative one asked for, and a tree is pruned at its cutoff.
    """

    tree: Tree
    gap: float
    cutoff: Callable[[Tree], float]
    is_over: Callable[[], bool]

    def is_enough(self) -> bool:
        """Search before the presolve, if few steps are expected; whether that is all.

        Otherwise what was found is kept, and the search begins anew on the variables
        that the presolve leaves.
        """
        tree, settings = self.tree, self.tree.settings.dropping
        dropping = self._begin(tree.problem, settings.first_weak_ridge)
        if dropping is None:
            return False
        expected = dropping.expected(self.cutoff(tree), settings.first_dives)
        if expected > settings.slice_steps:
            return False
        tree.dropping = dropping
        while tree.may_drop and dropping.n_steps < settings.slice_steps:
            self.step()
        if not tree.is_rooted:
            tree.dropping = None
        return tree.is_rooted

    def is_due(self) -> bool:
        """Whether it is the turn of this search; it is begun when first asked."""
        tree, settings = self.tree, self.tree.settings.dropping
        if not tree.may_drop:
            return False
        if tree.dropping is None:
            tree.dropping = self._begin(tree.presolved.uncut, settings.weak_ridge)
        if tree.dropping is None:
            tree.may_drop = False
            return False
        n_steps = tree.dropping.n_steps
        if n_steps >= settings.slice_steps and not tree.dropping.is_estimated:
            tree.dropping.is_estimated = True
            expected = tree.dropping.expected(self.cutoff(tree), settings.dives)
            tree.may_drop = expected <= settings.max_expected
        allowed = settings.first_steps + settings.steps_per_node * tree.n_nodes
        return tree.may_drop and n_steps < allowed

    def _begin(self, problem: SparseQP, share: float) -> Dropping | None:
        """Begin where a problem's ridge is weak, unless rounding costs too much."""
        tree = self.tree
        dropping = Dropping.begin(tree) if is_weak(problem, share) else None
        if dropping is None:
            return None
        most = tree.settings.dropping.max_loss * self.gap * tree.gap_unit
        return dropping if dropping.loss(self.cutoff(tree)) <= most else None

    def step(self) -> None:
        """Take a turn; if the search is over, so is that of the tree."""
        tree, dropping = self.tree, self.tree.dropping
        if dropping is None:
            return
        cutoff = self.cutoff(tree)
        is_done, support = dropping.advance(cutoff, tree.settings.dropping.slice_steps)
        if support is not None:
            self._keep(dropping, np.sort(support))
            # A support that is no better, in spite of its gain, would spoil the proof.
            tree.may_drop = self.cutoff(tree) < cutoff
        if is_done:
            self._close(dropping, cutoff)

    def _keep(self, dropping: Dropping, support: IntArray) -> None:
        """Improve a support by local search, and the incumbent by it."""
        tree, original = self.tree, self.tree.presolved.original
        if dropping.original is not original:
            # With a tiny ridge, the best fit is another one.
            tree.keep_inside(fit_support(dropping.original, support))
        fit = thinned(original, fit_support(original, support))
        fit = improve(original, fit, self.is_over, tree.settings.heuristics)
        tree.keep_inside(thinned(original, fit))

    def _close(self, dropping: Dropping, cutoff: float) -> None:
        """Prove the root by the search, in place of the tree so far."""
        tree, problem = self.tree, self.tree.presolved.problem
        tree.heap.clear()
        tree.stack.clear()
        tree.is_rooted, tree.n_created = True, 1
        tree.pruned_bound, tree.closed_share, tree.may_drop = cutoff, 1.0, False
        tree.n_nodes += dropping.n_steps
        if tree.keep_proof:
            # In double precision: a cutoff that is rounded is another one.
            tree.log = ProofLog(len(problem.rows), problem.n)
            tree.log.open(1)
            n_steps = SPARE_FACTOR * dropping.n_steps + SPARE_STEPS
            tree.log.record(
                0,
                Kind.SEARCHED,
                index=np.zeros(2, dtype=np.intp),
                value=np.array([cutoff, n_steps]),
                beta=np.zeros(len(problem.rows)),
            )
