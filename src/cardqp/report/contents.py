"""The contents of a report: plain numbers, names and our own results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cardqp.exceptions import ParameterError
from cardqp.models.efficient_frontier import Frontier
from cardqp.models.portfolio import PortfolioSolution
from cardqp.pipeline.hierarchy import Hierarchy
from cardqp.pipeline.path import Path
from cardqp.problem import validation as check
from cardqp.regression.inference import Inference
from cardqp.solution import Solution
from cardqp.solution.trace import Trace
from cardqp.subsets.result import Subsets


@dataclass(frozen=True, slots=True)
class Feature:
    """One of the chosen features.

    Attributes
    ----------
    name : str
        Its name.
    coefficient : float
        What it is multiplied by, in its own unit.
    refit : float
        The same, fitted anew without ridge on the chosen features.
    mean, deviation : float
        Mean and standard deviation in the data.
    worth : float or None
        By how much R2 falls without it, the others being fitted anew.
    """

    name: str
    coefficient: float
    refit: float
    mean: float
    deviation: float
    worth: float | None = None

    @property
    def centre(self) -> float:
        """The mean; zero if it is zero up to rounding."""
        return self.mean if abs(self.mean) > 1e-12 * self.deviation else 0.0

    @property
    def effect(self) -> float:
        """The change of the prediction when it rises by a standard deviation."""
        return self.coefficient * self.deviation


@dataclass(frozen=True, slots=True)
class CVCurve:
    """Errors on data that was left out, by sparsity.

    Attributes
    ----------
    sparsities : tuple of int
        What was tried.
    error, deviation : tuple of float
        The mean error over the folds, and its standard error.
    chosen : int
        The sparsity that was taken.
    rule : str
        Why it was taken, as a sentence; may be empty.
    """

    sparsities: tuple[int, ...]
    error: tuple[float, ...]
    deviation: tuple[float, ...]
    chosen: int
    rule: str = ""

    def __post_init__(self) -> None:
        counts = {len(self.sparsities), len(self.error), len(self.deviation)}
        if len(counts) > 1 or not self.sparsities:
            raise ParameterError(
                None,
                "`error` and `deviation` must have an entry for each of the sparsities",
                given=(
                    f"there are {len(self.error)} and {len(self.deviation)} for "
                    f"{len(self.sparsities)}"
                ),
            )
        is_tried = self.chosen in self.sparsities
        check.demand(is_tried, "chosen", "must be one of the sparsities", self.chosen)

    @property
    def error_of_chosen(self) -> float:
        """The mean error of the sparsity that was taken."""
        return self.error[self.sparsities.index(self.chosen)]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another choice that is nearly as good.

    Attributes
    ----------
    rank : int
        2 for the second best.
    objective : float
        Its penalised mean squared error.
    excess : float
        How far that is above the best, as a share of it: 0.01 is one percent.
    leaves, enters : tuple of str
        Names of features that it does without, and of those that it has instead.
    """

    rank: int
    objective: float
    excess: float
    leaves: tuple[str, ...]
    enters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """Observed values of the target and the predictions of the model."""

    observed: tuple[float, ...]
    predicted: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.observed) != len(self.predicted):
            raise ParameterError(
                "predicted",
                "must have an entry for each observation",
                given=f"there are {len(self.predicted)} for {len(self.observed)}",
            )


@dataclass(frozen=True, slots=True)
class Rival:
    """Another model of the same data, to compare with.

    Attributes
    ----------
    name : str
        What it is.
    n_features : int
        How many features it has.
    r2_in_sample, r2_out_of_sample : float, float or None
        Share of the variation that it explains, judged as the model is.
    note : str
        A sentence on how it was fitted; may be empty.
    """

    name: str
    n_features: int
    r2_in_sample: float
    r2_out_of_sample: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of the chosen features, a row for each."""

    names: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        n = len(self.names)
        is_square = len(self.matrix) == n and all(len(row) == n for row in self.matrix)
        check.demand(is_square, "matrix", "must have a row for each name", self.matrix)

    @property
    def pairs(self) -> list[tuple[float, str, str]]:
        """All pairs with their correlations, the strongest first."""
        found = [
            (self.matrix[i][j], self.names[i], self.names[j])
            for i in range(len(self.names))
            for j in range(i)
        ]
        return sorted(found, key=lambda pair: -abs(pair[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrigin:
    """Where the numbers on a page are from, and how to get them again.

    Attributes
    ----------
    title, source : str
        The headline, and the name of the file or table.
    command : str
        What to run to get the same.
    date : str
        As it shall be printed.
    notes : tuple of str
        What was done to the data.
    versions : mapping of str to str
        What it was made with; see :func:`cardqp.report.versions.versions`.
    """

    title: str
    source: str
    command: str
    date: str
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageData(PageOrigin):
    """The origin of a page about a regression.

    Attributes
    ----------
    target : str
        The name of what is predicted.
    n_samples, n_features : int
        Rows and columns that took part.
    """

    target: str
    n_samples: int
    n_features: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(PageData):
    """All that a page about a sparse regression tells, besides its origin.

    Attributes
    ----------
    solution : Solution
        The choice and what is proved about it.
    features : tuple of Feature
        What was chosen.
    intercept : float
        The prediction where all features are zero.
    r2_in_sample, r2_out_of_sample : float, float or None
        Share of the variation that is explained.
    judged_by : str
        What the latter was found by, such as "5-fold cross-validation".
    eta : float
        The ridge is ``1/eta``; infinite if there is none.
    is_automatic : bool
        Whether the data chose it.
    is_standardized : bool
        Whether features were scaled to unit variance for the ridge.
    is_refitted : bool
        Whether coefficients were fitted without the ridge, once features were chosen.
    rivals : tuple of Rival
        Other models to compare with.
    correlations : Correlations or None
        Those of the chosen features.
    path, cv, trace, predictions, hierarchy : optional
        Each has a section, or a picture, if it is there.
    alternatives, alternatives_note : tuple of Alternative, str
        Choices that are nearly as good, and a sentence about them.
    """

    solution: Solution
    features: tuple[Feature, ...]
    intercept: float
    r2_in_sample: float
    r2_out_of_sample: float | None = None
    judged_by: str = "rows that were left out"
    eta: float = math.inf
    is_automatic: bool = False
    is_standardized: bool = False
    is_refitted: bool = False
    rivals: tuple[Rival, ...] = ()
    correlations: Correlations | None = None
    path: Path | None = None
    cv: CVCurve | None = None
    trace: Trace | None = None
    predictions: Predictions | None = None
    hierarchy: Hierarchy | None = None
    alternatives: tuple[Alternative, ...] = ()
    alternatives_note: str = ""

    def __post_init__(self) -> None:
        check.instance("solution", self.solution, Solution)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetsData(PageData):
    """All that a page about the best subsets tells, besides its origin.

    Attributes
    ----------
    subsets : Subsets
        The subsets.
    is_centred : bool
        Whether there is an intercept.
    inference : Inference or None
        Coefficients of the chosen subset; None if there are too few rows for their
        standard errors.
    """

    subsets: Subsets
    is_centred: bool
    inference: Inference | None

    def __post_init__(self) -> None:
        check.instance("subsets", self.subsets, Subsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioData(PageOrigin):
    """All that a page about a portfolio tells, besides its origin.

    Attributes
    ----------
    answer : PortfolioSolution
        The weights and what is proved about them.
    n_periods : int or None
        How many periods the risk was estimated from, if that is known.
    frontier, free_frontier : Frontier or None
        Portfolios of least variance by expected return; and without a limit on the
        number of assets.
    trace : Trace or None
        How the problem was solved.
    """

    answer: PortfolioSolution
    n_periods: int | None = None
    frontier: Frontier | None = None
    free_frontier: Frontier | None = None
    trace: Trace | None = None

    def __post_init__(self) -> None:
        check.instance("answer", self.answer, PortfolioSolution)
