"""Archives of plain arrays; nothing is ever pickled."""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO

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
    struct.error,
)
"""Exceptions of NumPy and the standard library for files that cannot be read."""

_HEADERS: dict[tuple[int, int], tuple[Callable[..., tuple[Any, ...]], struct.Struct]]
_HEADERS = {
    (1, 0): (npy.read_array_header_1_0, struct.Struct("<H")),
    (2, 0): (npy.read_array_header_2_0, struct.Struct("<I")),
}
"""How headers are read, and their lengths, by the version of the format."""

_CHUNK = 2**24
"""Bytes that are unpacked at a time."""


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
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as part:
                arrays[name] = _read_array(part, member)
    return arrays


def _read_array(part: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """An array; memory is used only for what is there, as far as the archive says."""
    shape, is_fortran, dtype = _read_header(part)
    held = member.file_size - part.tell()
    # Entries without bytes are given some by NumPy.
    wanted = math.prod(shape) * max(1, dtype.itemsize)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds Python objects")
    if wanted != held:
        raise ValueError(
            f"{member.filename} says that its entries take {wanted} bytes, "
            f"there are {held}"
        )
    data = bytearray(held)
    _fill(memoryview(data), part)
    return np.ndarray(shape, dtype, buffer=data, order="F" if is_fortran else "C")


def _read_header(part: IO[bytes]) -> tuple[Any, ...]:
    version = npy.read_magic(part)
    if version not in _HEADERS:
        raise ValueError(f"it has an array in the unknown version {version}")
    _, length = _HEADERS[version]
    size = part.read(length.size)
    return _parse_header(version, size + part.read(*length.unpack(size)))


@lru_cache(maxsize=1024)
def _parse_header(version: tuple[int, int], header: bytes) -> tuple[Any, ...]:
    """Shape, order and type: small archives have the same few headers many times."""
    parse, _ = _HEADERS[version]
    return parse(io.BytesIO(header))


def _fill(unread: memoryview, part: IO[bytes]) -> None:
    while unread:
        chunk = part.read(min(len(unread), _CHUNK))
        if not chunk:
            raise EOFError
        unread[: len(chunk)] = chunk
        unread = unread[len(chunk) :]
