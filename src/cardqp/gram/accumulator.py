"""Rows that come bit by bit: only their sums are kept."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np

from cardqp import storage
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ProblemError
from cardqp.gram.least_squares_problem import regression_problem, unit_scale
from cardqp.gram.moments import GramMoments
from cardqp.gram.sums import ShiftedSums, UnusableEntryError, shift_of, sums_of
from cardqp.gram.validation import (
    checked_rows,
    names_of,
    refuse_entries,
    sums_from_arrays,
    sums_to_arrays,
)
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.tables.encoder import TableEncoder
from cardqp.tables.text import MISSING, Layout


@did_you_mean
class GramAccumulator:
    """Second moments of more rows than fit into memory.

    Rows are added in float64, whatever their type, about a point near their mean, so
    that means of a million times the spread cost no digits.

    Parameters
    ----------
    shift : (n + 1,) array, optional
        That point, with the target last; the mean of the first rows by default.
    names : sequence of str, optional
        Names of the features; those of the first DataFrame by default.

    Examples
    --------
    >>> import cardqp
    >>> rng = np.random.default_rng(0)
    >>> rows = GramAccumulator()
    >>> for _ in range(10):
    ...     X = rng.standard_normal((1000, 20))
    ...     y = 3 * X[:, 4] - 2 * X[:, 7] + rng.standard_normal(1000)
    ...     rows = rows.update(X, y)
    >>> cardqp.solve(rows.problem(eta=10.0, sparsity=2)).support
    array([4, 7])
    """

    def __init__(
        self, *, shift: ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> None:
        self._sums: ShiftedSums | None = None
        self._names: tuple[str, ...] | None = None
        self._encoder: TableEncoder | None = None
        if shift is not None:
            self._sums = ShiftedSums.zero(check.real_array("shift", shift, 1))
            self._check_width(len(self._sums.shift) - 1)
        if names is not None:
            n = len(names) if self._sums is None else len(self._sums.shift) - 1
            self._names = check.names(names, n, "feature")

    @classmethod
    def from_sums(
        cls,
        sums: ShiftedSums,
        names: tuple[str, ...] | None = None,
        encoder: TableEncoder | None = None,
    ) -> "GramAccumulator":
        """An accumulator that goes on from some sums."""
        made = cls()
        made._sums, made._names, made._encoder = sums, names, encoder
        return made

    @property
    def n_samples(self) -> int:
        """Number of rows so far."""
        return 0 if self._sums is None else self._sums.n_samples

    @property
    def n_dropped(self) -> int:
        """Number of rows that were left out because something is missing in them."""
        return 0 if self._sums is None else self._sums.n_dropped

    @property
    def weight(self) -> float:
        """Sum of the weights so far."""
        return 0.0 if self._sums is None else self._sums.weight

    @property
    def shift(self) -> FloatArray | None:
        """The point that sums are about, with the target last, once it is known."""
        return None if self._sums is None else self._sums.shift

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, if they have names."""
        return self._names

    @property
    def encoder(self) -> TableEncoder | None:
        """Encoder that turned files into numbers; None if all columns are numbers."""
        return self._encoder

    def update(
        self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None
    ) -> "GramAccumulator":
        """Add rows; if something is wrong with them, none is added.

        Parameters
        ----------
        X : (N, n) array, DataFrame or SciPy sparse matrix
            One row per sample; numbers of any type.
        y : (N,) array
            The target.
        weights : (N,) array, optional
            Weights of the rows, not negative; ones by default.
        """
        names = self._common_names(names_of(X))
        features, target, each = checked_rows(X, y, weights)
        n = features.shape[1]
        self._check_width(n)
        if self._names is not None and len(self._names) != n:
            raise ProblemError(
                "X",
                f"must have {len(self._names)} columns, one per name",
                given=f"it has {n}",
            )
        try:
            if self._sums is not None:
                self._sums += sums_of(features, target, each, self._sums.shift)
            elif len(target):
                shift = shift_of(features, target)
                self._sums = sums_of(features, target, each, shift)
        except UnusableEntryError:
            refuse_entries(X, y)
            raise
        self._names = names
        return self

    def merge(self, other: "GramAccumulator") -> "GramAccumulator":
        """Add the rows of another accumulator.

        With the same shift, as from :meth:`empty_like`, sums are added.  Otherwise
        those of the other are moved first, which rounds relative to the square of the
        distance between both shifts.
        """
        check.instance("other", other, GramAccumulator)
        names, encoder = self._common_names(other._names), self._common_encoder(other)
        if other._sums is not None:
            self._check_width(len(other._sums.shift) - 1)
            self._sums = other._sums if self._sums is None else self._sums + other._sums
        self._names, self._encoder = names, encoder
        return self

    @property
    def sums(self) -> ShiftedSums | None:
        """The sums so far, which later rows do not change."""
        return self._sums

    def empty_like(self) -> "GramAccumulator":
        """An accumulator without rows about the same point, to be merged later."""
        if self._sums is None:
            raise ProblemError(
                "shift",
                "must be known",
                given="it is not before the first rows",
                remedy="call `update` first, or give it",
            )
        zero = ShiftedSums.zero(self._sums.shift)
        return self.from_sums(zero, self._names, self._encoder)

    def moments(self, centred: bool = True) -> GramMoments:
        """Moments of all rows so far, about the means if ``centred``."""
        if self._sums is None or not self._sums.weight > 0:
            raise ProblemError(
                None,
                "Moments need rows whose weight is positive",
                given=f"there are {self.n_samples} rows of weight {self.weight:g}",
                remedy="call `update` first",
            )
        check.squarable("y", self._sums.target_size)
        return GramMoments(self._sums, bool(centred))

    def problem(
        self,
        *,
        eta: ArrayLike | None,
        sparsity: int | None = None,
        centred: bool = True,
        standardize: bool = False,
        **settings: Any,
    ) -> SparseQP:
        """Sparse ridge regression on all rows so far.

        The objective is the mean squared error plus ``|x|^2 / eta``.

        Parameters
        ----------
        eta, sparsity, **settings
            As for :class:`cardqp.SparseQP`.
        centred : bool
            Whether there is an intercept, ``target_mean - mean @ coefficients``.
        standardize : bool
            Whether features are divided by ``unit_scale(moments())``: variables of the
            problem, and their bounds, are then coefficients times that.
        """
        rows = self.moments(centred)
        scale = unit_scale(rows) if standardize else np.ones(len(rows.mean))
        settings = {"names": self._names} | settings
        return regression_problem(rows, scale, eta=eta, sparsity=sparsity, **settings)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sums to a ``.npz`` archive."""
        if self._sums is None:
            raise ProblemError(
                None,
                "Sums to save need rows",
                given="there are none",
                remedy="call `update`",
            )
        arrays = sums_to_arrays(self._sums, self._names, self._encoder)
        storage.write_arrays(path, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "GramAccumulator":
        """Read sums from a ``.npz`` archive and check them like new data."""
        return cls.from_sums(*sums_from_arrays(storage.read_arrays(path), path))

    @classmethod
    def from_files(
        cls,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        target: str | int | None = None,
        columns: Sequence[str] | Sequence[int] | None = None,
        drop: Sequence[str] | Sequence[int] = (),
        weight: str | int | None = None,
        missing: Literal["error", "drop", "mean"] = "error",
        categorical: Sequence[str] | Sequence[int] = (),
        max_levels: int = 50,
        delimiter: str | None = None,
        decimal: str = ".",
        missing_values: Sequence[str] = MISSING,
        progress: Callable[[int, int | None], object] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        client: Any = None,
    ) -> "GramAccumulator":
        """Add up the rows of files, a few thousand at a time.

        Files are read in the order of their names if they are given by a pattern, and
        rows in their order, so that the result is the same to the last bit every time.

        Columns of numbers, and of booleans where they have a type, are added up as they
        are.  If others hold text or dates, or all is missing in one, or missing cells
        are filled in, files are read three times: for what each column holds, for means
        and labels, and for the sums.  How columns are then encoded is the ``encoder``,
        as :class:`cardqp.tables.TableEncoder` does it for tables in memory: dates
        become days, texts categories, and columns that do not vary are left out.

        Parameters
        ----------
        paths : str, path or sequence of them
            Files ending in ``.parquet``, ``.npy``, or ``.csv``, ``.tsv`` and ``.txt``
            (text with a header line, also ``.gz``); a str may be a pattern such as
            ``"data/*.parquet"``.
        target : str or int, optional
            The column to predict: its name, or its index in ``.npy`` files, where the
            last one is the default.
        columns : sequence, optional
            Features; by default all other columns.
        drop : sequence, optional
            Columns to leave out.
        weight : str or int, optional
            The column with weights of the rows.
        missing : {"error", "drop", "mean"}
            What to do with rows where something is missing: complain, leave them out
            (``n_dropped`` counts them), or fill in the mean of numbers and the most
            frequent label; rows without a target are then left out.
        categorical : sequence, optional
            Columns whose numbers are labels.
        max_levels : int
            The most labels of a category.
        delimiter : str, optional
            What separates the cells of text; by default what fits the first lines.
        decimal : {".", ","}
            What separates the decimals of text.
        missing_values : sequence of str
            Cells of text that count as missing, besides empty ones.
        progress : callable, optional
            Called now and then with the number of rows that have been read and that
            will be in all; None if that is not known, as for ``.csv``.
        checkpoint : path, optional
            A file where sums are kept now and then: a run that was killed goes on from
            there, and ends with the same sums to the last bit.
        client : distributed.Client, optional
            A Dask cluster whose workers read row groups of Parquet files, which must be
            on storage that all of them see.
        """
        from cardqp.gram.files import accumulate
        from cardqp.gram.selection import Selection

        check.listing("missing_values", missing_values, "texts", str)
        check.function("progress", progress)
        selection = Selection(
            target,
            columns,
            drop,
            weight,
            missing,
            categorical,
            max_levels,
            Layout(delimiter, decimal, tuple(missing_values)),
        )
        if client is not None:
            from cardqp.gram.cluster_files import accumulate_files

            return accumulate_files(paths, selection, progress, checkpoint, client)
        return accumulate(paths, selection, progress, checkpoint)

    @classmethod
    def from_dask(
        cls,
        X: Any,
        y: Any = None,
        weights: Any = None,
        *,
        target: str | None = None,
        client: Any = None,
    ) -> "GramAccumulator":
        """Add up the rows of a Dask array or DataFrame, chunk by chunk.

        Sums of chunks are merged in a fixed tree: the result is the same to the last
        bit whatever the number of workers, their order, and whether some of them fail.

        Parameters
        ----------
        X : dask array or DataFrame
            One row per sample.
        y : dask array or Series, optional
            The target, in as many chunks of the same lengths as ``X`` has.
        weights : dask array or Series, optional
            Weights of the rows.
        target : str, optional
            The column of a DataFrame to predict, instead of ``y``.
        client : distributed.Client, optional
            Where to run; by default where Dask would.
        """
        from cardqp.gram.cluster import accumulate_chunks

        return accumulate_chunks(X, y, weights, target, client)

    def _common_encoder(self, other: "GramAccumulator") -> TableEncoder | None:
        """The encoder of both."""
        mine, new = self._encoder, other._encoder
        if mine is not None and new is not None and mine.columns != new.columns:
            raise ProblemError(
                "other",
                "must come from files with the same encoder",
                given="labels or first dates differ",
                remedy="add up all files at once",
            )
        return mine or new

    def _check_width(self, n: int) -> None:
        """Refuse rows that do not fit those before."""
        if n == 0:
            raise ProblemError("X", "must have columns", given="it has none")
        if self._sums is not None and len(self._sums.shift) != n + 1:
            raise ProblemError(
                "X",
                f"must have {len(self._sums.shift) - 1} columns, as the rows before "
                "and the shift",
                given=f"it has {n}",
            )

    def _common_names(self, given: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Names that rows before and new ones agree about."""
        mine = self._names
        if mine is None or given is None or mine == given:
            return mine or given
        found, remedy = f"it has {len(given)}, not {len(mine)}", ""
        for j, (old, new) in enumerate(zip(mine, given, strict=False)):
            if old != new:
                found = f"column {j} is {new!r}, not {old!r}"
                remedy = "put columns in the same order"
                break
        rule = "must have the columns of the rows before"
        raise ProblemError("X", rule, given=found, remedy=remedy)
