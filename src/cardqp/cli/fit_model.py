"""A sparse model of a table, as the options of ``fit`` and ``select`` describe it."""

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._iterate import Stop
from cardqp._typing import BoolArray, IntArray
from cardqp.cli.encoding import encoder_of, included_features
from cardqp.cli.feature_blocks import feature_blocks
from cardqp.cli.folds import random_folds
from cardqp.cli.progress import ProgressLine
from cardqp.estimators import SparseRidge, SparseRidgeCV, SparseRidgePath
from cardqp.estimators.reporting import FittedModel
from cardqp.exceptions import ParameterError
from cardqp.problem import validation as check
from cardqp.solution.trace import Trace
from cardqp.tables import Encoded, TableEncoder
from cardqp.tables.frames import require_pandas
from cardqp.tables.phrases import count

SAID_OTHERWISE = (
    "the choice of features is proved only",
    "cross-validation ended early",
    "the size that was chosen",
)
"""Warnings of models that are a part of the answer anyway, or of its notes."""


@dataclass(frozen=True, eq=False, slots=True)
class FittedTable:
    """A model of a table and what it was fitted to.

    Attributes
    ----------
    encoder : TableEncoder
        How the table became numbers.
    train : Encoded
        The rows that the model was fitted to.
    test : Encoded or None
        Rows that were left out.
    model : SparseRidge, SparseRidgeCV or SparseRidgePath
        The fitted model.
    trace : Trace
        How the last of its problems was solved.
    """

    encoder: TableEncoder
    train: Encoded
    test: Encoded | None
    model: Any
    trace: Trace

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was done to the table."""
        parts = [*self.encoder.notes, *self.train.notes]
        parts += getattr(self.model, "notes_", ())
        if self.test is not None:
            parts += [f"{note} (test)" for note in self.test.notes]
        return tuple(parts)

    @property
    def n_allowed(self) -> int:
        """Largest number of columns, or blocks of them, that the model may use."""
        chosen = getattr(self.model, "n_nonzero_coefs_", self.model.n_nonzero_coefs)
        return int(chosen)

    @property
    def is_standardized(self) -> bool:
        """Whether features are scaled for the ridge."""
        return bool(self.model._is_standardized)

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wanted an end: other choices are not searched then."""
        return self.model.solution_.stop is Stop.INTERRUPTED

    @property
    def columns(self) -> tuple[str, ...]:
        """The chosen columns of the table, in its order."""
        used = np.unique(self.encoder.blocks[self.model.support_])
        return tuple(self.encoder.columns[j].name for j in used)

    def coefficients(self) -> dict[str, float]:
        """Coefficients of the chosen features, by name."""
        names, coef = self.encoder.names, self.model.coef_
        return {names[j]: float(coef[j]) for j in self.model.support_}

    def fitted(self, trace: Trace | None = None) -> FittedModel:
        """The model with its rows, as pages are told of it."""
        test = None
        if self.test is not None and self.test.y is not None:
            test = self.test.X, self.test.y
        sample, _ = self.model._fitted_rows
        return FittedModel(self.model, sample, self.encoder.names, test, trace)

    def r2(self) -> float:
        """The share of the target's variance that is explained, in sample."""
        return float(self.model.score(named(self.train), self.train.y))

    def r2_test(self) -> float | None:
        """R2 on the rows that were left out; None without such rows."""
        if self.test is None:
            return None
        return float(self.model.score(named(self.test), self.test.y))

    def r2_folds(self) -> float | None:
        """R2 by cross-validation for the chosen size; None if nothing asks for it.

        Rows that were left out make it unnecessary, unless it was computed anyway.
        """
        if self.test is not None and not hasattr(self.model, "cv_results_"):
            return None
        return self.fitted().r2_by_folds()

    @property
    def is_chosen_ridge(self) -> BoolArray:
        """Which models of the cross-validation have the ridge that was chosen."""
        return np.asarray(self.model.cv_results_["eta"] == self.model.eta_)


def check_options(options: argparse.Namespace) -> None:
    """Contradictions, before anything is read."""
    n_given = (options.sparsity is not None) + (options.path is not None)
    if n_given != 1 and (n_given == 2 or options.cv is None):
        given = "both" if n_given else "neither"
        raise ParameterError(
            None,
            "one of `-s` and `--path` must be given, how many columns to choose or a "
            "range such as 1:20, unless `--cv` is left to choose any size",
            given=f"there is {given}",
        )
    for name, least, what in (
        ("sparsity", 1, ""),
        ("cv", 2, " folds"),
        ("seed", 0, ""),
    ):
        value = getattr(options, name)
        is_met = value is None or value >= least
        check.demand(is_met, f"--{name}", f"must be at least {least}{what}", value)
    _eta(options)


def _eta(options: argparse.Namespace) -> Any:
    """The ridge as its inverse, None for none; two options must not contradict."""
    is_met = not options.no_ridge or options.eta in (None, "none")
    check.demand(is_met, "--eta", "must be left out with `--no-ridge`", options.eta)
    if options.no_ridge or options.eta == "none":
        return None
    return "auto" if options.eta is None else options.eta


def fit_table(
    frame: Any, options: argparse.Namespace, fraction: float | None = None
) -> FittedTable:
    """Make the encoder, and fit the model; a fraction of the rows may be left out."""
    # Made from all rows first: complaints then have the numbers of the file's rows.
    encoder = encoder_of(frame, options)
    train, test = encoder.apply(frame), None
    if fraction is not None:
        kept, left_out = _split(train.rows, fraction, options.seed)
        encoder = encoder_of(frame.iloc[kept], options)
        train = encoder.apply(frame.iloc[kept])
        test = encoder.apply(frame.iloc[left_out])
    model = _estimator(encoder, len(train.rows), options)
    with (
        ProgressLine(sys.stderr, quiet=options.json) as progress,
        warnings.catch_warnings(),
    ):
        for message in SAID_OTHERWISE:
            warnings.filterwarnings("ignore", message)
        trace = Trace(then=progress if progress.active else None)
        model.fit(named(train), train.y, callback=trace)
    return FittedTable(encoder, train, test, model, trace)


def named(rows: Encoded) -> Any:
    """The features as a table, so that their names are carried through."""
    return require_pandas().DataFrame(rows.X, columns=list(rows.names), copy=False)


def _split(rows: IntArray, fraction: float, seed: int) -> tuple[IntArray, IntArray]:
    n_test = round(fraction * len(rows)) if 0 < fraction < 1 else 0
    if not 2 <= n_test <= len(rows) - 2:
        raise ParameterError(
            "--test",
            "must leave two rows or more to fit and to judge",
            given=f"it is {fraction:g}, of {count(len(rows), 'row')}",
        )
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _estimator(encoder: TableEncoder, n_rows: int, options: argparse.Namespace) -> Any:
    settings = {
        "eta": _eta(options),
        "standardize": options.standardize,
        "positive": options.positive,
        "refit": options.refit,
        "always_include": included_features(encoder, options.always_include),
        "blocks": feature_blocks(encoder, options.blocks),
        "gap": options.gap,
        "time_limit": options.time_limit,
    }
    sizes = options.path
    if options.cv is not None:
        folds = random_folds(n_rows, options.cv, options.seed)
        choice = {"selection": options.selection, "prove": options.prove}
        if options.sparsity is not None:
            sizes = range(_least(options), options.sparsity + 1)
        if sizes is not None:
            sizes = _within(sizes, len(encoder.names))
        return SparseRidgeCV(sizes, cv=folds, **choice, **settings)
    if sizes is None:
        return SparseRidge(options.sparsity, **settings)
    return SparseRidgePath(_within(sizes, len(encoder.names)), **settings)


def _within(sizes: range, n_features: int) -> range:
    """Sizes without most of those beyond the number of features, which are alike."""
    return range(sizes.start, min(sizes.stop, max(sizes.start, n_features) + 1))


def _least(options: argparse.Namespace) -> int:
    """The smallest size that has room for what is included in any case."""
    return min(max(len(options.always_include), 1), int(options.sparsity))
