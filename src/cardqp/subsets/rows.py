"""From tables, arrays and sums to moments, with names and blocks of features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import DataError, ParameterError, ProblemError, Setting
from cardqp.gram import (
    GramAccumulator,
    Moments,
    merge,
    moments,
    moments_of_parts,
)
from cardqp.gram.validation import checked_rows, names_of, refuse_beside_sums
from cardqp.problem import validation as check
from cardqp.regression.design_settings import read_design
from cardqp.tables.encoder import Encoded, TableEncoder

POLICIES = ("error", "drop", "mean")
"""What can be done about missing cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Moments of features and target.

    Attributes
    ----------
    moments : Moments
        Means and second moments.
    names : tuple of str or None
        Names of the features.
    labels : sequence or None
        Equal for features that are chosen together: those of one category.
    notes : tuple of str
        What was done to a table.
    parts : list of Moments
        The moments of folds, if there are any.
    columns : tuple of str or None
        The columns of a table that was made into numbers.
    column_of : int array or None
        The column that each feature is from.
    """

    moments: Moments
    names: tuple[str, ...] | None
    labels: Any = None
    notes: tuple[str, ...] = ()
    parts: Sequence[Moments] = ()
    columns: tuple[str, ...] | None = None
    column_of: IntArray | None = None


def read_features(
    X: Any, y: Any, weights: Any, *, missing: str, is_centred: bool
) -> Features:
    """Read arrays, a table, or the sums of rows that came bit by bit."""
    check.one_of("missing", missing, POLICIES)
    if isinstance(X, GramAccumulator):
        refuse_beside_sums(y=y, sample_weight=weights)
        return _summed(X, is_centred)
    if y is None:
        raise ParameterError("y", "must be given", remedy="it is the target")
    check.refuse_masked(X=X, y=y, sample_weight=weights)
    if names_of(X) is None:
        features, target, _ = checked_rows(X, y, None)
        is_sparse = hasattr(features, "tocsr")
        numbers = features if is_sparse else np.asarray(features, float)
        each = _weights(weights, len(target))
        whole = _moments(numbers, np.asarray(target, float), each, is_centred)
        return Features(whole, None)
    frame = _frame(X)
    encoder, table = _encoded(frame, y, missing)
    each = _weights(weights, len(frame))
    if each is not None:
        each = each[table.rows]
    columns = tuple(frame.columns)
    return encoded_features(
        encoder, table, each, is_centred=is_centred, columns=columns
    )


def encoded_features(
    encoder: TableEncoder,
    table: Encoded,
    weights: FloatArray | None = None,
    *,
    is_centred: bool,
    folds: Sequence[IntArray] = (),
    columns: tuple[str, ...] = (),
) -> Features:
    """Features of a table that was made into numbers, as a whole and by folds."""
    X, y, _ = checked_rows(table.X, table.y, None)
    parts = moments_of_parts(X, y, weights, folds, centred=is_centred) if folds else []
    used = tuple(column.name for column in encoder.columns)
    known = columns or used
    return Features(
        merge(parts) if parts else _moments(X, y, weights, is_centred),
        table.names,
        table.blocks.tolist(),
        (*encoder.notes, *table.notes),
        parts,
        known,
        np.array([known.index(name) for name in used], np.intp)[table.blocks],
    )


def by_feature(features: Features, always_include: Any, blocks: Any) -> tuple[Any, Any]:
    """What is in every subset, and what is chosen together, by features.

    For a table both are given by columns: its categories stay together.
    """
    if features.columns is None or features.column_of is None:
        return always_include, features.labels if blocks is None else blocks
    columns, column_of = features.columns, features.column_of
    given = read_design(
        len(columns), columns, always_include=always_include, blocks=blocks
    )
    unused = np.setdiff1d(given.forced_in, column_of)
    if len(unused):
        raise ParameterError(
            "always_include",
            "must name columns that are used",
            given=f"{columns[unused[0]]!r} was left out",
        )
    own = np.arange(len(columns)) if given.blocks is None else given.blocks
    inside = np.flatnonzero(np.isin(column_of, given.forced_in))
    return inside.tolist() or None, own[column_of].tolist()


def _summed(rows: GramAccumulator, is_centred: bool) -> Features:
    """Features whose rows came bit by bit."""
    whole, encoder = rows.moments(is_centred), rows.encoder
    if encoder is None:
        return Features(whole, rows.names)
    columns = tuple(column.name for column in encoder.columns)
    labels, notes = encoder.blocks.tolist(), encoder.notes
    return Features(whole, rows.names, labels, notes, (), columns, encoder.blocks)


def _frame(X: Any) -> Any:
    """A table of pandas, whose columns have names."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    if any(isinstance(name, str) for name in frame.columns):
        return frame
    return frame.set_axis([f"x{name}" for name in frame.columns], axis=1)


def _encoded(frame: Any, y: Any, missing: str) -> tuple[TableEncoder, Encoded]:
    """A table as numbers: texts are categories, whose levels are chosen together."""
    if len(y) != len(frame):
        raise ProblemError(
            None,
            "`X` and `y` must have the same number of rows",
            given=f"X has {len(frame)}, y has {len(y)}",
        )
    target = str(getattr(y, "name", None) or "y")
    while target in frame.columns:
        target += "_"
    frame = frame.assign(**{target: np.asarray(y)})
    try:
        encoder = TableEncoder.from_table(frame, target, missing=missing)
        return encoder, encoder.apply(frame)
    except DataError as err:
        raise DataError(err.render(_in_python)) from None


def _in_python(setting: Setting) -> str:
    """How to do to the table what a setting would do that there is none of here."""
    if setting.name == "frame":
        return "X"
    if setting.name == "drop":
        return f"X.drop(columns={setting.value!r})"
    return str(setting)


def _weights(value: Any, n_rows: int) -> FloatArray | None:
    """Weights of rows, if they are given."""
    if value is None:
        return None
    name = "sample_weight"
    each = check.vector(name, value, n_rows, "row")
    check.refuse(name, each, each < 0, "must not be negative", "correct them")
    if not each.any():
        given = "all weights are zero"
        raise ProblemError(name, "must be positive somewhere", given=given)
    return each


def _moments(
    X: Any, y: FloatArray, weights: FloatArray | None, is_centred: bool
) -> Moments:
    """Moments of rows of numbers, of which there must be some."""
    for name, count in zip(("rows", "columns"), X.shape, strict=True):
        if count == 0:
            shape = f"its shape is {X.shape}"
            raise ProblemError("X", f"must have {name}", given=shape)
    return moments(X, y, weights, centred=is_centred)
