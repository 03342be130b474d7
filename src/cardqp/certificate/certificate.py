"""A proof that can be replayed from the problem's data alone.

First come steps at the root: at a dual point Theorem 1 bounds the problem, Theorem 2
decides variables, and what is left may be looked at in another way (fewer variables, a
diagonal of Q moved to the ridge).  Then comes a tree of branches.  The lower bound of
the whole problem is the least bound among all that was closed or left open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import IntArray
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.replay import OpenBranch, Replay
from cardqp.certificate.root import RootState, RootStep
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP


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

    def resume(self, problem: SparseQP) -> tuple[RootState, float, list[OpenBranch]]:
        """Where the search stood: the view of the tree, what is closed, what is open.

        Raises
        ------
        ProblemError
            When the certificate does not fit the problem.
        """
        presolved, replay = self._replay(problem)
        return presolved, min(presolved.pruned_bound, replay.pruned_bound), replay.open

    def root_states(self, problem: SparseQP) -> Iterator[RootState]:
        """The problem after each step at the root."""
        presolved = RootState.start(problem)
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
        for presolved in self.root_states(problem):
            status = np.full(problem.n, -1, dtype=np.int8)
            status[presolved.indices] = presolved.subproblem.status
            yield status

    @property
    def decides(self) -> bool:
        """Whether the steps at the root decide anything."""
        return any(len(s.fixed_in) + len(s.fixed_out) for s in self.root)

    def _replay(self, problem: SparseQP, threads: int = 1) -> tuple[RootState, Replay]:
        *_, presolved = self.root_states(problem)
        replay = Replay(
            self.tree, presolved.problem, presolved.without_minorant, presolved.original
        )
        replay.run(presolved.subproblem, presolved.lower_bound, threads)
        return presolved, replay

    def __len__(self) -> int:
        return len(self.root) + len(self.tree)
