"""``cardqp fit``: the model of a table with few features."""

import argparse
import math
from typing import Any

from cardqp import storage
from cardqp.bounds.gap import finite
from cardqp.cli.fit_model import FittedTable, check_options, fit_table
from cardqp.cli.messages import one_line
from cardqp.cli.outputs import check_outputs, print_json, print_notes
from cardqp.cli.solution_text import coefficient_lines, exit_code
from cardqp.cli.text_table import read_file
from cardqp.pipeline.alternatives import Alternatives
from cardqp.problem import validation as check
from cardqp.tables import ModelFile, Proof
from cardqp.tables.phrases import count


def fit(options: argparse.Namespace) -> int:
    """``cardqp fit FILE``."""
    check_options(options)
    outputs = {"--model": options.model, "--report": options.report}
    check_outputs([options.file], outputs)
    within = options.alternatives
    is_met = within is None or 0 <= within < math.inf
    check.demand(is_met, "--alternatives", "must be at least 0", within)
    found = fit_table(read_file(options), options, options.test)
    others = None
    if within is not None and not found.is_interrupted:
        others = found.model.alternatives(within, time_limit=options.time_limit)
    print_notes(found.notes)
    if options.model is not None:
        model_of(found).save(options.model)
    if options.report is not None:
        from cardqp.cli.fit_report import page_about

        storage.write_text(options.report, page_about(found, others, options))
    if options.json:
        print_json(to_dict(found) | {"alternatives": choices(found, others)})
    else:
        print("\n".join([table(found), *_choice_lines(found, others)]))
        for name in ("model", "report"):
            if (path := getattr(options, name)) is not None:
                print(f"\n{name.capitalize()} written to {path}")
    return exit_code(found.model.solution_)


def model_of(found: FittedTable) -> ModelFile:
    """The model as it is stored."""
    model = found.model
    proof = Proof(**proof_of(found))
    return ModelFile.of(found.encoder, model.coef_, model.intercept_, proof)


def proof_of(found: FittedTable) -> dict[str, Any]:
    """Status, bound and gap of the choice, by name."""
    model = found.model
    return {
        "status": model.status_,
        "objective": finite(model.objective_),
        "lower_bound": finite(model.lower_bound_),
        "gap": finite(model.gap_),
        "eta": finite(model.eta_),
        "n_nonzero": found.n_allowed,
        "n_rows": len(found.train.rows),
    }


def to_dict(found: FittedTable) -> dict[str, Any]:
    """All figures for programs."""
    test = found.test
    return {
        **proof_of(found),
        "n_test_rows": 0 if test is None else len(test.rows),
        "n_features": len(found.encoder.names),
        "r2": found.r2(),
        "r2_test": found.r2_test(),
        "r2_cv": found.r2_folds(),
        "target": found.encoder.target,
        "columns": list(found.columns),
        "coefficients": found.coefficients(),
        "intercept": found.model.intercept_,
        "sizes": sizes(found),
        "seconds": found.model.solution_.seconds,
        "notes": list(found.notes),
    }


def sizes(found: FittedTable) -> list[dict[str, Any]]:
    """The sizes that were compared, with what chose among them."""
    model = found.model
    if hasattr(model, "cv_results_"):
        names = ("n_nonzero_coefs", "mean_error", "standard_error")
        columns = [model.cv_results_[k][found.is_chosen_ridge] for k in names]
        return [
            {"n_nonzero": int(n), "mean_error": finite(e), "standard_error": finite(se)}
            for n, e, se in zip(*columns, strict=True)
        ]
    if hasattr(model, "criterion_path_"):
        pairs = zip(model.path_.sparsities, model.criterion_path_, strict=True)
        return [{"n_nonzero": size, "ebic": finite(value)} for size, value in pairs]
    return []


def choices(found: FittedTable, others: Alternatives | None) -> dict[str, Any] | None:
    """Other choices of features, if they were asked for."""
    if others is None:
        return None
    names = found.encoder.names
    listed = zip(others.excess, others.supports, strict=True)
    return {
        "percent": others.percent,
        "is_complete": others.is_complete,
        "choices": [
            {"excess": finite(excess), "features": [names[j] for j in support]}
            for excess, support in listed
        ],
    }


def _choice_lines(found: FittedTable, others: Alternatives | None) -> list[str]:
    entry = choices(found, others)
    if entry is None:
        return []
    proof = "no others" if entry["is_complete"] else "there may be others"
    lines = ["", f"choices within {entry['percent']:g} % of the best ({proof}):"]
    for choice in entry["choices"]:
        names = ", ".join(map(one_line, choice["features"]))
        lines.append(f"{100 * choice['excess']:+8.3f} %  {names}")
    return lines


def table(found: FittedTable) -> str:
    """Status, proof, R2 and coefficients for people."""
    solution = found.model.solution_
    columns = count(len(found.encoder.columns), "column")
    values = found.coefficients() | {"(intercept)": found.model.intercept_}
    lines = [
        f"status    {solution.status.name}: {solution.status.value}",
        f"proof     {gap_in_words(found)}",
        f"error     {error_in_words(found)}",
        f"data      {count(len(found.train.rows), 'row')}, "
        f"{count(len(found.encoder.names), 'feature')} from {columns}",
        *_size_lines(found),
        f"R2        {', '.join(_r2_words(found))}",
        "",
        *coefficient_lines("feature", values.items()),
    ]
    return "\n".join(lines)


def gap_in_words(found: FittedTable) -> str:
    """Sentence that bounds by how much another choice can lower the objective."""
    gap = found.model.gap_
    if not gap < 1.0:
        return "nothing is proved about other choices; raise --time-limit"
    words = (
        f"no choice of up to {count(found.n_allowed, 'column')} lowers the objective "
        f"by more than {percent(gap)}"
    )
    return words if found.model.status_ == "OPTIMAL" else f"{words}; raise --time-limit"


def error_in_words(found: FittedTable) -> str:
    """What is minimised, and proved, and what is not."""
    model = found.model
    if not math.isfinite(model.eta_):
        return "mean squared error, without a ridge"
    scaled = " of standardised features" if found.is_standardized else ""
    words = (
        f"mean squared error + {1.0 / model.eta_:.4g} times the squared "
        f"coefficients{scaled} (eta {model.eta_:.4g})"
    )
    if model.refit:
        words += (
            "; coefficients and R2 are without the ridge, of which nothing is proved: "
            "see --no-ridge"
        )
    return words


def percent(share: float) -> str:
    """A share that is not rounded down, in percent with two digits.

    Examples
    --------
    >>> percent(0.03411), percent(2e-13), percent(1.5)
    ('3.5 %', '0.0001 %', '150 %')
    """
    value = max(100.0 * share, 1e-4)
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    # Rounding may have moved a number that is shown exactly.
    return f"{math.ceil(round(value / unit, 9)) * unit:.12g} %"


def _size_lines(found: FittedTable) -> list[str]:
    compared = sizes(found)
    if not compared:
        return []
    way = "cross-validation" if "mean_error" in compared[0] else "EBIC"
    first, last = compared[0]["n_nonzero"], compared[-1]["n_nonzero"]
    return [f"size      {found.n_allowed}, chosen from {first} to {last} by {way}"]


def _r2_words(found: FittedTable) -> list[str]:
    words = []
    if found.test is not None:
        rows = count(len(found.test.rows), "row")
        words.append(f"{found.r2_test():.4f} on {rows} left out")
    if (folds := found.r2_folds()) is not None:
        words.append(f"{folds:.4f} by cross-validation")
    return [*words, f"{found.r2():.4f} in sample"]
