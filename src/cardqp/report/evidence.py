"""Sections about what else was tried, and about the proof."""

from typing import Any

import numpy as np

from cardqp.pipeline.path import Path
from cardqp.plot import plot_coefficients, plot_convergence, plot_path, plot_screening
from cardqp.report import pictures
from cardqp.report.contents import ReportData
from cardqp.report.page import prose, table
from cardqp.report.sections import paragraph, section
from cardqp.report.sentences import (
    PROVED,
    bound_of,
    error_of,
    gap_of,
    number,
    objective_of,
    plural,
    seconds,
)
from cardqp.solution import Solution, Stage, Status
from cardqp.solution.trace import Trace

ALLOWED = "features allowed"

FEWEST_SEEN = 3
"""A line through fewer points of a search shows nothing."""

KNOWN = {
    Status.OPTIMAL: "proved",
    Status.FEASIBLE: "not proved",
    Status.INFEASIBLE: "proved infeasible",
    Status.UNKNOWN: "nothing known",
}


def along_path(data: ReportData) -> str:
    """Answers for other sparsities."""
    path = data.path
    if path is None:
        return ""
    rows = [
        [str(k), objective_of(s), bound_of(s), gap_of(s), KNOWN[s.status]]
        for k, s in zip(path.sparsities, path.solutions, strict=True)
    ]
    error = short_error(data)
    header = [ALLOWED, error, "proved bound", "gap", "optimality"]
    listed = table(header, rows, numbers=(1, 2, 3), label="Path")
    title = "If more or fewer features were allowed"
    drawn = _path_pictures(path, error) if len(path) > 1 else ""
    return section("path", title, [drawn, listed])


def short_error(data: ReportData) -> str:
    """A short name of what is minimised."""
    return error_of(data.solution.problem).replace("mean ", "")


def _path_pictures(path: Path, error: str) -> str:
    ends = f"from {path.sparsities[0]} to {path.sparsities[-1]} features"
    axes = {"title": "", "xlabel": ALLOWED}
    errors = pictures.figure(
        lambda: pictures.worded(plot_path(path), ylabel=error, **axes),
        f"{error.capitalize()} and its proved lower bound {ends}",
        "The best error found for each number of features; the band reaches down to "
        "what is proved to be out of reach.",
    )
    coefficients = pictures.figure(
        lambda: pictures.worded(plot_coefficients(path), **axes),
        f"Coefficients {ends}",
        "Coefficients, in the units of the problem that was solved, as features enter; "
        "lines only guide the eye.",
    )
    return f"<div class='pictures'>{errors}{coefficients}</div>"


def cross_validation(data: ReportData) -> str:
    """Why so many features."""
    cv = data.cv
    if cv is None:
        return ""
    words = (
        f"{plural(cv.chosen, 'feature')}: the error on left-out data is "
        f"{number(cv.error_of_chosen)}. {cv.rule}"
    )
    if len(cv.sparsities) == 1:
        return section("cv", "How many features", [paragraph(prose(words))])
    drawn = pictures.figure(
        lambda: pictures.plot_cv(cv),
        f"Error on left-out data by number of features; {cv.chosen} were taken",
        "Mean over the folds; bars are one standard error to each side.",
    )
    return section("cv", "How many features", [paragraph(prose(words)), drawn])


def alternatives(data: ReportData) -> str:
    """Which features are interchangeable."""
    if not data.alternatives and not data.alternatives_note:
        return ""
    rows = [
        [
            str(a.rank),
            number(a.objective, 6),
            f"{100 * a.excess:.2g} %",
            ", ".join(a.leaves) or "–",
            ", ".join(a.enters) or "–",
        ]
        for a in data.alternatives
    ]
    header = ["rank", short_error(data), "above the best", "without", "but with"]
    listed = table(header, rows, numbers=(1, 2), label="Alternatives") if rows else ""
    words = paragraph(prose(data.alternatives_note)) if data.alternatives_note else ""
    return section("alternatives", "Choices that are nearly as good", [words, listed])


def how_proved(data: ReportData) -> str:
    """Time, bounds and decisions."""
    solution = data.solution
    drawn = convergence(data.trace, short_error(data), least=0.0)
    certificate = solution.certificate
    if certificate is not None and certificate.decides:
        drawn += _screening(solution)
    return proof_section(solution, drawn)


def proof_section(solution: Solution, drawn: str) -> str:
    """The section on the stages of a proof, with its pictures."""
    both = f"<div class='pictures'>{drawn}</div>" if drawn else ""
    is_proved = solution.status in PROVED
    title = "How it was proved" if is_proved else "What was proved, and when"
    return section("proof", title, [both, _stages(solution.stages)])


def convergence(trace: Trace | None, what: str, least: float = -np.inf) -> str:
    """Bounds against time, none below the least that makes sense."""
    if trace is None or len(trace) < FEWEST_SEEN:
        return ""

    def draw() -> Any:
        ax = pictures.worded(plot_convergence(trace), title="", ylabel=what)
        ax.set_ylim(bottom=max(ax.get_ylim()[0], least))
        return ax

    return pictures.figure(
        draw,
        "Best point and proved lower bound against time",
        f"The best possible {what} is between the lines.",
    )


def _screening(solution: Solution) -> str:
    return pictures.figure(
        lambda: plot_screening(solution),
        "Features decided at the root of the search, step by step",
        "Better means better than the answer by more than the gap. What stays open is "
        "left to the branches.",
    )


def _stages(stages: tuple[Stage, ...]) -> str:
    rows = [
        [s.name, seconds(s.seconds), str(s.size_before), str(s.size_after), s.detail]
        for s in stages
    ]
    header = ["stage", "time", "variables before", "after", "what it did"]
    return table(header, rows, numbers=(1, 2, 3), label="Stages")
