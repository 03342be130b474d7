"""The page about a sparse regression."""

from cardqp.problem import validation as check
from cardqp.report import evidence, sections
from cardqp.report.contents import ReportData
from cardqp.report.page import name, page, text
from cardqp.report.sentences import headline

STYLE = """
.lead { font-size: 1.2rem; line-height: 1.45; }
.facts { display: grid; gap: .75rem; margin: 1.4rem 0; padding: 0;
         grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
.facts div { background: var(--wash); border-radius: .4rem; padding: .7rem .9rem; }
.facts dt { color: var(--soft); font-size: .875rem; }
.facts dd { margin: 0; font-size: 1.5rem; font-weight: 600;
            font-variant-numeric: tabular-nums; }
.proof { border-left: 4px solid var(--good); background: var(--wash);
         padding: .2rem 1.1rem; border-radius: 0 .4rem .4rem 0; }
.proof.missing { border-color: var(--warn); }
.pictures { display: grid; gap: 0 1.5rem; align-items: start;
            grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
"""


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
    about = f"{name(data.source)} · {text(data.date)}"
    return page(
        data.title,
        [
            "<header>",
            sections.paragraph(about, "small"),
            f"<h1>{text(data.title)}</h1>",
            sections.paragraph(text(headline(data)), "lead"),
            "</header>",
            sections.facts(data),
            sections.proof(data),
            sections.chosen(data),
            sections.quality(data),
            sections.about_data(data),
            evidence.along_path(data),
            evidence.cross_validation(data),
            evidence.alternatives(data),
            evidence.how_proved(data),
            sections.reproduce(data),
        ],
        STYLE,
    )
