"""``cardqp predict``: a stored model and a new table."""

import argparse

import numpy as np

from cardqp.bounds.gap import finite
from cardqp.cli.codes import SOLVED
from cardqp.cli.outputs import (
    check_csv,
    print_json,
    print_notes,
    write_rows,
)
from cardqp.cli.text_table import read_file
from cardqp.tables import ModelFile
from cardqp.tables.phrases import count


def predict(options: argparse.Namespace) -> int:
    """``cardqp predict MODEL FILE``."""
    check_csv([options.file, options.model], options.output)
    model = ModelFile.load(options.model)
    if options.missing is not None:
        model = model.with_policy(options.missing)
    frame = read_file(options, least_columns=1)
    predictions, encoded = model.evaluate(frame)
    without = int(np.isnan(predictions).sum())
    notes = [*frame.attrs.get("notes", ()), *encoded.notes]
    if without:
        notes.append(f"no prediction for {count(without, 'row')} with missing cells")
    print_notes(notes)
    values = [finite(value) for value in predictions]
    if options.output is not None or not options.json:
        rows = ([value] for value in values)
        escape = options.escape_formulas
        write_rows(options.output, [model.target], rows, escape=escape)
    if options.json:
        print_json(
            {"target": model.target, "predictions": values, "notes": list(notes)}
        )
    return SOLVED
