"""``cardqp predict``: a stored model and a new table."""

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.gap import finite
from cardqp.cli.codes import SOLVED
from cardqp.cli.outputs import (
    check_csv,
    print_aside,
    print_json,
    print_notes,
    write_rows,
)
from cardqp.cli.text_table import read_file
from cardqp.exceptions import DataError
from cardqp.tables import ModelFile
from cardqp.tables.phrases import count
from cardqp.tables.score import Score


def predict(options: argparse.Namespace) -> int:
    """``cardqp predict MODEL FILE``."""
    check_csv([options.file, options.model], options.output)
    model = ModelFile.load(options.model)
    if options.missing is not None:
        model = model.with_policy(options.missing)
    frame = read_file(options, least_columns=1)
    predictions, encoded = model.evaluate(frame)
    score, obstacles = _score(model, frame, predictions)
    without = int(np.isnan(predictions).sum())
    notes = [*frame.attrs.get("notes", ()), *encoded.notes, *obstacles]
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
            {
                "target": model.target,
                "predictions": values,
                "score": None if score is None else _figures(score),
                "notes": list(notes),
            }
        )
    elif score is not None:
        print_aside([_words(score, model)])
    return SOLVED


def _score(
    model: ModelFile, frame: Any, predictions: FloatArray
) -> tuple[Score | None, list[str]]:
    """The score, if the table has the target, or else what is in its way."""
    try:
        return model.score(frame, predictions), []
    except DataError as err:
        return None, [f"the predictions are not scored: {err}"]


def _figures(score: Score) -> dict[str, Any]:
    return {name: finite(value) for name, value in asdict(score).items()}


def _words(score: Score, model: ModelFile) -> str:
    rows = count(score.n_rows, "row")
    r2 = "no R2, for it does not vary" if np.isnan(score.r2) else f"R2 {score.r2:.4f}"
    words = f"beside `{model.target}` in {rows}: {r2}, RMSE {score.rmse:.4g}"
    if score.n_rows != model.proof.n_rows:
        return words
    return f"{words}; in sample, if these are the rows that it was fitted to"
