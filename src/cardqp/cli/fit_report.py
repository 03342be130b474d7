"""The page that ``cardqp fit --report`` writes."""

import argparse
from pathlib import Path

from cardqp.cli.fit_model import FittedTable
from cardqp.cli.outputs import with_options
from cardqp.estimators.reporting import Origin
from cardqp.pipeline.alternatives import Alternatives
from cardqp.pipeline.solve import solve
from cardqp.report import regression_report
from cardqp.solution.trace import Trace


def page_about(
    found: FittedTable, others: Alternatives | None, options: argparse.Namespace
) -> str:
    """The page as text; other choices are looked for unless they are known already."""
    target = found.encoder.target
    origin = Origin(
        title=f"{target}: a model of {len(found.columns)} columns",
        source="standard input" if options.file == "-" else Path(options.file).name,
        target=target,
        command=options.words,
        notes=with_options(found.notes),
    )
    fitted = found.fitted(_trace(found))
    return regression_report(fitted.page_data(origin, others))


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
