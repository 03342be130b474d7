"""``cardqp select``: the columns of a table that predict another one best."""

import argparse
from typing import Any

from cardqp import storage
from cardqp.cli.fit import proof_of
from cardqp.cli.fit_model import check_options, fit_table
from cardqp.cli.outputs import check_csv, check_distinct, print_json, print_notes
from cardqp.cli.report import exit_code
from cardqp.cli.text_table import read_file


def select(options: argparse.Namespace) -> int:
    """``cardqp select FILE``."""
    check_options(options)
    check_csv("--output", options.output)
    check_distinct([options.file], {"--output": options.output})
    frame = read_file(options)
    found = fit_table(frame, options)
    print_notes(found.notes)
    if options.output is not None or not options.json:
        _write(frame[[*found.columns, options.target]], options.output)
    if options.json:
        print_json(
            {
                "columns": list(found.columns),
                "features": list(found.coefficients()),
                "target": options.target,
                **proof_of(found),
            }
        )
    return exit_code(found.model.solution_)


def _write(frame: Any, path: str | None) -> None:
    text = frame.to_csv(index=False, lineterminator="\n")
    if path is None:
        print(text, end="")
    else:
        storage.write_text(path, text)
