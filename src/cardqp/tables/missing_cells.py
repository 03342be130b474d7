"""Columns with missing cells, for messages."""

from typing import NamedTuple


class MissingCells(NamedTuple):
    """The missing cells of one column.

    Attributes
    ----------
    name : str
        The column.
    number, n_rows : int
        How many cells are missing, of how many.
    where : str
        The first row without a cell.
    """

    name: str
    number: int
    n_rows: int
    where: str
