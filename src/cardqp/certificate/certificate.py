"""A proof that can be replayed from the problem's data alone.

First come steps at the root: at a dual point Theorem 1 bounds the problem, Theorem 2
decides variables, and what is left may be looked at in another way (fewer variables, a
diagonal of Q moved to the ridge).  Then comes a tree of branches.  The lower bound of
the whole problem is the least bound among all that was closed or left open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate.dual_proof import DualProof, Reduction, is_array
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.replay import OpenBranch, Replay
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.sparsity import Subproblem

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class RootStep:
    """One step at the root.

    Attributes
    ----------
    proof : DualProof
        A dual point.
    fixed_in, fixed_out : int arrays
        Variables decided by Theorem 2 at this dual point.
    reduction : Reduction or None
        How the problem is looked at from here on, if not as before.
    """

    proof: DualProof
    fixed_in: IntArray = field(default_factory=lambda: _NONE)
    fixed_out: IntArray = field(default_factory=lambda: _NONE)
    reduction: Reduction | None = None


@dataclass(frozen=True, slots=True)
class PresolveState:
    """The problem after some steps at the root.

    Attributes
    ----------
    problem : SparseQP
        The problem whose dual points are evaluated: as given, with a diagonal moved to
        the ridge, or a sparse minorant of it.
    full : SparseQP
        The same, before it was replaced by a minorant.
    exact : SparseQP
        The problem as given, with the variables that are left.
    indices : int array
        Which variables of the given problem these are.
    choice : Subproblem
        What has been decided about them.
    floor : float
        The best bound of what is left.
    closed : float
        The least bound among what was closed on the way.
    """

    problem: SparseQP
    without_minorant: SparseQP
    original: SparseQP
    indices: IntArray
    subproblem: Subproblem
    lower_bound: float = -np.inf
    pruned_bound: float = np.inf

    @classmethod
    def start(cls, problem: SparseQP) -> "PresolveState":
        """Nothing done yet; data that are kept as they are come into memory."""
        problem = in_memory(problem)
        return cls(problem, problem, problem, np.arange(problem.n), problem.root)

    def after(self, step: RootStep) -> "PresolveState":
        """The problem after one more step.

        Raises
        ------
        ProblemError
            When the step makes no sense.
        """
        self._check(step)
        bound = step.proof.bound(self.problem)
        lower_bound = max(self.lower_bound, bound.value(self.subproblem))
        pruned_bound = max(lower_bound, _fixing_bound(step, bound, self.subproblem))
        seen = replace(
            self,
            lower_bound=lower_bound,
            pruned_bound=min(self.pruned_bound, pruned_bound),
            subproblem=self.subproblem.decide(step.fixed_in, step.fixed_out),
        )
        return seen if step.reduction is None else seen.reduced(step.reduction)

    def reduced(
        self, reduction: Reduction, problem: SparseQP | None = None
    ) -> "PresolveState":
        """The problem looked at in another way; it is computed unless it is given."""
        kept = reduction.kept
        if (
            not reduction.is_sound()
            or not ((kept >= 0) & (kept < self.problem.n)).all()
            or len(np.unique(kept)) < len(kept)
            or not np.delete(self.subproblem.fixed_out, kept).all()
        ):
            raise ProblemError("A reduction must keep what is not switched off, once.")
        if problem is None:
            problem = reduction.apply(self.problem, self.original)
        without_minorant = problem
        if self.without_minorant is not self.problem or reduction.minorant is not None:
            without_minorant = self.without_minorant.restrict(kept)
        return replace(
            self,
            problem=problem,
            without_minorant=without_minorant,
            original=self.original.restrict(kept),
            indices=self.indices[kept],
            subproblem=self.subproblem.restrict(kept),
        )

    def _check(self, step: RootStep) -> None:
        if not (is_array(step.fixed_in, "i", 1) and is_array(step.fixed_out, "i", 1)):
            raise ProblemError("A step must decide variables by their indices.")
        decided = np.concatenate([step.fixed_in, step.fixed_out])
        free = self.subproblem.undecided
        if (
            len(np.unique(decided)) < len(decided)
            or not ((decided >= 0) & (decided < len(free))).all()
            or not free[decided].all()
        ):
            raise ProblemError("A step must decide free variables, once.")


def _fixing_bound(
    step: RootStep, bound: SeparableBound, subproblem: Subproblem
) -> float:
    """The least bound among the branches that Theorem 2 closes."""
    if len(step.fixed_in) + len(step.fixed_out) == 0:
        return np.inf
    on, off = bound.fixing_bounds(subproblem)
    pruned_bound = np.concatenate([off[step.fixed_in], on[step.fixed_out]])
    return -np.inf if np.isnan(pruned_bound).any() else float(pruned_bound.min())


@dataclass(frozen=True, slots=True)
class Certificate:
    """Steps at the root, then a tree of branches."""

    root: tuple[RootStep, ...] = ()
    tree: ProofTree = field(default_factory=ProofTree.empty)

    def lower_bound(self, problem: SparseQP, threads: int = 1) -> float:
        """What the certificate proves about a problem; ``-inf`` if nothing.

        Nothing that the solver computed is trusted: dual points are evaluated anew,
        with rounding margins, and the branches are followed from the root.
        """
        try:
            presolved, replay = self._replay(problem, threads)
        except ProblemError:
            return -np.inf
        left = presolved.lower_bound if len(self.tree) == 0 else replay.least
        return min(presolved.pruned_bound, left)

    def magnitude(self, problem: SparseQP) -> float:
        """What rows contribute to the bounds of a certificate, at most.

        Bounds that are evaluated elsewhere, with sums in another order, differ by
        rounding errors of that.
        """
        betas = [*(step.proof.beta for step in self.root), *self.tree.beta]
        size = np.abs(problem.rows.rhs)
        paid = (np.abs(beta) @ size for beta in betas if beta.shape == size.shape)
        return max(map(float, paid), default=0.0)

    def resume(
        self, problem: SparseQP
    ) -> tuple[PresolveState, float, list[OpenBranch]]:
        """Where the search stood: the view of the tree, what is closed, what is open.

        Raises
        ------
        ProblemError
            When the certificate does not fit the problem.
        """
        presolved, replay = self._replay(problem)
        return presolved, min(presolved.pruned_bound, replay.pruned_bound), replay.open

    def presolve_states(self, problem: SparseQP) -> Iterator[PresolveState]:
        """The problem after each step at the root."""
        presolved = PresolveState.start(problem)
        yield presolved
        for step in self.root:
            presolved = presolved.after(step)
            yield presolved

    def decided(self, problem: SparseQP) -> Iterator[IntArray]:
        """What is decided about each variable, before and after each step at the root.

        1 if every better point uses it, -1 if none does, 0 if it is open; what is
        forced is decided from the start.  Better are points with an objective below
        the ``closed`` of the :meth:`views`; there may be none.
        """
        for presolved in self.presolve_states(problem):
            status = np.full(problem.n, -1, dtype=np.int8)
            status[presolved.indices] = presolved.subproblem.status
            yield status

    @property
    def decides(self) -> bool:
        """Whether the steps at the root decide anything."""
        return any(len(s.fixed_in) + len(s.fixed_out) for s in self.root)

    def _replay(
        self, problem: SparseQP, threads: int = 1
    ) -> tuple[PresolveState, Replay]:
        *_, presolved = self.presolve_states(problem)
        replay = Replay(
            self.tree, presolved.problem, presolved.without_minorant, presolved.original
        )
        replay.run(presolved.subproblem, presolved.lower_bound, threads)
        return presolved, replay

    def __len__(self) -> int:
        return len(self.root) + len(self.tree)
