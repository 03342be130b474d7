"""The page about the best subsets of every size."""

from cardqp.problem import validation as check
from cardqp.report import sections, subsets_sections
from cardqp.report.contents import SubsetsData
from cardqp.report.page import page
from cardqp.report.subsets_sentences import headline


def subsets_report(data: SubsetsData) -> str:
    """One page of HTML that needs nothing else: no script, no file, no network.

    Parameters
    ----------
    data : SubsetsData
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
    check.instance("data", data, SubsetsData)
    lead = headline(data.subsets, data.target, is_centred=data.is_centred)
    return page(
        data.title,
        [
            sections.header(data, lead),
            subsets_sections.facts(data),
            subsets_sections.proof(data),
            subsets_sections.coefficients(data),
            subsets_sections.sizes(data),
            sections.about_data(data),
            sections.reproduce(data),
        ],
        sections.STYLE,
    )
