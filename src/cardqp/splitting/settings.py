"""Settings of the splits of ``Q``: when they are worth it, and how far to go."""

from dataclasses import dataclass, field

from cardqp.problem import validation as check


@dataclass(frozen=True, slots=True)
class BarrierSettings:
    """The barrier method that optimises a diagonal.

    Parameters
    ----------
    max_steps : int
        The most Newton steps.
    first, last : float
        The barrier parameter at the start and the one to end at, in units of the
        objective over the number of variables.
    factor : float
        What the parameter is multiplied by at a point that is centred.
    centred, nearly_centred : float
        A point counts as centred at the first Newton decrement, and after a nearly full
        step at the second, in units of the number of variables times the barrier
        parameter.
    to_boundary : float
        The share of the way to the boundary that a step goes at most.
    """

    max_steps: int = 60
    first: float = 3.0
    last: float = 3e-3
    factor: float = 0.3
    centred: float = 0.05
    nearly_centred: float = 100.0
    to_boundary: float = 0.95

    def __post_init__(self) -> None:
        names = "first last factor centred nearly_centred to_boundary"
        shares = "factor to_boundary"
        check.ranges(self, counts="max_steps", shares=shares, positives=names)


@dataclass(frozen=True, slots=True)
class DiagonalSettings:
    """Diagonals that are moved from ``Q`` to the ridge.

    Parameters
    ----------
    worthwhile_share : float
        An eigenvalue shift is worth it when it adds this share to some ridge.
    max_decomposed : int
        With more variables than this, a factorisation finds out whether there is such
        a shift before eigenvalues are computed.
    max_variables : int
        The most variables for which an optimal diagonal is computed: a Newton step
        factorises a matrix of twice that size.
    start_accuracy : float
        Accuracy of the relaxation at which the barrier method starts, as a share of the
        objective.
    barrier, row_barrier : BarrierSettings
        The barrier method without rows and bounds, and with them: the multipliers of
        rows call for smaller steps, nearer the central path.
    """

    worthwhile_share: float = 0.01
    max_decomposed: int = 1200
    max_variables: int = 600
    start_accuracy: float = 1e-4
    barrier: BarrierSettings = field(default_factory=BarrierSettings)
    row_barrier: BarrierSettings = field(
        default_factory=lambda: BarrierSettings(
            last=1e-3, factor=0.5, centred=0.5, nearly_centred=1.0, to_boundary=0.5
        )
    )

    def __post_init__(self) -> None:
        check.instance("row_barrier", self.row_barrier, BarrierSettings)
        check.ranges(
            self,
            positives="start_accuracy",
            nonnegatives="worthwhile_share max_decomposed max_variables",
        )


@dataclass(frozen=True, slots=True)
class SupergradientSettings:
    """How supergradients of the bound of a split are smoothed.

    Parameters
    ----------
    memory : float
        Weight of the running average when a new supergradient comes in.
    faded : float
        Rank-one terms of the average with less than this share of the newest one's
        weight are dropped.
    negligible : float
        Entries of the average below this share of the largest are dropped.
    softness : float
        Entries of a row within this share of the last one that counts count in part.
    low_ridge : float
        Ridges below this share of the median are treated as if more depended on them.
    """

    memory: float = 0.85
    faded: float = 0.02
    negligible: float = 1e-3
    softness: float = 0.15
    low_ridge: float = 0.5

    def __post_init__(self) -> None:
        names = "memory faded negligible low_ridge"
        check.ranges(self, shares=names, positives="softness")


@dataclass(frozen=True, slots=True)
class AscentSettings:
    """The ascent to a sparse minorant with a good bound.

    Parameters
    ----------
    max_variables : int
        The most variables for which dense splits are considered.
    start_ridge_share : float
        The share of every ridge that the split at the start must leave.
    least_level : float
        The lowest level of eigenvalues tried for the start, in units of the ridge.
    rank_tolerance : float
        Eigenvalues below this share of the largest count as zero.  If more than half of
        them do, no split is made: the relaxation is tight in their directions already.
    mixed_share : float
        The share of ``Q`` that is mixed into the start where signs are known.
    max_steps : int
        The normal end of an ascent: a count, so that results are reproducible.
    max_seconds : float
        When an ascent ends in any case.
    checkpoints : tuple of int
        Steps before which the split is tested for being good enough.
    step_accuracy, final_accuracy : float
        Accuracy of the relaxation in each step and in the end, as a share of the
        objective.
    least_ridge_share, least_diagonal_share : float
        No ridge may fall below the first share of the original; nor, with weights,
        below the second share of the diagonal of ``Q``.
    max_growth : float
        ``P`` may not outgrow ``Q`` by more than this factor.
    first_gain, max_gain : float
        The gain that a step aims at: the first and the largest, as a share of the gap.
    least_gain : float
        The ascent ends when steps aim at less, as a share of the objective.
    increase, decrease : float
        Factors of the gain aimed at, after good and after bad steps.
    max_lengthening : float
        How much longer than the last one a step may be.
    patience : int
        After so many steps without a new best the ascent returns to the best split and
        aims at less.
    supergradient : SupergradientSettings
        How supergradients are smoothed.
    """

    max_variables: int = 2000
    start_ridge_share: float = 0.75
    least_level: float = 1e-3
    rank_tolerance: float = 1e-10
    mixed_share: float = 0.1
    max_steps: int = 160
    max_seconds: float = 30.0
    checkpoints: tuple[int, ...] = (16, 24, 32, 44, 58, 80, 110)
    step_accuracy: float = 1e-4
    final_accuracy: float = 1e-5
    least_ridge_share: float = 0.01
    least_diagonal_share: float = 1e-6
    max_growth: float = 1e3
    first_gain: float = 0.1
    max_gain: float = 0.2
    least_gain: float = 2e-5
    increase: float = 1.1
    decrease: float = 0.5
    max_lengthening: float = 1.2
    patience: int = 4
    supergradient: SupergradientSettings = field(default_factory=SupergradientSettings)

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="max_steps patience",
            shares="start_ridge_share rank_tolerance mixed_share decrease",
            positives="least_level least_ridge_share first_gain max_gain "
            "least_diagonal_share step_accuracy final_accuracy",
            nonnegatives="max_variables max_seconds least_gain",
        )
        for name in ("increase", "max_lengthening", "max_growth"):
            check.at_least(name, getattr(self, name), 1.0)
        check.listing("checkpoints", self.checkpoints, "integers", int)


@dataclass(frozen=True, slots=True)
class FunctionSettings:
    """Splits by a matrix function, for problems too large for an ascent.

    Parameters
    ----------
    min_variables : int
        The fewest variables for which they are made; below, an ascent does better.
    weak_ridge : float
        They are made if the median ridge is below this share of the diagonal.
    order : float
        The parameter ``a`` of the function, at least 1.
    first_level : float
        The first level that is tried, in units of the diagonal.
    max_levels : int
        The most levels that are tried.
    shifted_share : float
        Where all eigenvalues exceed this share of the first level, an eigenvalue shift
        is preferred.
    sample_size : int
        The number of variables on which levels are tried.
    accuracy : float
        Accuracy of the relaxations by which splits are judged, as a share of the
        objective.
    probe_iterations : int
        Iterations of the plain relaxation that show whether a split is worth it.
    cubes_per_second, wrap_up : float
        A split takes a time that grows with the cube of the number of variables, at
        this rate.  It is not begun with less time left than so many times that; what
        it takes on the sample is measured, and must fit into the time as well.
    support_weight : float
        The weight of variables in the support of the incumbent; others have 1.
    low_ridge, increase, max_raises
        Variables whose ridge is below this share of the median have their weight
        multiplied by the increase, so many times at most.
    shift_share : float
        What is added to the diagonal of ``P`` to make up for single precision, as a
        share of the median ridge.
    """

    min_variables: int = 1500
    weak_ridge: float = 0.004
    order: float = 3.0
    first_level: float = 0.02
    max_levels: int = 5
    shifted_share: float = 0.5
    sample_size: int = 1500
    accuracy: float = 1e-3
    probe_iterations: int = 400
    cubes_per_second: float = 5e10
    wrap_up: float = 2.5
    support_weight: float = 1.5
    low_ridge: float = 0.6
    increase: float = 1.1
    max_raises: int = 12
    shift_share: float = 1e-3

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="max_levels sample_size probe_iterations",
            shares="low_ridge shift_share shifted_share weak_ridge",
            positives="first_level support_weight accuracy cubes_per_second",
            nonnegatives="min_variables max_raises wrap_up",
        )
        for name in ("order", "increase"):
            check.at_least(name, getattr(self, name), 1.0)


@dataclass(frozen=True, slots=True)
class TrackingSettings:
    """Where the ascent starts for index tracking, along a row.

    Parameters
    ----------
    levels : tuple of float
        Eigenvalues of the correlation matrix count above a level: the first of these
        that leaves every ridge positive.
    mixed_share : float
        The share of the matrix itself that is mixed into the start.
    lost_share : float
        Weights are raised until no row loses more than this share of its diagonal.
    max_rounds : int
        The most rounds in which weights are raised.
    max_unit : float
        The largest unit that weights are made of.
    """

    levels: tuple[float, ...] = (0.9, 0.75, 0.6, 0.5, 0.4)
    mixed_share: float = 0.02
    lost_share: float = 0.95
    max_rounds: int = 200
    max_unit: float = 1e3

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="max_rounds",
            shares="mixed_share lost_share",
            positives="lost_share max_unit",
        )
        check.listing("levels", self.levels, "numbers", float)


@dataclass(frozen=True, slots=True)
class JointSettings:
    """The ascent to a sparse minorant together with its weights.

    Parameters
    ----------
    max_variables : int
        The most variables: all the steps in memory are as large as ``Q``.
    max_steps : int
        The normal end of an ascent: a count, so that results are reproducible.
    race_steps : int
        With several starts, the steps after which the best one is chosen.
    trial_steps : int
        At checkpoints after so many steps an ascent is given up if its bound is still
        below the one at hand.
    checkpoints : tuple of int
        Steps, in increasing order, before which the split is tested for being good
        enough.
    max_seconds, max_share : float
        When an ascent ends in any case; the second is a share of the time left.
    least_gain : float
        The ascent ends when steps between two checkpoints gain less, as a share of the
        objective.
    memory : int
        The number of steps that the quasi-Newton method remembers.
    first_length : float
        The length of the first step, in units in which the diagonal of ``Q`` is 1.
    least_rise, steep : float
        A step has to rise by the first share of what the gradient promises, and to end
        where the bound rises by less than the second share of it.
    max_trials : int
        The most lengths that are tried for a step.
    iterations, max_iterations : int
        The most iterations of each relaxation.  Where a step fails they are doubled, as
        long as they are fewer than the second number.
    step_accuracy, final_accuracy : float
        Accuracy of the relaxation in each step and in the end, as a share of the
        objective.
    ridge_reward : float
        The weight of the mean logarithm of the ridges, in units of the objective.
    least_ridge, least_eigenvalue : float
        No ridge may fall below the first, and eigenvalues of the start below the second
        are left out, in units in which the diagonal of ``Q`` is 1.
    """

    max_variables: int = 600
    max_steps: int = 600
    race_steps: int = 50
    trial_steps: int = 100
    checkpoints: tuple[int, ...] = (25, 50, 100, 200, 400)
    max_seconds: float = 30.0
    max_share: float = 0.15
    least_gain: float = 1e-5
    memory: int = 20
    first_length: float = 0.1
    least_rise: float = 1e-4
    steep: float = 0.9
    max_trials: int = 14
    iterations: int = 70
    max_iterations: int = 200
    step_accuracy: float = 1e-4
    final_accuracy: float = 1e-5
    ridge_reward: float = 0.1
    least_ridge: float = 1e-6
    least_eigenvalue: float = 0.01

    def __post_init__(self) -> None:
        check.ranges(
            self,
            counts="max_steps race_steps trial_steps memory max_trials iterations "
            "max_iterations",
            shares="max_share least_rise steep",
            positives="first_length step_accuracy final_accuracy least_ridge "
            "least_eigenvalue",
            nonnegatives="max_variables max_seconds least_gain ridge_reward",
        )
        check.listing("checkpoints", self.checkpoints, "integers", int)


@dataclass(frozen=True, slots=True)
class SplittingSettings:
    """Splits of ``Q`` into a part that stays quadratic and one for the ridge.

    Parameters
    ----------
    diagonal : DiagonalSettings
        Diagonals moved to the ridge, of any sparsity.
    ascent : AscentSettings
        Minorants that hold for sparse points only.
    function : FunctionSettings
        Such minorants by a matrix function, for many variables.
    tracking : TrackingSettings
        Where they start for index tracking.
    joint : JointSettings
        The ascent together with weights, where signs are known.
    """

    diagonal: DiagonalSettings = field(default_factory=DiagonalSettings)
    ascent: AscentSettings = field(default_factory=AscentSettings)
    function: FunctionSettings = field(default_factory=FunctionSettings)
    tracking: TrackingSettings = field(default_factory=TrackingSettings)
    joint: JointSettings = field(default_factory=JointSettings)

    def __post_init__(self) -> None:
        check.ranges(self)


DEFAULT = SplittingSettings()
