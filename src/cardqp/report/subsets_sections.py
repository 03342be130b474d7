"""Sections about the best subsets."""

from collections.abc import Sequence

from cardqp.plot import plot_sizes, plot_subsets
from cardqp.plot.subsets import TITLES
from cardqp.report import pictures, subsets_sentences
from cardqp.report.contents import SubsetsData
from cardqp.report.page import name, prose, table, text
from cardqp.report.sections import fact_list, paragraph, proof_box, section
from cardqp.report.sentences import at_most, number
from cardqp.subsets.result import Subset, Subsets

CHOSEN = "★"
"""Marks the chosen subset."""

MOST_ROWS = 25
"""More subsets take too much of a page to be drawn."""

WORDS = ("features", "rank is")
"""Columns that are not numbers."""


def facts(data: SubsetsData) -> str:
    """The few numbers to remember."""
    subsets, best = data.subsets, data.subsets.best()
    about = "" if data.is_centred else ", about zero"
    measures = {f"R²{about}": "r2", f"adjusted R²{about}": "adjusted_r2"}
    if subsets.criterion not in measures.values():
        measures[_title(subsets)] = subsets.criterion
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
    start = paragraph(_prediction(data))
    if inference is None:
        few = paragraph("There are too few rows for standard errors.", "missing")
        return section("chosen", title, [start, _plain(data), few])
    if not inference.features:
        return section("chosen", title, [start])
    header = ["feature", "coefficient", "std. error", "t", "p-value"]
    header += [f"{100 * inference.level:g} % from", "to"]
    rows = [
        [feature, *(number(value) for value in values)]
        for feature, *values in zip(*inference.to_dict().values(), strict=True)
    ]
    listed = table(header, rows, numbers=range(1, 7), label=title)
    note = paragraph(prose(inference.note), "small")
    return section("chosen", title, [start, listed, note])


def _prediction(data: SubsetsData) -> str:
    """How the chosen subset predicts, as markup."""
    best, subject = data.subsets.best(), f"The prediction of {name(data.target)} is"
    if not best.features:
        return f"{subject} always {number(best.intercept)}."
    base = "the intercept plus" if data.is_centred else "the sum of"
    return f"{subject} {base}, for each feature, its coefficient times its value."


def _plain(data: SubsetsData) -> str:
    """Coefficients without standard errors."""
    best = data.subsets.best()
    values = best.coef[best.support].tolist()
    rows = [[f, number(v)] for f, v in zip(best.features, values, strict=True)]
    if data.is_centred:
        rows.insert(0, ["intercept", number(best.intercept)])
    return table(["feature", "coefficient"], rows, numbers=(1,), label="Coefficients")


def sizes(data: SubsetsData) -> str:
    """The best subsets of every size, as pictures and as tables."""
    subsets, best = data.subsets, data.subsets.best()
    first = [each for each in subsets if each.rank == 1 or each is best]
    others = [each for each in subsets if each not in first]
    mark = paragraph(f"{CHOSEN} marks the chosen subset.", "small")
    parts = [_pictures(subsets), _listed(first, subsets, "The best of each size"), mark]
    if others:
        label = f"The next best of each size ({len(others)})"
        inside = _listed(others, subsets, label)
        parts.append(f"<details><summary>{text(label)}</summary>{inside}</details>")
    return section("sizes", "The best subsets of every size", parts)


def _listed(shown: Sequence[Subset], subsets: Subsets, label: str) -> str:
    """Some subsets as a table; that they are proved is said elsewhere, if all are."""
    has_ranks = any(each.rank > 1 for each in shown)
    is_open = any(each.status != subsets_sentences.PROVED for each in subsets)
    best = subsets.best()
    columns = {
        "size": [f"{s.size} {CHOSEN}" if s is best else str(s.size) for s in shown]
    }
    if has_ranks:
        columns["rank"] = [str(each.rank) for each in shown]
    columns["features"] = [", ".join(each.units) or "none" for each in shown]
    columns["squared residuals"] = [_sum(each.rss) for each in shown]
    columns["R²"] = [number(each.measures["r2"]) for each in shown]
    if subsets.criterion not in ("cv",) or not has_ranks:
        values = [each.measures[subsets.criterion] for each in shown]
        columns[_title(subsets)] = [number(value, 6) for value in values]
    if is_open:
        columns["gap"] = [f"≤ {at_most(each.gap)}" for each in shown]
        words = {subsets_sentences.PROVED: "proved"}
        columns["rank is"] = [words.get(each.status, "not proved") for each in shown]
    header = list(columns)
    numbers = [k for k, title in enumerate(header) if k and title not in WORDS]
    rows = list(zip(*columns.values(), strict=True))
    return table(header, rows, numbers=numbers, label=label)


def _sum(value: float) -> str:
    """A sum of squares: large ones have all their digits."""
    return f"{value:,.0f}" if 1e7 <= value < 1e12 else number(value, 6)


def _pictures(subsets: Subsets) -> str:
    criterion, title = subsets.criterion, _title(subsets)
    by_size = pictures.figure(
        lambda: pictures.worded(plot_sizes(subsets, criterion), title="", ylabel=title),
        f"{title} by the number of features; {subsets.best().size} is chosen",
        f"{title} of the best subsets of each size; the star is chosen.",
    )
    count = len(subsets) if criterion != "cv" else len(subsets.sizes)
    some = f" The best {MOST_ROWS} of {count} are drawn." * (count > MOST_ROWS)
    members = pictures.figure(
        lambda: pictures.worded(
            plot_subsets(subsets, criterion, most=MOST_ROWS), title="", ylabel=title
        ),
        f"The features of each subset, a row for each, ordered by {title}",
        "Each row is a subset, the chosen one on top; a dark square is a feature in "
        f"it.{some}",
    )
    return f"<div class='pictures'>{by_size}{members}</div>"
