"""The tree: branches, and the eight ways to prove them (section 6)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cardqp_check import supports
from cardqp_check.branches import Branch, bound, sides
from cardqp_check.dropping import searched
from cardqp_check.points import DualPoint, Terms, batch_size, evaluate
from cardqp_check.rays import proves_empty
from cardqp_check.refusal import require
from cardqp_check.root import Root
from cardqp_check.rounding import Floats, Ints
from cardqp_check.tree_arrays import (
    COMPLETED,
    CUT_OFF,
    FULL,
    INHERITED,
    PENALISED,
    POINT,
    RAY,
    Tree,
)

MOST_RIDGED = 1000
"""The most variables for which ridges of nodes are computed."""

MOST_PLACES = 3
"""The most places for which supports are listed."""


@dataclass(frozen=True)
class Node:
    """A node that waits for its proof: its number, and its branch."""

    number: int
    branch: Branch


class Replay:
    """The proofs of nodes, and the least of what they contribute.

    Attributes
    ----------
    least : float
        The least contribution so far.
    seen : bool array
        Which nodes were followed.
    """

    def __init__(self, tree: Tree, root: Root, enough: float) -> None:
        self.tree, self.root, self.enough = tree, root, enough
        self.least = root.least
        self.seen = np.zeros(len(tree.kind), bool)

    def run(self, stack: list[Node], until: float = math.inf) -> list[Node]:
        """Follow nodes and their descendants, until so many wait on the stack."""
        points: dict[int, list[Node]] = {POINT: [], FULL: []}
        most = batch_size(self.root.view)
        while stack or any(points.values()):
            is_enough = len(stack) >= until
            is_full = any(len(nodes) == most for nodes in points.values())
            if (is_enough or is_full or not stack) and any(points.values()):
                # Dual points have waited for others, to be evaluated together.
                for kind, nodes in points.items():
                    points[kind] = []
                    stack.extend(self._at_points(kind, nodes))
            elif is_enough:
                break
            else:
                node = stack.pop()
                kind = self._seen(node)
                if kind in points:
                    points[kind].append(node)
                else:
                    stack.extend(self._prove(kind, node))
        return stack

    def _seen(self, node: Node) -> int:
        """The kind of a node, which must not have been seen before."""
        require(not self.seen[node.number], "a node has two parents")
        self.seen[node.number] = True
        return int(self.tree.kind[node.number])

    def _contribute(self, bound: float) -> None:
        self.least = min(self.least, bound)

    def _prove(self, kind: int, node: Node) -> Iterator[Node]:
        """Prove a node without a dual point, and return its children."""
        if kind == PENALISED:
            return self._penalised(node)
        if kind == INHERITED:
            return self._inherited(node)
        self._contribute(max(node.branch.floor, self._enumerated(kind, node)))
        return iter(())

    def _inherited(self, node: Node) -> Iterator[Node]:
        """Kind 0: the floor is all there is."""
        if self.tree.child[node.number] == 0:
            self._contribute(node.branch.floor)
            return
        yield from self._children(node, node.branch, (-math.inf, -math.inf))

    def _at_points(self, kind: int, nodes: list[Node]) -> Iterator[Node]:
        """Kinds 1 and 4: dual points of the view, or of that without a minorant."""
        root = self.root
        view, ridges = root.view if kind == POINT else root.full, None
        if kind == POINT and self._raises_ridges:
            ridges = np.array([self._ridge(node.branch) for node in nodes])
        records = [int(self.tree.record[node.number]) for node in nodes]
        points = [self._dual_point(record) for record in records]
        for node, record, terms in zip(
            nodes, records, evaluate(view, points, ridges), strict=True
        ):
            yield from self._at_point(node, record, terms)

    @property
    def _raises_ridges(self) -> bool:
        """Whether nodes raise the ridge of a minorant."""
        view, blocks = self.root.view, self.root.rule.blocks
        return view.rest is not None and view.n <= MOST_RIDGED and blocks is None

    def _ridge(self, branch: Branch) -> Floats:
        assert self.root.view.rest is not None
        places = branch.places(self.root.rule)
        return self.root.view.rest.node_ridge(branch.status, places)

    def _dual_point(self, record: int) -> DualPoint:
        place, tree = self.tree.point.place(record), self.tree
        index, value = tree.point.entries[place], tree.value[place]
        require(len(np.unique(index)) == len(index), "tree.index has a variable twice")
        return DualPoint((index, value), tree.beta[record], float(tree.scale[record]))

    def _at_point(self, node: Node, record: int, terms: Terms) -> Iterator[Node]:
        rule = self.root.rule
        branch = node.branch.raised(bound(rule, terms, node.branch))
        if self.tree.child[node.number] == 0:
            self._contribute(branch.floor)
            return
        fixed, variable = self.tree.fixed[record], int(self.tree.branch[node.number])
        floors = -math.inf, -math.inf
        if variable >= 0 and node.branch.status[variable] == 0:
            on, off = sides(rule, terms, node.branch, np.array([variable]))
            floors = float(on[0]), float(off[0])
        if len(fixed):
            branch = self._fix(branch, fixed, terms)
        yield from self._children(node, branch, floors)

    def _fix(self, branch: Branch, fixed: Ints, terms: Terms) -> Branch:
        """Fix variables; the other sides contribute their bounds."""
        variables, rule = np.abs(fixed) - 1, self.root.rule
        require(
            len(np.unique(variables)) == len(variables)
            and not branch.status[variables].any(),
            "a node fixes a variable that is not free",
        )
        on, off = sides(rule, terms, branch, variables)
        other = np.where(fixed > 0, off, on)
        self._contribute(max(branch.floor, float(other.min())))
        branch = branch.fixed(rule, variables[fixed > 0], 1)
        return branch.fixed(rule, variables[fixed < 0], -1)

    def _children(
        self, node: Node, branch: Branch, floors: tuple[float, float]
    ) -> Iterator[Node]:
        """The children of a node whose branch is settled, with floors of their own."""
        first, variable = (
            int(array[node.number]) for array in (self.tree.child, self.tree.branch)
        )
        rule = self.root.rule
        if variable == -1:
            children = [branch]
        elif variable >= 0:
            children = [
                branch.raised(floor).fixed(rule, [variable], value)
                for floor, value in zip(floors, (1, -1), strict=True)
            ]
        else:
            members = self.tree.cluster[-2 - variable].tolist()
            self._check_cluster(branch, members)
            required = (*branch.clusters, frozenset(members))
            children = [
                replace(branch, clusters=required),
                branch.fixed(rule, members, -1),
            ]
        for i, child in enumerate(children):
            yield Node(first + i, child.settled(rule))

    def _check_cluster(self, branch: Branch, members: list[int]) -> None:
        rule = self.root.rule
        require(
            rule.groups is None and rule.blocks is None,
            "there are clusters, though the problem has groups or blocks",
        )
        require(
            members
            and not branch.status[members].any()
            and not any(cluster & set(members) for cluster in branch.clusters),
            "a cluster has a variable that is not free, or in another one",
        )

    def _enumerated(self, kind: int, node: Node) -> float:
        """Kinds 2, 3, 6 and 7: a bound on all that is in the branch."""
        root, branch = self.root, node.branch
        if branch.floor == math.inf or branch.places(root.rule) < 0:
            return math.inf
        record = int(self.tree.record[node.number])
        if kind == RAY:
            ray = self.tree.beta[record]
            is_empty = proves_empty(root.view, root.rule, ray, branch)
            return math.inf if is_empty else -math.inf
        # Blocks are counted instead of variables: supports would be larger.
        if root.rule.blocks is not None:
            return -math.inf
        inside, free, places = self._choice(branch)
        if kind == COMPLETED:
            form = root.given.supports
            return supports.completed(form, inside, free, places, self.enough)
        numbers = self.tree.value[self.tree.point.place(record)]
        require(
            len(numbers) == (1 if kind == CUT_OFF else 2), "a node lacks its cutoff"
        )
        cutoff = float(numbers[0])
        if kind == CUT_OFF:
            return supports.cut_off(root.given.supports, inside, free, places, cutoff)
        independence = root.dependence, root.forced
        return searched(
            root.problem.supports, inside, free, places, cutoff, *independence
        )

    def _choice(self, branch: Branch) -> tuple[Ints, Ints, int]:
        """Variables that are in, those that are free, and places that are left."""
        inside = np.flatnonzero(branch.status > 0)
        free = np.flatnonzero(branch.status == 0)
        return inside, free, min(branch.places(self.root.rule), len(free))

    def _penalised(self, node: Node) -> Iterator[Node]:
        """Kind 5: supports that are listed are children, all others are bounded."""
        root, record = self.root, int(self.tree.record[node.number])
        branch = replace(node.branch, clusters=())
        inside, free, places = self._choice(branch)
        listed = self.tree.fixed[record] - 1
        first = int(self.tree.child[node.number])
        fits = 1 <= places <= MOST_PLACES and places < len(free)
        require(
            root.rule.blocks is None
            and fits
            and len(listed) % places == 0
            and (listed >= 0).all(),
            "a node lists supports that do not fit",
        )
        listed = np.sort(listed.reshape(-1, places), axis=1)
        require(
            not branch.status[listed].any() and (np.diff(listed, axis=1) > 0).all(),
            "a node lists a support that is not free",
        )
        require(
            len(listed) == 0
            or node.number < first <= len(self.tree.kind) - len(listed),
            "the children of a node are not there",
        )
        form, beta = root.given.supports, self.tree.beta[record]
        proved = -math.inf
        if branch.floor < math.inf:
            proved = supports.penalised(
                form, root.given.rows, beta, inside, free, listed, self.enough
            )
        self._contribute(max(branch.floor, proved))
        for i, support in enumerate(listed):
            status = np.where(branch.status > 0, branch.status, np.int8(-1))
            status[support] = 0
            yield Node(first + i, replace(branch, status=status))
