"""Adding up rows on a Dask cluster, in an order that no scheduler can change."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import ParameterError, Phrase, ProblemError, Setting
from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.sums import ShiftedSums, UnusableEntryError, shift_of
from cardqp.gram.tree_sum import dask, total
from cardqp.gram.validation import checked_rows, names_of


def accumulate_chunks(
    X: Any, y: Any, weights: Any, target: str | None, client: Any
) -> GramAccumulator:
    """Add up the rows of Dask collections."""
    delayed = dask().delayed
    if (y is None) == (target is None):
        raise ParameterError(
            None,
            Phrase(
                "{} or {} must be given, and not both", Setting("y"), Setting("target")
            ),
            given="the target itself, or the name of its column in a DataFrame",
        )
    if target is not None:
        X, y = _split(X, target)
    chunks = _chunks(X, y, weights)
    shift = _shift(chunks, client)
    shared = delayed(shift)
    parts = [delayed(_chunk_sums)(c, shared, i) for i, c in enumerate(chunks)]
    return GramAccumulator.from_sums(
        total(parts, ShiftedSums.__add__, client), names_of(X)
    )


def _split(frame: Any, target: str) -> tuple[Any, Any]:
    """Features and target of a DataFrame."""
    if target not in (names_of(frame) or ()):
        raise ParameterError(
            "target",
            "must be a column of `X`",
            given=f"{target!r} is none",
            remedy="pass `y` for arrays",
        )
    return frame.drop(columns=[target]), frame[target]


def _chunks(X: Any, y: Any, weights: Any) -> list[tuple[Any, ...]]:
    """Delayed rows, target and weights, chunk by chunk."""
    if not hasattr(X, "to_delayed"):
        raise ParameterError(
            "X",
            "must be a Dask array or DataFrame",
            given=f"it is a {type(X).__name__}",
            remedy="use `update` for rows in memory",
        )
    if names_of(X) is None:
        X = dask("array").asarray(X)
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
    else:
        _refuse_text(X)
    columns = [_delayed(X)]
    for name, value in (("y", y), ("weights", weights)):
        if value is not None:
            columns.append(_aligned(name, value, X))
    rows = zip(*columns, strict=True)
    return [(*row, None) if weights is None else row for row in rows]


def _refuse_text(frame: Any) -> None:
    for name, kind in frame.dtypes.items():
        if kind.kind not in "fiub":
            raise ProblemError(
                "X",
                "must hold numbers or booleans",
                given=f"column {name!r} holds {kind}",
                remedy="encode it as numbers, or leave it out",
            )


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(collection.to_delayed()))


def _aligned(name: str, value: Any, X: Any) -> list[Any]:
    """The chunks of a vector, cut as those of the rows if their lengths are known."""
    lengths = getattr(X, "chunks", [(np.nan,)])[0]
    if not hasattr(value, "dtypes"):
        value = dask("array").asarray(value)
        if not np.isnan([*lengths, *value.shape]).any() and value.shape == X.shape[:1]:
            value = value.rechunk((lengths,))
    chunks, count = _delayed(value), len(_delayed(X))
    if len(chunks) != count:
        raise ProblemError(
            name,
            "must have as many chunks as `X`",
            given=f"it has {len(chunks)}, X has {count}",
            remedy="cut both alike",
        )
    return chunks


def _shift(chunks: Sequence[tuple[Any, ...]], client: Any) -> FloatArray:
    """A point near the mean: that of the first chunk with rows."""
    for chunk in chunks:
        [found] = dask().compute(dask().delayed(_chunk_shift)(chunk), scheduler=client)
        if found is not None:
            return np.asarray(found)
    raise ProblemError("X", "must have rows", given="all of its chunks are empty")


def _chunk_shift(chunk: tuple[Any, ...]) -> FloatArray | None:
    X, y, _ = checked_rows(*chunk)
    try:
        return shift_of(X, y) if len(y) else None
    except UnusableEntryError:
        return np.zeros(X.shape[1] + 1)  # such rows are refused later, with their place


def _chunk_sums(chunk: tuple[Any, ...], shift: FloatArray, i: int) -> ShiftedSums:
    try:
        rows = GramAccumulator(shift=shift).update(*chunk)
    except ProblemError as err:
        err.add_note(f"It is in chunk {i}, counted from 0.")
        raise
    return rows.sums or ShiftedSums.zero(shift)
