"""A proof that can be replayed from the problem's data alone.

A certificate is a tree of branches.  Each node may carry a dual point: a tangent
point of the quadratic form and multipliers of the rows, at which Theorem 1 bounds the
branch from below, or a Farkas ray that shows the branch to be empty.  Variables fixed
at a node by Theorem 2 are branches closed by the node's own dual point.  The lower
bound of the whole problem is the least bound among all that was closed or left open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.dual.bound import SeparableBound, tangent_bound
from cardqp.dual.ray import proves_empty
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
        """Theorem 1 at this point."""
        anchor = np.zeros(problem.n)
        anchor[self.index] = self.value
        return tangent_bound(problem, anchor, self.beta)


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
    """

    proof: DualProof | None = None
    fixed_in: IntArray = field(default_factory=lambda: _NONE)
    fixed_out: IntArray = field(default_factory=lambda: _NONE)
    branch: int = -1
    children: tuple[int, ...] = ()


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
        start = (0, Choice.root(problem.n, problem.rule.limit), None)
        stack: list[tuple[int, Choice, SeparableBound | None]] = [start]
        while stack:
            position, choice, inherited = stack.pop()
            if not 0 <= position < len(self.nodes):
                return -np.inf
            node = self.nodes[position]
            if node.proof is not None and node.proof.is_ray:
                if not proves_empty(problem, node.proof.beta, choice):
                    least = min(least, _value(inherited, choice))
                continue
            own = inherited if node.proof is None else node.proof.bound(problem)
            if not node.children:
                best = max(_value(own, choice), _value(inherited, choice))
                least = min(least, best)
                continue
            if not _is_sound(node, position, choice):
                return -np.inf
            least = min(least, _fixing_bound(own, node, choice))
            choice = choice.decide(node.fixed_in, node.fixed_out)
            stack.extend(
                (child, branch, own)
                for child, branch in zip(
                    node.children, _branches(node, choice), strict=True
                )
            )
        return least

    def __len__(self) -> int:
        return len(self.nodes)


def _value(bound: SeparableBound | None, choice: Choice) -> float:
    return -np.inf if bound is None else bound.value(choice)


def _fixing_bound(
    bound: SeparableBound | None, node: CertificateNode, choice: Choice
) -> float:
    """The least bound among the branches that Theorem 2 closed at a node."""
    if len(node.fixed_in) + len(node.fixed_out) == 0:
        return np.inf
    if bound is None:
        return -np.inf
    on, off = bound.fixing_bounds(choice)
    closed = np.concatenate([off[node.fixed_in], on[node.fixed_out]])
    return float(closed.min())


def _branches(node: CertificateNode, choice: Choice) -> Iterator[Choice]:
    if node.branch < 0:
        yield choice
        return
    variable = np.array([node.branch])
    yield choice.decide(variable, _NONE)
    yield choice.decide(_NONE, variable)


def _is_sound(node: CertificateNode, position: int, choice: Choice) -> bool:
    """Whether a node decides free variables once and points only forward."""
    decided = np.concatenate([node.fixed_in, node.fixed_out])
    if node.branch >= 0:
        decided = np.append(decided, node.branch)
    expected = 1 if node.branch < 0 else 2
    return (
        len(node.children) == expected
        and min(node.children) > position
        and len(np.unique(decided)) == len(decided)
        and bool(((decided >= 0) & (decided < len(choice.free))).all())
        and bool(choice.free[decided].all())
    )
