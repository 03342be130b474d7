"""Variables: how many may be nonzero, which, together with which, and their names."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.problem.validation.arrays import entries, refuse_masked, scalar
from cardqp.problem.validation.settings import demand, is_integer


def some_limit(sparsity: Any, penalty: Any, groups: Any) -> None:
    """Refuse problems in which nothing keeps supports small."""
    if sparsity is None and penalty is None and groups is None:
        raise ProblemError(
            None,
            Phrase("{} or {} is missing", Setting("sparsity"), Setting("penalty")),
            remedy=(
                "give the largest number of nonzeros, the price of each nonzero, or "
                "both"
            ),
        )


def sparsity(value: Any, n: int) -> int | None:
    """An integer between 0 and ``n``, or None."""
    if value is None:
        return None
    demand(is_integer(value), "sparsity", "must be an integer", value, ProblemError)
    number, rule = int(value), f"must lie between 0 and n = {n}"
    demand(0 <= number <= n, "sparsity", rule, number, ProblemError)
    return number


def penalty(value: Any) -> float | None:
    """A finite number that is not negative, or None."""
    if value is None:
        return None
    number = scalar("penalty", value)
    if number < 0:
        raise ProblemError(
            "penalty",
            "must not be negative",
            given=f"it is {number}",
            remedy="it is the price of each nonzero",
        )
    return number


def indices(name: str, value: ArrayLike | None, n: int) -> IntArray:
    """Distinct indices of variables in order."""
    refuse_masked(**{name: value})
    given = np.atleast_1d(np.asarray([] if value is None else value))
    is_list = given.ndim == 1 and (len(given) == 0 or given.dtype.kind in "iu")
    rule = "must be a list of indices, counted from 0"
    demand(is_list, name, rule, value, ProblemError)
    is_inside = bool(((given >= 0) & (given < n)).all())
    rule = f"must hold indices between 0 and {n - 1}"
    demand(is_inside, name, rule, value, ProblemError)
    unique = np.unique(given.astype(np.intp))
    is_distinct = len(unique) == len(given)
    demand(is_distinct, name, "must name no variable twice", value, ProblemError)
    return unique


def forced_in(
    value: ArrayLike | None, n: int, limit: int | None, blocks: IntArray | None = None
) -> IntArray:
    """Distinct indices of variables, no more than may be nonzero, in order."""
    unique = indices("forced_in", value, n)
    count, what = len(unique), "variables"
    if blocks is not None:
        count, what = len(np.unique(blocks[unique])), "blocks"
        unique = whole_blocks(unique, blocks)
    if limit is not None and count > limit:
        raise ProblemError(
            "forced_in",
            "must leave room",
            given=Phrase(
                "it names {} {}, and {} is {}", count, what, Setting("sparsity"), limit
            ),
        )
    return unique


def forced_out(
    value: ArrayLike | None, n: int, fixed_in: IntArray, blocks: IntArray | None = None
) -> IntArray:
    """Distinct indices of variables that are not forced in, in order."""
    unique = indices("forced_out", value, n)
    if blocks is not None:
        unique = whole_blocks(unique, blocks)
    both = np.intersect1d(unique, fixed_in)
    if len(both):
        raise ProblemError(
            "forced_out",
            Phrase("must not name what {} names", Setting("forced_in")),
            given=f"both name {both[0]}",
        )
    return unique


def whole_blocks(variables: IntArray, blocks: IntArray) -> IntArray:
    """All variables that share a block with one of those given."""
    return np.flatnonzero(np.isin(blocks, blocks[variables]))


def blocks(
    labels: ArrayLike | None,
    n: int,
    lower: FloatArray,
    upper: FloatArray,
    *,
    has_groups: bool,
) -> IntArray | None:
    """The block of each variable, or None."""
    if labels is None:
        return None
    refuse_masked(blocks=labels)
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ProblemError(
            "blocks",
            f"must give the block of each of the {n} variables as an integer",
            given=f"its shape is {given.shape}, its type {given.dtype}",
        )
    if has_groups:
        raise ProblemError(
            None,
            Phrase(
                "{} and {} exclude each other", Setting("blocks"), Setting("groups")
            ),
            remedy=(
                "give limits of groups for variables with switches of their own, or "
                "share switches without them"
            ),
        )
    if ((lower > 0) | (upper < 0)).any():
        raise ProblemError(
            "blocks",
            "need bounds that 0 is between",
            given=(
                "variables of a block are zero together, thresholds are for variables "
                "with switches of their own"
            ),
        )
    result = given.astype(np.intp)
    result.setflags(write=False)
    return result


def groups(
    labels: ArrayLike | None, limits: ArrayLike | None, n: int, fixed_in: IntArray
) -> tuple[IntArray | None, IntArray | None]:
    """The group of each variable and the limit of each group, or neither."""
    if labels is None and limits is None:
        return None, None
    if labels is None or limits is None:
        raise ProblemError(
            None,
            Phrase(
                "{} and {} belong together",
                Setting("groups"),
                Setting("group_sparsity"),
            ),
            remedy="give both or neither",
        )
    given = _group_labels(labels, n)
    each = _group_limits(limits, given)
    used = np.bincount(given[fixed_in] + 1, minlength=len(each) + 1)[1:]
    if (over := np.flatnonzero(used > each)).size:
        raise ProblemError(
            "forced_in",
            "must leave room",
            given=Phrase(
                "it names {} variables of group {}, whose {} is {}",
                used[over[0]],
                over[0],
                Setting("group_sparsity"),
                each[over[0]],
            ),
        )
    if (given < 0).all():
        return None, None
    pair = given.astype(np.intp), each.astype(np.intp)
    for array in pair:
        array.setflags(write=False)
    return pair


def _group_labels(labels: ArrayLike, n: int) -> IntArray:
    """The group of each variable, in the type that was given."""
    refuse_masked(groups=labels)
    given = np.asarray(labels)
    are_counts = given.shape == (n,) and given.dtype.kind in "iu"
    is_met = are_counts and bool((given >= -1).all())
    rule = f"must give the group of each of the {n} variables, counted from 0, or -1 "
    demand(is_met, "groups", f"{rule}for none", labels, ProblemError)
    return given


def _group_limits(limits: ArrayLike, labels: IntArray) -> IntArray:
    """The largest number of nonzeros in each group, in the type that was given."""
    n, count = len(labels), int(labels.max(initial=-1)) + 1
    refuse_masked(group_sparsity=limits)
    allowed = np.asarray(limits)
    are_counts = allowed.dtype.kind in "iu" and bool((allowed >= 0).all())
    rule = "must be a count, or one for each group"
    is_met = are_counts and allowed.ndim <= 1
    demand(is_met, "group_sparsity", rule, limits, ProblemError)
    if allowed.ndim == 0 and count > n:
        raise ProblemError(
            "groups",
            Phrase(
                "must be below {}, the number of variables, where {} is one count for "
                "all",
                n,
                Setting("group_sparsity"),
            ),
            given=f"one of them is {count - 1}",
            remedy="number the groups from 0 on",
        )
    if allowed.ndim == 1 and len(allowed) < count:
        raise ProblemError(
            "group_sparsity",
            f"must have an entry for each of the {count} groups",
            given=f"it has {len(allowed)}",
        )
    return np.full(count, allowed) if allowed.ndim == 0 else allowed.copy()


def names(
    value: Sequence[str] | None, n: int, owner: str = "variable"
) -> tuple[str, ...] | None:
    """One distinct name for each owner, or None."""
    if value is None:
        return None
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    demand(is_list, "names", "must be a list of names", value, ProblemError)
    refuse_masked(names=value)
    result = tuple(str(name) for name in value)
    entries("names", result, n, owner)
    twice = repeated(result)
    if twice is not None:
        raise ProblemError("names", "must be distinct", given=f"{twice!r} occurs twice")
    return result


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is there for the second time, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
