"""Where the rows of a table are, and its missing cells, for messages."""

from dataclasses import dataclass, replace

from cardqp._typing import IntArray
from cardqp.tables.phrases import percent


@dataclass(frozen=True, slots=True)
class MissingCells:
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

    @property
    def share(self) -> float:
        """Share of the rows without a cell."""
        return self.number / self.n_rows

    def __str__(self) -> str:
        return (
            f"{self.number} of {self.n_rows} are missing ({percent(self.share)}), the "
            f"first in {self.where}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where some rows come from.

    Attributes
    ----------
    file : str
        The file; empty if there is but one table.
    first : int
        How many of its rows are before these.
    kept : int array, optional
        Which of the rows these are; all by default.
    """

    file: str = ""
    first: int = 0
    kept: IntArray | None = None

    def row(self, i: int) -> str:
        """The name of a row, counted from 1."""
        place = i if self.kept is None else int(self.kept[i])
        found = f"row {self.first + place + 1}"
        return f"{found} of `{self.file}`" if self.file else found

    def only(self, kept: IntArray) -> "Place":
        """The place of some of the rows."""
        return replace(self, kept=kept)
