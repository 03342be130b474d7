"""Where ascents to sparse minorants start: above all, if signs are known."""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.row_shift import shift_by_row
from cardqp.branch_and_bound.presolve import PresolveState, try_reduction
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Reduction
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.ascent import signed_start
from cardqp.splitting.diagonal import eigenvalue_shift
from cardqp.splitting.tracking_start import scaled_start, tracking_shift


@dataclass(frozen=True, slots=True, eq=False)
class AscentStart:
    """Where an ascent starts: a matrix ``P``, and weights that are equal if None.

    The base is what is done to the original problem before it is split.
    """

    base: Reduction
    P: FloatArray
    weights: FloatArray | None = None

    def problem(self, presolved: PresolveState) -> SparseQP | None:
        """The problem that is split; None if rounding leaves nothing of it."""
        return _try_anew(presolved, self.base)


@dataclass(frozen=True, slots=True)
class SignedStarts:
    """Finds where ascents start, for a tree whose presolve is not over."""

    tree: Tree
    effort: Effort

    def plain(self, presolved: PresolveState, kept: IntArray) -> AscentStart | None:
        """The form as it is, or the minorant at hand; None if time or precision is up.

        Variables were fixed since there is a minorant.
        """
        splitting, is_over = self.tree.settings.splitting, self.effort.is_over
        moved = eigenvalue_shift(presolved.original, kept, splitting.diagonal)
        base = Reduction(kept, np.zeros(len(kept)) if moved is None else moved)
        if self.tree.has_minorant:
            return AscentStart(base, presolved.problem.quadratic.block(kept))
        problem = _try_anew(presolved, base)
        if problem is None or is_over():
            return None
        P = signed_start(problem, is_over, splitting.ascent)
        return None if P is None else AscentStart(base, P)

    def along_row(self, presolved: PresolveState, kept: IntArray) -> AscentStart | None:
        """The form shifted along a row, where the objective is one; None if it is not.

        None also if no weights leave every ridge positive, or time is up.
        """
        original = presolved.original.restrict(kept)
        shift = tracking_shift(original)
        if shift is None or self.effort.is_over():
            return None
        try:
            shifted = shift_by_row(original, shift)
        except ProblemError:
            return None
        found = scaled_start(shifted, self.tree.settings.splitting.tracking)
        if found is None:
            return None
        return AscentStart(Reduction(kept, row_shift=shift), *found)


def _try_anew(presolved: PresolveState, base: Reduction) -> SparseQP | None:
    """A reduction of the original problem, if there is one."""
    return try_reduction(replace(presolved, problem=presolved.original), base)
