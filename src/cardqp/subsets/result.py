"""What comes of a search of all subsets: a table, a choice, pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from cardqp._iterate import Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import ParameterError
from cardqp.problem import validation as check
from cardqp.subsets.measures import (
    CHOICES,
    MEASURES,
    ChoiceName,
    cost_of,
    rounding_of,
)

NOTHING = "(none)"
"""In place of features where there are none."""

COLUMNS = ("size", "rank", "features", "rss", "r2", *CHOICES, "gap", "status")


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """One of the best subsets of its size; the only one of size 0 is the null model.

    Attributes
    ----------
    size, rank : int
        How many features it has, or blocks of them, and its place among those of this
        size, from 1 on.
    features : tuple of str
        Names of the features.
    units : tuple of str
        Names of what counts: a category, or a block, in place of its features.
    support : int array
        Their columns.
    coef, intercept : array, float
        Coefficients of all columns, and the intercept, of least squares.
    rss, lower_bound : float
        The sum of squared residuals, and what is proved for all subsets of this size
        that are not ranked before it.
    gap : float
        The relative difference of the two.
    status : str
        "OPTIMAL" if the gap is within what was asked for, else "FEASIBLE".
    measures : dict
        Cp, AIC, AICc, BIC, EBIC, R2 and adjusted R2; with folds also ``"cv"``, the mean
        squared error of this size on rows that were left out, NaN from rank 2 on.
    """

    size: int
    rank: int
    features: tuple[str, ...]
    units: tuple[str, ...]
    support: IntArray
    coef: FloatArray
    intercept: float
    rss: float
    lower_bound: float
    gap: float
    status: str
    measures: dict[str, float]

    def row(self) -> dict[str, Any]:
        """A row of the table."""
        own = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        known = own | self.measures
        return {name: known[name] for name in COLUMNS if name in known}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subsets:
    """The best subsets of each size; print it, or take its ``table``.

    Attributes
    ----------
    subsets : tuple of Subset
        By size, and by rank within a size.
    names, units : tuples of str
        Names of all features, and of what they are chosen with: a category or a block.
    n_samples : int
        How many rows there were.
    criterion : str
        The measure that chooses, or ``"cv"``.
    notes : tuple of str
        Sentences about features that depend on each other, and about what is missing.
    stop : Stop
        Why the search ended.
    fold_errors : (sizes, folds) array or None
        Mean squared errors on folds that were left out, if there are folds.
    fold_gap : float
        The largest gap of a best subset on all folds but one.
    """

    subsets: tuple[Subset, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    n_samples: int
    criterion: ChoiceName
    notes: tuple[str, ...] = ()
    stop: Stop = Stop.COMPLETED
    fold_errors: FloatArray | None = None
    fold_gap: float = 0.0

    def __len__(self) -> int:
        return len(self.subsets)

    def __iter__(self) -> Iterator[Subset]:
        return iter(self.subsets)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that are listed."""
        return tuple(dict.fromkeys(subset.size for subset in self.subsets))

    def at(self, size: int, rank: int = 1) -> Subset:
        """The subset of a size that has a rank."""
        for subset in self.subsets:
            if (subset.size, subset.rank) == (size, rank):
                return subset
        raise ParameterError(
            "size",
            "and `rank` must be those of a subset that is listed",
            given=f"they are {size} and {rank}",
        )

    def best(self, criterion: ChoiceName | None = None) -> Subset:
        """The subset that a measure chooses; among equals the smallest.

        It can be the null model, of size 0.
        """
        name = self._measure(criterion)
        costs = self.costs(name)
        least = float(costs.min())
        # Subsets that fit equally well differ by rounding: the first one is taken.
        is_least = (costs == least) | (costs <= least + rounding_of(name, least))
        return self.subsets[int(is_least.argmax())]

    def costs(self, criterion: ChoiceName | None = None) -> FloatArray:
        """A measure of each subset as a cost, the least being the best.

        It is infinite where the measure is not known.
        """
        name = self._measure(criterion)
        return np.array([cost_of(name, each.measures[name]) for each in self])

    def _measure(self, criterion: ChoiceName | None) -> ChoiceName:
        """A measure that is asked for; the one that chooses by default."""
        name = self.criterion if criterion is None else criterion
        known = MEASURES if self.fold_errors is None else CHOICES
        check.one_of("criterion", name, known)
        return name

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, one row per size and rank; ready for a DataFrame."""
        rows = [subset.row() for subset in self.subsets]
        return {name: [row[name] for row in rows] for name in rows[0]}

    @property
    def table(self) -> Any:
        """A pandas DataFrame with one row per size and rank."""
        from cardqp.tables.frames import require_pandas

        return require_pandas("A table").DataFrame(self.to_dict())

    def members(self) -> FloatArray:
        """Which features, in columns, each subset has, in rows."""
        held = np.zeros((len(self), len(self.names)), dtype=bool)
        for row, subset in zip(held, self.subsets, strict=True):
            row[subset.support] = True
        return held

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        ax: Any = None,
        *,
        criterion: ChoiceName | None = None,
    ) -> Any:
        """Draw which features each subset has, the best by a measure on top.

        Parameters
        ----------
        path : path, optional
            Where to write the picture.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        criterion : str, optional
            The measure; the one that chooses by default.
        """
        from cardqp.plot import plot_subsets, saved

        return saved(plot_subsets(self, self._measure(criterion), ax), path)

    def plot_criterion(
        self,
        path: str | PathLike[str] | None = None,
        ax: Any = None,
        *,
        criterion: ChoiceName | None = None,
    ) -> Any:
        """Draw a measure against the size, for all ranks.

        Parameters
        ----------
        path, ax, criterion
            As for :meth:`plot`.
        """
        from cardqp.plot import plot_sizes, saved

        return saved(plot_sizes(self, self._measure(criterion), ax), path)

    def __str__(self) -> str:
        name, best = self.criterion, self.best()
        lines = [f"size rank          rss      r2 {name:>12}       gap  features"]
        for each in self.subsets:
            r2, value = _shown(each.measures["r2"], ".4f"), _shown(each.measures[name])
            lines.append(
                f"{each.size:4d} {each.rank:4d} {each.rss:12.6g} {r2:>7} "
                f"{value:>12} {each.gap:9.2e}  "
                f"{', '.join(each.units) or NOTHING}{'  <' * (each is best)}"
            )
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        sizes = self.sizes
        return (
            f"Subsets({len(self)} subsets of {len(self.names)} features, sizes "
            f"{sizes[0]} to {sizes[-1]})"
        )


def _shown(value: float, form: str = ".6g") -> str:
    """A measure as text; a dash if it is not known."""
    return "-" if np.isnan(value) else format(value, form)
