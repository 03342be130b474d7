"""Branches, their bounds, and bounds once one more variable is fixed (section 3)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cardqp_check.points import Terms
from cardqp_check.problem import Rule, Status
from cardqp_check.rounding import Floats, Ints, add_below, sum_below


@dataclass(frozen=True)
class Branch:
    """A set of supports, with a bound that is known for it.

    Attributes
    ----------
    status : (n,) int8 array
        1 for variables that are in, -1 for those that are out, 0 for free ones.
    floor : float
        The bound; infinite if the branch is empty.
    clusters : tuple of frozensets
        Disjoint sets of free variables, of each of which at least one is needed.
    """

    status: Status
    floor: float = -math.inf
    clusters: tuple[frozenset[int], ...] = ()

    def raised(self, bound: float) -> "Branch":
        """The branch with another bound, if that is better."""
        return replace(self, floor=max(self.floor, bound))

    def fixed(self, rule: Rule, variables: Iterable[int], value: int) -> "Branch":
        """The branch with some variables (and their blocks) in, 1, or out, -1.

        What has been decided the other way makes it empty.
        """
        wanted = np.zeros(len(self.status), np.int8)
        wanted[np.array(list(variables), int)] = value
        wanted = rule.whole(wanted)
        status = np.where(wanted != 0, wanted, self.status)
        is_empty = (wanted * self.status < 0).any()
        return replace(self, status=status, floor=math.inf if is_empty else self.floor)

    def places(self, rule: Rule) -> int:
        """How many more variables, or blocks, may be in."""
        return rule.limit - rule.count(np.flatnonzero(self.status > 0))

    def settled(self, rule: Rule) -> "Branch":
        """What required clusters imply (section 6); a branch without is as it was."""
        if not self.clusters:
            return self
        branch, left = self, []
        for cluster in self.clusters:
            state = {j: self.status[j] for j in cluster}
            free = frozenset(j for j in cluster if state[j] == 0)
            if any(value > 0 for value in state.values()):
                continue
            if len(free) == 1:
                branch = branch.fixed(rule, free, 1)
            else:
                left.append(free)
        places = branch.places(rule)
        if len(left) > places or not all(left):
            branch = branch.raised(math.inf)
        elif left and len(left) == places:
            needed = frozenset().union(*left)
            free_now = np.flatnonzero(branch.status == 0).tolist()
            branch = branch.fixed(rule, [j for j in free_now if j not in needed], -1)
        return replace(branch, clusters=tuple(left))


def bound(rule: Rule, terms: Terms, branch: Branch) -> float:
    """f(B): base plus the least sum of costs over the supports of a branch."""
    costs, status, _ = _switches(rule, terms.costs, branch.status)
    inside = np.flatnonzero(status > 0)
    places = rule.limit - len(inside)
    if branch.floor == math.inf or places < 0:
        return math.inf
    if rule.groups is not None:
        chosen = _best_of_groups(rule, costs, status, places)
    elif branch.clusters:
        chosen = _best_of_clusters(costs, status, branch.clusters, places)
    else:
        chosen = _smallest(np.minimum(costs[status == 0], 0.0), places)
    if chosen is None:
        return math.inf
    return sum_below([terms.base, *costs[inside].tolist(), *chosen])


def sides(
    rule: Rule, terms: Terms, branch: Branch, variables: Ints
) -> tuple[Floats, Floats]:
    """The bounds on_j and off_j of the branch with some free variables in, or out."""
    if rule.groups is not None or branch.clusters:
        by_definition = [
            [bound(rule, terms, _with(rule, branch, int(j), value)) for j in variables]
            for value in (1, -1)
        ]
        return np.array(by_definition[0]), np.array(by_definition[1])
    return _exchanges(rule, terms, branch, variables)


def _with(rule: Rule, branch: Branch, j: int, value: int) -> Branch:
    """The branch with j in, which meets its cluster, or out, which leaves it."""
    met = [c for c in branch.clusters if value < 0 or j not in c]
    clusters = tuple(c - {j} for c in met)
    return replace(branch.fixed(rule, [j], value), clusters=clusters)


def _exchanges(
    rule: Rule, terms: Terms, branch: Branch, variables: Ints
) -> tuple[Floats, Floats]:
    """on_j and off_j without groups and clusters: one exchange away from f(B).

    A variable that comes in takes the place of the last one that was chosen; one that
    goes out is replaced by the first one that was not.
    """
    value = bound(rule, terms, branch)
    costs, status, switch = _switches(rule, terms.costs, branch.status)
    places = rule.limit - int(np.count_nonzero(status > 0))
    if places < 0 or value == math.inf:
        return np.full(len(variables), math.inf), np.full(len(variables), math.inf)
    on, off = np.full(len(variables), value), np.full(len(variables), value)
    if value > -math.inf:
        own = costs[switch[variables]]
        first = _smallest(np.minimum(costs[status == 0], 0.0), places + 1)
        ranked = [-cost for cost in first] + [0.0, 0.0]
        last = ranked[places - 1] if 0 < places < len(ranked) else 0.0
        following = ranked[places] if places < len(ranked) else 0.0
        # NaN, the difference of infinities, counts as 0.
        on = add_below(value, np.fmax(add_below(own, last), 0.0))
        off = add_below(value, np.fmax(add_below(-own, -following), 0.0))
    if places == 0:
        on = np.full(len(variables), math.inf)
    return on, off


def _switches(rule: Rule, costs: Floats, status: Status) -> tuple[Floats, Status, Ints]:
    """Costs and status of what is counted, penalty included, and each variable's own.

    That is the variables, or blocks, whose variables have all the same status.
    """
    if rule.blocks is None:
        return add_below(costs, rule.penalty), status, np.arange(len(costs))
    _, first, label = np.unique(rule.blocks, return_index=True, return_inverse=True)
    shared = [
        sum_below([rule.penalty, *costs[label == k].tolist()])
        for k in range(len(first))
    ]
    return np.array(shared), status[first], label


def _smallest(costs: Floats, count: int) -> list[float]:
    """The smallest costs in increasing order, as many as there are up to a number."""
    if 0 < count < len(costs):
        costs = np.partition(costs, count - 1)
    return sorted(costs[:count].tolist()) if count > 0 else []


def _best_of_groups(
    rule: Rule, costs: Floats, status: Status, places: int
) -> list[float] | None:
    """The costs of the cheapest free variables for which their groups have room.

    None if a group has more variables in than it may.
    """
    assert rule.groups is not None
    used = np.bincount(
        rule.groups[status > 0] + 1, minlength=len(rule.group_limits) + 1
    )
    room, chosen = rule.group_limits - used[1:], list[float]()
    if (room < 0).any():
        return None
    free = np.flatnonzero((status == 0) & (costs < 0))
    for j in free[np.argsort(costs[free], kind="stable")]:
        group = rule.groups[j]
        if len(chosen) < places and (group < 0 or room[group] > 0):
            chosen.append(float(costs[j]))
            if group >= 0:
                room[group] -= 1
    return chosen


def _best_of_clusters(
    costs: Floats, status: Status, clusters: tuple[frozenset[int], ...], places: int
) -> list[float] | None:
    """The least cost of each cluster, and the smallest of all other free variables.

    Costs that are positive count as 0.  None if a cluster is empty, or there are more
    clusters than places.
    """
    if len(clusters) > places or not all(clusters):
        return None
    gains = np.where(status == 0, np.minimum(costs, 0.0), 0.0)
    first = [min(cluster, key=lambda j: gains[j]) for cluster in clusters]
    needed: list[float] = gains[first].tolist()
    gains[first] = 0.0
    return needed + _smallest(gains, places - len(clusters))
