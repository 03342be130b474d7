"""One branch: close it, solve it, or split it."""

from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import Kind, ProofLog
from cardqp.convex.support_qp import SupportFit, fit_support
from cardqp.convex.violation import least_violation
from cardqp.dual.ray import proves_empty
from cardqp.exact import kernels
from cardqp.exact.assessment import assess
from cardqp.exact.incumbent import round_switches
from cardqp.exact.relaxation import CHUNK, Effort
from cardqp.exact.tree import Node, Tree
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice

_NONE = np.zeros(0, dtype=np.intp)

ROUND_EVERY = 8
"""One in so many relaxations of free problems is rounded to a support: swaps have
usually found the best one before the first."""


@dataclass(slots=True)
class Visit:
    """What looking into a branch found; the tree is not changed until it is committed.

    Attributes
    ----------
    node : Node
        The branch.
    kind : Kind
        How it is proved.
    index, value, beta : arrays
        Its dual point, in the problem's units, or its ray.
    status : (n,) int8 array
        What is decided after Theorem 2.
    closed : float
        The least bound among what was closed.
    branch : int
        The variable to split on; -1 to go on with one child.
    children : tuple of float
        The bounds of the children.
    x, nu : arrays
        Where their relaxations start.
    support : int array or None
        A support worth fitting.
    fit : SupportFit or None
        A feasible point that was met.
    """

    node: Node
    kind: Kind = Kind.INHERITED
    index: IntArray = field(default_factory=lambda: _NONE)
    value: FloatArray = field(default_factory=lambda: np.zeros(0))
    beta: FloatArray = field(default_factory=lambda: np.zeros(0))
    status: IntArray = field(default_factory=lambda: _NONE)
    closed: float = np.inf
    branch: int = -1
    children: tuple[float, ...] = ()
    x: FloatArray = field(default_factory=lambda: np.zeros(0))
    nu: FloatArray = field(default_factory=lambda: np.zeros(0))
    support: IntArray | None = None
    fit: SupportFit | None = None

    def commit(self, tree: Tree) -> None:
        """Write what was found into the tree."""
        if tree.log is not None:
            self._record(tree.log)
        for child in self.open(tree.n_created):
            tree.push(child)
        tree.n_created += len(self.children)
        if not self.children:
            tree.closed_share += 2.0**self.node.height
        tree.closed_bound = min(tree.closed_bound, self.closed)
        tree.n_nodes += 1
        if self.fit is not None:
            tree.offer(self.fit)
        if self.support is not None and self.support.tobytes() not in tree.tried:
            tree.tried.add(self.support.tobytes())
            tree.offer(fit_support(tree.view.exact, self.support))

    def _record(self, log: ProofLog) -> None:
        fixed = None
        if self.children:
            decided = np.flatnonzero(self.status != self.node.status)
            fixed = self.status[decided] * (decided + 1)
        log.settle(
            self.node.position,
            self.kind,
            index=self.index,
            value=self.value,
            beta=self.beta,
            fixed=fixed,
        )
        if self.children:
            log.split(self.node.position, self.branch)

    def open(self, first: int) -> list[Node]:
        """The children, numbered from ``first`` on."""
        if not self.children:
            return []
        index = np.flatnonzero(self.x).astype(np.int32)
        value = self.x[index]
        height = self.node.height - (self.branch >= 0)
        nodes = []
        for child, bound in enumerate(self.children):
            status = self.status
            if self.branch >= 0:
                status = status.copy()
                status[self.branch] = 1 - 2 * child
            nodes.append(
                Node(bound, height, first + child, status, index, value, self.nu)
            )
        return nodes


@dataclass(frozen=True, slots=True)
class Visitor:
    """Looks into branches of a tree; several may be looked into at the same time.

    Parameters
    ----------
    tree : Tree
        The tree.
    cutoff : float
        The bound at which a branch is closed.
    effort : Effort
        How far to solve relaxations.
    """

    tree: Tree
    cutoff: float
    effort: Effort

    @property
    def problem(self) -> SparseQP:
        """The problem that the branches belong to."""
        return self.tree.view.problem

    def visit(self, node: Node) -> Visit:
        """Close a branch, solve it, or split it."""
        if node.bound >= self.cutoff:
            return Visit(node, closed=node.bound)
        slots = self.problem.rule.limit - int(np.count_nonzero(node.status > 0))
        n_free = int(np.count_nonzero(node.status == 0))
        if slots < 0:
            return Visit(node, Kind.COMPLETED)
        if self._is_countable(n_free, slots):
            visit = self._complete(node, slots)
            if visit is not None:
                return visit
        if self._is_leaf(n_free, slots):
            return self._solve(node, slots)
        return self._relax(node, slots)

    def _is_countable(self, n_free: int, slots: int) -> bool:
        supports = self.tree.supports
        return supports is not None and supports.is_countable(n_free, slots)

    def _complete(self, node: Node, slots: int) -> Visit | None:
        """Try every way to fill the slots; None if rounding would tell too much."""
        supports = self.tree.supports
        if supports is None:
            return None
        free = np.flatnonzero(node.status == 0)
        bound, support = supports.best(np.flatnonzero(node.status > 0), free, slots)
        objective = self.tree.best.objective
        if not bound >= min(self.cutoff, objective) and not self._is_fine(bound):
            return None
        visit = Visit(node, Kind.COMPLETED, closed=max(bound, node.bound))
        visit.support = support if bound < objective else None
        return visit

    def _is_fine(self, bound: float) -> bool:
        """Whether the error in the gain of a support is small against the gap."""
        supports = self.tree.supports
        if supports is None or not np.isfinite(bound):
            return False
        loss = 2.0 * supports.error * abs(bound - supports.constant)
        return bool(loss <= self.effort.tolerance)

    def _is_leaf(self, n_free: int, slots: int) -> bool:
        """Whether the branch is a quadratic program on one support."""
        if n_free == 0 or slots == 0:
            return True
        return self.problem.rule.penalty == 0 and n_free <= slots

    def _solve(self, node: Node, slots: int) -> Visit:
        """Solve the quadratic program that a branch has come down to."""
        support = np.flatnonzero(node.status > 0 if slots == 0 else node.status >= 0)
        fit = fit_support(self.problem, support)
        if fit.x is None:
            return self._empty(node) or Visit(node, closed=node.bound)
        scaled, beta = fit.x / self.tree.relaxation.unit, fit.beta
        visit, *_ = self._assess(node, slots, scaled, beta)
        visit.closed, visit.fit = max(visit.closed, node.bound), fit
        return visit

    def _empty(self, node: Node) -> Visit | None:
        """The proof that a branch is empty, if there is one."""
        if len(self.problem.rows) == 0:
            return None
        choice = Choice.of_status(node.status, self.problem.rule.limit)
        _, ray = least_violation(self.problem, choice)
        if not proves_empty(self.problem, ray, choice):
            return None
        return Visit(node, Kind.RAY, beta=ray)

    def _assess(
        self, node: Node, slots: int, anchor: FloatArray, beta: FloatArray
    ) -> tuple[Visit, float, float, FloatArray, FloatArray, FloatArray]:
        """What a dual point, with the anchor in scaled units, proves about a branch."""
        relaxation = self.tree.relaxation
        index = np.flatnonzero(anchor)
        point = anchor[index] * relaxation.unit[index]
        if self.tree.log is not None:
            point = self.tree.log.stored(point)
            anchor[index] = point / relaxation.unit[index]
        value, least, decided, on, off, costs = assess(
            relaxation.data,
            relaxation.margins,
            node.status,
            slots,
            anchor,
            beta * relaxation.row_scale,
            self.cutoff,
        )
        visit = Visit(
            node,
            Kind.POINT,
            index=index,
            value=point,
            beta=beta,
            status=decided,
            closed=value,
        )
        return visit, value, least, on, off, costs

    def _relax(self, node: Node, slots: int) -> Visit:
        tree, data = self.tree, self.tree.relaxation.data
        x, nu = np.zeros(self.problem.n), node.nu.copy()
        x[node.entries] = node.values
        _, anchor, beta, z, worst, _ = kernels.relax_branch(
            data,
            node.status,
            slots,
            self.cutoff - self.problem.constant,
            self.effort.tolerance,
            self.effort.slack,
            CHUNK,
            x,
            nu,
        )
        if worst > 1e-6 and (empty := self._empty(node)) is not None:
            return empty
        if not (np.isfinite(anchor).all() and np.isfinite(beta).all()):
            anchor, beta = np.zeros(len(x)), np.zeros(len(nu))
        beta = beta / tree.relaxation.row_scale
        visit, value, least, on, off, costs = self._assess(node, slots, anchor, beta)
        if value >= self.cutoff:
            return visit
        value = max(value, node.bound)
        visit.x, visit.nu, visit.closed = x, nu, least
        if self.tree.supports is None or node.position % ROUND_EVERY == 0:
            visit.support = self._round(node, z)
        self._split(visit, value, z, on, off, costs)
        return visit

    def _split(
        self,
        visit: Visit,
        value: float,
        z: FloatArray,
        on: FloatArray,
        off: FloatArray,
        costs: FloatArray,
    ) -> None:
        """Choose the variable to split on, unless the branch is a leaf now."""
        status = visit.status
        slots = self.problem.rule.limit - int(np.count_nonzero(status > 0))
        free = np.flatnonzero(status == 0)
        if slots < 0 or self._is_leaf(len(free), slots):
            visit.children = (value,)
            return
        branch = self._choose(free, visit.x, z, costs)
        visit.branch = branch
        visit.children = (max(value, on[branch]), max(value, off[branch]))

    def _choose(
        self, free: IntArray, x: FloatArray, z: FloatArray, costs: FloatArray
    ) -> int:
        """The free variable with the largest share in the relaxed point.

        With bounds, rows or a penalty, the one whose switch is least decided; where
        nothing is undecided, the one that the dual point would switch on first.
        """
        data = self.tree.relaxation.data
        if self.tree.supports is not None:
            score = np.sqrt(data.w[free]) * np.abs(x[free])
        else:
            score = np.minimum(z[free], 1.0 - z[free])
        best = int(score.argmax())
        if not score[best] > 1e-6 * max(1.0, float(score.max())):
            best = int(costs[free].argmin())
        return int(free[best])

    def _round(self, node: Node, z: FloatArray) -> IntArray | None:
        """The support that the switches point to, if it is worth fitting."""
        choice = Choice.of_status(node.status, self.problem.rule.limit)
        support = round_switches(self.problem, choice, z)
        supports, best = self.tree.supports, self.tree.best.objective
        if supports is not None and not supports.estimate(support) < best:
            return None
        return support
