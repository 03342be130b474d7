"""The state of one call of ``solve``, and the searches that its stages make."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from cardqp._iterate import Stop, Watch, iterate
from cardqp._typing import FloatArray, IntArray
from cardqp.backends.catalogue import Backend
from cardqp.branch_and_bound.precompile import (
    load_clusters,
    load_dropping_for,
    load_first,
    load_for,
    load_tree_for,
)
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.tree import Tree
from cardqp.problem import SparseQP, lift
from cardqp.solution import Stage
from cardqp.solution.claim import Claim
from cardqp.spectral.spectrum import Spectrum
from cardqp.subproblems.support_qp import fit_support

log = logging.getLogger(__name__)

MANY_NODES = 1000
"""From so many nodes on, a stage says how many were processed per second."""

Result = TypeVar("Result")


@dataclass(slots=True)
class SolveContext:
    """The state of one call of ``solve``.

    Attributes
    ----------
    problem : SparseQP
        The problem, in memory unless its data are streamed.
    gap : float
        The relative gap that was asked for.
    watch : Watch
        Time limit, callback and Ctrl-C.
    search : BranchAndBound
        The settings of all searches.
    threads : int
        How many threads searches and replays use.
    backend : Backend or None
        Another solver, in place of the search.
    start, level, spectrum
        The user's arguments, for methods.
    stages : list of Stage
        The stages so far.
    x : (n,) array or None
        The incumbent.
    claim : Claim or None
        Another solver's answer for the whole problem.
    gave_up : bool
        Whether another solver stopped early in its last call, for whatever problem.
    given : SparseQP or None
        The problem as given, which the solution refers to, where ``problem`` is a copy
        of it in memory.
    """

    problem: SparseQP
    gap: float
    watch: Watch
    search: BranchAndBound = field(default_factory=BranchAndBound)
    threads: int = 1
    backend: Backend | None = None
    start: FloatArray | None = None
    level: int | None = None
    spectrum: Spectrum | None = None
    stages: list[Stage] = field(default_factory=list)
    x: FloatArray | None = None
    claim: Claim | None = None
    gave_up: bool = False
    given: SparseQP | None = None

    def stage(
        self,
        name: str,
        work: Callable[[], Result],
        before: int,
        after: Callable[[Result], tuple[int, str]],
    ) -> Result:
        """Run one stage, record it, and return its result.

        So many variables were undecided before; ``after`` makes their number, and
        details, from the result.
        """
        start = self.watch.seconds
        result = work()
        size, detail = after(result)
        stage = Stage(name, self.watch.seconds - start, before, size, detail)
        self.stages.append(stage)
        log.info("%s: %d -> %d variables, %.3g s", name, before, size, stage.seconds)
        return result

    def update_incumbent(self, x: FloatArray | None) -> None:
        """Keep a point if it is feasible and better than the incumbent."""
        if x is None or not self.problem.feasibility(x).holds():
            return
        objective = self.problem.objective
        if self.x is None or objective(x) < objective(self.x):
            self.x = x


def solve_reduced(context: SolveContext, candidates: IntArray) -> None:
    """Solve the problem restricted to the candidates, and update the incumbent.

    Nothing is done once time is up.
    """
    if len(candidates) == 0 or context.watch.is_late:
        return
    reduced = context.problem.restrict(candidates)
    start = None if context.x is None else context.x[candidates]
    if context.backend is not None:
        _, x = solve_with_backend(context, context.backend, reduced, "reduced", start)
    else:
        x = search(context, reduced, "reduced", start)[0].best.x
    if x is not None:
        context.update_incumbent(lift(x, candidates, context.problem.n))


def solve_with_backend(
    context: SolveContext,
    backend: Backend,
    problem: SparseQP,
    name: str,
    start: FloatArray | None,
) -> tuple[Claim, FloatArray | None]:
    """Run another solver on a problem as one stage.

    With its answer comes the best point on its support, fitted and checked here; None
    if that support is not feasible.
    """

    def work() -> tuple[Claim, FloatArray | None]:
        claim = backend.solve(
            problem,
            gap=context.gap,
            time_limit=context.watch.seconds_left,
            start=start,
            threads=context.threads,
        )
        if claim.x is None:
            return claim, None
        return claim, fit_support(problem, problem.support_of(claim.x)).x

    def summary(answer: tuple[Claim, FloatArray | None]) -> tuple[int, str]:
        claim, x = answer
        text = f"{claim.solver}: {claim.message}, bound {claim.bound:.6g}"
        if claim.x is not None and x is None:
            text += ", its point is not feasible"
        return problem.n if x is None else int(np.count_nonzero(x)), text

    claim, x = context.stage(name, work, problem.n, summary)
    context.gave_up = not claim.is_final
    if claim.is_interrupted:
        # The solver took the signal, so that the watch has not seen it.
        context.watch.stopped = Stop.INTERRUPTED
    elif context.gave_up:
        context.watch.notice()
    return claim, x


def search(
    context: SolveContext,
    problem: SparseQP,
    name: str,
    start: FloatArray | None,
    *,
    root_only: bool = False,
) -> tuple[Tree, Stop]:
    """Run branch and bound on a problem as one stage, with an incumbent if known."""
    is_partial = problem is not context.problem
    method = replace(context.search, root_only=root_only, is_partial=is_partial)
    with context.watch.paused():
        load_first(problem)
    return explore(
        context, method, name, lambda: method.initial_tree(problem, start), problem.n
    )


def explore(
    context: SolveContext,
    method: BranchAndBound,
    name: str,
    make_tree: Callable[[], Tree],
    size: int | None = None,
) -> tuple[Tree, Stop]:
    """Search a tree as one stage, and return it with the reason it ended."""
    own = np.inf
    if method.root_only and context.x is not None:
        own = context.problem.objective(context.x)
    return context.stage(
        name,
        lambda: _grow(method, make_tree(), context.watch),
        context.problem.n if size is None else size,
        lambda done: (_undecided(done[0]), _account(done[0], own)),
    )


def _grow(method: BranchAndBound, tree: Tree, watch: Watch) -> tuple[Tree, Stop]:
    """Presolve at the root and, unless that is enough, drop variables, then branch."""
    # Many problems are solved on the way: compiled code is loaded only where it is
    # needed, and does not count as time of the search.
    if method.done(tree) is None:
        with watch.paused():
            load_for(tree.problem)
    tree, stop = iterate(replace(method, root_only=True), tree, watch)
    if method.root_only or stop is not Stop.COMPLETED:
        return tree, stop
    start, before = watch.seconds, tree.n_nodes
    with watch.paused():
        load_dropping_for(tree.presolved.original)
    tree, stop = iterate(replace(method, before_nodes=True), tree, watch)
    if stop is Stop.COMPLETED:
        with watch.paused():
            load_tree_for(tree.presolved.original)
            if tree.is_near is not None:
                load_clusters()
        tree, stop = iterate(replace(method, before_rule=True), tree, watch)
    if stop is Stop.COMPLETED:
        with watch.paused():
            load_clusters()
        tree, stop = iterate(method, tree, watch)
    method.finish(tree)
    tree.nodes_per_second = (tree.n_nodes - before) / max(watch.seconds - start, 1e-9)
    return tree, stop


def _account(tree: Tree, own: float) -> str:
    """Return the summary of a search for its stage."""
    text = f"{tree.n_nodes} nodes"
    if tree.n_nodes >= MANY_NODES:
        text += f", {tree.nodes_per_second:.0f} per second"
    if tree.best.objective < own < np.inf:
        text += f", met a better point: {tree.best.objective:.6g}"
    if tree.n_by_cones > 0:
        text += f", {tree.n_by_cones} of them relaxed by clarabel"
    return text


def _undecided(tree: Tree) -> int:
    """Return how many variables may be nonzero in the open nodes or the incumbent."""
    if not tree.is_rooted:
        return int(np.count_nonzero(~tree.presolved.subproblem.fixed_out))
    seen = np.zeros(tree.presolved.problem.n, dtype=bool)
    for node in (*tree.heap, *tree.stack):
        seen |= node.status >= 0
    maybe = np.zeros(tree.problem.n, dtype=bool)
    maybe[tree.presolved.indices[seen]] = True
    # Nodes are pruned up to the gap, so that the incumbent need not lie in an open one.
    x = tree.best.x
    if x is not None:
        maybe |= x != 0
    return int(np.count_nonzero(maybe))
