"""From settings of a linear model, and names of features, to a design."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.problem import validation as check
from cardqp.regression.design import Design

Names = Sequence[str] | None

LARGEST_SIZE = 20
"""The largest model that is tried by default."""

AUTOMATIC_ETAS = (1.0, 3.0, 10.0, 30.0)
"""Values of ``eta`` to choose from, for standardised features, if it is left to us.
Stronger ridges are hardly ever of use, and weaker ones predict no better even from many
rows, while proofs take longer (docs/prediction.md)."""


def read_design(
    n: int,
    names: Names,
    *,
    always_include: Any,
    blocks: Any,
    standardize: bool = True,
    coef_bounds: Any = None,
    positive: bool = False,
) -> Design:
    """The design for so many features, which may have names."""
    lower, upper = _bounds(coef_bounds, positive, n)
    check.refuse_masked(always_include=always_include, blocks=blocks)
    shared = _blocks(blocks, n, names)
    inside = _indices(always_include, n, names)
    if shared is not None and len(inside):
        inside = check.whole_blocks(inside, shared)
    known = None if names is None else tuple(names)
    return Design(standardize, lower, upper, inside, shared, known)


def read_sparsities(value: Any, design: Design) -> tuple[int, ...]:
    """Sparsities in increasing order, none beyond the number of features.

    By default all up to 20 that leave room for what is always included.
    """
    n_inside = design.n_chosen(design.forced_in)
    if value is None:
        return sizes_up_to(LARGEST_SIZE, design)
    given = list(value) if isinstance(value, Iterable) else []
    rule = "must be one size or more, such as range(1, 21)"
    check.demand(len(given) > 0, "n_nonzero_coefs", rule, value)
    for each in given:
        check.count("n_nonzero_coefs", each)
        if each < n_inside:
            raise ParameterError(
                "n_nonzero_coefs",
                Phrase("must leave room for {}", Setting("always_include")),
                given=f"it is {each}, and {n_inside} are included in any case",
            )
    return tuple(sorted({min(int(each), design.n_units) for each in given}))


def sizes_up_to(largest: int, design: Design, least: int = 1) -> tuple[int, ...]:
    """All sizes between two that leave room for what is always included."""
    least = max(least, design.n_chosen(design.forced_in))
    most = min(max(largest, least), design.n_units)
    return tuple(range(min(least, most), most + 1))


def read_etas(value: Any) -> tuple[float, ...]:
    """Ridges to try, as their inverses; infinite if there is to be none.

    Those that are left to us are several.
    """
    given = list(value) if is_several(value) else [value]
    if not given:
        raise ParameterError(
            "eta", "must name at least one number", given="it is empty"
        )
    lists = [AUTOMATIC_ETAS if is_automatic(e) else (_eta(e),) for e in given]
    return tuple(dict.fromkeys(eta for several in lists for eta in several))


def is_several(value: Any) -> bool:
    """Whether a setting names several values to choose from."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def is_automatic(eta: Any) -> bool:
    """Whether a ridge is left to us: it is then in units of each feature's variance."""
    return isinstance(eta, str) and eta == "auto"


def _eta(value: Any) -> float:
    if value is None:
        return np.inf
    rule = 'must be "auto", a positive number, or None for no ridge'
    check.demand(not isinstance(value, str), "eta", rule, value)
    check.positive("eta", value)
    return float(value)


def _bounds(value: Any, positive: bool, n: int) -> tuple[FloatArray, FloatArray]:
    pair: tuple[ArrayLike | None, ArrayLike | None] = (None, None)
    if value is not None:
        given = tuple(value) if np.iterable(value) else ()
        rule = "must be a pair (lower, upper) of numbers, arrays or None"
        check.demand(len(given) == 2, "coef_bounds", rule, value)
        pair = given
    lower, upper = check.bounds(*pair, n, prefix="coef_bounds ")
    if positive:
        if (upper <= 0).any():
            raise ParameterError(
                "coef_bounds",
                Phrase(
                    "must leave room above 0 where coefficients are {}",
                    Setting("positive"),
                ),
                remedy="raise the upper bound",
            )
        lower = np.maximum(lower, 0.0)
    return lower, upper


def _indices(value: Any, n: int, names: Names) -> IntArray:
    if value is None:
        return np.zeros(0, dtype=np.intp)
    given = np.atleast_1d(np.asarray(value))
    if given.dtype == bool:
        if given.shape != (n,):
            raise ParameterError(
                "always_include",
                f"must have one entry for each of the {n} features",
                given=f"it has {given.size}",
            )
        return np.flatnonzero(given)
    if given.dtype.kind in "OUS":
        return np.unique([_place(str(name), names) for name in given])
    return check.indices("always_include", given, n)


def _place(name: str, names: Names) -> int:
    if names is None:
        raise ParameterError(
            "always_include",
            "must hold indices, for X has no names",
            given=f"it has {name!r}",
        )
    if name not in names:
        raise ParameterError(
            "always_include", "must name features of X", given=f"{name!r} is none"
        )
    return list(names).index(name)


def _blocks(value: Any, n: int, names: Names) -> IntArray | None:
    """One number for each feature, equal for those that are chosen together."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        if names is None:
            raise ParameterError(
                "blocks", "must be one label per feature, for X has no names"
            )
        if unknown := set(value) - set(names):
            raise ParameterError(
                "blocks",
                "must name features of X",
                given=f"{sorted(map(str, unknown))[0]!r} is none",
            )
        value = [value.get(name) for name in names]
    labels = list(value) if np.iterable(value) else [value]
    if len(labels) != n:
        raise ParameterError(
            "blocks",
            f"must have one label for each of the {n} features",
            given=f"it has {len(labels)}",
            remedy="None stands for a feature of its own",
        )
    number: dict[Any, int] = {}
    keys = [("alone", j) if _is_none(v) else ("block", v) for j, v in enumerate(labels)]
    found = np.array([number.setdefault(key, len(number)) for key in keys])
    return found if len(number) < n else None


def _is_none(label: Any) -> bool:
    """Whether a label says that a feature is on its own."""
    return label is None or (isinstance(label, float) and np.isnan(label))
