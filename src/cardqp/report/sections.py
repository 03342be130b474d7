"""Sections about the answer; one that has nothing to tell is empty."""

from collections.abc import Sequence

from cardqp.report import pictures
from cardqp.report.contents import (
    Feature,
    PageData,
    PageOrigin,
    Predictions,
    ReportData,
    Rival,
)
from cardqp.report.page import made_with, name, prose, table, text
from cardqp.report.sentences import (
    PROVED,
    about_refit,
    certificate,
    gap_of,
    number,
    objective,
    plural,
)

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
"""The looks of what is made here."""


INSIDE, OUTSIDE = "R² in sample", "R² out of sample"

FEWEST_CORRELATED = 2

STRONG = 0.5
"""From this correlation on two features may stand for each other."""


def section(identity: str, title: str, parts: Sequence[str]) -> str:
    """A part of the page with a heading that can be linked to."""
    inside = "\n".join(part for part in parts if part)
    return f"<section id='{identity}'><h2>{text(title)}</h2>\n{inside}\n</section>"


def paragraph(words: str, kind: str = "") -> str:
    """Words that may hold markup already."""
    return f"<p class='{kind}'>{words}</p>" if kind else f"<p>{words}</p>"


def header(data: PageOrigin, lead: str) -> str:
    """The head of a page: where it is from, its title, and the answer in a sentence."""
    about = paragraph(f"{name(data.source)} · {text(data.date)}", "small")
    title = f"<h1>{text(data.title)}</h1>"
    answer = paragraph(text(lead), "lead")
    return f"<header>\n{about}\n{title}\n{answer}\n</header>"


def facts(data: ReportData) -> str:
    """The few numbers to remember."""
    shown = [
        ("features chosen", f"{len(data.features)} of {data.n_features:,}"),
    ]
    if data.r2_out_of_sample is not None:
        shown.append((OUTSIDE, number(data.r2_out_of_sample, 3)))
    shown.append((INSIDE, number(data.r2_in_sample, 3)))
    shown.append(("gap to the best possible", gap_of(data.solution)))
    return fact_list(shown)


def fact_list(shown: Sequence[tuple[str, str]]) -> str:
    """Numbers with their names, in boxes."""
    cells = "".join(
        f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>"
        for label, value in shown
    )
    return f"<dl class='facts'>{cells}</dl>"


def proof(data: ReportData) -> str:
    """The section on the proof, set apart from all else."""
    is_proved = data.solution.status in PROVED
    said = [objective(data), *certificate(data.solution)]
    if data.is_refitted:
        said.append(about_refit())
    return proof_box(said, is_proved=is_proved)


def proof_box(sentences: Sequence[str], *, is_proved: bool) -> str:
    """What is proved; another colour tells that not all of it is."""
    kind = "proof" if is_proved else "proof missing"
    said = paragraph(prose(" ".join(sentences)))
    return f"<div id='certificate' class='{kind}'>{said}</div>"


def chosen(data: ReportData) -> str:
    """The features with their coefficients, the most important first."""
    title, about = "Chosen features", number(data.intercept)
    if data.solution.x is None:
        return section("features", title, [paragraph("None: there is no answer.")])
    if not data.features:
        none = paragraph(f"None: the prediction is always {about}.")
        return section("features", title, [none])
    ranked = sorted(data.features, key=lambda feature: -abs(feature.effect))
    start = (
        f"The prediction of {name(data.target)} is {about} plus, for each feature, its "
        "coefficient times its value."
    )
    if data.is_refitted:
        start += (
            " Features were chosen with the ridge; these coefficients were fitted "
            "without it."
        )
    if any(feature.worth is not None for feature in data.features):
        start += " Worth is how much R² falls without a feature, or its category."
    told = [f"{f.name} {number(f.effect, 3)}" for f in ranked[: pictures.MOST_BARS]]
    picture = pictures.figure(
        lambda: pictures.plot_effects(ranked),
        "Bars of coefficient times standard deviation: " + ", ".join(told),
        "How much the prediction changes when a feature rises by one standard "
        "deviation: blue up, orange (hatched) down.",
    )
    return section("features", title, [paragraph(start), _features(ranked), picture])


def _features(ranked: Sequence[Feature]) -> str:
    columns = {"coefficient": [number(f.coefficient) for f in ranked]}
    if any(f.refit != f.coefficient for f in ranked):
        columns["without ridge"] = [number(f.refit) for f in ranked]
    columns["mean"] = [number(f.centre) for f in ranked]
    columns["std. deviation"] = [number(f.deviation) for f in ranked]
    if any(f.worth is not None for f in ranked):
        columns["worth in R²"] = [number(f.worth) for f in ranked]
    header = ["feature", *columns]
    rows = list(zip([f.name for f in ranked], *columns.values(), strict=True))
    numbers = range(1, len(header))
    return table(header, rows, numbers=numbers, label="Chosen features")


def quality(data: ReportData) -> str:
    """Section with the R² of the model, and its predictions."""
    if data.solution.x is None:
        return ""
    own = Rival(
        "this model", len(data.features), data.r2_in_sample, data.r2_out_of_sample
    )
    rows = [
        [
            each.name,
            f"{each.n_features:,}",
            number(each.r2_in_sample, 3),
            number(each.r2_out_of_sample, 3),
        ]
        for each in (own, *data.rivals)
    ]
    header = ["model", "features", INSIDE, OUTSIDE]
    parts = [table(header, rows, numbers=(1, 2, 3), label="R²"), _judged(data)]
    if data.predictions is not None:
        parts.append(_predictions(data.predictions, data.target))
    return section("quality", "How well it predicts", parts)


def _judged(data: ReportData) -> str:
    """What stands behind the numbers out of sample."""
    if data.r2_out_of_sample is None:
        words = "Nothing is known of other rows: there are too few for folds."
    else:
        words = f"Out of sample means {data.judged_by}."
    notes = [rival.note for rival in data.rivals if rival.note]
    return paragraph(text(" ".join([words, *notes])), "small")


def _predictions(predictions: Predictions, target: str) -> str:
    """Observations and residuals against predictions."""
    drawn = pictures.figure(
        lambda: pictures.plot_predictions(predictions, target),
        f"Observed against predicted values of {target}",
        "Each dot is an observation; on the dashed line the prediction is right."
        + pictures.left_out(predictions),
    )
    residuals = pictures.figure(
        lambda: pictures.plot_residuals(predictions, target),
        f"Residuals against predicted values of {target}",
        "What the model leaves over: a pattern is something that it misses.",
    )
    return f"<div class='pictures'>{drawn}{residuals}</div>"


def correlations(data: ReportData) -> str:
    """Which of the chosen features go together."""
    found = data.correlations
    if found is None or len(found.names) < FEWEST_CORRELATED:
        return ""
    value, first, second = found.pairs[0]
    words = (
        f"The strongest correlation is that of {name(first)} and {name(second)}: "
        f"{number(value, 2)}."
    )
    count = sum(abs(pair[0]) >= STRONG for pair in found.pairs)
    if count:
        words += (
            f" It is {STRONG:g} or more, up or down, for {plural(count, 'pair')} of "
            "features, which can stand for each other: their coefficients depend on "
            "which others are chosen."
        )
    drawn = pictures.figure(
        lambda: pictures.plot_correlations(found),
        "Correlations of the chosen features",
        "Correlations of the chosen features, numbered alike in rows and columns.",
    )
    title = "How the chosen features go together"
    return section("correlations", title, [paragraph(words), drawn])


def about_data(data: PageData) -> str:
    """The section on the data that the numbers come from."""
    start = (
        f"{plural(data.n_samples, 'row')} and {plural(data.n_features, 'feature')} "
        f"from {name(data.source)}, to predict {name(data.target)}."
    )
    return section("data", "The data", [paragraph(start), listed_notes(data)])


def listed_notes(data: PageOrigin) -> str:
    """What was done to the data, as a list."""
    notes = "".join(f"<li>{prose(note)}</li>" for note in data.notes)
    return f"<ul>{notes}</ul>" if notes else ""


def reproduce(data: PageOrigin) -> str:
    """Section with the command and the versions that reproduce the result."""
    made = paragraph(f"Made with {made_with(data.versions)}.", "small")
    return section(
        "reproduce",
        "How to reproduce it",
        [f"<pre>{text(data.command)}</pre>", made if data.versions else ""],
    )
