"""Pandas and Parquet, which tables are read with."""

import io
from typing import Any

from cardqp.exceptions import DataError, not_installed, optional

BROKEN_PARQUET = (OSError, ValueError, TypeError, LookupError, NotImplementedError)
"""Exceptions of pyarrow for damaged files, depending on the place of the damage."""


def require_pandas(user: str = "This data set") -> Any:
    """The module pandas, or an error that says who needs it and how to get it."""
    return optional("pandas", f"{user} needs pandas", "data")


def exact_decimals(version: str) -> dict[str, str]:
    """Options with which pandas reads decimal numbers to the last bit.

    Newer releases do so by themselves, and warn of the option.
    """
    major, minor = version.split(".")[:2]
    if (int(major), int(minor)) >= (3, 1):
        return {}
    return {"float_precision": "round_trip"}


def read_parquet(data: bytes, label: str) -> Any:
    """The frame in a Parquet file, which messages call by its label."""
    pandas = require_pandas()
    try:
        return pandas.read_parquet(io.BytesIO(data), engine="pyarrow")
    except ImportError as err:  # there is none, or pandas wants a newer one
        raise not_installed(f"{label} needs pyarrow", "data") from err
    except BROKEN_PARQUET as err:
        reason = " ".join(str(err).split()).rstrip(".")
        raise DataError(f"{label} is not a readable parquet file: {reason}.") from err
