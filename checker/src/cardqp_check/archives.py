"""Archives of arrays, whose sizes are checked before memory is used (section 8)."""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy

from cardqp_check.refusal import Refused, require

MOST_BYTES = 16 * 2**30
"""Archives that unpack to more are refused."""

_EXPANSION = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""Bytes that a byte can become: at best, two bits of deflate stand for 258 bytes."""

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_LENGTHS = {(1, 0): struct.Struct("<H"), (2, 0): struct.Struct("<I")}
"""How headers are read, and their lengths, by the version of the format."""

_CHUNK = 2**24
"""Bytes that are unpacked at a time."""

BROKEN = (
    *(ValueError, TypeError, LookupError, ArithmeticError, EOFError, OSError),
    *(RuntimeError, SyntaxError, MemoryError, AttributeError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What NumPy and the standard library raise for files that cannot be read."""


class Archive:
    """The arrays of an ``.npz`` file, by key; each accessor also checks the type.

    Parameters
    ----------
    path : path
        The file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as stream:
                self.arrays = _read(stream)
        except BROKEN as error:
            why = str(error) or type(error).__name__
            raise Refused(f"{path} is not an archive of arrays: {why}") from error

    def __contains__(self, key: str) -> bool:
        return key in self.arrays

    def array(self, key: str, kind: str, *shape: int | None) -> np.ndarray[Any, Any]:
        """An array of a kind ("f" floats, "i" integers, "U" text) and a shape.

        Each length is a number, or None if any will do.  Floats are returned as
        doubles and integers in 64 bits, without a change of any value.
        """
        require(key in self.arrays, f"{self.path} lacks the array {key}")
        found = self.arrays[key]
        fits = len(found.shape) == len(shape) and all(
            wanted in (None, length)
            for wanted, length in zip(shape, found.shape, strict=True)
        )
        has_kind = found.dtype.kind == kind and (kind == "U" or found.itemsize <= 8)
        require(has_kind, f"{key} has the type {found.dtype}, not one of kind {kind}")
        require(fits, f"{key} has the shape {found.shape}, which does not fit")
        types = {"f": np.float64, "i": np.int64}
        return found.astype(types[kind]) if kind in types else found

    def numbers(self, key: str, *shape: int | None) -> np.ndarray[Any, Any]:
        """An array of finite floats."""
        found = self.array(key, "f", *shape)
        require(np.isfinite(found).all(), f"{key} has numbers that are not finite")
        return found

    def indices(self, key: str, below: int) -> np.ndarray[Any, Any]:
        """A vector of integers from 0 to less than a number."""
        found = self.array(key, "i", None)
        require(
            ((found >= 0) & (found < below)).all(), f"{key} has numbers out of range"
        )
        return found

    def text(self, key: str) -> str:
        """A text."""
        return str(self.array(key, "U").item())

    def number(self, key: str) -> float:
        """A float, perhaps an infinite one."""
        found = float(self.array(key, "f").item())
        require(not math.isnan(found), f"{key} is not a number")
        return found


def _read(stream: IO[bytes]) -> dict[str, np.ndarray[Any, Any]]:
    """Read all arrays, none of which may be pickled."""
    arrays = {}
    with zipfile.ZipFile(stream) as archive:
        _check_sizes(archive, stream.seek(0, 2))
        for member in archive.infolist():
            key = member.filename.removesuffix(".npy")
            if key in arrays:
                raise ValueError(f"it holds {key} twice")
            arrays[key] = _read_member(archive, member)
    return arrays


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Raise if the members cannot hold what they declare, or declare too much."""
    members = archive.infolist()
    if sum(member.compress_size for member in members) > size:
        raise ValueError("it declares more bytes than it has")
    if sum(member.file_size for member in members) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES} bytes")
    for member in members:
        most = _EXPANSION.get(member.compress_type, 0) * member.compress_size
        if member.file_size > most:
            raise ValueError(f"{member.filename} declares more bytes than it can hold")


def _read_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> np.ndarray[Any, Any]:
    with archive.open(member) as part:
        version = npy.read_magic(part)
        length = _LENGTHS[version]
        size = part.read(length.size)
        header = size + part.read(*length.unpack(size))
        shape, is_fortran, dtype = _parse(version, header)
        left = member.file_size - part.tell()
        # NumPy gives entries without bytes some of its own.
        if dtype.hasobject or math.prod(shape) * max(dtype.itemsize, 1) != left:
            raise ValueError(
                f"{member.filename} declares entries that it does not hold"
            )
        data = bytearray(left)
        _fill(memoryview(data), part)
    order: Literal["F", "C"] = "F" if is_fortran else "C"
    return np.ndarray(shape, dtype, buffer=data, order=order)


def _fill(unread: memoryview, part: IO[bytes]) -> None:
    while unread:
        chunk = part.read(min(len(unread), _CHUNK))
        if not chunk:
            raise EOFError
        unread[: len(chunk)] = chunk
        unread = unread[len(chunk) :]


@lru_cache(maxsize=1024)
def _parse(version: tuple[int, int], header: bytes) -> tuple[Any, ...]:
    """Shape, order and type; most arrays of small files have the same few headers."""
    return _HEADERS[version](io.BytesIO(header))
