"""The search: support, root, tree, each leaf certified over all columns."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.residual_bound import Residual
from cardqp.branch_and_bound.settings import (
    NODE_SLACK,
    PRUNING_SHARE,
    RELAXATION_SHARE,
)
from cardqp.branch_and_bound.streamed.incumbent import first_columns, look_around
from cardqp.branch_and_bound.streamed.leaves import Bounded
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.size import batch_size
from cardqp.branch_and_bound.streamed.tree import Node, Phase, SweepTree
from cardqp.branch_and_bound.streamed.working_set import Sparse, WorkingSet
from cardqp.certificate.dual_proof import DualProof
from cardqp.heuristics.local_search import improve, round_switches
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxed
from cardqp.subproblems.support_qp import SupportFit, fit_support

BATCH = 32
"""Leaves that wait for a sweep."""

AIM = 0.03
"""How far beyond the cutoff leaves are relaxed, as a share of the objective: columns
outside the working set will take something off."""

ADDED = 200
"""Columns that join the working set after a sweep at the root."""

PER_LEAF, NEARLY = 40, 0.85
"""Columns that join for each leaf that is reopened: at most so many, whose costs are at
least this share of the last one that counts."""

ENOUGH = 0.1
"""The root is done once what its working set overlooks is so small a share of the
gap."""

MOST_ROUNDS = 15
"""Sweeps at the root, at most."""

KEPT_COST = 0.4
"""After the root, columns stay in the working set whose costs are at least this share
of the last one that counts."""

MOST_FAILURES = 5
"""A branch that no split and no column helps is relaxed so often before it is left."""

ROOT_SLACK = 0.02
"""How nearly the root is relaxed: see :class:`cardqp.relaxation.relaxation.Effort`."""

SMALL = 1e-6
"""A relaxed switch below this is off."""


@dataclass(frozen=True, slots=True)
class SweepSearch:
    """Prove how good the best support among very many columns is.

    First a support is improved by all exact swaps.  Then the relaxation of the whole
    problem is solved on a working set of columns, which sweeps enlarge until the others
    hardly matter.  Then a tree is grown on the working set; its leaves wait, and one
    sweep bounds many of them over all columns.  A leaf whose bound falls short brings
    in columns and is opened again.

    Parameters
    ----------
    gap : float
        Relative gap at which a branch need not be looked into.
    is_over : callable
        Whether time is up.
    node_limit : int or None
        The most branches to be processed.
    """

    gap: float = 1e-4
    is_over: Callable[[], bool] = lambda: False
    node_limit: int | None = None

    def init(self, tree: SweepTree) -> SweepTree:
        """A planted tree is its own initial state."""
        return tree

    def step(self, _: SweepTree, tree: SweepTree) -> SweepTree:
        """One sweep, or one branch."""
        if tree.phase is Phase.SUPPORT:
            self._improve_support(tree)
        elif tree.phase is Phase.ROOT:
            self._bound_root(tree)
        elif tree.heap and len(tree.waiting) < batch_size(tree.form, BATCH):
            self._look_into(tree, heapq.heappop(tree.heap))
        else:
            self._certify(tree)
        return tree

    def done(self, tree: SweepTree) -> Stop | None:
        """Every leaf certified, or the limit reached."""
        if tree.phase is Phase.TREE and tree.n_open == 0:
            closed = tree.lower_bound >= self.cutoff(tree)
            return Stop.GAP if closed else Stop.STALLED
        if tree.root_bound >= self.cutoff(tree):
            return Stop.GAP
        if self.node_limit is not None and tree.n_nodes >= self.node_limit:
            return Stop.NODE_LIMIT
        return None

    def progress(self, tree: SweepTree, seconds: float) -> Progress:
        """Incumbent, bound, sweeps and open leaves."""
        return Progress(
            f"sweep {tree.n_sweeps}",
            tree.n_nodes,
            seconds,
            objective=tree.objective,
            lower_bound=min(tree.lower_bound, tree.objective),
            n_open=tree.n_open,
        )

    def cutoff(self, tree: SweepTree) -> float:
        """A branch with this bound cannot hold a point that is better by the gap."""
        return tree.objective - PRUNING_SHARE * self.gap * tree.gap_unit

    def _improve_support(self, tree: SweepTree) -> None:
        found = look_around(tree.problem, tree.working, tree.fit, self.is_over)
        tree.n_sweeps += 1
        if found is not None and found.improved:
            tree.working, tree.fit = found.working, found.fit
            tree.update_incumbent(found.fit)
            return
        if found is not None:
            columns = first_columns(tree.problem, found)
            tree.working = WorkingSet.of(tree.problem, tree.form, columns)
        tree.fit = SupportFit.nothing(tree.problem)
        tree.phase = Phase.ROOT

    def _effort(self, tree: SweepTree, slack: float) -> Effort:
        tolerance = RELAXATION_SHARE * self.gap * tree.gap_unit
        aim = tree.objective + AIM * tree.gap_unit
        return Effort(tolerance, aim, slack, self.is_over)

    def _relax(
        self, tree: SweepTree, subproblem: Subproblem, point: Sparse, slack: float
    ) -> tuple[Relaxed, float]:
        """Relax a branch on the working set; also its bound there."""
        working, start = tree.working, tree.working.dense(point)
        start[subproblem.fixed_out] = 0.0
        unit, nothing = working.relaxation.unit, np.zeros(0)
        effort = self._effort(tree, slack)
        relaxed = working.relaxation.solve(subproblem, start / unit, nothing, effort)
        proof = DualProof.at(relaxed.tangent_point, relaxed.beta)
        return relaxed, proof.bound(working.reduced).value(subproblem)

    def _offer_rounded(
        self, tree: SweepTree, subproblem: Subproblem, relaxed: Relaxed
    ) -> None:
        reduced = tree.working.reduced
        fit = fit_support(
            reduced, round_switches(reduced, subproblem, relaxed.switches)
        )
        if fit.objective < tree.objective:
            tree.update_incumbent(improve(reduced, fit, self.is_over))

    def _bound_root(self, tree: SweepTree) -> None:
        """Relax the whole problem, bound it by a sweep, and enlarge the working set."""
        working, problem, form = tree.working, tree.problem, tree.form
        start = Node(-np.inf, 0, (), (), working.place(tree.x))
        subproblem = tree.subproblem(start)
        relaxed, reached = self._relax(tree, subproblem, start.point, ROOT_SLACK)
        self._offer_rounded(tree, subproblem, relaxed)
        point = Sparse.of(relaxed.tangent_point)
        residual = Residual.of(form, working.residuals([point])[:, 0])
        with tree.sweeping():
            products = form.correlate(residual.vector[:, None])[:, 0]
        tree.n_rounds += 1
        found = RootBound.of(problem, form, residual, products)
        tree.learn(working.ids[point.places], point.values, found)
        new = self._overlooked(tree, found.bound.costs)
        overlooked = reached - tree.root_bound
        left = max(tree.objective - reached, 0.0)
        is_enough = overlooked <= ENOUGH * left + 0.2 * self.gap * tree.gap_unit
        if is_enough or len(new) == 0 or tree.n_rounds >= MOST_ROUNDS:
            self._begin(tree, relaxed, found.bound.costs)
        else:
            tree.working = working.with_more(new)

    def _overlooked(self, tree: SweepTree, costs: FloatArray) -> IntArray:
        """The cheapest columns that are not in the working set."""
        costs = np.minimum(costs, 0.0)
        costs[tree.working.ids] = 0.0
        costs[tree.problem.forced_out] = 0.0
        count = min(ADDED, len(costs))
        new = np.argpartition(costs, count - 1)[:count]
        return np.asarray(new[costs[new] < 0])

    def _begin(self, tree: SweepTree, relaxed: Relaxed, costs: FloatArray) -> None:
        """Begin the tree with what is left."""
        problem, working, root = tree.problem, tree.working, tree.problem.root
        cutoff = self.cutoff(tree)
        tree.fixing_cutoff = cutoff
        tree.alive = ~root.fixed_out & ~(root.undecided & (tree.on >= cutoff))
        is_in = root.undecided & tree.alive & (tree.off >= cutoff)
        tree.fixed_in = np.union1d(np.flatnonzero(is_in), problem.forced_in)
        remaining = problem.rule.limit - len(tree.fixed_in)
        least = (
            np.partition(costs, remaining - 1)[remaining - 1]
            if 0 < remaining < len(costs)
            else 0.0
        )
        kept = relaxed.switches > SMALL
        kept |= costs[working.ids] < KEPT_COST * least
        kept |= np.isin(working.ids, np.append(tree.fixed_in, np.flatnonzero(tree.x)))
        kept &= tree.alive[working.ids]
        places = np.flatnonzero(kept)
        tree.working = working.only(places)
        tree.phase = Phase.TREE
        missing = np.setdiff1d(tree.fixed_in, tree.working.ids)
        tree.working = tree.working.with_more(missing)
        tree.heap = [
            Node(tree.root_bound, 0, (), (), Sparse.of(relaxed.tangent_point[places]))
        ]

    def _look_into(self, tree: SweepTree, node: Node) -> None:
        """Relax a branch on the working set; split it or let it wait for a sweep."""
        tree.n_nodes += 1
        subproblem, reduced = tree.subproblem(node), tree.working.reduced
        if subproblem.remaining <= 0:
            fit = fit_support(reduced, np.flatnonzero(subproblem.fixed_in))
            if subproblem.remaining == 0:
                tree.update_incumbent(fit)
            x = np.zeros(len(tree.working.ids)) if fit.x is None else fit.x
            tree.waiting.append(node._replace(point=Sparse.of(x)))
            return
        slack = 0.0 if node.failures else NODE_SLACK
        relaxed, reached = self._relax(tree, subproblem, node.point, slack)
        self._offer_rounded(tree, subproblem, relaxed)
        point = Sparse.of(relaxed.tangent_point)
        node = node._replace(promise=max(reached, node.promise), point=point)
        candidates = np.flatnonzero(subproblem.undecided & (relaxed.switches > SMALL))
        is_closed = reached >= self.cutoff(tree) and node.failures == 0
        if is_closed or len(candidates) == 0:
            tree.waiting.append(node)
            return
        size = np.abs(relaxed.tangent_point[candidates])
        self._split(tree, node, int(candidates[size.argmax()]))

    def relaxed(self, tree: SweepTree, node: Node) -> Node:
        """A branch that was swept, relaxed on the working set as it is now."""
        subproblem = tree.subproblem(node)
        if subproblem.remaining <= 0:
            return node
        relaxed, reached = self._relax(tree, subproblem, node.point, ROOT_SLACK)
        return node._replace(promise=reached, point=Sparse.of(relaxed.tangent_point))

    def _split(self, tree: SweepTree, node: Node, place: int) -> None:
        column = int(tree.working.ids[place])
        first = tree.log.split(node.position, column)
        tree.inner[node.position] = node
        # Children keep the point: until they are relaxed, it is the best dual point.
        node = node._replace(failures=0)
        on = node._replace(position=first, fixed_in=(*node.fixed_in, column))
        off = node._replace(position=first + 1, fixed_out=(*node.fixed_out, column))
        heapq.heappush(tree.heap, on)
        heapq.heappush(tree.heap, off)

    def sweep(self, tree: SweepTree, nodes: list[Node]) -> list[Bounded]:
        """Bound branches over all columns, in as many sweeps as it takes.

        Once time is up, no further sweep is begun, and the last ones have no bound.
        """
        found: list[Bounded] = []
        size = batch_size(tree.form, BATCH)
        for first in range(0, len(nodes), size):
            if first and self.is_over():
                break
            found += tree.sweep(nodes[first : first + size])
        return found

    def _certify(self, tree: SweepTree) -> None:
        """Bound the leaves that wait, in one sweep; open those that fall short."""
        nodes, tree.waiting = tree.waiting, []
        cutoff = self.cutoff(tree)
        short: list[tuple[Node, Bounded]] = []
        for node, found in zip(nodes, tree.sweep(nodes), strict=True):
            if max(found.bound, tree.root_bound) >= cutoff:
                tree.close(node, found)
                continue
            is_useful = len(self._worth_adding(tree, node, found)) > 0
            failures = 0 if is_useful else node.failures + 1
            if failures > MOST_FAILURES:
                tree.close(node, found)  # no more can be proved about it
                continue
            short.append((node, found))
            heapq.heappush(tree.heap, node._replace(failures=failures))
        self.enlarge(tree, short)

    def enlarge(self, tree: SweepTree, swept: Iterable[tuple[Node, Bounded]]) -> None:
        """Take columns that branches have overlooked into the working set."""
        wanted = [self._worth_adding(tree, node, found) for node, found in swept]
        if wanted:
            tree.working = tree.working.with_more(np.unique(np.concatenate(wanted)))

    def _worth_adding(self, tree: SweepTree, node: Node, found: Bounded) -> IntArray:
        """Columns that a branch has overlooked."""
        remaining = tree.problem.rule.limit - len(node.fixed_in) - len(tree.fixed_in)
        if remaining <= 0:
            return np.zeros(0, dtype=np.intp)
        least = 0.0
        if tree.problem.rule.penalty == 0 and remaining <= len(found.costs):
            least = NEARLY * float(found.costs[remaining - 1])
        columns = found.columns[found.costs < least]
        is_new = ~np.isin(columns, tree.working.ids)
        return np.asarray(columns[is_new][:PER_LEAF])
