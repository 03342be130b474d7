"""A proof that can be replayed from the problem's data alone.

A certificate is a tree of branches.  Each node may carry a dual point: a tangent
point of the quadratic form and multipliers of the rows, at which Theorem 1 bounds the
branch from below, or a Farkas ray that shows the branch to be empty.  Variables fixed
at a node by Theorem 2 are branches closed by the node's own dual point.  The lower
bound of the whole problem is the least bound among all that was closed or left open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.dual.bound import SeparableBound, tangent_bound
from cardqp.dual.ray import proves_empty
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class DualProof:
    """A dual point: tangent point (sparse) and row multipliers, or a Farkas ray."""

    index: IntArray
    value: FloatArray
    beta: FloatArray
    is_ray: bool = False

    @classmethod
    def at(cls, anchor: FloatArray, beta: FloatArray) -> "DualProof":
        """The proof by Theorem 1 at a tangent point."""
        index = np.flatnonzero(anchor)
        return cls(index, anchor[index], beta)

    @classmethod
    def ray(cls, beta: FloatArray) -> "DualProof":
        """The proof of emptiness by a Farkas ray."""
        return cls(_NONE, np.zeros(0), beta, is_ray=True)

    def bound(self, problem: SparseQP) -> SeparableBound:
        """Theorem 1 at this point; a point that makes no sense proves nothing."""
        if not self._fits(problem):
            return SeparableBound(-np.inf, np.zeros(problem.n))
        anchor = np.zeros(problem.n)
        anchor[self.index] = self.value
        return tangent_bound(problem, anchor, self.beta)

    def is_empty(self, problem: SparseQP, choice: Choice) -> bool:
        """Whether this ray proves that a branch has no feasible point."""
        return self._fits(problem) and proves_empty(problem, self.beta, choice)

    def _fits(self, problem: SparseQP) -> bool:
        return (
            len(self.index) == len(self.value)
            and np.issubdtype(self.index.dtype, np.integer)
            and bool(((self.index >= 0) & (self.index < problem.n)).all())
            and len(self.beta) == len(problem.rows)
            and bool(np.isfinite(self.value).all() and np.isfinite(self.beta).all())
        )


@dataclass(frozen=True, slots=True)
class Narrowing:
    """From here on only some variables count, and a diagonal of Q joins the ridge.

    Attributes
    ----------
    kept : int array
        The variables that are not switched off; below this node they are numbered in
        this order.
    moved : (len(kept),) array or None
        The diagonal; None leaves the form as it is.
    """

    kept: IntArray
    moved: FloatArray | None = None

    def apply(self, problem: SparseQP) -> SparseQP:
        """The problem below the node."""
        fewer = problem.restrict(self.kept)
        return fewer if self.moved is None else fewer.move_to_ridge(self.moved)


@dataclass(frozen=True, slots=True)
class CertificateNode:
    """One branch.

    Attributes
    ----------
    proof : DualProof or None
        None means that the parent's dual point serves.
    fixed_in, fixed_out : int arrays
        Variables decided by Theorem 2 at this node's dual point.
    branch : int
        The variable that the two children switch on and off; -1 if there is at most
        one child, which then continues with the same variables decided.
    children : tuple of int
        Positions of the children; none for a leaf.
    narrowing : Narrowing or None
        How the only child sees the problem, if not as this node does.
    """

    proof: DualProof | None = None
    fixed_in: IntArray = field(default_factory=lambda: _NONE)
    fixed_out: IntArray = field(default_factory=lambda: _NONE)
    branch: int = -1
    children: tuple[int, ...] = ()
    narrowing: Narrowing | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """A tree of branches; the first node is the whole problem."""

    nodes: tuple[CertificateNode, ...]

    def lower_bound(self, problem: SparseQP) -> float:
        """What the certificate proves about a problem; ``-inf`` if nothing.

        Nothing that the solver computed is trusted: dual points are evaluated anew,
        with rounding margins, and the branches are followed from the root.
        """
        least = np.inf
        root = Choice.root(problem.n, problem.rule.limit)
        stack = [_Branch(0, problem, root, None, -np.inf)]
        while stack:
            branch = stack.pop()
            if branch.position not in range(len(self.nodes)):
                return -np.inf
            node = self.nodes[branch.position]
            if node.proof is not None and node.proof.is_ray:
                if not node.proof.is_empty(branch.problem, branch.choice):
                    least = min(least, branch.floor)
                continue
            branch = branch.improved(node)
            if not node.children:
                least = min(least, branch.floor)
                continue
            if not _is_sound(node, branch):
                return -np.inf
            least = min(least, max(branch.floor, _fixing_bound(node, branch)))
            try:
                stack.extend(_children(node, branch))
            except ProblemError:
                return -np.inf
        return least

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class _Branch:
    """A node on its way through the replay.

    ``problem`` is the problem as seen from the node, ``bound`` the nearest dual point
    on the way from the root, ``floor`` the best value any of them has proved.
    """

    position: int
    problem: SparseQP
    choice: Choice
    bound: SeparableBound | None
    floor: float

    def improved(self, node: CertificateNode) -> "_Branch":
        """The branch with what its own dual point proves."""
        bound = self.bound if node.proof is None else node.proof.bound(self.problem)
        value = -np.inf if bound is None else bound.value(self.choice)
        return replace(self, bound=bound, floor=max(self.floor, value))

    def narrowed(self, narrowing: Narrowing) -> "_Branch":
        """The branch as its child sees it."""
        bound = self.bound
        if bound is not None:
            bound = SeparableBound(bound.base, bound.costs[narrowing.kept])
        return replace(
            self,
            problem=narrowing.apply(self.problem),
            choice=self.choice.narrow(narrowing.kept),
            bound=bound,
        )


def _fixing_bound(node: CertificateNode, branch: _Branch) -> float:
    """The least bound among the branches that Theorem 2 closed at a node."""
    if len(node.fixed_in) + len(node.fixed_out) == 0:
        return np.inf
    if branch.bound is None:
        return -np.inf
    on, off = branch.bound.fixing_bounds(branch.choice)
    closed = np.concatenate([off[node.fixed_in], on[node.fixed_out]])
    return -np.inf if np.isnan(closed).any() else float(closed.min())


def _children(node: CertificateNode, branch: _Branch) -> Iterator[_Branch]:
    choice = branch.choice.decide(node.fixed_in, node.fixed_out)
    if node.narrowing is not None:
        narrowed = replace(branch, choice=choice).narrowed(node.narrowing)
        yield replace(narrowed, position=node.children[0])
        return
    variable = np.array([node.branch])
    choices = (
        [choice]
        if node.branch < 0
        else [choice.decide(variable, _NONE), choice.decide(_NONE, variable)]
    )
    for child, decided in zip(node.children, choices, strict=True):
        yield replace(branch, position=child, choice=decided)


def _is_sound(node: CertificateNode, branch: _Branch) -> bool:
    """Whether a node decides free variables once and points only forward."""
    decided = np.concatenate([node.fixed_in, node.fixed_out])
    if node.branch >= 0:
        decided = np.append(decided, node.branch)
    expected = 1 if node.branch < 0 else 2
    free = branch.choice.free
    return (
        len(node.children) == expected
        and min(node.children) > branch.position
        and len(np.unique(decided)) == len(decided)
        and bool(((decided >= 0) & (decided < len(free))).all())
        and bool(free[decided].all())
        and (node.narrowing is None or _leaves_only_zeros(node, branch.choice))
    )


def _leaves_only_zeros(node: CertificateNode, choice: Choice) -> bool:
    """Whether a narrowing drops only variables that are switched off."""
    kept = _NONE if node.narrowing is None else node.narrowing.kept
    n = len(choice.outside)
    if len(np.unique(kept)) < len(kept) or not ((kept >= 0) & (kept < n)).all():
        return False
    outside = choice.decide(node.fixed_in, node.fixed_out).outside
    return node.branch < 0 and bool(np.delete(outside, kept).all())
