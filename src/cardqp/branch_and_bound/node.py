"""The processing of one node: prune it, solve it, or branch.

Processing a node changes nothing in the tree, so that several nodes can be processed at
the same time; what was found is committed in a fixed order afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.farkas import proves_empty
from cardqp.branch_and_bound.clusters import choose_cluster
from cardqp.branch_and_bound.processed_node import ProcessedNode
from cardqp.branch_and_bound.tree import Node, Tree
from cardqp.certificate import Kind
from cardqp.heuristics.local_search import round_switches
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.assessment import (
    assess,
    count_decisions,
    largest_share,
    round_tangent_point,
)
from cardqp.relaxation.block_assessment import assess_blocks
from cardqp.relaxation.completion import is_countable, is_listable
from cardqp.relaxation.relaxation import Effort, Relaxation, Relaxed
from cardqp.relaxation.scaled_data import with_clusters
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import find_ray

_FIRST = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class NodeProcessor:
    """Processes nodes of a tree, several at the same time if need be.

    Parameters
    ----------
    tree : Tree
        The tree; it is read and not changed.
    cutoff : float
        The bound at which a node is pruned.
    effort : Effort
        When to stop solving relaxations.
    """

    tree: Tree
    cutoff: float
    effort: Effort

    def __post_init__(self) -> None:
        # One chunk from a warm start: a node that is not done then is branched on.
        effort = replace(self.effort, cutoff=self.cutoff, chunks=1)
        object.__setattr__(self, "effort", effort)

    @property
    def problem(self) -> SparseQP:
        """The presolved problem."""
        return self.tree.presolved.problem

    def process(self, node: Node) -> ProcessedNode:
        """Prune a node, solve it, or branch (docs/theory.md#theorem-7)."""
        if node.bound >= self.cutoff:
            return ProcessedNode(node, pruned_bound=node.bound)
        remaining, n_free = self._count(node.status)
        if remaining < 0 or self._is_overfull(node.status):
            return ProcessedNode(node, Kind.COMPLETED)
        # Enumeration before relaxation: it is exact, and ends the branch.
        has_tried = False
        if self.tree.supports is not None and is_countable(n_free, remaining):
            result = self._complete(node, remaining)
            if result is not None:
                return result
        elif self.tree.may_cut_off(n_free, remaining):
            has_tried = remaining == 4
            result = self._complete_strong_parts(node, remaining)
            if result is not None:
                result.is_cut_off = True if has_tried else None
                return result
        if self._is_leaf(node.status, remaining, n_free):
            return self._solve(node, remaining)
        if self.tree.penalised is not None and is_listable(n_free, remaining):
            result = self._complete_without_rows(node, remaining)
            if result is not None:
                return result
        result = self._relax_both_ways(node, remaining)
        result.is_cut_off = False if has_tried else None
        return result

    def _complete(self, node: Node, remaining: int) -> ProcessedNode | None:
        """Enumerate the completions of a node; None if rounding would cost too much.

        The bound is inexact by rounding: that is fine if it prunes the node, or is
        within the tolerance of relaxations.
        """
        supports = self.tree.supports
        if supports is None:
            return None
        free = np.flatnonzero(node.status == 0)
        bound, support = supports.best(np.flatnonzero(node.status > 0), free, remaining)
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
        fixed_in = np.flatnonzero(node.status > 0)
        free = np.flatnonzero(node.status == 0)
        best = supports.best_below(self.cutoff, fixed_in, free, remaining)
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
        supports, objective = self.tree.supports, self.tree.best.objective
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
        fixed_in = np.flatnonzero(node.status > 0)
        free = np.flatnonzero(node.status == 0)
        hits = penalised.below(self.cutoff, beta, fixed_in, free, remaining)
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
        rule, (n_on, n_free) = self.problem.rule, count_decisions(status)
        if rule.blocks is not None:
            n_on = rule.count(np.flatnonzero(status > 0))
        return rule.limit - n_on, n_free

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
        scaled, beta = fit.x / relaxation.unit, fit.beta
        result, *_ = self._assess(node, remaining, kind, relaxation, scaled, beta)
        result.pruned_bound, result.fit = result.bound, fit
        return result

    def _empty(
        self, node: Node, guess: FloatArray | None = None
    ) -> ProcessedNode | None:
        """The proof that a node is empty, if there is one: a Farkas ray (Theorem 8).

        Multipliers of a relaxation that did not converge, or of a quadratic program
        without a solution, are a good ``guess``.
        """
        if len(self.problem.rows) == 0:
            return None
        subproblem = self._subproblem(node)
        if guess is not None and proves_empty(self.problem, guess, subproblem):
            return ProcessedNode(node, Kind.RAY, beta=guess)
        ray = find_ray(self.problem, subproblem)
        return None if ray is None else ProcessedNode(node, Kind.RAY, beta=ray)

    def _assess(
        self,
        node: Node,
        remaining: int,
        kind: Kind,
        relaxation: Relaxation,
        tangent_point: FloatArray,
        beta: FloatArray,
    ) -> tuple[ProcessedNode, FloatArray, FloatArray, FloatArray]:
        """The bound and the fixings that a dual point, in scaled units, proves.

        Also the bounds with each variable switched on and off, and their costs.
        """
        log = self.tree.log
        single = log is not None and log.is_single
        # Rounded first, then assessed: the bound is that of the point as it is stored.
        index, point = round_tangent_point(tangent_point, relaxation.unit, single)
        if self.problem.blocks is None:
            value, least, decided, on, off, costs = assess(
                with_clusters(relaxation.data, node.clusters),
                relaxation.rows,
                relaxation.margins,
                node.status,
                remaining,
                tangent_point,
                beta * relaxation.row_scale,
                self.cutoff,
            )
        else:
            value, least, decided, on, off, costs = assess_blocks(
                relaxation.problem,
                node.status,
                tangent_point * relaxation.unit,
                beta,
                self.cutoff,
            )
        result = ProcessedNode(node, kind, index, point, beta, decided, least)
        result.bound, result.limit = max(value, node.bound), self.problem.rule.limit
        return result, on, off, costs

    def _relax_both_ways(self, node: Node, remaining: int) -> ProcessedNode:
        """Relax a node, near the leaves both with and without the sparse minorant.

        The minorant is tighter high up in the tree, and loses something at integral
        points (docs/theory.md#theorem-6); the better of the two is kept.
        """
        first = self._relax(node, remaining, node.kind)
        is_near = remaining <= self.tree.settings.few_remaining
        if not self.tree.has_minorant or not first.children or not is_near:
            return first
        other = Kind.POINT if node.kind == Kind.FULL else Kind.FULL
        second = self._relax(node, remaining, other)
        return second if second.bound > first.bound or not second.children else first

    def _relax(self, node: Node, remaining: int, kind: Kind) -> ProcessedNode:
        """Relax a node; prune it or branch."""
        relaxation = self.tree.node_relaxation(kind, node.status)
        # Warm starts are kept in the units of the presolved problem.
        change = self.tree.relaxation.unit / relaxation.unit
        x = np.zeros(self.problem.n)
        x[node.entries] = node.values
        effort = self._effort_at(node)
        relaxed = self._solve_relaxation(
            node, remaining, relaxation, x * change, effort
        )
        if not relaxed.has_worked:
            # Diverging multipliers are the sign of an empty node, and often its proof.
            last = relaxed.nu / relaxation.row_scale
            if (empty := self._empty(node, last)) is not None:
                return empty
            if not (self.tree.kernel_fails or relaxation.prefers_cones):
                subproblem = self._subproblem(node)
                relaxed = relaxation.solve_by_cones(subproblem, effort) or relaxed
        scaled, beta = relaxed.tangent_point / relaxation.unit, relaxed.beta
        result, on, off, costs = self._assess(
            node, remaining, kind, relaxation, scaled, beta
        )
        result.by_cones = relaxed.by_cones
        if result.bound >= self.cutoff:
            result.pruned_bound = result.bound
            return result
        if self._is_rounded(node):
            result.support = self._round(node, relaxed.switches)
        if self.tree.is_near is not None:
            share = np.sqrt(relaxation.data.w) * np.abs(relaxed.x)
            result.cluster = self._cluster(result, relaxed.switches, share)
        branch = largest_share(relaxation.data.w, result.status, relaxed.x, costs)
        self._split(result, branch, on[branch], off[branch])
        result.branch_from(relaxed.x / change, relaxed.nu)
        return result

    def _solve_relaxation(
        self,
        node: Node,
        remaining: int,
        relaxation: Relaxation,
        x: FloatArray,
        effort: Effort,
    ) -> Relaxed:
        """Solve the relaxation of a node: by the kernel, unless cones are better."""
        start = x, node.nu, effort, node.clusters
        if relaxation.prefers_cones:
            return relaxation.solve(self._subproblem(node), *start)
        rescue = None
        if self.tree.kernel_fails:
            rescue = relaxation.solve_by_cones(self._subproblem(node), effort)
        return rescue or relaxation.iterate(node.status, remaining, *start)

    def _subproblem(self, node: Node) -> Subproblem:
        return Subproblem.of_status(node.status, self.problem.rule)

    def _effort_at(self, node: Node) -> Effort:
        """When to stop solving the relaxation of a node.

        The slack is a share of what the node lacks to be pruned; with rows it is large,
        and where much is lacking, what it leaves is limited.
        """
        tree, effort, lacking = self.tree, self.effort, self.cutoff - node.bound
        most = tree.settings.row_looseness * tree.gap_unit
        if len(self.problem.rows) == 0 or not most < effort.slack * lacking < np.inf:
            return effort
        return replace(effort, slack=most / lacking)

    def _cluster(
        self, result: ProcessedNode, switches: FloatArray, share: FloatArray
    ) -> IntArray | None:
        """The cluster to branch on; None if there is none worth it, or no slot."""
        clusters, is_near = result.node.clusters, self.tree.is_near
        slots = self.problem.rule.limit - np.count_nonzero(result.status > 0)
        if is_near is None or slots <= clusters.size:
            return None
        settings, is_open = self.tree.settings.clusters, result.status == 0
        if clusters.size > 0:
            is_open &= clusters.label < 0
        members = choose_cluster(
            is_near,
            is_open,
            switches,
            share,
            settings.candidates,
            settings.least_share,
        )
        return members if len(members) > 1 else None

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

    def _is_rounded(self, node: Node) -> bool:
        """Whether the relaxation of a node is rounded: see :class:`SearchSettings`."""
        settings = self.tree.settings
        is_early = self.tree.supports is None and node.position < settings.round_first
        return is_early or node.position % settings.round_every == 0

    def _round(self, node: Node, z: FloatArray) -> IntArray | None:
        """The support that relaxed switches round to, if it is worth fitting."""
        support = round_switches(self.problem, self._subproblem(node), z)
        # A quick estimate saves most fits.
        supports, best = self.tree.supports, self.tree.best.objective
        if supports is not None and not supports.estimate(support) < best:
            return None
        return support
