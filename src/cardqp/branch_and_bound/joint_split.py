"""A sparse minorant with weights, where signs of variables are known.

Ascents start from the form as it is and, where the objective is a form on a row, from
the form along that row.  After some steps the better one goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import IntArray
from cardqp.branch_and_bound.presolve import PresolveState
from cardqp.branch_and_bound.signed_starts import AscentStart, SignedStarts
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Reduction
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.joint_ascent import JointAscent, optimise_jointly
from cardqp.splitting.settings import JointSettings
from cardqp.splitting.sparse_split import Split


@dataclass(frozen=True, slots=True)
class JointSplitSearch:
    """Finds a split and its weights, for a tree whose presolve is not over."""

    tree: Tree
    effort: Effort

    @property
    def settings(self) -> JointSettings:
        """The settings of the ascent."""
        return self.tree.settings.splitting.joint

    def find(
        self,
        presolved: PresolveState,
        kept: IntArray,
        is_enough: Callable[[Reduction, JointAscent], bool],
        least: float,
    ) -> tuple[Reduction, Split] | None:
        """What to do to the original problem, and how to split it then.

        None if no ascent can start or pass the ``least`` bound, which is at hand, if
        the objective has no size, or if time is up.  Whether what an ascent from a
        reduced problem has reached is enough is for the caller to say.
        """
        is_over, starts = self.effort.is_over, SignedStarts(self.tree, self.effort)
        found = starts.along_row(presolved, kept), starts.plain(presolved, kept)
        bases, has_size = {}, self.tree.gap_unit > 0
        for start in found:
            if start is not None and has_size and not is_over():
                ascent = self._ascent(presolved, start)
                if ascent is not None:
                    bases[ascent] = start.base
        best = optimise_jointly(
            list(bases),
            self._seconds(),
            is_over,
            lambda ascent: is_enough(bases[ascent], ascent),
            self.settings,
            least,
        )
        split = None if best is None else best.split(is_over)
        return None if best is None or split is None else (bases[best], split)

    def _ascent(
        self, presolved: PresolveState, start: AscentStart
    ) -> JointAscent | None:
        """An ascent before its first step, if it has a problem."""
        kept, weights = start.base.kept, start.weights
        problem = start.problem(presolved)
        if problem is None:
            return None
        return JointAscent(
            problem,
            presolved.subproblem.restrict(kept),
            start.P,
            np.ones(len(kept)) if weights is None else weights,
            self.tree.gap_unit,
            self.settings,
        )

    def _seconds(self) -> float:
        """The time for all steps: most of what is left is for the tree."""
        left, most = self.effort.seconds_left(), self.settings.max_seconds
        return most if left is None else min(most, self.settings.max_share * left)
