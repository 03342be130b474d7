"""A sparse minorant by a matrix function, before anything expensive is relaxed.

With thousands of variables and a weak ridge, the relaxation of the problem as given is
loose and converges slowly, and an ascent to a good split takes too long.  A split by a
matrix function takes a few products of matrices.  Its level is chosen on a sample of
the variables.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.branch_and_bound.presolve import PresolveState
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Reduction
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.matrix_function import FunctionSplit, is_above
from cardqp.splitting.settings import FunctionSettings


@dataclass(frozen=True, slots=True)
class RelaxedValue:
    """Where a relaxation stands.

    Attributes
    ----------
    bound : float
        A lower bound on the objective.
    value : float
        The value of the *plain* relaxation, without a split, at the same point: an
        upper limit of all bounds that the plain relaxation can give.
    x : (n,) array
        The point.
    """

    bound: float
    value: float
    x: FloatArray


def relaxed_value(
    plain: SparseQP,
    relaxation: Relaxation,
    subproblem: Subproblem,
    x: FloatArray,
    effort: Effort,
) -> RelaxedValue:
    """Relax a minorant of a problem, or the problem itself, from a point."""
    start = x / relaxation.unit, np.zeros(len(plain.rows))
    relaxed = relaxation.solve(subproblem, *start, effort)
    bound = tangent_bound(relaxation.problem, relaxed.tangent_point, relaxed.beta)
    x = relaxed.x * relaxation.unit
    z = np.maximum(relaxed.switches, 1e-300)
    perspective = float((plain.ridge * x**2 / z)[x != 0].sum())
    value = plain.constant + float(plain.c @ x) + plain.quadratic.value(x)
    return RelaxedValue(bound.value(subproblem), value + perspective, x)


@dataclass(frozen=True, slots=True, eq=False)
class AdoptedSplit:
    """A split that is better than none: the step to it, and its relaxed point."""

    reduction: Reduction
    relaxation: Relaxation
    x: FloatArray


@dataclass(frozen=True, slots=True)
class FunctionSplitSearch:
    """Looks for a split by a matrix function that is better than none.

    The presolve of the tree is not over.
    """

    tree: Tree
    effort: Effort

    @property
    def settings(self) -> FunctionSettings:
        """The settings of such splits."""
        return self.tree.settings.splitting.function

    def is_worth_trying(self, presolved: PresolveState) -> bool:
        """Whether a problem is large and plain, its ridge weak, and all this new."""
        tree, problem, free = self.tree, presolved.original, presolved.subproblem
        count = np.count_nonzero(~free.fixed_out)
        is_large = count >= self.settings.min_variables and free.remaining >= 1
        is_new = tree.tightened > 0 and not tree.tried_function
        if not (is_large and is_new and not tree.has_minorant):
            return False
        expected = float(count) ** 3 / self.settings.cubes_per_second
        if not self._has_time(self.settings.wrap_up * expected):
            return False
        form = problem.quadratic
        is_plain = problem.rule.penalty == 0 and problem.blocks is None
        if not (is_plain and isinstance(form, Gram) and len(problem.rows) == 0):
            return False
        ridge = float(np.median(problem.ridge / np.maximum(form.diagonal, 1e-300)))
        return ridge < self.settings.weak_ridge

    def is_loose(self) -> bool:
        """Whether a few iterations show that the plain relaxation leaves a gap.

        Nor may an eigenvalue shift be as good as a split.
        """
        tree, presolved = self.tree, self.tree.presolved
        relaxation = tree.relaxation
        few = replace(relaxation.settings, chunk=self.settings.probe_iterations)
        effort = replace(self.effort, chunks=1)
        found = relaxed_value(
            presolved.problem,
            replace(relaxation, settings=few),
            presolved.subproblem,
            tree.x,
            effort,
        )
        left = tree.best.objective - found.value
        if left <= tree.settings.root.minorant_gap * tree.gap_unit:
            return False
        # Where all eigenvalues are large, moving the least of them is as good.
        form = presolved.problem.quadratic
        level = self.settings.shifted_share * self.settings.first_level
        return not is_above(form.dense(), form.diagonal, level)

    def find(
        self, problem: SparseQP, subproblem: Subproblem, support: IntArray
    ) -> FunctionSplit | None:
        """A split at the best level of a sample; None if time does not allow for it.

        The problem is that as given, without the variables that are switched off; the
        support is that of the incumbent, in these variables.
        """
        size = min(self.settings.sample_size, problem.n)
        rng = np.random.default_rng(0)
        sample = rng.choice(problem.n, size, replace=False)
        forced = np.flatnonzero(subproblem.fixed_in)
        sample = np.union1d(sample, np.union1d(support, forced))
        part, branch = problem.restrict(sample), subproblem.restrict(sample)
        since = time.perf_counter()
        level, n_tried = self._best_level(
            part, branch, np.searchsorted(sample, support)
        )
        seconds = (time.perf_counter() - since) / max(n_tried, 1)
        if level is None or not self._has_time(seconds * (problem.n / size) ** 3):
            return None
        return FunctionSplit.at(problem, level, support, self.settings)

    def _has_time(self, seconds: float) -> bool:
        """Whether so much time is left."""
        left = self.effort.seconds_left()
        return left is None or left > seconds

    def _best_level(
        self, problem: SparseQP, subproblem: Subproblem, support: IntArray
    ) -> tuple[float | None, int]:
        """The level with the best bound, by factors of two, and how many were tried."""
        level, bounds = self.settings.first_level, {}

        def bound_at(level: float) -> float:
            if level not in bounds:
                bounds[level] = self._bound(problem, subproblem, support, level)
            return bounds[level]

        factor = 2.0 if bound_at(2.0 * level) > bound_at(level) else 0.5
        while len(bounds) < self.settings.max_levels and not self.effort.is_over():
            if bound_at(factor * level) <= bound_at(level):
                break
            level *= factor
        best = max(bounds, key=lambda level: bounds[level])
        return best if bounds[best] > -np.inf else None, len(bounds)

    def _bound(
        self, problem: SparseQP, subproblem: Subproblem, support: IntArray, level: float
    ) -> float:
        """The bound at a level, without a proof that ``P`` is semidefinite."""
        split = FunctionSplit.at(problem, level, support, self.settings)
        if split is None:
            return -np.inf
        form = Gram(split.P, np.zeros(problem.n))
        relaxation = Relaxation.prepare(problem.with_quadratic(form, split.ridge))
        x = np.zeros(problem.n)
        return relaxed_value(problem, relaxation, subproblem, x, self.rough).bound

    @property
    def rough(self) -> Effort:
        """The effort by which splits are judged."""
        accuracy = self.settings.accuracy * self.tree.gap_unit
        return replace(self.effort, tolerance=accuracy, slack=0.0, chunks=1)

    def adopt(
        self,
        reduction: Reduction,
        minorant: SparseQP,
        plain: SparseQP,
        subproblem: Subproblem,
        reached: float | None,
    ) -> AdoptedSplit | None:
        """The split, if its bound is better than that of the plain relaxation.

        Where the latter is not ``reached`` yet, its value at the relaxed point of the
        minorant is an upper limit.
        """
        relaxation = Relaxation.prepare(
            minorant, is_reused=True, settings=self.tree.settings.relaxation
        )
        x = np.zeros(plain.n)
        found = relaxed_value(plain, relaxation, subproblem, x, self.rough)
        if not found.bound > (found.value if reached is None else reached):
            return None
        if plain.n > self.tree.settings.splitting.ascent.max_variables:
            self.tree.tightened = plain.n
        return AdoptedSplit(reduction, relaxation, found.x)
