"""Settings of the search: one frozen object that the tree and its parts read."""

from dataclasses import dataclass, field

from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.problem import validation as check
from cardqp.relaxation.settings import RelaxationSettings
from cardqp.splitting.settings import SplittingSettings

PRUNING_SHARE, RELAXATION_SHARE, NODE_SLACK = 0.99, 0.01, 0.1
"""Defaults that the search in memory and the streamed one share."""


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
    tight_gap : float
        Splits are not improved beyond this relative gap; nor are they begun where signs
        are known.
    max_formed_variables : int
        The most variables for which the matrix is formed where a factor was given.
    wrap_up : float
        What it takes to adopt a split and to prove it again, in units of the time that
        it takes to move a diagonal: an ascent ends before so much is left.
    easy_nodes, easy_dives, easy_gap
        A split is good enough if so many random dives expect fewer nodes than the
        first.  With a larger relative gap than the last, dives are not tried.
    """

    reduction_share: float = 0.85
    max_ridge_loss: float = 0.01
    max_gap_loss: float = 0.05
    diagonal_gap: float = 5.0
    minorant_gap: float = 0.1
    tight_gap: float = 0.002
    max_formed_variables: int = 1500
    wrap_up: float = 10.0
    easy_nodes: int = 300
    easy_dives: int = 4
    easy_gap: float = 0.08

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="easy_dives",
            shares="reduction_share max_ridge_loss max_gap_loss",
            nonnegatives="diagonal_gap minorant_gap tight_gap max_formed_variables "
            "wrap_up easy_nodes easy_gap",
        )


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
    candidates: int = 15
    least_share: float = 0.1
    try_after: int = 100
    dives: int = 6
    least_advantage: float = 2.0
    least_size: float = 7.0
    most_share: float = 0.2

    def __post_init__(self) -> None:
        check.one_of("rule", self.rule, ("auto", "always", "never"))
        check.ranges(
            self,
            counts="candidates dives",
            shares="least_share most_share",
            nonnegatives="try_after least_advantage least_size",
        )
        check.listing("correlations", self.correlations, "numbers", float)


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
    root_slack, node_slack : float
        How nearly the relaxations of the root, and of nodes that must be branched on,
        are solved: see :class:`cardqp.relaxation.relaxation.Effort`.  The bound and the
        fixings of the root serve the whole tree, those of a node only itself.
    round_every, round_first : int
        One relaxation in so many is rounded to a support, and where there are rows or
        bounds each of the first ones: without them swaps have usually found the best
        support before that.
    few_remaining : int
        Nodes with at most so many variables still to be chosen are relaxed with and
        without the sparse minorant, which is not exact at leaves.
    batch_size : int
        Nodes that are processed before any of them is committed.  The tree depends on
        it, and not on the number of threads.
    max_open : int
        The search goes depth first while more nodes than this are open.
    max_failures : int
        Once so many relaxations, and every second one, have failed to meet their rows,
        the interior-point method takes over.
    local_search_after : tuple of int
        Numbers of nodes after which an iterated local search starts at the incumbent.
    estimate_after : int
        The number of nodes after which the size of the tree is estimated.
    estimate_dives : int
        The number of random dives of that estimate.
    root : RootSettings
        When the root is reduced and its split improved.
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

    pruning_share: float = PRUNING_SHARE
    relaxation_share: float = RELAXATION_SHARE
    root_slack: float = 0.01
    node_slack: float = NODE_SLACK
    round_every: int = 8
    round_first: int = 200
    few_remaining: int = 3
    batch_size: int = 4
    max_open: int = 100_000
    max_failures: int = 4
    local_search_after: tuple[int, ...] = (300, 3000, 30000)
    estimate_after: int = 3000
    estimate_dives: int = 20
    root: RootSettings = field(default_factory=RootSettings)
    splitting: SplittingSettings = field(default_factory=SplittingSettings)
    heuristics: HeuristicSettings = field(default_factory=HeuristicSettings)
    relaxation: RelaxationSettings = field(default_factory=RelaxationSettings)
    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    streamed: StreamedSettings = field(default_factory=StreamedSettings)

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="round_every batch_size estimate_dives",
            shares="pruning_share relaxation_share",
            nonnegatives="root_slack node_slack round_first few_remaining max_open "
            "max_failures estimate_after",
        )
        check.listing("local_search_after", self.local_search_after, "integers", int)


DEFAULT = SearchSettings()
