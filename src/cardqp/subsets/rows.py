"""From tables, arrays and sums to moments, with names and blocks of features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, IntArray
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.gram import (
    GramAccumulator,
    Moments,
    merge,
    moments,
    moments_of_parts,
)
from cardqp.gram.validation import checked_rows, names_of
from cardqp.problem import validation as check
from cardqp.tables.encoder import Encoded, TableEncoder


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Moments of features and target.

    Attributes
    ----------
    moments : Moments
        Means and second moments.
    names : tuple of str or None
        Names of the features.
    labels : sequence, dict by name, or None
        Equal for features that are chosen together, at first those of one category.
    notes : tuple of str
        What was done to a table.
    parts : list of Moments
        The moments of folds, if there are any.
    """

    moments: Moments
    names: tuple[str, ...] | None
    labels: Any = None
    notes: tuple[str, ...] = ()
    parts: Sequence[Moments] = ()


def read_features(
    X: Any, y: Any, weights: Any, *, missing: str, is_centred: bool
) -> Features:
    """Read arrays, a table, or the sums of rows that came bit by bit."""
    if isinstance(X, GramAccumulator):
        given = [n for n, v in (("y", y), ("sample_weight", weights)) if v is not None]
        if given:
            raise ParameterError(given[0], "must be left out where X has sums of rows")
        return Features(X.moments(is_centred), X.names)
    if y is None:
        raise ParameterError("y", "must be given", remedy="it is the target")
    check.refuse_masked(X=X, y=y, sample_weight=weights)
    if names_of(X) is None:
        return Features(_moments(X, y, weights, is_centred), None)
    encoder, table = _encoded(X, y, missing)
    if weights is not None:
        weights = check.vector("sample_weight", weights, len(X), "row")[table.rows]
    return encoded_features(encoder, table, weights, is_centred=is_centred)


def encoded_features(
    encoder: TableEncoder,
    table: Encoded,
    weights: Any = None,
    *,
    is_centred: bool,
    folds: Sequence[IntArray] = (),
) -> Features:
    """Features of a table that was made into numbers, as a whole and by folds."""
    X, y, each = checked_rows(table.X, table.y, weights)
    parts = moments_of_parts(X, y, each, folds, centred=is_centred) if folds else []
    return Features(
        merge(parts) if parts else moments(X, y, each, centred=is_centred),
        table.names,
        table.blocks.tolist(),
        (*encoder.notes, *table.notes),
        parts,
    )


def _encoded(X: Any, y: Any, missing: str) -> tuple[TableEncoder, Encoded]:
    """A table as numbers: texts are categories, whose levels are chosen together."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    target = "target"
    while target in frame.columns:
        target += "_"
    if len(y) != len(frame):
        raise ProblemError(
            None,
            "`X` and `y` must have the same number of rows",
            given=f"X has {len(frame)}, y has {len(y)}",
        )
    frame = frame.assign(**{target: np.asarray(y)})
    encoder = TableEncoder.from_table(frame, target, missing=missing)
    return encoder, encoder.apply(frame)


def _moments(X: ArrayLike, y: Any, weights: Any, is_centred: bool) -> Moments:
    """Moments of rows of numbers."""
    features, target, each = checked_rows(X, y, weights)
    numbers = features if hasattr(features, "tocsr") else np.asarray(features, float)
    return moments(numbers, np.asarray(target, float), each, centred=is_centred)
