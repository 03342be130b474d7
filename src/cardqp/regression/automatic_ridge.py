"""A ridge that the data choose, for models of given sizes.

It depends neither on the order of the rows nor on whether rows that are equal are told
one by one or by their weight, nor on whether they come at once or bit by bit: a row's
own numbers decide which fold it is in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._iterate import Watch
from cardqp._typing import FloatArray, IntArray
from cardqp.gram import GramAccumulator, Moments
from cardqp.regression.design import Design
from cardqp.regression.design_settings import AUTOMATIC_ETAS
from cardqp.regression.fold_models import compare_models

N_FOLDS = 10
"""Folds that judge ridges."""

FEWEST_FOLDS = 5
"""With fewer folds that have rows, there are too few rows to judge by."""

MOST_ENTRIES = 4e6
"""Numbers in the rows, or in moments of more rows than features, beyond which folds
would take longer than the fit."""


def ridge_folds(X: Any, y: FloatArray) -> list[IntArray]:
    """The rows of each fold, some of which may be empty; equal rows are in one."""
    keys = _row_keys(X, y)
    return [np.flatnonzero(keys % N_FOLDS == k) for k in range(N_FOLDS)]


def _row_keys(X: Any, y: FloatArray) -> IntArray:
    """An integer for each row, as good as random, from the bits of its numbers."""
    odd = np.random.default_rng(0).integers(2**63, size=X.shape[1] + 1, dtype=np.uint64)
    odd = 2 * odd + 1
    keys = _bits(y) * odd[-1]
    if scipy.sparse.issparse(X):
        cells = X.tocoo()
        np.add.at(keys, cells.row, _bits(cells.data) * odd[cells.col])
    else:
        # Column by column, so that no copy of the rows is needed.
        for j in range(X.shape[1]):
            keys += _bits(X[:, j]) * odd[j]
    # Numbers with few digits leave the last bits alone.
    keys ^= keys >> np.uint64(31)
    keys *= odd[-1]
    return np.asarray(keys >> np.uint64(33)).astype(np.intp)


def _bits(values: Any) -> Any:
    """The bits of numbers as integers; those of zero are zero, whatever its sign."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFolds:
    """The sums of folds of rows that come bit by bit."""

    accumulators: list[GramAccumulator] = field(
        default_factory=lambda: [GramAccumulator() for _ in range(N_FOLDS)]
    )

    def update(self, X: Any, y: FloatArray, weights: FloatArray | None) -> None:
        """Add rows."""
        folds = ridge_folds(X, y)
        for accumulator, rows in zip(self.accumulators, folds, strict=True):
            if len(rows):
                each = None if weights is None else weights[rows]
                accumulator.update(X[rows], y[rows], each)

    def parts(self, is_centred: bool) -> list[Moments]:
        """The moments of each fold that has any."""
        return [a.moments(is_centred) for a in self.accumulators if a.weight > 0]


def automatic_eta(
    parts: Sequence[Moments], design: Design, sparsities: tuple[int, ...], watch: Watch
) -> float:
    """The ridge, as its inverse, by which good models predict best.

    Among those of ``AUTOMATIC_ETAS`` it is the strongest one within half a standard
    error of the best in cross-validation, by models without proofs.

    Parameters
    ----------
    parts : sequence of Moments
        The folds.
    design : Design
        What is asked of the models.
    sparsities : tuple of int
        The sizes that are of interest.
    watch : Watch
        The clock.
    """
    weight = np.array([part.weight for part in parts])
    n, n_samples = len(design.lower), sum(part.n_samples for part in parts)
    is_much = min(n, n_samples) * n > MOST_ENTRIES
    if len(parts) < FEWEST_FOLDS or is_much:
        return rule_of_thumb(float(weight.sum()), sparsities[-1])
    found = compare_models(parts, design, sparsities, AUTOMATIC_ETAS, watch=watch)
    if found.n_reached == 0:
        return rule_of_thumb(float(weight.sum()), sparsities[-1])
    # Folds are not of equal size: every row counts the same.
    found = replace(found, errors=found.errors * (weight / weight.mean()))
    return found.etas[found.best(is_stronger_better=True)[0]]


def rule_of_thumb(n_samples: float, sparsity: int) -> float:
    """The ridge, as its inverse, where rows are too few, or too many.

    A third of the rows for each feature, within ``AUTOMATIC_ETAS``.

    Examples
    --------
    >>> rule_of_thumb(60, 4), rule_of_thumb(10_000, 10)
    (5.0, 30.0)
    """
    least, *_, most = AUTOMATIC_ETAS
    return float(np.clip(n_samples / (3.0 * sparsity), least, most))
