"""The section on the principal component hierarchy: what its levels prove."""

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from cardqp.pipeline.hierarchy import Hierarchy
from cardqp.plot import plot_hierarchy
from cardqp.report import pictures
from cardqp.report.contents import ReportData
from cardqp.report.evidence import FEWEST_SEEN, short_error
from cardqp.report.page import prose, table
from cardqp.report.sections import paragraph, section
from cardqp.report.sentences import rounded

COMPONENTS = "principal components"

WORDS = (
    "With the first principal components of the features alone, the problem is "
    "smaller. Each such level has a proved lower bound of the whole problem, and "
    "candidates: features to choose from, which are guessed. The more components, the "
    "closer a level can come. This hierarchy (Vreugdenhil, Nguyen, Eftekhari and "
    "Mohajerin Esfahani, ICML 2021) is what cardqp started from; the certificate above "
    "is from branch and bound, which goes on where levels end."
)


def by_level(data: ReportData) -> str:
    """The section; empty where levels are few."""
    if data.hierarchy is None or len(data.hierarchy) < FEWEST_SEEN:
        return ""
    found, error = _about_errors(data.hierarchy), short_error(data)
    least = min(level.lower_bound for level in found.levels)

    def draw() -> Any:
        ax = plot_hierarchy(found)
        ax.set_ylim(bottom=least - 0.02 * (ax.get_ylim()[1] - least))
        return pictures.worded(ax, title="", ylabel=error, xlabel=COMPONENTS)

    drawn = pictures.figure(
        draw,
        f"Proved bound and best choice among the candidates, by {COMPONENTS}",
        "The best possible error is between the lines. Triangles count the candidates.",
    )
    rows = [
        [
            str(level.level),
            rounded(level.lower_bound, ROUND_FLOOR),
            str(level.n_candidates),
            rounded(level.objective, ROUND_CEILING),
        ]
        for level in found.levels
    ]
    header = [COMPONENTS, "proved bound", "candidates", f"{error} among them"]
    listed = table(header, rows, numbers=(1, 2, 3), label="Levels")
    title = "What few principal components prove"
    return section("hierarchy", title, [paragraph(prose(WORDS)), drawn, listed])


def _about_errors(hierarchy: Hierarchy) -> Hierarchy:
    """The levels with bounds that are those of an error: none is negative."""
    levels = (
        replace(level, lower_bound=max(level.lower_bound, 0.0))
        for level in hierarchy.levels
    )
    return replace(hierarchy, levels=tuple(levels))
