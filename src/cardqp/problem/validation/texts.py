"""Refuses texts and dates where numbers must be, by the names of their columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from cardqp.exceptions import ProblemError

_SHOWN = 5
_DATES = {"M": "dates", "m": "durations"}


def refuse_texts(X: Any, y: Any = None) -> None:
    """Raise for columns of a DataFrame that are no numbers, and for labels as target.

    Texts such as ``"1.5"`` are numbers, as they are for NumPy.  Arrays of features are
    not looked at: whoever makes numbers of them says what is wrong.
    """
    odd = dict(_odd_columns(X))
    if odd:
        words = [f"column `{name}` holds {cells}" for name, cells in odd.items()]
        more = f", and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        texts = [name for name, cells in odd.items() if cells not in _DATES.values()]
        dummies = f"pandas.get_dummies(X, columns={texts[:_SHOWN]})"
        raise ProblemError(
            "X",
            "must hold numbers",
            given=", ".join(words[:_SHOWN]) + more,
            remedy=f"leave them out, or encode them by {f'{dummies} or ' * bool(texts)}"
            "cardqp.tables.TableEncoder, which reads dates, too",
        )
    if y is not None:
        _refuse_labels(y)


def _odd_columns(X: Any) -> Iterator[tuple[str, str]]:
    """Names of columns that are no numbers, and what they hold."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
        kind = getattr(column.dtype, "kind", "O")
        if kind in "biufc":
            continue
        if kind in _DATES:
            yield str(name), _DATES[kind]
        elif texts := _texts(column):
            yield str(name), f"texts such as {texts[0]!r}"


def _refuse_labels(y: Any) -> None:
    labels = _texts(y)
    if labels:
        shown = " and ".join(repr(label) for label in labels[:2])
        name = getattr(y, "name", None)
        column = f"column `{name}` " if name is not None else "it "
        raise ProblemError(
            "y",
            "must hold numbers",
            given=f"{column}holds texts, such as {shown}",
            remedy=f"for a label against all others use (y == {labels[0]!r}).astype("
            "float): predictions are then like its share",
        )


def _texts(column: Any) -> list[str]:
    """Different texts that are no numbers, in order; empty if there are none."""
    cells = np.asarray(column)
    if cells.dtype.kind not in "OUT":
        return []
    texts = dict.fromkeys(str(c) for c in cells.ravel() if isinstance(c, str))
    return [text for text in texts if not _is_number(text)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
