"""``cardqp select``: the columns of a table that predict another one best."""

import argparse
from typing import Any

from cardqp.cli.fit import gap_in_words, proof_of
from cardqp.cli.fit_model import FittedTable, check_options, fit_table
from cardqp.cli.outputs import (
    check_csv,
    escaped,
    print_aside,
    print_json,
    print_notes,
    write_out,
)
from cardqp.cli.solution_text import exit_code
from cardqp.cli.text_table import read_file
from cardqp.tables.phrases import count


def select(options: argparse.Namespace) -> int:
    """``cardqp select FILE``."""
    check_options(options)
    check_csv([options.file], options.output)
    frame = read_file(options)
    found = fit_table(frame, options)
    print_notes(found.notes)
    if options.output is not None or not options.json:
        chosen = frame[[*found.columns, options.target]]
        table = _escaped(chosen) if options.escape_formulas else chosen
        write_out(options.output, table.to_csv(index=False, lineterminator="\n"))
    if options.json:
        print_json(
            {
                "columns": list(found.columns),
                "features": list(found.coefficients()),
                "target": options.target,
                **proof_of(found),
            }
        )
    else:
        print_aside(_choice(found))
    return exit_code(found.model.solution_)


def _choice(found: FittedTable) -> list[str]:
    """What was chosen, and what is proved."""
    chosen = ", ".join(found.columns) or "none"
    columns = count(len(found.encoder.columns), "column")
    return [
        f"{len(found.columns)} of {columns} chosen for `{found.encoder.target}`: "
        f"{chosen}",
        f"{found.model.status_}: {gap_in_words(found)}",
    ]


def _escaped(frame: Any) -> Any:
    """The table with its texts, and the names of its columns, escaped."""
    result = frame.copy()
    for name in frame.select_dtypes(exclude=["number", "bool", "datetime"]):
        result[name] = frame[name].map(escaped, na_action="ignore")
    return result.rename(columns=escaped)
