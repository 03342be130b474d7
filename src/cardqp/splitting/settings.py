"""Settings of the splits of ``Q``: when they are worth it, and how far to go."""

from dataclasses import dataclass, field

from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check


@did_you_mean
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

    max_steps: check.Count = 60
    first: check.Positive = 3.0
    last: check.Positive = 3e-3
    factor: check.PositiveShare = 0.3
    centred: check.Positive = 0.05
    nearly_centred: check.Positive = 100.0
    to_boundary: check.PositiveShare = 0.95

    def __post_init__(self) -> None:
        check.ranges(self)


@did_you_mean
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

    worthwhile_share: check.NotNegative = 0.01
    max_decomposed: check.Whole = 1200
    max_variables: check.Whole = 600
    start_accuracy: check.Positive = 1e-4
    barrier: BarrierSettings = field(default_factory=BarrierSettings)
    row_barrier: BarrierSettings = field(
        default_factory=lambda: BarrierSettings(
            last=1e-3, factor=0.5, centred=0.5, nearly_centred=1.0, to_boundary=0.5
        )
    )

    def __post_init__(self) -> None:
        check.ranges(self)
        check.instance("row_barrier", self.row_barrier, BarrierSettings)


@did_you_mean
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

    memory: check.Share = 0.85
    faded: check.Share = 0.02
    negligible: check.Share = 1e-3
    softness: check.Positive = 0.15
    low_ridge: check.Share = 0.5

    def __post_init__(self) -> None:
        check.ranges(self)


@did_you_mean
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

    max_variables: check.Whole = 2000
    start_ridge_share: check.Share = 0.75
    least_level: check.Positive = 1e-3
    rank_tolerance: check.Share = 1e-10
    mixed_share: check.Share = 0.1
    max_steps: check.Count = 160
    max_seconds: check.NotNegative = 30.0
    checkpoints: tuple[int, ...] = (16, 24, 32, 44, 58, 80, 110)
    step_accuracy: check.Positive = 1e-4
    final_accuracy: check.Positive = 1e-5
    least_ridge_share: check.Positive = 0.01
    least_diagonal_share: check.Positive = 1e-6
    max_growth: check.AtLeastOne = 1e3
    first_gain: check.Positive = 0.1
    max_gain: check.Positive = 0.2
    least_gain: check.NotNegative = 2e-5
    increase: check.AtLeastOne = 1.1
    decrease: check.Share = 0.5
    max_lengthening: check.AtLeastOne = 1.2
    patience: check.Count = 4
    supergradient: SupergradientSettings = field(default_factory=SupergradientSettings)

    def __post_init__(self) -> None:
        check.ranges(self)
        check.listing("checkpoints", self.checkpoints, "integers", int)


@did_you_mean
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

    min_variables: check.Whole = 1500
    weak_ridge: check.Share = 0.004
    order: check.AtLeastOne = 3.0
    first_level: check.Positive = 0.02
    max_levels: check.Count = 5
    shifted_share: check.Share = 0.5
    sample_size: check.Count = 1500
    accuracy: check.Positive = 1e-3
    probe_iterations: check.Count = 400
    cubes_per_second: check.Positive = 5e10
    wrap_up: check.NotNegative = 2.5
    support_weight: check.Positive = 1.5
    low_ridge: check.Share = 0.6
    increase: check.AtLeastOne = 1.1
    max_raises: check.Whole = 12
    shift_share: check.Share = 1e-3

    def __post_init__(self) -> None:
        check.ranges(self)


@did_you_mean
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
    mixed_share: check.Share = 0.02
    lost_share: check.PositiveShare = 0.95
    max_rounds: check.Count = 200
    max_unit: check.Positive = 1e3

    def __post_init__(self) -> None:
        check.ranges(self)
        check.listing("levels", self.levels, "numbers", float)


@did_you_mean
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

    max_variables: check.Whole = 600
    max_steps: check.Count = 600
    race_steps: check.Count = 50
    trial_steps: check.Count = 100
    checkpoints: tuple[int, ...] = (25, 50, 100, 200, 400)
    max_seconds: check.NotNegative = 30.0
    max_share: check.Share = 0.15
    least_gain: check.NotNegative = 1e-5
    memory: check.Count = 20
    first_length: check.Positive = 0.1
    least_rise: check.Share = 1e-4
    steep: check.Share = 0.9
    max_trials: check.Count = 14
    iterations: check.Count = 70
    max_iterations: check.Count = 200
    step_accuracy: check.Positive = 1e-4
    final_accuracy: check.Positive = 1e-5
    ridge_reward: check.NotNegative = 0.1
    least_ridge: check.Positive = 1e-6
    least_eigenvalue: check.Positive = 0.01

    def __post_init__(self) -> None:
        check.ranges(self)
        check.listing("checkpoints", self.checkpoints, "integers", int)


@did_you_mean
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
