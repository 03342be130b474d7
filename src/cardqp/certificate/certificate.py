"""A proof that can be replayed from the problem's data alone.

First come the presolve steps at the root.  At a dual point, Theorem 1
(docs/theory.md#theorem-1) bounds the problem and Theorem 2 (docs/theory.md#theorem-2)
fixes variables; the rest may then be reformulated with fewer variables or with a
diagonal of Q moved to the ridge.  Then comes the branch-and-bound tree.  The lower
bound of the whole problem is the least bound among the branches that were pruned or
left open: Theorem 7 (docs/theory.md#theorem-7).
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
    """A replayable proof: presolve steps at the root, then a tree of branches.

    Attributes
    ----------
    root : tuple of RootStep
        The presolve steps, in order.
    tree : ProofTree
        The branches of the problem that the last step leaves.
    """

    root: tuple[RootStep, ...] = ()
    tree: ProofTree = field(default_factory=ProofTree.empty)

    def lower_bound(self, problem: SparseQP, threads: int = 1) -> float:
        """Return the lower bound that the certificate proves; ``-inf`` if none.

        Nothing that the solver computed is trusted: dual points are evaluated anew,
        with rounding margins, and the branches are followed from the root.

        Parameters
        ----------
        problem : SparseQP
            The problem as it was given to the solver.
        threads : int
            How many threads replay the tree; the bound does not depend on it.
        """
        try:
            presolved, replay = self._replay(problem, threads)
        except ProblemError:
            # A certificate that was damaged, or belongs to another problem, is no
            # error: it proves nothing.
            return -np.inf
        left = presolved.lower_bound if len(self.tree) == 0 else replay.least
        return min(presolved.pruned_bound, left)

    def magnitude(self, problem: SparseQP) -> float:
        """Return the largest ``|b|'|beta|`` of all dual points.

        The rows contribute terms of this size to a bound, so that bounds evaluated
        with sums in another order may differ by rounding errors relative to it.
        """
        betas = [*(step.proof.beta for step in self.root), *self.tree.beta]
        size = np.abs(problem.rows.rhs)
        paid = (np.abs(beta) @ size for beta in betas if beta.shape == size.shape)
        return max(map(float, paid), default=0.0)

    def resume(self, problem: SparseQP) -> tuple[RootState, float, list[OpenBranch]]:
        """Replay the certificate to the state in which the search stopped.

        Returns
        -------
        presolved : RootState
            The problem after the steps at the root.
        pruned_bound : float
            The least bound among the branches that were pruned.
        open : list of OpenBranch
            The branches that are still to be processed.

        Raises
        ------
        ProblemError
            When the certificate does not fit the problem.
        """
        presolved, replay = self._replay(problem)
        return presolved, min(presolved.pruned_bound, replay.pruned_bound), replay.open

    def root_states(self, problem: SparseQP) -> Iterator[RootState]:
        """Yield the problem as given, and as each step at the root leaves it."""
        presolved = RootState.start(problem)
        yield presolved
        for step in self.root:
            presolved = presolved.after(step)
            yield presolved

    def decided(self, problem: SparseQP) -> Iterator[IntArray]:
        """Yield the status of each variable, before and after each step at the root.

        The status is 1 if every better point uses the variable, -1 if none does, and 0
        if it is undecided; forced variables are decided from the start.  A point is
        better if its objective is below the ``pruned_bound`` of the matching state of
        :meth:`root_states`; there may be no such point.
        """
        for presolved in self.root_states(problem):
            status = np.full(problem.n, -1, dtype=np.int8)
            status[presolved.indices] = presolved.subproblem.status
            yield status

    @property
    def decides(self) -> bool:
        """Whether the steps at the root fix any variable."""
        return any(len(s.fixed_in) + len(s.fixed_out) for s in self.root)

    def _replay(self, problem: SparseQP, threads: int = 1) -> tuple[RootState, Replay]:
        *_, presolved = self.root_states(problem)
        replay = Replay(
            self.tree,
            presolved.problem,
            presolved.without_minorant,
            presolved.original,
            presolved.uncut,
            rest=presolved.rest,
        )
        replay.run(presolved.subproblem, presolved.lower_bound, threads)
        return presolved, replay

    def __len__(self) -> int:
        return len(self.root) + len(self.tree)
