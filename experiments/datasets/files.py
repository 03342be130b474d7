"""Finding a data set's file in folders and archives, and reading its bytes.

Members of archives are read into memory and never written to disk, so that no name
inside an archive can lead to a place outside.
"""

import gzip
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cardqp.exceptions import DataError

_LARGEST = 2**30
"""Bytes that a file may have, also when unpacked: the sets need 60 million."""

_DEPTH = 5
"""Folders below the given one that are looked into."""

_NESTING = 2
"""Archives within an archive that are looked into."""

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What the standard library raises for damaged or encrypted archives."""


@dataclass(frozen=True, slots=True)
class Located:
    """A file in a folder, or in an archive there, perhaps in an archive within it."""

    path: Path
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.members[-1].rpartition("/")[2] if self.members else self.path.name

    @property
    def label(self) -> str:
        """How sources and messages call it, without the folder."""
        return " in ".join(f"`{n}`" for n in (*self.members[::-1], self.path.name))

    def is_called(self, name: str) -> bool:
        """Whether this is the wanted file, gzipped or not, in any case of letters."""
        return self.name.casefold() in (name.casefold(), f"{name}.gz".casefold())

    def read(self) -> bytes:
        """The contents, unpacked."""
        return self.unpack(read_bytes(self.path))

    def unpack(self, data: bytes) -> bytes:
        """The contents, from those of the file on disk."""
        for member in self.members:
            data = _unpack(data, member, f"`{self.path}`")
        if not self.name.casefold().endswith(".gz"):
            return data
        return _gunzip(data, f"{self.label} ({self.path.parent})")


def read_bytes(path: Path) -> bytes:
    """A file of reasonable size."""
    try:
        size, data = path.stat().st_size, b""
        if size <= _LARGEST:
            data = path.read_bytes()
    except OSError as err:
        raise DataError(None, f"`{path}` cannot be read", given=str(err)) from err
    _limit(size, f"`{path}`")
    return data


def locate(folder: Path, archives: Collection[str]) -> list[Located]:
    """All files of a folder: itself first, then subfolders, then what archives hold.

    Parameters
    ----------
    folder : Path
        Where to look.
    archives : collection of str
        Names of zip files to look into, as ``bare_name`` writes them.
    """
    paths = sorted(_walk(folder), key=lambda path: (len(path.parts), path))
    plain = [Located(path) for path in paths]
    packed = [
        member
        for path in paths
        if path.suffix.casefold() == ".zip" and bare_name(path.stem) in archives
        for member in members(Located(path), read_bytes(path))
    ]
    return plain + packed


def bare_name(name: str) -> str:
    """Small letters and digits only: browsers spell names of archives differently."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def members(archive: Located, data: bytes) -> Iterator[Located]:
    """The files in an archive and in archives within it.

    Parameters
    ----------
    archive : Located
        Where the archive is.
    data : bytes
        Its contents.
    """
    with _open(data, archive.label) as opened:
        names = [name for name in opened.namelist() if _is_tame(name)]
    for name in names:
        inner = Located(archive.path, (*archive.members, name))
        if not name.casefold().endswith(".zip"):
            yield inner
        elif len(inner.members) <= _NESTING:
            yield from members(inner, _unpack(data, name, archive.label))


def _walk(folder: Path) -> Iterator[Path]:
    for place, inside, names in os.walk(folder):
        here = Path(place)
        if len(here.relative_to(folder).parts) >= _DEPTH:
            inside.clear()
        yield from (here / name for name in names)


def _is_tame(name: str) -> bool:
    """Whether a member's name is a relative path that does not climb."""
    path = PurePosixPath(name.replace("\\", "/"))
    return not path.is_absolute() and ".." not in path.parts and ":" not in name


def _open(data: bytes, label: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as err:
        raise DataError(
            f"{label} is not a readable zip file: {err}; remove it or get it again."
        ) from err


def _unpack(data: bytes, member: str, label: str) -> bytes:
    with _open(data, label) as opened:
        _limit(opened.getinfo(member).file_size, f"`{member}` in {label}")
        try:
            return opened.read(member)
        except _BROKEN as err:
            raise DataError(
                None,
                f"`{member}` in {label} is damaged",
                given=str(err),
                remedy="get the archive again",
            ) from err


def _gunzip(data: bytes, label: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as opened:
            plain = opened.read(_LARGEST + 1)
    except _BROKEN as err:
        raise DataError(f"{label} is damaged: {err}; get it again.") from err
    _limit(len(plain), label)
    return plain


def _limit(size: int, label: str) -> None:
    if size > _LARGEST:
        raise DataError(
            f"{label} must have at most {_LARGEST} bytes: it has {size} or more; "
            "it is not the file of the data set."
        )
