"""Dives into trees that are not begun, which tell reductions of the root apart.

A better bound at the root does not make a smaller tree: a sparse minorant is not tight
at integral points, so that it may lose deeper down what it gains at the root.
"""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.presolve import PresolveState, Reduced
from cardqp.branch_and_bound.tree import Tree
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.certificate import Reduction
from cardqp.heuristics.completed_supports import Supports
from cardqp.relaxation.relaxation import Effort


@dataclass(frozen=True, slots=True)
class TrialDives:
    """Estimates of the trees that reductions of a root lead to.

    The tree whose root is presolved does not change; nodes are pruned at the cutoff of
    the effort.
    """

    tree: Tree
    effort: Effort

    def expected_nodes(
        self,
        presolved: PresolveState,
        kept: IntArray,
        dives: int,
        supports: Supports | None = None,
        most: float = np.inf,
    ) -> float:
        """The number of nodes to expect, from a few random dives.

        The root has the variables ``kept`` of the tree's own; ``supports`` are for
        trying out the last variables of a support.  Numbers above ``most`` need not be
        told apart.
        """
        processor = self._processor(presolved, kept, supports)
        return estimate_nodes(processor, processor.tree.root(), dives, most)

    def _processor(
        self, presolved: PresolveState, kept: IntArray, supports: Supports | None
    ) -> NodeProcessor:
        """What processes nodes below a root, in a tree of its own.

        So dives leave no trace in the real one.
        """
        tree = self.tree
        trial = Tree.initial(tree.problem, presolved, tree.settings)
        trial.best, trial.x, trial.supports = tree.best, tree.x[kept], supports
        effort = replace(self.effort, slack=tree.node_slack)
        return NodeProcessor(trial, effort.cutoff, effort)

    def is_easy(
        self, presolved: PresolveState, kept: IntArray, supports: Supports | None = None
    ) -> bool:
        """Whether the tree will probably be small, by a few random dives."""
        settings = self.tree.settings.root
        has_minorant = presolved.without_minorant is not presolved.problem
        is_split = self.tree.tried_function and has_minorant
        dives = settings.easy_dives
        most = settings.ascent_nodes if is_split else settings.easy_nodes
        return self.expected_nodes(presolved, kept, dives, supports, most) < most

    def is_surely_easy(
        self, presolved: PresolveState, kept: IntArray, most: float
    ) -> bool:
        """Whether more dives agree that the tree has fewer nodes than ``most``.

        Where no supports are tried out, a few dives may miss most of what is left.
        """
        settings = self.tree.settings.root
        return all(
            self.expected_nodes(presolved, kept, dives, most=most) < most
            for dives in (settings.easy_dives, settings.sure_dives)
        )

    def is_smaller(self, presolved: PresolveState, found: Reduced) -> bool:
        """Whether a reduction leads to a smaller tree than going on as it is.

        Trees that will not be searched to their end count as smaller: what counts there
        is the bound at the root.
        """
        reduction, problem = found
        kept, settings = reduction.kept, self.tree.settings.root
        plain = presolved.reduced(Reduction(kept))
        before = self.expected_nodes(plain, kept, settings.easy_dives)
        reduced = presolved.reduced(reduction, problem)
        after = self.expected_nodes(reduced, kept, settings.easy_dives)
        is_hopeless = min(before, after) > settings.hopeless_nodes
        return is_hopeless or settings.least_shrinking * after < before

    def prunes_sooner(self, presolved: PresolveState, found: Reduced) -> bool:
        """Whether a reduction prunes nodes no later than going on as it is.

        A few random dives process each node both ways, and branch as one or the other
        does, in turns.  A dive is won by what alone prunes its last node or, if both
        do, by the better bound of the node before.
        """
        reduction, problem = found
        kept, settings = reduction.kept, self.tree.settings
        supports = Supports.of(presolved.original.restrict(kept), settings.heuristics)
        plain = presolved.reduced(Reduction(kept))
        roots = plain, presolved.reduced(reduction, problem)
        processors = [self._processor(root, kept, supports) for root in roots]
        # A fixed seed, so that runs can be repeated.
        rng, score = np.random.default_rng(0), 0
        for number in range(settings.root.race_dives):
            score += self._race(processors, number % 2, rng)
        return score >= 0

    def _race(
        self, processors: list[NodeProcessor], leader: int, rng: np.random.Generator
    ) -> int:
        """One dive, which the leader branches: 1 if the second wins, -1 if the first.

        Zero if they are even, and if time is up.
        """
        node, ahead = processors[leader].tree.root(), 0
        while not self.effort.is_over():
            results = [processor.process_all([node])[0] for processor in processors]
            is_open = [len(result.children) > 0 for result in results]
            if not all(is_open):
                return is_open[0] - is_open[1] or ahead
            ahead = int(np.sign(results[1].bound - results[0].bound))
            children = results[leader].open(0)
            node = children[int(rng.integers(len(children)))]
        return 0
