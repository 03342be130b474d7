"""Sections about the best subsets."""

from decimal import ROUND_CEILING

from cardqp.plot import plot_sizes, plot_subsets
from cardqp.plot.subsets import TITLES
from cardqp.report import pictures, subsets_sentences
from cardqp.report.contents import SubsetsData
from cardqp.report.page import name, prose, table
from cardqp.report.sections import fact_list, paragraph, proof_box, section
from cardqp.report.sentences import at_most, number, rounded
from cardqp.subsets.result import Subset, Subsets

CHOSEN = "★"
"""Marks the chosen subset."""


def facts(data: SubsetsData) -> str:
    """The few numbers to remember."""
    subsets, best = data.subsets, data.subsets.best()
    measures = {"R²": "r2", "adjusted R²": "adjusted_r2"}
    measures |= {_title(subsets): subsets.criterion}
    return fact_list(
        [
            ("features chosen", f"{len(best.features)} of {data.n_features:,}"),
            *((label, number(best.measures[m], 4)) for label, m in measures.items()),
        ]
    )


def _title(subsets: Subsets) -> str:
    """The name of the measure that chooses."""
    return TITLES[subsets.criterion].replace("R2", "R²")


def proof(data: SubsetsData) -> str:
    """What is proved, set apart from all else."""
    is_proved = all(s.status == subsets_sentences.PROVED for s in data.subsets)
    is_done = not data.subsets.stop.is_early
    said = subsets_sentences.proof(data.subsets)
    return proof_box(said, is_proved=is_proved and is_done)


def coefficients(data: SubsetsData) -> str:
    """The chosen subset: coefficients, and standard errors if there are any."""
    title, inference = "The chosen subset", data.inference
    base = "the intercept plus" if data.is_centred else "the sum of"
    start = paragraph(
        f"The prediction of {name(data.target)} is {base}, for each feature, its "
        "coefficient times its value."
    )
    if inference is None:
        few = paragraph("There are too few rows for standard errors.", "missing")
        return section("chosen", title, [start, _plain(data), few])
    header = ["feature", "coefficient", "std. error", "t", "p-value"]
    header += [f"{100 * inference.level:g} % from", "to"]
    rows = [
        [feature, *(number(value) for value in values)]
        for feature, *values in zip(*inference.to_dict().values(), strict=True)
    ]
    listed = table(header, rows, numbers=range(1, 7), label=title)
    note = paragraph(prose(inference.note), "small")
    return section("chosen", title, [start, listed, note])


def _plain(data: SubsetsData) -> str:
    """Coefficients without standard errors."""
    best = data.subsets.best()
    values = best.coef[best.support].tolist()
    rows = [[f, number(v)] for f, v in zip(best.features, values, strict=True)]
    if data.is_centred:
        rows.insert(0, ["intercept", number(best.intercept)])
    return table(["feature", "coefficient"], rows, numbers=(1,), label="Coefficients")


def sizes(data: SubsetsData) -> str:
    """The best subsets of every size, as pictures and as a table."""
    subsets, best = data.subsets, data.subsets.best()
    rows = [_row(each, subsets, is_best=each is best) for each in subsets]
    header = ["size", "rank", "features", "squared residuals", "R²", _title(subsets)]
    header += ["gap", "rank is"]
    listed = table(header, rows, numbers=(1, 3, 4, 5, 6), label="Best subsets")
    mark = paragraph(f"{CHOSEN} marks the chosen subset.", "small")
    title = "The best subsets of every size"
    return section("sizes", title, [_pictures(subsets), listed, mark])


def _row(subset: Subset, subsets: Subsets, *, is_best: bool) -> list[str]:
    is_proved = subset.status == subsets_sentences.PROVED
    return [
        f"{subset.size} {CHOSEN}" if is_best else str(subset.size),
        str(subset.rank),
        ", ".join(subset.features),
        rounded(subset.rss, ROUND_CEILING),
        number(subset.measures["r2"]),
        number(subset.measures[subsets.criterion], 6),
        f"≤ {at_most(subset.gap)}",
        "proved" if is_proved else "not proved",
    ]


def _pictures(subsets: Subsets) -> str:
    criterion, title = subsets.criterion, _title(subsets)
    by_size = pictures.figure(
        lambda: pictures.worded(plot_sizes(subsets, criterion), title="", ylabel=title),
        f"{title} by the number of features; {subsets.best().size} is chosen",
        f"{title} of the best subsets of each size; the star is chosen.",
    )
    members = pictures.figure(
        lambda: pictures.worded(
            plot_subsets(subsets, criterion), title="", ylabel=title
        ),
        f"The features of each subset, a row for each, ordered by {title}",
        "Each row is a subset, the chosen one on top; a square is a feature in it.",
    )
    return f"<div class='pictures'>{by_size}{members}</div>"
