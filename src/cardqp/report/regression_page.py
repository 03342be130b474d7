"""The page about a sparse regression."""

from dataclasses import replace

from cardqp.pipeline.path import Path
from cardqp.problem import validation as check
from cardqp.regression import about_error
from cardqp.report import evidence, levels, sections
from cardqp.report.contents import ReportData
from cardqp.report.page import page
from cardqp.report.sentences import headline


def regression_report(data: ReportData) -> str:
    """One page of HTML that needs nothing else: no script, no file, no network.

    Parameters
    ----------
    data : ReportData
        What to tell.  Names may be any text: they stay text.

    Returns
    -------
    str
        The page; the same data gives the same page.

    Raises
    ------
    BackendNotFoundError
        Without Matplotlib.
    """
    check.instance("data", data, ReportData)
    data = _about_errors(data)
    return page(
        data.title,
        [
            sections.header(data, headline(data)),
            sections.facts(data),
            sections.proof(data),
            sections.chosen(data),
            sections.quality(data),
            sections.correlations(data),
            sections.about_data(data),
            evidence.along_path(data),
            evidence.cross_validation(data),
            evidence.alternatives(data),
            evidence.how_proved(data),
            levels.by_level(data),
            sections.reproduce(data),
        ],
        sections.STYLE,
    )


def _about_errors(data: ReportData) -> ReportData:
    """The contents with bounds that are those of an error: none is negative."""
    path = data.path
    if path is not None:
        solutions = tuple(about_error(each) for each in path.solutions)
        path = Path(path.sparsities, solutions)
    return replace(data, solution=about_error(data.solution), path=path)
