"""The size by cross-validation: in each fold the best subsets are found anew."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cardqp._iterate import Watch
from cardqp.gram import Moments, mean_squared_error, merge
from cardqp.regression.design import Design
from cardqp.subsets.result import Subset, Subsets
from cardqp.subsets.search import best_subsets


def cross_validated(
    parts: Sequence[Moments],
    design: Design,
    sizes: Sequence[int],
    *,
    n_best: int,
    gap: float,
    watch: Watch,
) -> Subsets:
    """Find the best subsets of some sizes, and their errors on rows left out.

    The error is that of a size: of its best subset on all rows but those of a fold,
    which need not be the best one on all rows.

    Parameters
    ----------
    parts : sequence of Moments
        The folds, at least two.
    design, sizes, n_best, gap, watch
        As for :func:`cardqp.subsets.search.best_subsets`.
    """
    errors, gaps = [], []
    for k, part in enumerate(parts):
        others = merge([each for i, each in enumerate(parts) if i != k])
        found = best_subsets(
            others, design, sizes, n_best=1, criterion="bic", gap=gap, watch=watch
        )
        errors.append([mean_squared_error(part, s.coef, s.intercept) for s in found])
        gaps.append(max(each.gap for each in found))
    reached = min(map(len, errors))
    table = np.array([each[:reached] for each in errors]).T
    found = best_subsets(
        merge(parts),
        design,
        sizes,
        n_best=n_best,
        criterion="bic",
        gap=gap,
        watch=watch,
    )
    worst, means = max(gaps), table.mean(axis=1).tolist()
    by_size = dict(zip(sizes[:reached], means, strict=True))
    return replace(
        found,
        subsets=tuple(_with_errors(found, by_size)),
        criterion="cv",
        fold_errors=table,
        fold_gap=worst,
        notes=(*found.notes, *_notes(worst, gap)),
    )


def _with_errors(found: Subsets, errors: dict[int, float]) -> Iterator[Subset]:
    """Subsets with the errors of their sizes; that of the best one is no other's."""
    for each in found:
        error = errors.get(each.size, np.nan) if each.rank == 1 else np.nan
        yield replace(each, measures=each.measures | {"cv": float(error)})


def _notes(worst: float, gap: float) -> Iterator[str]:
    """What people should know of the subsets on folds."""
    if worst > gap:
        yield f"On folds, subsets are proved to be the best up to a gap of {worst:.2e}."
