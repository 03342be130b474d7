"""Settings of the streamed search.  None of them affects what is proved, only when."""

from dataclasses import dataclass, field

from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check


@did_you_mean
@dataclass(frozen=True, slots=True)
class CoarseningSettings:
    """How the open part of a stopped search is bounded.

    Attributes
    ----------
    first_nodes, growth, max_nodes : int
        How many nodes stand for all open leaves at first, how many times more in each
        further attempt, and at most.
    max_untimed_nodes : int
        The most nodes where no time is set, as after ``node_limit``.
    max_passes : int
        Passes for each node.  Columns that its bound misses join the working set in
        between; more passes hardly prove more.
    time_share, min_seconds : float
        The last share of the time limit, and the least number of seconds, that are
        left for it.
    min_seconds_interrupted : float
        The least number of seconds after Ctrl-C.
    """

    first_nodes: check.Count = 8
    growth: check.Count = 4
    max_nodes: check.Count = 512
    max_untimed_nodes: check.Count = 32
    max_passes: check.Count = 4
    time_share: check.NotNegative = 0.1
    min_seconds: check.NotNegative = 0.4
    min_seconds_interrupted: check.NotNegative = 1.0

    def __post_init__(self) -> None:
        check.ranges(self)
        check.at_least("growth", self.growth, 2)


@did_you_mean
@dataclass(frozen=True, slots=True)
class StreamedSettings:
    """Tuning of the search on streamed data.

    Attributes
    ----------
    min_columns : int
        Problems with more columns than this are streamed; others are copied into
        memory, where every kind of problem can be solved.
    min_entries : int
        Estimators stream tables with at least so many entries.  In smaller ones the
        streamed search proves what is easy sooner, but less of what is hard.
    max_dense_bytes : float
        The most bytes of columns, or of residuals, that are kept as dense copies; twice
        as much while they are put together.  Columns of a larger working set are read
        when they are needed, a few rows at a time.
    many_rows : int
        With more rows, fewer columns join the working set at first, so that its Gram
        matrix costs no more.
    initial_columns, columns_per_nonzero : int
        A first support is searched for among the columns that gain most on their own:
        so many, or with many rows fewer, but so many for each nonzero allowed.
    steepest_columns : int
        Columns with the largest derivatives, which join them after a swap.
    replacements : int
        The working set of the relaxation starts with the best replacements of each
        chosen column,
    single_columns, derivative_columns : int
        with the columns that gain most on their own, and with those that have the
        largest derivatives at the incumbent.
    root_columns : int
        The most columns that join the working set after a pass at the root.
    root_slack, node_slack : float
        How near to their optima the root and nodes are relaxed: the ``slack`` of
        :class:`cardqp.relaxation.relaxation.Effort`.
    root_tolerance, root_gap_share : float
        Branching starts once the bound on the working set exceeds that over all columns
        by no more than this share of the open gap, plus this share of the gap asked
        for.
    max_root_passes : int
        The most passes at the root.
    kept_cost : float
        After the root, columns stay in the working set whose costs are at least this
        share of the last one that the bound takes.
    batch_size : int
        Leaves that are bounded in one pass.  With data in memory, a pass with 32
        residuals takes four to five times as long as with one.
    cutoff_margin : float
        How far beyond the cutoff leaves are relaxed, as a share of the objective:
        columns outside the working set will lower the bound.
    leaf_columns, leaf_cost : int, float
        The most columns that join the working set for each leaf that is reopened, whose
        costs are at least this share of the last one that the bound takes.
    max_failures : int
        How often a leaf is reopened although there is no column to add, before it is
        left with the bound it has.
    cheapest_columns : int
        Columns of each leaf that a pass remembers.
    scales, coarse_scales : tuples of float
        Scales of residuals that are tried where the best one is not known, for the
        residual of a relaxed point and for the target.  Zero proves the least there is:
        no square is negative, and what is forced in pays its penalty.
    coarsening : CoarseningSettings
        How the open part of a stopped search is bounded.
    """

    min_columns: check.Whole = 4000
    min_entries: check.Whole = 10**8
    max_dense_bytes: check.NotNegative = 250e6
    many_rows: check.Count = 50_000
    initial_columns: check.Count = 1000
    columns_per_nonzero: check.Count = 4
    steepest_columns: check.Count = 200
    replacements: check.Count = 20
    single_columns: check.Count = 200
    derivative_columns: check.Count = 300
    root_columns: check.Count = 200
    root_slack: check.NotNegative = 0.02
    node_slack: check.NotNegative = 0.1
    root_tolerance: check.NotNegative = 0.1
    root_gap_share: check.NotNegative = 0.2
    max_root_passes: check.Count = 15
    kept_cost: check.NotNegative = 0.4
    batch_size: check.Count = 32
    cutoff_margin: check.NotNegative = 0.03
    leaf_columns: check.Count = 40
    leaf_cost: check.NotNegative = 0.85
    max_failures: check.Whole = 5
    cheapest_columns: check.Count = 64
    scales: tuple[float, ...] = (1.0, 0.98, 0.95, 0.9)
    coarse_scales: tuple[float, ...] = (1.0, 0.5, 0.25, 0.1, 0.05, 0.0)
    coarsening: CoarseningSettings = field(default_factory=CoarseningSettings)

    def __post_init__(self) -> None:
        check.ranges(self)
        for name in ("scales", "coarse_scales"):
            scales = getattr(self, name)
            check.count(f"len({name})", len(scales))
            check.at_least(name, min(scales), 0.0)


DEFAULT_SETTINGS = StreamedSettings()
