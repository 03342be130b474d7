"""A table from the command line's options."""

import argparse
from typing import Any

from cardqp.tables.read import read_table
from cardqp.tables.text import MISSING


def read_file(options: argparse.Namespace, *, least_columns: int = 2) -> Any:
    """The table in ``options.file``, as ``add_text_options`` describes it."""
    return read_table(
        options.file,
        delimiter=options.delimiter,
        decimal=options.decimal,
        missing=(*MISSING, *options.missing_values),
        least_columns=least_columns,
        encoding=options.encoding,
        skip_lines=options.skip_lines,
    )
