"""``cardqp subsets``: the best subsets of a table's columns, of every size."""

import argparse
import sys
from dataclasses import dataclass, replace
from typing import Any

from cardqp import storage
from cardqp._typing import IntArray
from cardqp.bounds.gap import finite
from cardqp.cli.codes import SOLVED, STOPPED_EARLY
from cardqp.cli.encoding import encoder_of, included_features
from cardqp.cli.feature_blocks import feature_blocks
from cardqp.cli.folds import DEFAULT, random_folds
from cardqp.cli.messages import one_line
from cardqp.cli.outputs import (
    check_csv,
    check_outputs,
    print_json,
    print_notes,
    write_rows,
)
from cardqp.cli.progress import ProgressLine
from cardqp.cli.text_table import read_file
from cardqp.exceptions import ParameterError
from cardqp.problem import validation as check
from cardqp.report.subsets_sentences import headline, proof
from cardqp.subsets.result import Subset, Subsets
from cardqp.subsets.rows import Features, encoded_features
from cardqp.subsets.table import SearchSettings, search_features
from cardqp.tables import Encoded

STANDARD_OUTPUT, BETWEEN = "-", ";"
"""The name of standard output, and what is between features in a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedTable:
    """The best subsets of a table's columns.

    Attributes
    ----------
    target : str
        The column to predict.
    features : Features
        The table as numbers.
    subsets : Subsets
        Its best subsets.
    """

    target: str
    features: Features
    subsets: Subsets


def subsets(options: argparse.Namespace) -> int:
    """``cardqp subsets FILE``."""
    settings = SearchSettings(
        max_size=options.max_size,
        n_best=options.n_best,
        criterion=options.criterion,
        gap=options.gap,
        time_limit=options.time_limit,
    )
    _check_folds(options)
    _check_files(options)
    found = search_table(read_file(options), options, settings)
    print_notes(found.subsets.notes)
    if options.output is not None:
        _write_table(found.subsets, options)
    if options.report is not None:
        from cardqp.cli.subsets_report import page_about

        storage.write_text(options.report, page_about(found, options))
    if options.json:
        print_json(to_dict(found))
    elif options.output != STANDARD_OUTPUT:
        print(text(found))
        for name, path in (("Table", options.output), ("Report", options.report)):
            if path is not None:
                print(f"\n{name} written to {path}")
    return STOPPED_EARLY if found.subsets.stop.is_early else SOLVED


def _check_folds(options: argparse.Namespace) -> None:
    """Complaints about folds, before anything is read."""
    check.at_least("--seed", options.seed, 0)
    if options.cv is not None:
        check.count("--cv", options.cv, 2)
        if options.criterion != "cv":
            raise ParameterError("--cv", "must be given with `--criterion cv`")


def _check_files(options: argparse.Namespace) -> None:
    """Complaints about files to be written, before anything is read."""
    inputs, output = [options.file], options.output
    if output == STANDARD_OUTPUT:
        if options.json:
            raise ParameterError("--output", "must be a file with `--json`")
    elif output is not None:
        check_csv(inputs, output)
        inputs.append(output)
    check_outputs(inputs, {"--report": options.report})


def search_table(
    frame: Any, options: argparse.Namespace, settings: SearchSettings
) -> SearchedTable:
    """Find the best subsets of a table, as the options describe it."""
    encoder = encoder_of(frame, options)
    included = included_features(encoder, options.always_include)
    labels = feature_blocks(encoder, options.blocks)
    table = encoder.apply(frame)
    features = encoded_features(
        encoder, table, is_centred=options.intercept, folds=_folds(table, options)
    )
    features = replace(features, labels=labels)
    with ProgressLine(sys.stderr, quiet=options.json) as progress:
        found = search_features(
            features,
            settings,
            always_include=included,
            callback=progress if progress.active else None,
        )
    return SearchedTable(encoder.target, features, found)


def _folds(table: Encoded, options: argparse.Namespace) -> list[IntArray]:
    """The rows of each fold, if folds are to choose."""
    if options.criterion != "cv":
        return []
    number = DEFAULT if options.cv is None else options.cv
    return [part for _, part in random_folds(len(table.rows), number, options.seed)]


def text(found: SearchedTable) -> str:
    """The table, what is chosen and what is proved, for people."""
    subsets, is_centred = found.subsets, found.features.moments.is_centred
    told = headline(subsets, found.target, is_centred=is_centred), *proof(subsets)
    return "\n".join([str(_printable(subsets)), "", *map(one_line, told)])


def _printable(found: Subsets) -> Subsets:
    """A copy whose names fit on one line each; its notes are printed elsewhere."""
    subsets = (replace(each, units=tuple(map(one_line, each.units))) for each in found)
    return replace(found, subsets=tuple(subsets), notes=())


def _write_table(found: Subsets, options: argparse.Namespace) -> None:
    rows = [_row(each) for each in found]
    cells = (row | {"features": BETWEEN.join(row["features"])} for row in rows)
    write_rows(
        None if options.output == STANDARD_OUTPUT else options.output,
        list(rows[0]),
        [list(row.values()) for row in cells],
        escape=options.escape_formulas,
    )


def _row(subset: Subset) -> dict[str, Any]:
    """A row of the table; None where a number is not known."""
    return {
        name: finite(value) if isinstance(value, float) else value
        for name, value in subset.row().items()
    }


def to_dict(found: SearchedTable) -> dict[str, Any]:
    """All figures for programs."""
    subsets = found.subsets
    return {
        "target": found.target,
        "n_rows": subsets.n_samples,
        "n_features": len(subsets.names),
        "criterion": subsets.criterion,
        "best": _entry(subsets.best()),
        "subsets": [_entry(each) for each in subsets],
        "stop": subsets.stop.name,
        "notes": list(subsets.notes),
    }


def _entry(subset: Subset) -> dict[str, Any]:
    values = subset.coef[subset.support].tolist()
    return _row(subset) | {
        "lower_bound": finite(subset.lower_bound),
        "coefficients": dict(zip(subset.features, values, strict=True)),
        "intercept": float(subset.intercept),
    }
