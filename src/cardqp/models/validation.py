"""The rules for the data of models: each rule has one message, raised here only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem import validation as check

Labels = tuple[str, ...]

LARGE_RETURN = 0.5
"""No asset earns more than this in half of all periods."""


@dataclass(frozen=True, slots=True)
class SectorLimit:
    """The assets of a sector, and how little and how much they may weigh together."""

    label: Any
    members: IntArray
    minimum: float
    maximum: float


def labels_of(value: Any) -> Labels | None:
    """The names that a DataFrame gives its columns, or a Series its entries."""
    index = getattr(value, "columns", getattr(value, "index", None))
    if index is None or callable(index):  # lists and tuples have a method `index`
        return None
    return tuple(str(label) for label in index)


def same_labels(labels: Labels | None, **values: Any) -> None:
    """Data with names must name the same assets in the same order."""
    for name, value in values.items():
        own = labels_of(value)
        if own is None or labels is None or own == labels:
            continue
        pairs = enumerate(zip(own, labels, strict=False))
        wrong = next((j for j, (mine, theirs) in pairs if mine != theirs), None)
        detail = (
            f"there are {len(own)} names, not {len(labels)}"
            if wrong is None
            else f"entry {wrong} is {own[wrong]!r}, not {labels[wrong]!r}"
        )
        raise ProblemError(
            name,
            "must name the assets as the other data do",
            given=detail,
            remedy="reorder it, or pass it without names",
        )


def asset_names(value: Any, labels: Labels | None, n: int) -> Labels:
    """One distinct name per asset: given, taken from the data, or made up."""
    found = check.names(value if value is not None else labels, n)
    return tuple(f"asset {j}" for j in range(n)) if found is None else found


def returns_table(name: str, value: ArrayLike) -> FloatArray:
    """Returns of assets, one row for each of at least two periods."""
    table = check.real_array(name, value, 2)
    rule = "must have at least two rows, one per period, and a column per asset"
    check.shaped(len(table) >= 2 and table.shape[1] > 0, name, rule, table)
    _refuse_prices(name, value, table)
    return table


def index_returns(value: ArrayLike, periods: int) -> FloatArray:
    """Returns of an index, one for each period."""
    array = check.real_array("index", value, 1)
    check.entries("index", array, periods, "row of `returns`")
    _refuse_prices("index", value, array[:, None])
    return array


def look_like_prices(table: FloatArray) -> bool:
    """Whether numbers are prices rather than returns, one row per period.

    They are if all are positive, those of some asset are large, and those of most
    change slowly: the mean square of the changes from one period to the next is below
    the variance.  Returns have both signs, or else are small; for numbers that have
    nothing to do with those before them, that mean square is twice the variance.
    """
    if not (table > 0).all() or np.median(table, axis=0).max() <= LARGE_RETURN:
        return False
    is_slow = (np.diff(table, axis=0) ** 2).mean(axis=0) < table.var(axis=0)
    return bool(is_slow.mean() > 0.5)


def _refuse_prices(name: str, value: Any, table: FloatArray) -> None:
    if not look_like_prices(table):
        return
    is_frame = hasattr(value, "pct_change")
    pass_on = ".pct_change().dropna()" if is_frame else "[1:] / prices[:-1] - 1"
    raise ProblemError(
        name,
        "must hold returns, such as 0.01 for 1 %",
        given=f"are these prices? All are positive, {np.median(table):.4g} in the "
        "median, and change slowly",
        remedy=f"pass `prices{pass_on}`",
    )


def max_assets(value: Any, n: int) -> int:
    """Largest number of assets that may be held, an integer between 1 and ``n``."""
    return limit("max_assets", value, 1, n, "the number of assets")


def limit(name: str, value: Any, least: int, most: int, meaning: str) -> int:
    """A limit on what is counted: an integer; ``meaning`` is that of ``most``."""
    rule = f"must be an integer between {least} and {most}, {meaning}"
    is_met = check.is_integer(value) and least <= value <= most
    check.demand(is_met, name, rule, value, ProblemError)
    return int(value)


def number(
    name: str, value: Any, remedy: str, *, is_positive: bool = False
) -> float | None:
    """A number that is not negative, or even positive; None stays None."""
    if value is None:
        return None
    found = check.scalar(name, value)
    if found < 0 or (is_positive and found == 0):
        rule = "must be positive" if is_positive else "must not be negative"
        raise ProblemError(name, rule, given=f"it is {found}", remedy=remedy)
    return found


def risk_aversion(value: Any) -> float | None:
    """The weight of the variance, positive; None if it alone is minimised."""
    return number("risk_aversion", value, "leave it out for none", is_positive=True)


def not_negative(name: str, value: ArrayLike, n: int) -> FloatArray:
    """A vector without negative entries."""
    array = check.vector(name, value, n)
    check.refuse(name, array, array < 0, "must not be negative", "correct it")
    return array


def flag(name: str, value: Any) -> bool:
    """True or False."""
    is_met = isinstance(value, bool | np.bool_)
    check.demand(is_met, name, "must be True or False", value, ProblemError)
    return bool(value)


def positions(
    least: ArrayLike | None, most: ArrayLike | None, n: int, *, long_only: bool
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the weights of assets that are held."""
    if least is not None and not flag("long_only", long_only):
        raise ProblemError(
            "minimum_position",
            "is for long-only portfolios",
            given="a short position would break it",
            remedy=Phrase("leave it out or use {}", Setting("long_only", True)),
        )
    upper = _position("maximum_position", most, n, np.inf)
    lower = _position("minimum_position", least, n, 0.0)
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        j = crossed[0]
        raise ProblemError(
            "minimum_position",
            Phrase("must not exceed {}", Setting("maximum_position")),
            given=f"for asset {j} they are {lower[j]} and {upper[j]}",
        )
    lower = lower if flag("long_only", long_only) else -upper
    for array in (lower, upper):
        array.setflags(write=False)
    return lower, upper


def _position(name: str, value: ArrayLike | None, n: int, default: float) -> FloatArray:
    if value is None:
        return np.full(n, default)
    array = check.vector(name, np.full(n, value) if np.ndim(value) == 0 else value, n)
    check.refuse(
        name, array, array <= 0, "must be positive", "leave it out if there is none"
    )
    return array


def per_asset(name: str, value: Any, names: Labels, default: Any) -> list[Any]:
    """One entry per asset; a dictionary by name may leave assets out."""
    if isinstance(value, Mapping):
        unknown = [key for key in value if str(key) not in names]
        if unknown:
            raise ProblemError(
                name, "must name assets", given=f"{unknown[0]!r} is none of them"
            )
        given = {str(key): entry for key, entry in value.items()}
        return [given.get(asset, default) for asset in names]
    is_met = isinstance(value, Iterable) and not isinstance(value, str)
    rule = "must be a list or a dictionary by name"
    check.demand(is_met, name, rule, value, ProblemError)
    check.refuse_masked(**{name: value})
    entries = list(value)
    check.entries(name, entries, len(names), "asset")
    return entries


def sector_limits(sectors: Any, limits: Any, names: Labels) -> tuple[SectorLimit, ...]:
    """The limits of the sectors, with the assets that they concern."""
    if sectors is None and limits is None:
        return ()
    if sectors is None or limits is None:
        missing = "sectors" if sectors is None else "sector_limits"
        raise ProblemError(
            missing,
            "is missing",
            given=Phrase(
                "{} and {} go together", Setting("sectors"), Setting("sector_limits")
            ),
        )
    is_met = isinstance(limits, Mapping)
    rule = "must be a dictionary from sectors to a maximum or to (minimum, maximum)"
    check.demand(is_met, "sector_limits", rule, limits, ProblemError)
    labels = per_asset("sectors", sectors, names, None)
    return tuple(_sector(label, limit, labels) for label, limit in limits.items())


def _sector(label: Any, limit: Any, labels: list[Any]) -> SectorLimit:
    members = np.array([j for j, own in enumerate(labels) if own == label], np.intp)
    if len(members) == 0:
        raise ProblemError(
            "sector_limits",
            "must name sectors of assets",
            given=f"no asset is in {label!r}",
        )
    least, most = (
        (-np.inf, float(limit)) if isinstance(limit, Real) else _pair(label, limit)
    )
    if not least <= most or least == np.inf or most == -np.inf:
        raise ProblemError(
            "sector_limits",
            "must leave room",
            given=f"for {label!r} the minimum is {least} and the maximum {most}",
        )
    return SectorLimit(label, members, least, most)


def _pair(label: Any, limit: Any) -> tuple[float, float]:
    try:
        least, most = limit
        return float(least), float(most)
    except (TypeError, ValueError):
        raise ProblemError(
            "sector_limits",
            "must hold a maximum or (minimum, maximum) per sector",
            given=f"for {label!r} it is {limit!r}",
        ) from None


def holdings(value: Any, max_turnover: Any, names: Labels) -> FloatArray | None:
    """Current weights; what is not named is not held."""
    if value is None:
        if max_turnover is not None:
            raise ProblemError(
                "holdings",
                "is missing",
                given=Phrase("{} limits the distance from it", Setting("max_turnover")),
            )
        return None
    if isinstance(value, Mapping):
        value = per_asset("holdings", value, names, 0.0)
    return check.vector("holdings", value, len(names))


def max_turnover(value: Any) -> float | None:
    """Limit on the sum of all purchases and sales, not negative; None for no limit."""
    remedy = "it limits the sum of all purchases and sales"
    return number("max_turnover", value, remedy)


def ridge(value: Any, default: float) -> float:
    """The ridge that is added to every variance; 0 is none."""
    found = number("ridge", value, "None stands for a negligible one, and 0 for none")
    return default if found is None else found
