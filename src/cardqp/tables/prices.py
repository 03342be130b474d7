"""Returns of assets from a table of prices."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.tables import validation as check
from cardqp.tables.cells import Cells, read_cells
from cardqp.tables.column_profile import column_profiles
from cardqp.tables.dates import DATES
from cardqp.tables.kinds import NUMBER
from cardqp.tables.place import Place


@dataclass(frozen=True, eq=False, slots=True)
class Returns:
    """Simple returns, one row per period and one column per asset."""

    values: FloatArray
    names: tuple[str, ...]


def read_returns(frame: Any, *, are_returns: bool = False) -> Returns:
    """The returns of all assets in a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        One column per asset and one row per period, in order.  A first column that does
        not hold numbers, such as dates, is not an asset.
    are_returns : bool
        Whether the table has returns already, not prices.

    Raises
    ------
    DataError
        When cells are missing or no numbers, prices are not positive, or dates do not
        increase.
    """
    names = [str(name) for name in frame.columns]
    first = names[0]
    kind = column_profiles(frame.iloc[:, :1], Place())[first].kind()
    if kind in DATES:
        _check_order(read_cells(frame, {first: kind}), first)
    if kind != NUMBER:
        names = names[1:]
    if not names:
        raise DataError(
            None, "the table must have a column of prices", given="it has none"
        )
    cells = read_cells(frame, dict.fromkeys(names, NUMBER))
    remedy = "fill it in, or remove the asset or the row"
    check.complete(cells.missing_cells(), remedy)
    table = cells.numbers
    if not are_returns:
        meant = Phrase(
            "correct it, or use {} if these are returns", Setting("are_returns", True)
        )
        cells.refuse(table <= 0, "positive prices", lambda _: meant)
        table = table[1:] / table[:-1] - 1.0
    if len(table) < 2:
        raise DataError(
            None,
            f"the table must have at least {2 if are_returns else 3} rows, one per "
            "period",
            given=f"it has {len(frame)}",
        )
    return Returns(table, cells.names)


def _check_order(dates: Cells, name: str) -> None:
    steps = np.diff(dates.numbers[:, 0])
    wrong = np.flatnonzero(~(steps > 0))
    if len(wrong):
        row = int(wrong[0]) + 2
        raise DataError(
            None,
            f"the dates in `{name}` must increase",
            given=f"that of row {row} is missing or not after the one before",
            remedy="sort the rows",
        )
