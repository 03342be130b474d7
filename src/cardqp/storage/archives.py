"""Archives of plain arrays; nothing is ever pickled."""

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from cardqp.exceptions import ProblemError
from cardqp.storage.sizes import check_sizes
from cardqp.storage.whole_files import replacing

_BROKEN = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    EOFError,
    OSError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of NumPy and the standard library for files that cannot be read."""


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays to a ``.npz`` archive; entries that are None are left out.

    An existing file is replaced only once everything is written.
    """
    present = {key: np.array(v) for key, v in arrays.items() if v is not None}
    with replacing(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **present)


def read_arrays(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a ``.npz`` archive; arrays without dimensions become Python scalars.

    Raises
    ------
    ProblemError
        When it is none, when it holds less than it says, or more than memory can.
    """
    try:
        with Path(path).open("rb") as stream:
            arrays = _read(stream)
    except FileNotFoundError:
        raise ProblemError(
            "path", "must name a file", given=f"{path} does not exist"
        ) from None
    except MemoryError as err:
        raise ProblemError(
            "path", "must fit into memory", given=f"{path}: {err}"
        ) from err
    except _BROKEN as err:
        why = str(err) or type(err).__name__
        raise ProblemError(
            "path", "must be a .npz archive", given=f"{path}: {why}"
        ) from err
    return {key: a.item() if a.ndim == 0 else a for key, a in arrays.items()}


def _read(stream: BinaryIO) -> dict[str, Any]:
    arrays = {}
    with zipfile.ZipFile(stream) as archive:
        check_sizes(archive, stream.seek(0, 2))
        for member in archive.infolist():
            with archive.open(member) as part:
                name = member.filename.removesuffix(".npy")
                arrays[name] = npy.read_array(part, allow_pickle=False)
    return arrays
