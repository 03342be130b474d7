"""Settings of the search: one frozen object that the tree and its parts read."""

from dataclasses import dataclass, field

from cardqp._keywords import did_you_mean
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.problem import validation as check
from cardqp.relaxation.settings import RelaxationSettings
from cardqp.splitting.settings import SplittingSettings

PRUNING_SHARE, RELAXATION_SHARE = 0.99, 0.01
"""Defaults that the search in memory and the streamed one share."""


@did_you_mean
@dataclass(frozen=True, slots=True)
class RootSettings:
    """When the root is reduced and its split of ``Q`` improved.

    Parameters
    ----------
    reduction_share : float
        The root is relaxed again on the variables that are left if these are at most
        this share of them.
    max_ridge_loss, max_gap_loss : float
        A reduction is refused if its rounding takes more than the first share of a
        ridge, or more than the second of the gap at the incumbent.
    diagonal_gap : float
        A diagonal is optimised if the root leaves this many times the gap asked for.
    minorant_gap : float
        A sparse minorant is optimised if the root leaves this relative gap.
    split_gap : float
        Where signs are known, a sparse minorant is optimised if the root leaves this
        relative gap.  What it loses at integral points is more than it gains below.
    tight_gap : float
        Splits are not improved beyond this relative gap.
    max_formed_variables : int
        The most variables for which the matrix is formed where a factor was given.
    wrap_up : float
        What it takes to adopt a split and to prove it again, in units of the time that
        it takes to move a diagonal: an ascent ends before so much is left.
    weak_ridge : float
        Bounds of variables are dropped only if the ridge is below this share of the
        diagonal of ``Q``.
    inner_share : float
        The share of its bounds within which the incumbent has to be for that.
    rank_tolerance : float
        The least eigenvalue, relative to the diagonal, that a half of the variables
        must have for that.
    easy_nodes, easy_dives, easy_gap
        A split is good enough if so many random dives expect fewer nodes than the
        first.  With a larger relative gap than the last, dives are not tried.
    sure_dives : int
        The number of dives that must agree where there are rows or bounds, in which few
        dives see little.
    tiny_nodes, tiny_variables : int
        With rows or bounds no diagonal is optimised if fewer nodes are expected than
        the first; this is not asked if there are fewer variables than the second.
    row_shift_gap : float
        Another ascent starts along a row where the first leaves this relative gap.
    race_dives, race_gap : int, float
        The number of dives that decide between an optimised diagonal and the ridge as
        it is, where no eigenvalue shift could be moved before and the root leaves this
        relative gap: smaller ones are mostly closed in a few nodes.
    least_shrinking : float
        A split by signs is taken if the tree is expected to be smaller by this factor.
    ascent_nodes : int
        The same number of nodes for a split by a matrix function, whose nodes cost
        less than an ascent from it.
    hopeless_nodes : float
        It is also taken if more nodes than this are expected with and without.
    """

    reduction_share: check.Share = 0.85
    max_ridge_loss: check.Share = 0.01
    max_gap_loss: check.Share = 0.05
    diagonal_gap: check.NotNegative = 5.0
    minorant_gap: check.NotNegative = 0.1
    split_gap: check.NotNegative = 0.025
    tight_gap: check.NotNegative = 0.002
    max_formed_variables: check.Whole = 1500
    wrap_up: check.NotNegative = 10.0
    weak_ridge: check.NotNegative = 0.02
    inner_share: check.Share = 0.75
    rank_tolerance: check.NotNegative = 1e-10
    easy_nodes: check.Whole = 300
    easy_dives: check.Count = 4
    easy_gap: check.NotNegative = 0.08
    sure_dives: check.Count = 12
    tiny_nodes: check.Whole = 100
    tiny_variables: check.Whole = 60
    row_shift_gap: check.NotNegative = 0.15
    race_dives: check.Count = 10
    race_gap: check.NotNegative = 0.05
    least_shrinking: check.Positive = 2.0
    ascent_nodes: check.Whole = 3000
    hopeless_nodes: check.Positive = 1e6

    def __post_init__(self) -> None:
        check.ranges(self)


@did_you_mean
@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """When and how the search branches on clusters of correlated variables.

    Only where there are neither rows, bounds, groups nor a penalty, and where the last
    variables of a support are enumerated.

    Parameters
    ----------
    rule : {"auto", "always", "never"}
        Whether to branch on clusters: "auto" tries it out in trees that are long.
    correlations : tuple of float
        Columns are in the same cluster if they are correlated at least so much with the
        column in its middle; the first value that pays is taken.
    candidates : int
        The number of variables around which clusters are considered in a node.
    least_share : float
        A cluster is branched on if its relaxed switches sum to more than this, and to
        less than one by more than this.
    try_after : int
        The number of nodes after which clusters are tried.
    least_open : float
        They are tried once there are so many open nodes for each one processed: with
        fewer, a tree is about to end.  It is one if all have been branched on.
    dives : int
        The number of random dives with each rule.
    least_advantage : float
        Clusters are branched on if dives estimate a tree that is smaller by this power
        of two.
    least_size, most_share : float
        Clusters are tried if most of them have at least so many variables, and at most
        this share of all.
    """

    rule: str = "auto"
    correlations: tuple[float, ...] = (0.5, 0.3)
    candidates: check.Count = 15
    least_share: check.Share = 0.1
    try_after: check.Whole = 100
    least_open: check.NotNegative = 0.5
    dives: check.Count = 6
    least_advantage: check.NotNegative = 2.0
    least_size: check.NotNegative = 7.0
    most_share: check.Share = 0.2

    def __post_init__(self) -> None:
        check.one_of("rule", self.rule, ("auto", "always", "never"))
        check.ranges(self)
        check.listing("correlations", self.correlations, "numbers", float)


@did_you_mean
@dataclass(frozen=True, slots=True)
class DroppingSettings:
    """When supports are searched by dropping variables from all of them.

    This is for problems without rows and bounds whose ridge is weak, so that the bounds
    of relaxations are.  It takes turns with branch and bound.

    Parameters
    ----------
    weak_ridge, first_weak_ridge : float
        A ridge is weak if most are at most this share of the curvature of ``Q``: the
        first where the search takes turns, the second where it comes before all else.
    max_variables : int
        The most variables for such a search; 0 for none.
    max_local_search_variables : int
        The most variables for which an iterated local search comes before all else.
    max_loss : float
        The most that rounding may cost, as a share of the gap.
    first_dives : int
        Nothing is presolved if so many random dives expect no more steps than a slice,
        and that is true.
    slice_steps : int
        Steps between two looks at the clock.
    first_steps, steps_per_node : int
        Steps before the second node of branch and bound, and after each one.
    dives, max_expected : int
        What is not over after the first slice is given up if so many random dives
        expect more steps than the second number.
    """

    weak_ridge: check.NotNegative = 2e-3
    first_weak_ridge: check.NotNegative = 0.02
    max_variables: check.Whole = 130
    max_local_search_variables: check.Whole = 500
    max_loss: check.Share = 0.25
    first_dives: check.Count = 50
    slice_steps: check.Count = 20_000
    first_steps: check.Whole = 1_000_000
    steps_per_node: check.Whole = 1000
    dives: check.Count = 500
    max_expected: check.Whole = 10_000_000

    def __post_init__(self) -> None:
        check.ranges(self)


@did_you_mean
@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Tuning of branch and bound.

    Settings change how long a search takes, never what it may claim: bounds are proved
    by Theorem 1 at whatever points the search arrives at, and replayed.

    Parameters
    ----------
    pruning_share : float
        Nodes are pruned at this share of the gap asked for; the rest is left to
        rounding.
    relaxation_share : float
        Accuracy of a relaxation as a share of the gap.
    root_slack, node_slack, row_node_slack : float
        How nearly the relaxations of the root, and of nodes that must be branched on,
        are solved: see :class:`cardqp.relaxation.relaxation.Effort`.  The bound and the
        fixings of the root serve the whole tree, those of a node only itself.  The last
        is for nodes with rows, unless variables are semi-continuous.
    row_looseness : float
        Relaxations of nodes with rows are off by no more than this share of the
        objective: far from the end of the search, the bounds of nodes count.
    round_every, round_first : int
        One relaxation in so many is rounded to a support, and where there are rows or
        bounds each of the first ones: without them swaps have usually found the best
        support before that.
    few_remaining : int
        Nodes with at most so many variables still to be chosen are relaxed with and
        without the sparse minorant, which is not exact at leaves.
    batch_size, batch_share, max_batch_size : int, float, int
        Nodes that are processed before any of them is committed: this share of the open
        ones, but at least the first and at most the last of these numbers.  The tree
        depends on them, and not on the number of threads.
    max_open : int
        The search goes depth first while more nodes than this are open.
    max_failures : int
        Once so many relaxations, and every second one, have failed to meet their rows,
        the interior-point method takes over.
    max_in_vain : int
        Once so many nodes, and one for each that succeeded, had too many completions
        by four variables, these are enumerated among fewer undecided variables only.
    local_search_after : tuple of int
        Numbers of nodes after which an iterated local search starts at the incumbent.
    form_after : int
        The number of nodes after which relaxations are iterated with the matrix in
        place of a factor, if it is at hand: it takes the time of some nodes to scale.
    estimate_after : int
        The number of nodes after which the size of the tree is estimated.
    estimate_dives : int
        The number of random dives of that estimate.
    root : RootSettings
        When the root is reduced and its split improved.
    dropping : DroppingSettings
        When supports are searched by dropping variables.
    splitting : SplittingSettings
        How splits of ``Q`` are optimised.
    heuristics : HeuristicSettings
        How hard better points are searched for.
    relaxation : RelaxationSettings
        How the relaxations of root and nodes are solved.
    clusters : ClusterSettings
        When and how to branch on clusters of correlated variables.
    streamed : StreamedSettings
        The search on data with very many columns, which stay where they are.

    Examples
    --------
    >>> settings = SearchSettings(root=RootSettings(easy_nodes=1000), max_open=10_000)
    >>> settings.root.easy_nodes, settings.batch_size
    (1000, 4)
    """

    pruning_share: check.Share = PRUNING_SHARE
    relaxation_share: check.Share = RELAXATION_SHARE
    root_slack: check.NotNegative = 0.01
    node_slack: check.NotNegative = 0.3
    row_node_slack: check.NotNegative = 1.0
    row_looseness: check.NotNegative = 0.02
    round_every: check.Count = 8
    round_first: check.Whole = 200
    few_remaining: check.Whole = 3
    batch_size: check.Count = 4
    batch_share: check.Share = 0.05
    max_batch_size: check.Count = 512
    max_open: check.Whole = 100_000
    max_failures: check.Whole = 4
    max_in_vain: check.Whole = 20
    local_search_after: tuple[int, ...] = (300, 3000, 30000)
    form_after: check.Whole = 300
    estimate_after: check.Whole = 3000
    estimate_dives: check.Count = 20
    root: RootSettings = field(default_factory=RootSettings)
    dropping: DroppingSettings = field(default_factory=DroppingSettings)
    splitting: SplittingSettings = field(default_factory=SplittingSettings)
    heuristics: HeuristicSettings = field(default_factory=HeuristicSettings)
    relaxation: RelaxationSettings = field(default_factory=RelaxationSettings)
    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    streamed: StreamedSettings = field(default_factory=StreamedSettings)

    def __post_init__(self) -> None:
        check.ranges(self)
        check.listing("local_search_after", self.local_search_after, "integers", int)


DEFAULT = SearchSettings()
