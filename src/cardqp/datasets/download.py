"""Downloads from the UCI archive into a folder of the user."""

import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cardqp.datasets.files import read_bytes
from cardqp.exceptions import DataError
from cardqp.storage import write_bytes

log = logging.getLogger(__name__)

_ARCHIVE_URL = "https://archive.ics.uci.edu/static/public"
_TIMEOUT = 30.0
_RETRIES = 3
_PAUSE = 0.5
"""Seconds before the first retry; each later pause is twice as long."""

_LARGEST = 2**28
"""Bytes that a download may have: the archives have at most 30 million."""

_CHUNK = 2**20
_TEMPORARY = (408, 425, 429)
"""Answers of the kind "your fault" that may change by themselves."""


def cache_folder() -> Path:
    r"""Where this system keeps what programs can get again.

    ``$XDG_CACHE_HOME/cardqp`` or ``~/.cache/cardqp``; ``~/Library/Caches/cardqp`` on
    macOS; ``%LOCALAPPDATA%\cardqp`` on Windows.
    """
    system = platform.system()
    if system == "Darwin":
        base = Path.home() / "Library" / "Caches"
    elif system == "Windows":
        base = _folder_from("LOCALAPPDATA", Path.home() / "AppData" / "Local")
    else:
        base = _folder_from("XDG_CACHE_HOME", Path.home() / ".cache")
    return base / "cardqp"


def _folder_from(variable: str, default: Path) -> Path:
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else default


def archive_url(number: int, slug: str) -> str:
    """Where the archive offers a data set as a zip file."""
    return f"{_ARCHIVE_URL}/{number}/{slug}.zip"


def download(url: str, check: Callable[[bytes], object]) -> bytes:
    """What is at ``url``, tried again after errors that may pass.

    Parameters
    ----------
    url : str
        Address of the file.
    check : callable
        Raises ``DataError`` when contents are not what is expected.
    """
    for retry in range(_RETRIES + 1):
        try:
            data = _fetch(url)
            check(data)
        # A DataError is an OSError: wrong contents are tried again, too.
        except (OSError, HTTPException) as err:
            if retry == _RETRIES or _is_final(err):
                raise DataError(f"{url} could not be downloaded: {err}") from err
            log.info("%s: %s; trying again", url, err)
            time.sleep(_PAUSE * 2**retry)
        else:
            log.info("%s: %d bytes", url, len(data))
            return data
    raise AssertionError("the last retry returns or raises")


def _is_final(err: Exception) -> bool:
    if not isinstance(err, HTTPError):
        return False
    err.close()
    return 400 <= err.code < 500 and err.code not in _TEMPORARY


def _fetch(url: str) -> bytes:
    request = Request(url, headers={"User-Agent": "cardqp"})
    data = bytearray()
    with urlopen(request, timeout=_TIMEOUT) as answer:
        promised = answer.headers.get("Content-Length")
        while chunk := answer.read(_CHUNK):
            data += chunk
            if len(data) > _LARGEST:
                raise DataError(f"more than {_LARGEST} bytes came")
    if promised is not None and promised != str(len(data)):
        raise DataError(f"{len(data)} bytes came instead of {promised}")
    return bytes(data)


def store(path: Path, data: bytes) -> None:
    """Write a download and its SHA-256, both or neither, each in one step."""
    record = _record_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The checksum comes first: no archive is ever there without it.
        write_bytes(record, f"{sha256(data)}  {path.name}\n".encode())
        try:
            write_bytes(path, data)
        except OSError:
            record.unlink(missing_ok=True)
            raise
    except OSError as err:
        raise DataError(None, f"`{path}` cannot be written", given=str(err)) from err


def verify(path: Path) -> None:
    """Compare a stored download, if there is one, with the SHA-256 beside it."""
    record = _record_of(path)
    if not (path.exists() and record.exists()):
        return
    expected = read_bytes(record).decode(errors="replace").partition(" ")[0]
    compare(f"`{path}`", read_bytes(path), expected)


def compare(label: str, data: bytes, expected: str) -> None:
    """Refuse contents whose SHA-256 is not the expected one."""
    actual = sha256(data)
    if actual != expected.strip().casefold():
        raise DataError(
            f"{label} must have the SHA-256 {expected}: it has {actual}; remove the "
            "file and get it again, or correct the checksum."
        )


def sha256(data: bytes) -> str:
    """The SHA-256 checksum in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
