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
from itertools import repeat

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.start import Start
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate.dual_point import residual_bounds
from cardqp.certificate.proof_tree import Kind, ProofTree
from cardqp.certificate.replay import OpenBranch, Replay
from cardqp.certificate.root import RootState, RootStep
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm


@dataclass(frozen=True, slots=True)
class Certificate:
    """A replayable proof: presolve steps at the root, then a tree of branches.

    Attributes
    ----------
    root : tuple of RootStep
        The presolve steps, in order.
    tree : ProofTree
        The branches of the problem that the last step leaves.
    ridge_start : Start or None
        The ridge that the proof begins with, if the problem has none.
    """

    root: tuple[RootStep, ...] = ()
    tree: ProofTree = field(default_factory=ProofTree.empty)
    ridge_start: Start | None = None

    def lower_bound(self, problem: SparseQP, threads: int = 1) -> float:
        """Return the lower bound that the certificate proves; ``-inf`` if none.

        Nothing that the solver computed is trusted: dual points of the problem as given
        are evaluated anew, with rounding margins, and the branches are followed from
        the root.  The bound does not depend on the number of threads.
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
        betas = [*(step.point.beta for step in self.root), *self.tree.beta]
        size = np.abs(problem.rows.rhs)
        # Multipliers that are no finite numbers prove nothing: no reason to warn.
        with np.errstate(over="ignore", invalid="ignore"):
            paid = (np.abs(beta) @ size for beta in betas if beta.shape == size.shape)
            return max(map(float, paid), default=0.0)

    def resume(self, problem: SparseQP) -> tuple[RootState, float, list[OpenBranch]]:
        """Replay the certificate to the state in which the search stopped.

        That is the problem after the steps at the root, the least bound among branches
        that were pruned, and the branches that are still to be processed.  Raises
        ``ProblemError`` if the certificate does not fit the problem.
        """
        presolved, replay = self._replay(problem)
        return presolved, min(presolved.pruned_bound, replay.pruned_bound), replay.open

    def is_streamed(self, problem: SparseQP) -> bool:
        """Whether the proof is replayed in passes over data that are streamed.

        Searches that read the data in passes leave their mark: a cutoff in place of
        a list of fixed variables, and scales of residuals.
        """
        has_cutoff = any(step.cutoff is not None for step in self.root)
        has_scale = any(step.point.scale != 1.0 for step in self.root)
        return isinstance(problem.quadratic, StreamedForm) and (has_cutoff or has_scale)

    @property
    def n_points(self) -> int:
        """The number of dual points, with those of the steps at the root."""
        points = (Kind.POINT, Kind.FULL)
        return len(self.root) + int(np.isin(self.tree.kind, points).sum())

    def root_states(self, problem: SparseQP) -> Iterator[RootState]:
        """Yield the problem as given, and as each step at the root leaves it."""
        is_streamed = self.is_streamed(problem)
        presolved = RootState.start(problem, self.ridge_start, is_streamed=is_streamed)
        yield presolved
        bounds = self._bounds_in_passes(problem) if is_streamed else repeat(None)
        for step, bound in zip(self.root, bounds, strict=False):
            presolved = presolved.after(step, bound)
            yield presolved

    def _bounds_in_passes(self, problem: SparseQP) -> Iterator[SeparableBound]:
        """Yield the bounds at all points of the root, which share passes."""
        form = problem.quadratic
        if not isinstance(form, StreamedForm) or any(s.reduction for s in self.root):
            raise ProblemError("Problems whose data are streamed are not reduced.")
        return residual_bounds(problem, form, [step.point for step in self.root])

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
        """Whether the steps at the root list variables that they fix."""
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
            is_streamed=self.is_streamed(problem),
        )
        replay.run(presolved.subproblem, presolved.lower_bound, threads)
        return presolved, replay

    def __len__(self) -> int:
        return len(self.root) + len(self.tree)
