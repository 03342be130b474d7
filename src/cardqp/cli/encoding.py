"""Tables as numbers: the options of commands, and columns as features."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cardqp.cli.feature_blocks import not_used
from cardqp.tables import TableEncoder


def encoder_of(frame: Any, options: argparse.Namespace) -> TableEncoder:
    """The encoder of a table, as the options of a command describe it.

    Its notes begin with those on how the table was read.
    """
    encoder = TableEncoder.from_table(
        frame,
        options.target,
        drop=options.drop,
        only=options.only,
        categorical=options.categorical,
        missing=options.missing,
        max_levels=options.max_levels,
        max_missing=options.max_missing,
        dates=options.dates,
    )
    return replace(encoder, notes=(*frame.attrs.get("notes", ()), *encoder.notes))


def included_features(encoder: TableEncoder, names: Sequence[str]) -> list[int] | None:
    """The features of columns that are chosen in any case; None if there are none."""
    places = {column.name: j for j, column in enumerate(encoder.columns)}
    for name in names:
        if name not in places:
            raise not_used("--always-include", name)
    chosen = [places[name] for name in names]
    return np.flatnonzero(np.isin(encoder.blocks, chosen)).tolist() or None
