"""Branch and bound on the perspective relaxation, best bound first."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import CertificateNode, DualProof, Narrowing
from cardqp.convex.support_qp import SupportFit, fit_support
from cardqp.convex.violation import least_violation
from cardqp.dual.bound import SeparableBound
from cardqp.dual.ray import proves_empty
from cardqp.exact.incumbent import grow_greedily, round_switches
from cardqp.exact.relaxation import Effort, Relaxation, Relaxed
from cardqp.exact.split import spare_diagonal, tightest_diagonal
from cardqp.exact.tree import Node, Tree
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice

_NONE = np.zeros(0, dtype=np.intp)

CLOSING_SHARE = 0.99
"""Share of the gap at which branches are closed; the rest is left to rounding."""

RELAXATION_SHARE = 0.01
"""Accuracy of a node's relaxation as a share of the gap."""

ROOT_SLACK, NODE_SLACK = 0.01, 0.1
"""How well the relaxation of a branch that must be split is solved: the root's bound
and fixings serve the whole tree, a node's only itself."""

NARROWING_SHARE = 0.85
"""The root is processed again on what is left of its variables if that is at most this
share of them."""

RIDGE_SHARE, LOSS_SHARE = 0.01, 0.05
"""A narrowing is refused if its rounding takes more than the first share of a ridge, or
more than the second of the gap at the best point."""

LOOSE = 5.0
"""A diagonal is optimised if the root leaves this many times the gap asked for."""


@dataclass(frozen=True, slots=True)
class BranchAndBound:
    """Prove how good the best support is.

    Each branch is relaxed, bounded by Theorem 1, thinned out by Theorem 2 and split
    on the most undecided switch.  A branch whose support is complete is a quadratic
    program, solved exactly.  The method fails only in time: the number of branches
    can grow exponentially.

    Parameters
    ----------
    gap : float
        Relative gap at which a branch need not be looked into.
    root_only : bool
        Stop before the first split: relax, fix and narrow the root as often as it
        pays.
    is_over : callable
        Whether time is up; asked within long relaxations.
    """

    gap: float = 1e-4
    root_only: bool = False
    is_over: Callable[[], bool] = lambda: False

    def plant(self, problem: SparseQP, incumbent: FloatArray | None = None) -> Tree:
        """The tree before its root is processed.

        Parameters
        ----------
        problem : SparseQP
            The problem.
        incumbent : (n,) array, optional
            A feasible point to start from.
        """
        relaxation = Relaxation.prepare(problem)
        x, nu = relaxation.start()
        start = _NONE if incumbent is None else np.flatnonzero(incumbent)
        nobody = SupportFit.nothing(problem)
        tree = Tree(problem, relaxation, np.arange(problem.n), [], [], nobody)
        tree.offer(fit_support(problem, start))
        tree.offer(fit_support(problem, grow_greedily(problem, start)))
        best = tree.best
        if best.x is not None:
            x = best.x / relaxation.unit
        proof = DualProof.at(
            np.zeros(problem.n) if best.x is None else best.x, best.beta
        )
        choice = Choice.root(problem.n, problem.rule.limit)
        bound = proof.bound(problem).value(choice)
        tree.open.append(Node(bound, 0, 1, choice, x, nu))
        tree.records += [CertificateNode(proof, children=(1,)), CertificateNode()]
        return tree

    def init(self, tree: Tree) -> Tree:
        """A planted tree is its own initial state."""
        return tree

    def step(self, _: Tree, tree: Tree) -> Tree:
        """Process the branch with the least bound.

        The branch leaves the heap only when everything about it is recorded, so an
        interruption at any point leaves a valid tree.
        """
        node = tree.open[0]
        outcome = _Outcome(tree, node, self)
        outcome.process()
        heapq.heappop(tree.open)
        outcome.commit()
        return tree

    def done(self, tree: Tree) -> Stop | None:
        """Every branch closed, or the limit reached."""
        if tree.lower_bound >= self.cutoff(tree):
            return Stop.GAP
        if not tree.open:
            return Stop.STALLED
        has_split = tree.open[0].height < 0
        return Stop.COMPLETED if self.root_only and has_split else None

    def progress(self, tree: Tree, seconds: float) -> Progress:
        """Incumbent and bound."""
        return Progress(
            "branch and bound",
            tree.n_nodes,
            seconds,
            objective=tree.best.objective,
            lower_bound=min(tree.lower_bound, tree.best.objective),
            n_open=len(tree.open),
        )

    def cutoff(self, tree: Tree) -> float:
        """A branch with this bound cannot hold a point that is better by the gap."""
        if tree.best.x is None:
            return np.inf
        return tree.best.objective - CLOSING_SHARE * self.gap * tree.gap_unit

    def tolerance(self, tree: Tree) -> float:
        """Accuracy asked of a relaxation, in units of the objective."""
        problem = tree.problem
        natural = abs(problem.constant) + problem.single_gain
        return RELAXATION_SHARE * self.gap * min(tree.gap_unit, natural)


class _Outcome:
    """What processing one branch adds to the proof; committed at the end.

    Better points go to the tree at once: they are good whatever happens next.
    """

    def __init__(self, tree: Tree, node: Node, method: BranchAndBound) -> None:
        self.tree, self.node, self.method = tree, node, method
        self.problem = tree.relaxation.problem
        self.record = CertificateNode()
        self.leaf: CertificateNode | None = None
        self.children: list[Node] = []
        self.narrowed: Relaxation | None = None
        self.closed = np.inf

    def process(self) -> None:
        """Close the branch, solve it, or split it."""
        cutoff = self.method.cutoff(self.tree)
        if self.node.bound >= cutoff:
            self.closed = self.node.bound
        elif self._is_leaf(self.node.choice):
            self.record, closed = self._solve_leaf(self.node.choice)
            self.closed = max(closed, self.node.bound)
        else:
            effort = Effort(
                self.method.tolerance(self.tree),
                cutoff,
                ROOT_SLACK if self.node.height == 0 else NODE_SLACK,
                self.method.is_over,
            )
            relaxed = self.tree.relaxation.solve(
                self.node.choice, self.node.x, self.node.nu, effort
            )
            self._use(relaxed)

    def commit(self) -> None:
        """Write the outcome into the tree."""
        tree = self.tree
        if self.leaf is not None:
            tree.records.append(self.leaf)
        tree.records.extend(CertificateNode() for _ in self.children)
        tree.records[self.node.position] = self.record
        if self.record.narrowing is not None and self.narrowed is not None:
            tree.indices = tree.indices[self.record.narrowing.kept]
            tree.relaxation = self.narrowed
            tree.tried.clear()
        tree.closed_bound = min(tree.closed_bound, self.closed)
        tree.n_nodes += 1
        for child in self.children:
            heapq.heappush(tree.open, child)

    def _use(self, relaxed: Relaxed) -> None:
        choice = self.node.choice
        if not relaxed.rows_met and (ray := self._ray(choice)) is not None:
            self.record = CertificateNode(DualProof.ray(ray))
            return
        self._round(relaxed)
        cutoff = self.method.cutoff(self.tree)
        if not (np.isfinite(relaxed.anchor).all() and np.isfinite(relaxed.beta).all()):
            proof, bound, value = None, None, self.node.bound
        else:
            proof = DualProof.at(relaxed.anchor, relaxed.beta)
            bound = proof.bound(self.problem)
            value = max(bound.value(choice), self.node.bound)
        if value >= cutoff:
            self.record, self.closed = CertificateNode(proof), value
            return
        fixed_in, fixed_out = self._fix(bound, choice, cutoff)
        self._split(relaxed, proof, bound, value, fixed_in, fixed_out)

    def _fix(
        self, bound: SeparableBound | None, choice: Choice, cutoff: float
    ) -> tuple[IntArray, IntArray]:
        """Theorem 2: variables whose other value costs too much."""
        if bound is None:
            return _NONE, _NONE
        on, off = bound.fixing_bounds(choice)
        fixed_out = np.flatnonzero(choice.free & (on >= cutoff))
        fixed_in = np.flatnonzero(choice.free & (off >= cutoff) & (on < cutoff))
        least = np.concatenate([on[fixed_out], off[fixed_in]]).min(initial=np.inf)
        self.closed = min(self.closed, float(least))
        return fixed_in, fixed_out

    def _split(
        self,
        relaxed: Relaxed,
        proof: DualProof | None,
        bound: SeparableBound | None,
        value: float,
        fixed_in: IntArray,
        fixed_out: IntArray,
    ) -> None:
        choice = self.node.choice.decide(fixed_in, fixed_out)
        first = len(self.tree.records)
        if self._is_leaf(choice):
            self.leaf, closed = self._solve_leaf(choice)
            self.closed = min(self.closed, max(closed, value))
            self.record = CertificateNode(proof, fixed_in, fixed_out, children=(first,))
            return
        if self.node.height == 0 and (found := self._narrowing(choice, value)):
            narrowing, narrowed = found
            self.record = CertificateNode(
                proof, fixed_in, fixed_out, children=(first,), narrowing=narrowing
            )
            self._narrow(narrowing, narrowed, relaxed, value, choice)
            return
        branch = _most_undecided(choice, relaxed.switches, bound)
        self.record = CertificateNode(
            proof, fixed_in, fixed_out, branch, (first, first + 1)
        )
        variable = np.array([branch])
        for position, child in enumerate(
            (choice.decide(variable, _NONE), choice.decide(_NONE, variable)), first
        ):
            self.children.append(
                Node(
                    value,
                    self.node.height - 1,
                    position,
                    child,
                    relaxed.x,
                    relaxed.nu,
                )
            )

    def _narrowing(
        self, choice: Choice, value: float
    ) -> tuple[Narrowing, SparseQP] | None:
        """A smaller problem, or one with a better split, for the root to be retried."""
        kept = np.flatnonzero(~choice.outside)
        moved = spare_diagonal(self.problem, kept)
        found = None
        if moved is not None and moved.any():
            found = self._apply(Narrowing(kept, moved))
        if len(kept) <= NARROWING_SHARE * self.problem.n:
            return found or self._apply(Narrowing(kept, moved)) or self._plain(kept)
        if found is None and self._is_worth_a_diagonal(len(kept), value):
            self.tree.tightened = len(kept)
            moved = tightest_diagonal(
                self.problem.restrict(kept), choice.narrow(kept), self.tree.gap_unit
            )
            found = None if moved is None else self._apply(Narrowing(kept, moved))
        return found

    def _plain(self, kept: IntArray) -> tuple[Narrowing, SparseQP]:
        return Narrowing(kept), self.problem.restrict(kept)

    def _apply(self, narrowing: Narrowing) -> tuple[Narrowing, SparseQP] | None:
        """The narrowed problem, unless rounding would cost more than it is worth."""
        try:
            problem = narrowing.apply(self.problem)
        except ProblemError:
            return None
        loss = 2.0 * problem.quadratic.defect
        if (loss > RIDGE_SHARE * problem.ridge).any():
            return None
        best = self.tree.best
        if best.x is not None:
            x = best.x[self.tree.indices[narrowing.kept]]
            if 2.0 * loss @ x**2 > LOSS_SHARE * self.method.gap * self.tree.gap_unit:
                return None
        return narrowing, problem

    def _is_worth_a_diagonal(self, count: int, value: float) -> bool:
        tree = self.tree
        if tree.best.x is None or count > NARROWING_SHARE * tree.tightened:
            return False
        missing = tree.best.objective - value
        return bool(missing > LOOSE * self.method.gap * tree.gap_unit)

    def _narrow(
        self,
        narrowing: Narrowing,
        problem: SparseQP,
        relaxed: Relaxed,
        value: float,
        choice: Choice,
    ) -> None:
        kept = narrowing.kept
        self.narrowed = Relaxation.prepare(problem)
        x = (relaxed.x * self.tree.relaxation.unit)[kept] / self.narrowed.unit
        nu = self.narrowed.start()[1]
        position = len(self.tree.records)
        self.children.append(Node(value, 0, position, choice.narrow(kept), x, nu))

    def _is_leaf(self, choice: Choice) -> bool:
        """Whether the branch is a quadratic program on one support."""
        count = int(np.count_nonzero(choice.free))
        if count == 0 or choice.slots <= 0:
            return True
        return self.problem.rule.penalty == 0 and count <= choice.slots

    def _solve_leaf(self, choice: Choice) -> tuple[CertificateNode, float]:
        inside = choice.inside if choice.slots <= 0 else ~choice.outside
        fit = fit_support(self.problem, np.flatnonzero(inside))
        if fit.x is not None:
            self.tree.offer(fit)
            proof = DualProof.at(fit.x, fit.beta)
            return CertificateNode(proof), proof.bound(self.problem).value(choice)
        if (ray := self._ray(choice)) is not None:
            return CertificateNode(DualProof.ray(ray)), np.inf
        return CertificateNode(), self.node.bound

    def _ray(self, choice: Choice) -> FloatArray | None:
        """A Farkas ray that proves the branch empty, if there is one."""
        if len(self.problem.rows) == 0:
            return None
        _, ray = least_violation(self.problem, choice)
        return ray if proves_empty(self.problem, ray, choice) else None

    def _round(self, relaxed: Relaxed) -> None:
        support = round_switches(self.problem, self.node.choice, relaxed.switches)
        if support.tobytes() not in self.tree.tried:
            self.tree.tried.add(support.tobytes())
            self.tree.offer(fit_support(self.problem, support))


def _most_undecided(
    choice: Choice, switches: FloatArray, bound: SeparableBound | None
) -> int:
    """The free variable whose switch is furthest from 0 and 1.

    If all are decided, the one that the dual point would switch on first.
    """
    free = np.flatnonzero(choice.free)
    doubt = np.minimum(switches[free], 1.0 - switches[free])
    if bound is not None and not doubt.max() > 1e-6:
        return int(free[bound.costs[free].argmin()])
    return int(free[doubt.argmax()])
