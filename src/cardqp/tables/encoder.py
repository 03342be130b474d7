"""Encoders of tables: made from one table, stored, and applied to others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import DataError
from cardqp.problem.validation import one_of, repeated
from cardqp.tables import validation as check
from cardqp.tables.cells import Cells, read_cells
from cardqp.tables.column import Column
from cardqp.tables.phrases import count, percent
from cardqp.tables.place import Place
from cardqp.tables.schema import MAX_MISSING, Request, Schema, infer_schema


@dataclass(frozen=True, eq=False, slots=True)
class Encoded:
    """A table as numbers.

    Attributes
    ----------
    X : (n_rows, n_features) array
        The features.
    y : (n_rows,) array or None
        The target, if the table has it and it was asked for.
    names : tuple of str
        One name per feature; ``city=Paris`` for a level of a category.
    blocks : (n_features,) array of int
        Which column of the encoder each feature is from: the features of one category
        have the same number.
    rows : (n_rows,) array of int
        Which rows of the table these are; others had missing cells.
    notes : tuple of str
        What was done to this table.
    """

    X: FloatArray
    y: FloatArray | None
    names: tuple[str, ...]
    blocks: IntArray
    rows: IntArray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableEncoder:
    """Encodes the columns of a table as numbers.

    Attributes
    ----------
    target : str
        The column to predict.
    target_kind : str
        What it holds: ``number``, also with a unit, or ``boolean``.
    columns : tuple of Column
        The columns that are used.
    missing : {"error", "drop", "mean"}
        What to do about missing cells: complain, leave out their rows, or fill in the
        mean of numbers and the most frequent label.
    notes : tuple of str
        Sentences on what was found and done.

    Examples
    --------
    >>> import pandas
    >>> cities = ["Rome", "Paris", "Rome"]
    >>> frame = pandas.DataFrame({"city": cities, "age": [1, 2, 4], "y": [0, 1, 2]})
    >>> encoded = TableEncoder.from_table(frame, "y").apply(frame)
    >>> encoded.names
    ('city=Paris', 'age')
    >>> encoded.X.tolist()
    [[0.0, 1.0], [1.0, 2.0], [0.0, 4.0]]
    """

    target: str
    target_kind: str
    columns: tuple[Column, ...]
    missing: str = "error"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        one_of("missing", self.missing, check.POLICIES)
        twice = repeated(self.names)
        if twice is not None:
            raise DataError(
                None,
                "features must have distinct names",
                given=f"{twice!r} is a column and a level of another",
                remedy="rename the column",
            )

    @classmethod
    def from_table(
        cls,
        frame: Any,
        target: str,
        *,
        drop: Sequence[str] = (),
        only: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        missing: str = "error",
        max_levels: int = 50,
        max_missing: float = MAX_MISSING,
        dates: str = "auto",
    ) -> "TableEncoder":
        """Infer types from a table and choose an encoding for each column.

        Numbers stay as they are, true and false become 1 and 0, dates the days since
        the first one, and texts categories: a column of zeros and ones for each level
        but the most frequent.  Texts such as ``1,234.5``, ``$12`` and ``3 kg`` are
        numbers if all in a column have the same unit, which is taken off: ``12 %``
        becomes 12.  Columns that miss most of their cells, that do not vary, or whose
        texts are all different, are left out.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table, for example from :func:`read_table`.
        target : str
            The column to predict.
        drop : sequence of str
            Columns to leave out.
        only : sequence of str, optional
            The columns to use as features; by default all.
        categorical : sequence of str
            Columns whose numbers are labels.
        missing : {"error", "drop", "mean"}
            What to do about missing cells; rows without a target are left out unless it
            is ``"error"``.
        max_levels : int
            The most levels of a category.
        max_missing : float
            Columns that miss a larger share of their cells are left out, unless they
            are named by ``only``.
        dates : {"auto", "day-first", "month-first"}
            The order of dates such as 03/04/2024; by default that which all dates of a
            column can have.  2024-04-03 and 3.4.2024 need no order.

        Raises
        ------
        DataError
            When the table cannot be made into numbers; a ``TableError``, whose
            ``errors`` are several, if more than one column is the reason.
        ParameterError
            When a setting is outside its range.
        """
        request = Request(
            *(target, drop, only, categorical, missing),
            max_levels=max_levels,
            max_missing=max_missing,
            dates=dates,
        )
        schema = infer_schema(
            list(frame.columns), lambda measure, _: measure(frame, Place()), request
        )
        return cls.from_schema(request, schema)

    @classmethod
    def from_schema(cls, request: Request, schema: Schema) -> "TableEncoder":
        """The encoder for tables of a schema."""
        return cls(
            request.target,
            schema.target_kind,
            schema.columns,
            request.missing,
            schema.notes,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @property
    def blocks(self) -> IntArray:
        """Which column each feature is from."""
        widths = [len(column.encoded_names) for column in self.columns]
        return np.repeat(np.arange(len(widths)), widths)

    def apply(self, frame: Any) -> Encoded:
        """Features and target of a table that has both.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table; columns that the encoder does not know are ignored.

        Raises
        ------
        DataError
            When a column is not there, or its cells are not of its kind.
        """
        check.has_columns(frame, [self.target])
        y = read_cells(frame, {self.target: self.target_kind})
        if self.missing == "error":
            check.target_complete(y.missing_cells())
        encoded = self._encode(frame, y.numbers[:, 0])
        gone = len(frame) - len(encoded.rows)
        if not gone:
            return encoded
        share = percent(gone / len(frame))
        note = f"left out {count(gone, 'row')} with missing cells ({share})"
        return replace(encoded, notes=(note, *encoded.notes))

    def apply_features(self, frame: Any) -> Encoded:
        """Features of a table that may lack the target, otherwise as :meth:`apply`."""
        return self._encode(frame, None)

    def apply_rows(self, frame: Any, place: Place) -> FloatArray:
        """Features and target side by side, row by row; NaN where cells are missing.

        The rows are some of the table that the encoder was made from.
        """
        y = read_cells(frame, {self.target: self.target_kind}, place).numbers
        cells = read_cells(frame, self._kinds, place)
        X, _ = self._matrix(cells)
        if self.missing != "mean":
            X[cells.incomplete()] = np.nan
        return np.column_stack([X, y])

    @property
    def _kinds(self) -> dict[str, str]:
        return {column.name: column.kind for column in self.columns}

    def with_policy(self, missing: str) -> "TableEncoder":
        """A copy with another policy for missing cells; see :meth:`from_table`."""
        return replace(self, missing=missing)

    def restrict(self, names: Sequence[str]) -> "TableEncoder":
        """An encoder of some of the table's columns only."""
        kept = tuple(column for column in self.columns if column.name in set(names))
        return replace(self, columns=kept)

    def _encode(self, frame: Any, y: FloatArray | None) -> Encoded:
        check.has_columns(frame, [column.name for column in self.columns])
        cells = read_cells(frame, self._kinds)
        rows = self._kept_rows(cells, y)
        X, unknown = self._matrix(
            cells if len(rows) == len(frame) else cells.take(rows)
        )
        notes = [
            f"{count(number, 'cell')} of `{name}` had a label that was not seen before"
            "; taken for the most frequent one"
            for name, number in unknown.items()
        ]
        target = None if y is None else y[rows]
        return Encoded(X, target, self.names, self.blocks, rows, tuple(notes))

    def _kept_rows(self, cells: Cells, y: FloatArray | None) -> IntArray:
        kept = np.ones(cells.n_rows, dtype=bool) if y is None else ~np.isnan(y)
        if self.missing == "error":
            check.complete(cells.missing_cells())
        elif self.missing == "drop":
            kept &= ~cells.incomplete()
        if not kept.any():
            raise DataError(
                None, "the table must have complete rows", given="it has none"
            )
        return np.flatnonzero(kept)

    def _matrix(self, cells: Cells) -> tuple[FloatArray, dict[str, int]]:
        """Features, and the number of labels of each category that are not known."""
        X = np.empty((cells.n_rows, len(self.names)))
        blocks, unknown = self.blocks, {}
        is_numeric = np.array([c.name not in cells.labels for c in self.columns], bool)
        numbers = cells.numbers - np.array([column.origin for column in self.columns])
        if self.missing == "mean":
            row, j = np.nonzero(np.isnan(numbers))
            numbers[row, j] = np.array([column.fill for column in self.columns])[j]
        X[:, is_numeric[blocks]] = numbers[:, is_numeric]
        for k in np.flatnonzero(~is_numeric):
            column, codes = self.columns[k], cells.numbers[:, k]
            labels = cells.labels[column.name]
            X[:, blocks == k], strange = column.dummies(codes, labels)
            if strange:
                unknown[column.name] = strange
        return X, unknown

    def to_dict(self) -> dict[str, Any]:
        """The encoder as a dictionary that JSON can hold."""
        return {
            "target": self.target,
            "target_kind": self.target_kind,
            "missing": self.missing,
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, entry: Any) -> "TableEncoder":
        """The encoder that :meth:`to_dict` wrote; any other entry is refused."""
        wrong = check.encoder_complaint(entry)
        if wrong:
            raise DataError("recipe", "must say how columns are encoded", given=wrong)
        columns = tuple(Column.from_dict(column) for column in entry["columns"])
        return cls(
            entry["target"],
            entry["target_kind"],
            columns,
            entry["missing"],
            tuple(str(note) for note in entry.get("notes", ())),
        )
