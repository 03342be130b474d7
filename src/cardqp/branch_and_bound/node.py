"""The processing of one node: prune it, solve it, or branch.

Processing a node changes nothing in the tree, so that several nodes can be processed at
the same time; what was found is committed in a fixed order afterwards.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.bounds.farkas import proves_empty
from cardqp.branch_and_bound.clusters import choose_cluster
from cardqp.branch_and_bound.node_relaxations import NodeRelaxations, Snapshot
from cardqp.branch_and_bound.processed_node import ProcessedNode
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind
from cardqp.heuristics.local_search import round_switches
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.assessment import assess, largest_share, nonzeros, round_points
from cardqp.relaxation.block_assessment import assess_blocks
from cardqp.relaxation.completion import MOST_TRIPLED, is_countable, is_listable
from cardqp.relaxation.relaxation import Effort
from cardqp.relaxation.scaled_data import Batch
from cardqp.relaxation.strong_pairs import MOST_FREE
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import find_ray

MOST_PER_TASK, ENTRIES_PER_TASK = 16, 8000
"""How many nodes are processed together at the most, and how many variables they may
have in all."""

_FIRST = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class NodeProcessor:
    """Processes nodes of a tree, several at the same time if need be.

    The tree is not changed: nodes see its incumbent as it is at first.  They are pruned
    at the cutoff.
    """

    tree: Tree
    cutoff: float
    effort: Effort
    snapshot: Snapshot = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "snapshot", Snapshot.of(self.tree))
        # One chunk from a warm start: a node that is not done then is branched on.
        effort = replace(self.effort, cutoff=self.cutoff, chunks=1)
        object.__setattr__(self, "effort", effort)

    @property
    def problem(self) -> SparseQP:
        """The presolved problem."""
        return self.tree.presolved.problem

    @property
    def n_per_task(self) -> int:
        """The most nodes that are processed in one call."""
        return max(1, min(MOST_PER_TASK, ENTRIES_PER_TASK // self.problem.n))

    def process_all(self, nodes: list[Node]) -> list[ProcessedNode]:
        """Prune nodes, solve them, or branch (docs/theory.md#theorem-7).

        Those that are relaxed are so in one call of the kernel.

        What is compiled runs beside other threads, which pays if it runs for long.
        """
        counts = [self._count(node.status) for node in nodes]
        found = [
            self._finish(node, *count)
            for node, count in zip(nodes, counts, strict=True)
        ]
        left = [i for i, result in enumerate(found) if result is None]
        relaxed = iter(
            self._relax_both_ways(
                [nodes[i] for i in left], [counts[i][0] for i in left]
            )
        )
        results = [next(relaxed) if result is None else result for result in found]
        for result, count in zip(results, counts, strict=True):
            has_tried = count[0] == 4 and result.kind != Kind.INHERITED
            if has_tried and self._may_cut_off(*count):
                result.is_cut_off = result.kind == Kind.CUT_OFF
        return results

    def _finish(self, node: Node, remaining: int, n_free: int) -> ProcessedNode | None:
        """Prune or solve a node without relaxing it; None if that cannot be done."""
        if node.bound >= self.cutoff:
            return ProcessedNode(node, pruned_bound=node.bound)
        if remaining < 0 or self._is_overfull(node.status):
            return ProcessedNode(node, Kind.COMPLETED)
        # Enumeration before relaxation: it is exact, and ends the branch.
        if self.tree.supports is not None and is_countable(n_free, remaining):
            result = self._complete(node, remaining)
            if result is not None:
                return result
        elif self._may_cut_off(remaining, n_free):
            result = self._complete_strong_parts(node, remaining)
            if result is not None:
                return result
        if self._is_leaf(node.status, remaining, n_free):
            return self._solve(node, remaining)
        if self.tree.penalised is not None and is_listable(n_free, remaining):
            return self._complete_without_rows(node, remaining)
        return None

    def _may_cut_off(self, remaining: int, n_free: int) -> bool:
        """Whether to enumerate completions by three or four variables in a node.

        Large ones wait until it has been decided what to branch on: dives that end with
        them would not tell which way is better.
        """
        is_four = remaining == 4
        most = self.snapshot.most_free if is_four else MOST_FREE.get(remaining, 0)
        is_due = self.tree.has_rule or not (is_four or n_free > MOST_TRIPLED)
        return self.tree.supports is not None and n_free <= most and is_due

    def _complete(self, node: Node, remaining: int) -> ProcessedNode | None:
        """Enumerate the completions of a node; None if rounding would cost too much.

        The bound is inexact by rounding: that is fine if it prunes the node, or is
        within the tolerance of relaxations.
        """
        supports = self.tree.supports
        if supports is None:
            return None
        bound, support = supports.best(node.fixed_in, node.free, remaining)
        return self._completed(node, Kind.COMPLETED, bound, support)

    def _complete_strong_parts(
        self, node: Node, remaining: int
    ) -> ProcessedNode | None:
        """Enumerate the completions of a node that may be below the cutoff.

        None if they are too many, or if rounding would cost too much.
        """
        supports = self.tree.supports
        if supports is None:
            return None
        best = supports.best_below(self.cutoff, node.fixed_in, node.free, remaining)
        if best is None:
            return None
        result = self._completed(node, Kind.CUT_OFF, *best)
        if result is not None:
            result.index, result.value = _FIRST, self._stored(best[0])
        return result

    def _completed(
        self, node: Node, kind: Kind, bound: float, support: IntArray | None
    ) -> ProcessedNode | None:
        """The outcome for a node whose best support is known; None if it is inexact."""
        supports, objective = self.tree.supports, self.snapshot.objective
        is_pruned = bound >= min(self.cutoff, objective)
        is_fine = supports is not None and supports.is_fine(
            bound, self.effort.tolerance
        )
        if not is_pruned and not is_fine:
            return None
        result = ProcessedNode(node, kind, pruned_bound=max(bound, node.bound))
        result.support = support if bound < objective else None
        return result

    def _stored(self, bound: float) -> FloatArray:
        """A bound as the proof stores it, not rounded up."""
        log = self.tree.log
        value = np.float32(bound) if log is not None and log.is_single else bound
        if value > bound:
            value = np.nextafter(value, np.float32(-np.inf))
        return np.array([value])

    def _complete_without_rows(
        self, node: Node, remaining: int
    ) -> ProcessedNode | None:
        """Enumerate completions without rows, and solve those that this leaves over.

        None if they are too many.  The multipliers are those of the parent, which are
        nearly right: few supports that are not good are left over then.
        """
        penalised, relaxation = self.tree.penalised, self.tree.relaxation_of(node.kind)
        if penalised is None:
            return None
        beta = node.nu * relaxation.data.lipschitz / relaxation.row_scale
        hits = penalised.below(self.cutoff, beta, node.fixed_in, node.free, remaining)
        if hits is None:
            return None
        result = ProcessedNode(node, Kind.PENALISED, beta=beta)
        result.pruned_bound = max(self.cutoff, node.bound)
        for hit in hits:
            status = np.where(node.status > 0, node.status, -1).astype(np.int8)
            status[hit] = 0
            leaf = node._replace(status=status)
            result.leaves.append(self._solve(leaf, remaining))
        return result

    def _is_overfull(self, status: IntArray) -> bool:
        """Whether more variables are switched on in a group than it allows."""
        groups = self.problem.rule.groups
        return groups is not None and bool((groups.room(status > 0) < 0).any())

    def _count(self, status: IntArray) -> tuple[int, int]:
        """How many switches may still be on, and how many variables are undecided."""
        rule, n_on = self.problem.rule, int(np.count_nonzero(status > 0))
        if rule.blocks is not None:
            n_on = rule.count(np.flatnonzero(status > 0))
        return rule.limit - n_on, len(status) - int(np.count_nonzero(status))

    def _is_leaf(self, status: IntArray, remaining: int, n_free: int) -> bool:
        """Whether a node is a quadratic program on one support.

        So it is if no more switches may be on, or if all that are undecided may be:
        unless being on has a price or a threshold.
        """
        if n_free == 0 or remaining <= 0:
            return True
        rule = self.problem.rule
        # Nearly always there are more undecided variables than may be chosen.
        if rule.blocks is None and n_free > remaining:
            return False
        if self.problem.is_semicontinuous.any() or rule.penalty != 0:
            return False
        return rule.excess(np.flatnonzero(status >= 0)) == 0

    def _solve(self, node: Node, remaining: int) -> ProcessedNode:
        """Solve the quadratic program of a leaf, and prove its optimum or emptiness."""
        support = np.flatnonzero(
            node.status > 0 if remaining == 0 else node.status >= 0
        )
        fit = fit_support(self.tree.presolved.without_minorant, support)
        if fit.x is None and (empty := self._empty(node, fit.beta)) is not None:
            return empty
        if fit.x is None:
            # The first solver may be wrong, though it hardly ever is: the others are
            # asked only here, where a proof is needed.
            fit = fit_support(
                self.tree.presolved.without_minorant, support, needs_proof=True
            )
        if fit.x is None:
            return self._empty(node, fit.beta) or ProcessedNode(
                node, pruned_bound=node.bound
            )
        # At a leaf the tangent in the optimum proves it, but not for the minorant.
        kind = Kind.FULL if self.tree.has_minorant else Kind.POINT
        relaxation = self.tree.relaxation_of(kind)
        point, beta = fit.x / relaxation.unit, fit.beta * relaxation.row_scale
        fixings = node.status, remaining, node.clusters
        batch = Batch.single(*fixings, relaxation.data.w, 0.0, point, beta)
        (result,), *_ = self._assess([node], kind, batch, batch.x, batch.nu)
        result.pruned_bound, result.fit = result.bound, fit
        return result

    def _empty(self, node: Node, guess: FloatArray) -> ProcessedNode | None:
        """The proof that a node is empty, if there is one: a Farkas ray (Theorem 8).

        Multipliers of a relaxation that did not converge, or of a quadratic program
        without a solution, are a good ``guess``.
        """
        if len(self.problem.rows) == 0:
            return None
        subproblem = self._subproblem(node)
        if proves_empty(self.problem, guess, subproblem):
            return ProcessedNode(node, Kind.RAY, beta=guess)
        ray = find_ray(self.problem, subproblem)
        return None if ray is None else ProcessedNode(node, Kind.RAY, beta=ray)

    def _relax_both_ways(
        self, nodes: list[Node], remaining: list[int]
    ) -> list[ProcessedNode]:
        """Relax nodes, near the leaves both with and without the sparse minorant.

        The minorant is tighter high up in the tree, and loses something at integral
        points (docs/theory.md#theorem-6); the better of the two is kept.
        """
        results = self._relax_by_kind(nodes, remaining, [node.kind for node in nodes])
        if not self.tree.has_minorant:
            return results
        few = self.tree.settings.few_remaining
        near = [
            i
            for i, result in enumerate(results)
            if result.children and remaining[i] <= few
        ]
        others = [Kind.POINT if nodes[i].kind == Kind.FULL else Kind.FULL for i in near]
        again = self._relax_by_kind(
            [nodes[i] for i in near], [remaining[i] for i in near], others
        )
        for i, second in zip(near, again, strict=True):
            if second.bound > results[i].bound or not second.children:
                results[i] = second
        return results

    def _relax_by_kind(
        self, nodes: list[Node], remaining: list[int], kinds: list[Kind]
    ) -> list[ProcessedNode]:
        """Relax nodes, those of each kind together."""
        if len(set(kinds)) == 1:
            return self._relax(nodes, remaining, kinds[0])
        results: dict[int, ProcessedNode] = {}
        for kind in set(kinds):
            some = [i for i, own in enumerate(kinds) if own == kind]
            found = self._relax(
                [nodes[i] for i in some], [remaining[i] for i in some], kind
            )
            results |= dict(zip(some, found, strict=True))
        return [results[i] for i in range(len(nodes))]

    def _relax(
        self, nodes: list[Node], remaining: list[int], kind: Kind
    ) -> list[ProcessedNode]:
        """Relax nodes; prune them or branch."""
        relaxations = NodeRelaxations(self.tree, self.snapshot, self.effort, kind)
        batch = relaxations.batch(nodes, remaining)
        iterates = relaxations.solve(nodes, batch)
        empty: dict[int, ProcessedNode] = {}
        for k in np.flatnonzero(~iterates.has_worked).tolist():
            # Diverging multipliers are the sign of an empty node, and often its proof.
            with np.errstate(over="ignore"):
                last = iterates.nu[k] / relaxations.relaxation.row_scale
            if (proof := self._empty(nodes[k], last)) is not None:
                empty[k] = proof
            else:
                relaxations.rescue(nodes[k], k, iterates)
        points, betas = iterates.points, iterates.betas
        results, on, off, costs = self._assess(nodes, kind, batch, points, betas)
        starts = iterates.x / relaxations.unit_change
        for k, result in enumerate(results):
            if k in empty:
                results[k] = empty[k]
                continue
            result.by_cones = bool(iterates.by_cones[k])
            if result.bound >= self.cutoff:
                result.pruned_bound = result.bound
                continue
            ridge, x = batch.w[k % len(batch.w)], iterates.x[k]
            branch = largest_share(ridge, result.status, x, costs[k])
            self._round(result, iterates.switches[k])
            if self.tree.is_near is not None:
                share = np.sqrt(ridge) * np.abs(x)
                self._cluster(result, self.tree.is_near, iterates.switches[k], share)
            self._split(result, branch, on[k, branch], off[k, branch])
            result.branch_from(starts[k], iterates.nu[k].copy())
        return results

    def _assess(
        self,
        nodes: list[Node],
        kind: Kind,
        batch: Batch,
        points: FloatArray,
        betas: FloatArray,
    ) -> tuple[list[ProcessedNode], FloatArray, FloatArray, FloatArray]:
        """The bounds and the fixings that dual points, in scaled units, prove.

        Also the bounds with each variable switched on and off, and their costs.
        """
        log, relaxation = self.tree.log, self.tree.relaxation_of(kind)
        single = log is not None and log.is_single
        # Rounded first, then assessed: the bound is that of the point as it is stored.
        stored = round_points(points, relaxation.unit, single)
        own = betas / relaxation.row_scale
        if self.problem.blocks is None:
            values, least, decided, on, off, costs = assess(
                relaxation.data,
                relaxation.rows,
                relaxation.margins,
                batch,
                points,
                betas,
                self.cutoff,
            )
        else:
            values, least, decided, on, off, costs = assess_blocks(
                relaxation.problem, batch.status, stored, own, self.cutoff
            )
        results = []
        for k, node in enumerate(nodes):
            index, value = nonzeros(stored[k])
            result = ProcessedNode(
                node, kind, index, value, own[k], decided[k], float(least[k])
            )
            result.bound = max(float(values[k]), node.bound)
            result.limit = self.problem.rule.limit
            results.append(result)
        return results, on, off, costs

    def _subproblem(self, node: Node) -> Subproblem:
        return Subproblem.of_status(node.status, self.problem.rule)

    def _cluster(
        self,
        result: ProcessedNode,
        is_near: BoolArray,
        switches: FloatArray,
        share: FloatArray,
    ) -> None:
        """Choose the cluster to branch on, if there is one worth it, and a slot."""
        clusters = result.node.clusters
        slots = self.problem.rule.limit - np.count_nonzero(result.status > 0)
        if slots <= clusters.size:
            return
        settings, is_open = self.tree.settings.clusters, result.status == 0
        if clusters.size > 0:
            is_open &= clusters.label < 0
        members = choose_cluster(
            is_near, is_open, switches, share, settings.candidates, settings.least_share
        )
        if len(members) > 1:
            result.cluster = members

    def _split(self, result: ProcessedNode, branch: int, on: float, off: float) -> None:
        """Branch on a variable, unless fixings have made the node a leaf.

        Children inherit the bounds of Theorem 2 with the variable on and off.
        """
        if self._is_leaf(result.status, *self._count(result.status)):
            result.children, result.cluster = (result.bound,), None
            return
        if result.cluster is not None:
            result.children = (result.bound, result.bound)
            return
        result.branch, result.members = branch, np.array([branch])
        if self.problem.blocks is not None:
            together = Subproblem.of_status(result.status, self.problem.rule).together
            result.members = np.flatnonzero(together(branch))
        result.children = (max(result.bound, on), max(result.bound, off))

    def _round(self, result: ProcessedNode, z: FloatArray) -> None:
        """Round relaxed switches to a support, if it is this node's turn.

        See :class:`SearchSettings`.
        """
        node, settings = result.node, self.tree.settings
        is_early = self.tree.supports is None and node.position < settings.round_first
        if not (is_early or node.position % settings.round_every == 0):
            return
        support = round_switches(self.problem, self._subproblem(node), z)
        # A quick estimate saves most fits.
        supports, best = self.tree.supports, self.snapshot.objective
        if supports is None or supports.estimate(support) < best:
            result.support = support
