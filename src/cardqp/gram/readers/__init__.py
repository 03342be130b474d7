"""Files of rows, a few thousand at a time: Parquet, text and NumPy."""

from collections.abc import Callable
from pathlib import Path

from cardqp.exceptions import DataError, ParameterError
from cardqp.gram.readers.base import Blocks, NotNumbersError, reading
from cardqp.gram.readers.numpy_file import MatrixRows, NumPyFile
from cardqp.gram.readers.parquet_file import ParquetFile, RowGroup
from cardqp.gram.readers.text_file import Lines, TextFile
from cardqp.tables.header import check_distinct
from cardqp.tables.text import Layout

__all__ = ["Blocks", "NotNumbersError", "NumPyFile", "Piece", "Reader", "open_reader"]

Reader = ParquetFile | TextFile | NumPyFile
"""A file whose rows can be read from certain positions on: 0 for the beginning, and
those that ``pieces`` has given, each after its piece."""

Piece = RowGroup | Lines | MatrixRows
"""Some rows of a file that come one after the other, as numbers or as they are."""

_TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


def open_reader(path: Path, layout: Layout) -> Reader:
    """A reader for a file, by the ending of its name; the layout is for text."""
    openers: dict[str, Callable[[Path], Reader]] = {
        ".parquet": ParquetFile.open,
        ".npy": NumPyFile.open,
    }
    openers |= dict.fromkeys(_TEXTS, lambda text: TextFile.open(text, layout))
    name = path.name.casefold()
    endings = [ending for ending in openers if name.endswith(ending)]
    if not endings:
        raise ParameterError(
            "paths",
            f"must name files that end in {', '.join(openers)}",
            given=f"it names `{path}`",
        )
    if not path.is_file():
        raise DataError("paths", "must name files", given=f"`{path}` is none")
    with reading(path):
        reader = openers[endings[0]](path)
    rule = f"`{path}` must have distinct names of columns"
    check_distinct(reader.columns, None, rule)
    return reader
