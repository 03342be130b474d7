"""Files that are replaced as a whole: archives of plain arrays, and texts.

Nothing is ever pickled.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cardqp.exceptions import ProblemError

_BROKEN = (
    ValueError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy raises, depending on how a file is not an archive."""


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays to a ``.npz`` archive; entries that are None are left out.

    An existing file is replaced only once everything is written.
    """
    present = {key: np.array(v) for key, v in arrays.items() if v is not None}
    with _replacing(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **present)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text as UTF-8, lines as they are.

    An existing file is replaced only once everything is written.
    """
    with _replacing(path) as stream:
        stream.write(text.encode())


@contextmanager
def _replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    target = Path(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:  # a device or a pipe is written to, not over
            yield stream
        return
    target = target.resolve()  # a link stays a link
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as stream:
            yield stream
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_arrays(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a ``.npz`` archive; arrays without dimensions become Python scalars."""
    try:
        with (
            Path(path).open("rb") as stream,
            np.load(stream, allow_pickle=False) as archive,
        ):
            arrays = {key: archive[key] for key in archive.files}
    except FileNotFoundError:
        raise ProblemError(f"`path` must name a file: {path} does not exist.") from None
    except _BROKEN as err:
        raise ProblemError(f"`path` must be a .npz archive: {path}: {err}.") from err
    return {key: a.item() if a.ndim == 0 else a for key, a in arrays.items()}
