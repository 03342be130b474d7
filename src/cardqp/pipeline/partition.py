"""Best supports one after another: the rest is split around each that was found.

After Murty (1968) and Lawler (1972): once a branch's best support ``S = {m1, m2, ...}``
is listed, the rest of the branch consists of the supports without ``m1``, those with
``m1`` and without ``m2``, and so on.  The branch whose bound is least comes first.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from cardqp._iterate import Progress, Stop, Watch
from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.branch_and_bound.tree import Tree
from cardqp.methods.context import SolveContext
from cardqp.pipeline.build_solution import build_solution
from cardqp.pipeline.coverage import switches
from cardqp.pipeline.tree_search import go_on, restored, search_whole
from cardqp.problem import SparseQP
from cardqp.solution import Solution
from cardqp.subproblems.support_qp import fit_support

FEW = 300
"""A branch is searched from scratch, with a better root, if this many more branches of
its tree do not solve it."""


@dataclass(slots=True, eq=False)
class Branch:
    """Some of the supports: those with what is forced in and without what is out.

    Attributes
    ----------
    solution : Solution
        The best point and the bound so far; its problem says what is forced.
    number : int
        Number of branches that were made before.
    is_searched : bool
        Whether more than its root was processed.
    is_stalled : bool
        Whether a full search has left open what is in it.
    children : list of Branch or None
        The branches that the rest was split into after its support was listed.
    """

    solution: Solution
    number: int
    is_searched: bool = False
    is_stalled: bool = False
    children: "list[Branch] | None" = None


@dataclass(slots=True)
class Partition:
    """The state of the enumeration.

    Attributes
    ----------
    branches : list of Branch
        All that were made, parents before children; those without children are what
        is left.
    heap : list
        Branches that may hold a support to be listed, by objective if their best point
        is known, by bound otherwise.
    listed : list of Solution
        The solutions found, in order.
    supports : list of sets
        Their supports.
    """

    branches: list[Branch] = field(default_factory=list)
    heap: list[tuple[float, int, Branch]] = field(default_factory=list)
    listed: list[Solution] = field(default_factory=list)
    supports: list[frozenset[int]] = field(default_factory=list)

    def known(self, support: IntArray) -> frozenset[int] | None:
        """A listed support that is part of another one, if there is one."""
        members = frozenset(support.tolist())
        return next((known for known in self.supports if known <= members), None)

    def leaves(self) -> list[Solution]:
        """Solutions of branches that cover all supports not listed, as few as needed.

        A branch stands for its parts if it has the better bound, which is so for parts
        that were hardly searched.
        """
        kept: dict[int, list[Solution]] = {}
        for branch in reversed(self.branches):
            whole, parts = branch.solution, [branch.solution]
            if branch.children is not None:
                parts = [leaf for child in branch.children for leaf in kept[id(child)]]
            least = min((part.lower_bound for part in parts), default=np.inf)
            kept[id(branch)] = parts if least >= whole.lower_bound else [whole]
        return kept[id(self.branches[0])]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """List the best supports in order, until a limit of the objective or a count.

    Parameters
    ----------
    limit : float
        The largest objective of interest.
    slack : float
        Margin for rounding: equal objectives differ by less.
    max_count : int
        The most supports to be listed.
    gap : float
        Relative gap to which the best point of a branch is known when it is listed.
    watch : Watch
        The clock, shared by all searches.
    """

    limit: float
    slack: float
    max_count: int
    gap: float
    watch: Watch

    def init(self, root: Solution) -> Partition:
        """Return the state in which nothing is listed and the root is open."""
        state = Partition()
        self._add(state, root)
        return state

    def done(self, state: Partition) -> Stop | None:
        """Stop when nothing is left, or enough is listed and the next one is known."""
        if not state.heap:
            return Stop.CUTOFF
        branch = state.heap[0][-1]
        if branch.is_stalled:
            return Stop.STALLED
        if len(state.listed) < self.max_count or not self._is_solved(branch.solution):
            return None
        return (
            Stop.MAX_COUNT if state.known(_support(branch.solution)) is None else None
        )

    def step(self, root: Solution, state: Partition) -> Partition:
        """Search the most promising branch, or list its support and split the rest."""
        _, _, branch = heapq.heappop(state.heap)
        if not self._is_solved(branch.solution):
            self._search(branch)
            self._push(state, branch)
            return state
        known = state.known(_support(branch.solution))
        if known is None:
            support = root.problem.support_of(_point(branch.solution))
            known = frozenset(support.tolist())
            state.listed.append(branch.solution)
            state.supports.append(known)
        self._split(state, branch, known)
        return state

    def progress(self, state: Partition, seconds: float) -> Progress:
        """The best point, the bound of what is not listed, and how much is left."""
        return Progress(
            "alternatives",
            len(state.listed),
            seconds,
            objective=state.branches[0].solution.objective,
            lower_bound=min(b.solution.lower_bound for *_, b in state.heap),
            n_open=len(state.heap),
        )

    def _is_solved(self, solution: Solution) -> bool:
        """Whether the best point of a branch is known and within the limit."""
        return solution.has_gap and solution.objective <= self._cutoff

    def _is_pruned(self, solution: Solution) -> bool:
        """Whether a branch is proved to hold no support within the limit."""
        return not self._is_solved(solution) and solution.lower_bound >= self.limit

    @property
    def _cutoff(self) -> float:
        return self.limit + self.slack

    def _add(self, state: Partition, solution: Solution) -> Branch:
        branch = Branch(solution, len(state.branches))
        state.branches.append(branch)
        self._push(state, branch)
        return branch

    def _push(self, state: Partition, branch: Branch) -> None:
        """Put a branch among the open ones, unless it is pruned."""
        solution = branch.solution
        if self._is_pruned(solution):
            return
        is_solved = self._is_solved(solution)
        key = solution.objective if is_solved else solution.lower_bound
        heapq.heappush(state.heap, (key, branch.number, branch))

    def _search(self, branch: Branch) -> None:
        """Search a branch until its best point is known or the branch is pruned.

        A better root is computed only if a few branches are not enough.
        """
        before, is_first = branch.solution, not branch.is_searched
        if is_first and before.certificate is not None:
            found = _continued(before, self.gap, self.watch, self._cutoff)
        else:
            found = bounded(
                before.problem, before.x, self.gap, self.watch, self._cutoff
            )
        is_done = self._is_solved(found) or self._is_pruned(found)
        branch.is_searched = True
        branch.is_stalled = not (is_done or is_first or self.watch.is_over)
        if is_done or found.lower_bound > before.lower_bound:
            branch.solution = found

    def _split(self, state: Partition, branch: Branch, support: frozenset[int]) -> None:
        """Split a branch into parts without the supersets of a listed support.

        The variable that costs most to leave out is forced in first: few supports do
        without it, and those that have it have few places left.
        """
        problem = branch.solution.problem
        fixed_in, branch.children = problem.forced_in, []
        members = np.array(sorted(support.difference(fixed_in.tolist())), dtype=np.intp)
        for member, start in _removals(branch.solution, members):
            if state.known(fixed_in) is not None:
                return  # all that is left includes a listed support
            part = problem.with_forced(forced_in=fixed_in, forced_out=member)
            found = bounded(
                part, start, self.gap, self.watch, self._cutoff, root_only=True
            )
            branch.children.append(self._add(state, found))
            fixed_in = np.union1d(fixed_in, member)


def bounded(
    problem: SparseQP,
    start: FloatArray | None,
    gap: float,
    watch: Watch,
    limit: float = np.inf,
    *,
    root_only: bool = False,
) -> Solution:
    """Solve a problem from a feasible point, or only bound it, which is to be quick."""
    method = BranchAndBound(
        gap,
        is_over=lambda: watch.is_over,
        is_late=lambda: watch.is_late,
        seconds_left=lambda: watch.seconds_left,
        optimise_split=not root_only,
        limit=limit,
    )
    context = SolveContext(problem, gap, watch, method, x=start)
    return _finish(context, *search_whole(context, root_only=root_only))


def _continued(solution: Solution, gap: float, watch: Watch, limit: float) -> Solution:
    """Grow a few branches from where a bound was left."""
    method = BranchAndBound(
        gap,
        is_over=lambda: watch.is_over,
        is_late=lambda: watch.is_late,
        seconds_left=lambda: watch.seconds_left,
        node_limit=solution.n_nodes + FEW,
        limit=limit,
    )
    problem, stages = solution.problem, list(solution.stages)
    context = SolveContext(problem, gap, watch, method, x=solution.x, stages=stages)
    return _finish(context, *go_on(context, restored(problem, solution)))


def _finish(context: SolveContext, tree: Tree | StreamedTree, stop: Stop) -> Solution:
    context.update_incumbent(tree.best.x)
    return build_solution(context, tree, stop)


def _point(solution: Solution) -> FloatArray:
    return np.zeros(0) if solution.x is None else solution.x


def _support(solution: Solution) -> IntArray:
    """The switches of a branch's best point: nonzeros and what is forced in."""
    return solution.problem.support_of(_point(solution))


def _removals(
    solution: Solution, members: IntArray
) -> list[tuple[IntArray, FloatArray | None]]:
    """Each member with its block, and the best point without it; the worst first."""
    problem, support = solution.problem, _support(solution)
    found = []
    for member in switches(problem, members):
        fit = fit_support(problem, np.setdiff1d(support, member))
        found.append((fit.objective, member, fit.x))
    found.sort(key=lambda removal: -removal[0])
    return [(member, x) for _, member, x in found]
