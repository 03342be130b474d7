"""Names of rows, which programs write in a first column without a name."""

from typing import Any

from cardqp.tables.dates import DATES, iso_date


def without_row_names(frame: Any) -> tuple[Any, list[str]]:
    """A table without its first column if that names rows, and a note that says so.

    Its name is known to be missing.  It holds integers or texts, all different; dates
    may be of use.
    """
    column = frame.iloc[:, 0]
    if frame.shape[1] < 3 or column.dtype.kind not in "iuO" or not column.is_unique:
        return frame, []
    first = str(column.iloc[0]).strip()
    if column.isna().any() or any(iso_date(first, kind) for kind in DATES):
        return frame, []
    note = "left out the first column, which has no name and another value in each row"
    return frame.iloc[:, 1:], [note]
