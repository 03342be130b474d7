"""``cardqp demo``: a model, its proof and its page, from data that scikit-learn has."""

import argparse
import shlex
import webbrowser
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from cardqp import storage
from cardqp.cli.fit import table, to_dict
from cardqp.cli.fit_model import fit_table
from cardqp.cli.fit_report import page_about
from cardqp.cli.outputs import check_outputs, print_aside, print_json, write_out
from cardqp.cli.parser import build_parser
from cardqp.cli.solution_text import exit_code
from cardqp.exceptions import optional
from cardqp.tables.frames import require_pandas

SOURCE, TARGET, SIZE = "diabetes (442 patients, scikit-learn)", "progression", 10
NAMES = ("age", "sex", "bmi", "bp", "tc", "ldl", "hdl", "tch", "ltg", "glu")
"""Body mass index, blood pressure, and blood serum: total cholesterol, low- and
high-density lipoproteins, the first by the last, log of triglycerides, glucose."""


def demo(options: argparse.Namespace) -> int:
    """``cardqp demo``."""
    check_outputs([], {"--output": options.output, "--table": options.table})
    frame = diabetes_table()
    if options.table is not None:
        write_out(options.table, frame.to_csv(index=False, lineterminator="\n"))
    fitting = _as_fit(options)
    found = fit_table(frame, fitting)
    storage.write_text(options.output, page_about(found, None, fitting))
    if options.json:
        print_json(to_dict(found))
    else:
        print(f"{table(found)}\n\n{_ending(options)}")
    if options.open and not webbrowser.open(Path(options.output).resolve().as_uri()):
        print_aside(["no browser could be opened"])
    return exit_code(found.model.solution_)


def diabetes_table() -> Any:
    """The diabetes data with squares and products of its ten standardised columns.

    They are those of Efron, Hastie, Johnstone and Tibshirani (2004): 64 features, for
    the square of a feature with two values is none.
    """
    need = "The demo needs scikit-learn"
    data = optional("sklearn.datasets", need, "tables").load_diabetes()
    pandas = require_pandas("The demo")
    base = pandas.DataFrame(data.data / data.data.std(axis=0), columns=list(NAMES))
    pairs = combinations_with_replacement(NAMES, 2)
    products = {
        f"{a}^2" if a == b else f"{a}*{b}": base[a] * base[b]
        for a, b in pairs
        if (a, b) != ("sex", "sex")
    }
    return base.assign(**products, **{TARGET: data.target})


def _as_fit(options: argparse.Namespace) -> argparse.Namespace:
    """The options of ``cardqp fit`` for the same."""
    words = ["fit", SOURCE, "--target", TARGET, "-s", str(SIZE)]
    words += ["--gap", str(options.gap), "--time-limit", str(options.time_limit)]
    found = build_parser().parse_args([*words, *["--json"] * options.json])
    found.words = options.words
    return found


def _ending(options: argparse.Namespace) -> str:
    """What was written, and what to do next."""
    lines = [f"Page written to {options.output}: open it in a browser."]
    words = ["data.csv", "--target", "COLUMN", "-s", "10"]
    if options.table is not None:
        lines.append(f"Table written to {options.table}.")
        words = [options.table, "--target", TARGET, "-s", "5"]
    command = shlex.join(["cardqp", "fit", *words, "--report", "model.html"])
    whose = "of yours" if options.table is None else "in the file"
    return "\n".join([*lines, f"For a table {whose}: {command}"])
