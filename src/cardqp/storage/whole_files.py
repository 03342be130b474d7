"""The one place that writes files: whole or not at all, whoever else writes them."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_NEW |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""A file that was not there, not even as a link; Windows needs to be told of bytes."""


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text as UTF-8, lines as they are.

    An existing file is replaced only once everything is written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write bytes; an existing file is replaced only once everything is written."""
    with replacing(path) as stream:
        stream.write(data)


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose contents become the file once they are on the disk.

    Whoever reads the file meanwhile gets all of the old one or all of the new one; of
    several writers, the last one stays.  A file keeps its mode; a new one gets that of
    new files.  Devices and pipes are written to, and links stay links.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    target = target.resolve()
    partial = target.with_name(f".cardqp-{secrets.token_hex(8)}.part")
    with _named(partial, path), _new_file(partial, _mode_of(target)) as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()  # Windows replaces closed files only
            partial.replace(target)
        except BaseException:
            stream.close()
            partial.unlink(missing_ok=True)
            raise


def _mode_of(target: Path) -> int | None:
    """Who may read and write a file that is there."""
    try:
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    except FileNotFoundError:
        return None


def _new_file(path: Path, mode: int | None) -> BinaryIO:
    """A file that nobody may read who may not read the one that it replaces."""
    stream = os.fdopen(os.open(path, _NEW, 0o666 if mode is None else mode), "wb")
    if mode is not None:
        path.chmod(mode)  # the mask for new files does not apply to old ones
    return stream


@contextmanager
def _named(partial: Path, path: str | PathLike[str]) -> Iterator[None]:
    """Let errors name the file that was asked for, not one that nobody knows."""
    try:
        yield
    except OSError as err:
        if str(err.filename) == str(partial):
            err.filename, err.filename2 = os.fspath(path), None
        raise
