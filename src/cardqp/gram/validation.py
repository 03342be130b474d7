"""The rules for rows and sums."""

import json
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.gram.sums import ShiftedSums
from cardqp.problem import validation as check
from cardqp.tables.encoder import TableEncoder

_STORED = ("shift", "weight", "n_samples", "first", "second", "n_dropped")


def names_of(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a DataFrame."""
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def refuse_beside_sums(**given: Any) -> None:
    """Refuse what the sums of rows have in them already."""
    for name, value in given.items():
        if value is not None:
            rule = "must be left out where X is a GramAccumulator"
            raise ParameterError(name, rule, given="it has the sums of all rows")


def checked_rows(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Rows of numbers; whether they are finite is seen from their sums."""
    check.refuse_texts(X, y)
    if scipy.sparse.issparse(X):
        features = X.tocsr()
        check.numeric_array("X", features.data, 1)
    else:
        features = _numbers("X", X, 2)
    target = _numbers("y", y, 1)
    n_rows = features.shape[0]
    if len(target) != n_rows:
        raise ProblemError(
            None,
            "`X` and `y` must have the same number of rows",
            given=f"X has {n_rows}, y has {len(target)}",
        )
    if weights is None:
        return features, target, None
    each = check.vector("weights", weights, n_rows, "row")
    check.refuse("weights", each, each < 0, "must not be negative", "correct them")
    return features, target, each


def _numbers(name: str, value: ArrayLike, ndim: int) -> Any:
    """An array of numbers, not copied if it is one: blocks are converted later."""
    if (
        isinstance(value, np.ndarray)
        and not np.ma.isMaskedArray(value)
        and value.dtype.kind in "fiub"
        and value.ndim == ndim
    ):
        return value
    return check.numeric_array(name, value, ndim)


def is_moderate(array: FloatArray) -> bool:
    """Whether all entries can be squared; takes no memory for that."""
    return bool(array.max(initial=0.0) <= check.LARGEST >= -array.min(initial=0.0))


def refuse_entries(X: ArrayLike, y: ArrayLike) -> None:
    """Name the entry that is not finite or too large."""
    if not scipy.sparse.issparse(X):
        check.real_array("X", X, 2)
    elif X.nnz:
        stored = X.tocoo()
        size = np.abs(stored.data)
        worst = int(stored.row[np.argmax(np.where(np.isnan(size), np.inf, size))])
        # That row alone is made dense.
        check.real_array(f"X[{worst}]", X.tocsr()[[worst]].toarray()[0], 1)
    check.real_array("y", y, 1)


def from_json(text: Any) -> Any:
    """The value in a JSON text; other texts stay as they are, to be refused later."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return text


def sums_to_arrays(
    sums: ShiftedSums,
    names: tuple[str, ...] | None = None,
    encoder: TableEncoder | None = None,
) -> dict[str, Any]:
    """Sums as they are stored: arrays by name, the encoder as a text of JSON."""
    recipe = None if encoder is None else json.dumps(encoder.to_dict())
    arrays = {name: getattr(sums, name) for name in _STORED}
    return arrays | {"names": names, "recipe": recipe}


def sums_from_arrays(
    data: dict[str, Any], path: str | PathLike[str]
) -> tuple[ShiftedSums, tuple[str, ...] | None, TableEncoder | None]:
    """Sums from a file, checked as far as that goes without the rows."""
    if wrong := set(_STORED) - set(data) or set(data) - {*_STORED, "names", "recipe"}:
        raise ProblemError(
            "path",
            "must hold sums of rows",
            given=f"{path} does not, see {sorted(wrong)[0]!r}",
        )
    recipe = data.get("recipe")
    encoder = None if recipe is None else TableEncoder.from_dict(from_json(recipe))
    sums = _checked_sums(data)
    names = check.names(data.get("names"), len(sums.shift) - 1, "feature")
    return sums, names, encoder


def _checked_sums(data: dict[str, Any]) -> ShiftedSums:
    shift = check.real_array("shift", data["shift"], 1)
    size = len(shift)
    weight = check.scalar("weight", data["weight"])
    first = check.vector("first", data["first"], size, "column")
    second = check.symmetric_matrix("second", data["second"], size)
    check.whole("n_samples", data["n_samples"])
    check.whole("n_dropped", data["n_dropped"])
    # Sums of squares of (1, row) are positive semidefinite, whatever the rows.
    bordered = np.block([[np.array([[weight]]), first[None]], [first[:, None], second]])
    check.quadratic_matrix(bordered, "sums")
    counts = int(data["n_samples"]), int(data["n_dropped"])
    return ShiftedSums(shift, weight, counts[0], first, second, counts[1])
