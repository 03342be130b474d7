"""A table from the command line's options."""

import argparse
from typing import Any

from cardqp.tables.read import read_table
from cardqp.tables.text import MISSING


def read_file(options: argparse.Namespace, *, least_columns: int = 2) -> Any:
    """The table in ``options.file``, as ``add_text_options`` describes it."""
    given = options.missing_values
    return read_table(
        options.file,
        delimiter=options.delimiter,
        decimal=options.decimal,
        missing=MISSING if given is None else given,
        least_columns=least_columns,
    )
