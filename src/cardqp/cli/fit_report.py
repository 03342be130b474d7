"""The page that ``cardqp fit --report`` writes."""

import argparse
from datetime import date
from pathlib import Path

import numpy as np

from cardqp.cli.fit_model import FittedTable, named
from cardqp.pipeline import path as sparsity_path
from cardqp.pipeline.alternatives import Alternatives
from cardqp.pipeline.solve import solve
from cardqp.report import (
    Alternative,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
    regression_report,
)
from cardqp.report.versions import versions
from cardqp.solution.trace import Trace

PERCENT, MOST = 5.0, 12
"""Other choices that are listed: how much worse, and how many at most."""

PATIENCE = 10.0
"""Seconds for other choices, and for all sizes of the path, if these are only for the
page."""

SELECTED = {
    "min": "The size with the least mean error was taken.",
    "one-standard-error": "The smallest size whose mean error is within one standard "
    "error of the least one was taken.",
}
"""What each way to choose among sizes does."""


def page_about(
    found: FittedTable, others: Alternatives | None, options: argparse.Namespace
) -> str:
    """The page as text; other choices are looked for unless they are known already."""
    source = "standard input" if options.file == "-" else Path(options.file).name
    if others is None and not found.is_interrupted:
        others = found.model.alternatives(PERCENT, max_count=MOST, time_limit=PATIENCE)
    target = found.encoder.target
    return regression_report(
        ReportData(
            title=f"{target}: a model of {len(found.columns)} columns",
            source=source,
            target=target,
            command=options.words,
            date=date.today().isoformat(),
            n_samples=len(found.train.rows),
            n_features=len(found.encoder.names),
            solution=found.model.solution_,
            features=_features(found),
            intercept=found.model.intercept_,
            r2_in_sample=found.r2(),
            r2_out_of_sample=_judged(found),
            is_refitted=bool(found.model.refit) and _has_ridge(found),
            notes=found.notes,
            path=_path(found),
            cv=_curve(found),
            trace=_trace(found),
            predictions=_predictions(found),
            alternatives=() if others is None else _alternatives(others),
            alternatives_note="" if others is None else others.claim,
            versions=versions(),
        )
    )


def _has_ridge(found: FittedTable) -> bool:
    """Whether there is a ridge to do without once features are chosen."""
    return bool(np.isfinite(found.model.eta_))


def _features(found: FittedTable) -> tuple[Feature, ...]:
    summary, X = found.model.summary(), found.train.X
    chosen = found.model.support_
    coef = found.model.coef_[chosen]
    names = [found.encoder.names[j] for j in chosen]
    mean, deviation = X[:, chosen].mean(axis=0), X[:, chosen].std(axis=0)
    refitted = summary.coef_refit if _has_ridge(found) else coef
    columns = (names, coef, refitted, mean, deviation, summary.worth)
    return tuple(
        Feature(name, *map(float, numbers))
        for name, *numbers in zip(*columns, strict=True)
    )


def _judged(found: FittedTable) -> float | None:
    """R2 on rows that were left out, or by cross-validation."""
    test = found.r2_test()
    return found.r2_folds() if test is None else test


def _path(found: FittedTable) -> sparsity_path.Path | None:
    known = getattr(found.model, "path_", None)
    if isinstance(known, sparsity_path.Path) and len(known) > 1:
        return known
    if found.is_interrupted:
        return None
    problem = found.model.solution_.problem
    least = problem.rule.count(problem.forced_in)
    sizes = range(max(least, 1), found.n_allowed + 1)
    limit = PATIENCE / len(sizes)
    return sparsity_path.path(problem, sizes, gap=found.model.gap, time_limit=limit)


def _curve(found: FittedTable) -> CVCurve | None:
    results = getattr(found.model, "cv_results_", None)
    if results is None:
        return None
    is_done = np.isfinite(results["mean_error"]) & found.is_chosen_ridge
    names = ("n_nonzero_coefs", "mean_error", "standard_error")
    sizes, errors, deviations = (results[name][is_done] for name in names)
    return CVCurve(
        tuple(int(size) for size in sizes),
        tuple(errors.tolist()),
        tuple(deviations.tolist()),
        found.n_allowed,
        SELECTED[found.model.selection],
    )


def _trace(found: FittedTable) -> Trace:
    """Trace of the solve; a model chosen from a path is solved again to record it."""
    trace, solution = found.trace, found.model.solution_
    if hasattr(found.model, "path_"):
        trace = Trace()
        limit = 2.0 * solution.seconds + 1.0
        again = solve(
            solution.problem, gap=found.model.gap, time_limit=limit, callback=trace
        )
        trace.close(again)
    else:
        trace.close(solution)
    return trace


def _predictions(found: FittedTable) -> Predictions | None:
    """Of the rows that were left out, or else of all."""
    rows = found.train if found.test is None else found.test
    if rows.y is None:
        return None
    predicted = found.model.predict(named(rows))
    return Predictions(tuple(rows.y.tolist()), tuple(predicted.tolist()))


def _alternatives(others: Alternatives) -> tuple[Alternative, ...]:
    problem, best = others.problem, set(others.supports[0].tolist())

    def names(columns: set[int]) -> tuple[str, ...]:
        return tuple(problem.name_of(j) for j in sorted(columns))

    rows = []
    listed = zip(others.solutions, others.excess, others.supports, strict=True)
    for rank, (solution, excess, support) in enumerate(listed, start=1):
        own = set(support.tolist())
        leaves, enters = names(best - own), names(own - best)
        rows.append(Alternative(rank, solution.objective, excess, leaves, enters))
    return tuple(rows[1:])
