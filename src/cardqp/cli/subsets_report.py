"""The page that ``cardqp subsets --report`` writes."""

import argparse
from datetime import date
from pathlib import Path

from cardqp.cli.outputs import with_options
from cardqp.cli.subsets import SearchedTable
from cardqp.exceptions import ProblemError
from cardqp.regression.inference import Inference, classical
from cardqp.report import SubsetsData, subsets_report
from cardqp.report.versions import versions


def page_about(found: SearchedTable, options: argparse.Namespace) -> str:
    """The page as text."""
    subsets = found.subsets
    return subsets_report(
        SubsetsData(
            title=f"{found.target}: the best subsets of {len(subsets.names)} features",
            source="standard input" if options.file == "-" else Path(options.file).name,
            target=found.target,
            command=options.words,
            date=date.today().isoformat(),
            n_samples=subsets.n_samples,
            n_features=len(subsets.names),
            notes=tuple(with_options(subsets.notes)),
            versions=versions(),
            subsets=subsets,
            is_centred=found.features.moments.is_centred,
            inference=_inference(found),
        )
    )


def _inference(found: SearchedTable) -> Inference | None:
    """Coefficients of the chosen subset; None if there are too few rows for errors."""
    best = found.subsets.best()
    moments = found.features.moments
    try:
        return classical(moments, best.support, best.coef, best.features)
    except ProblemError:
        return None
