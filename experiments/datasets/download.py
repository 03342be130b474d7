"""Downloads from the UCI archive into a folder of the user, by pooch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cardqp.exceptions import BackendNotFoundError, DataError
from experiments.datasets.files import read_bytes

_TIMEOUT = 30.0
_RETRIES = 3


def cache_folder() -> Path:
    """Where this system keeps what programs can get again, such as ``~/.cache``."""
    try:
        from platformdirs import user_cache_path
    except ImportError as err:
        raise _missing("platformdirs") from err
    return user_cache_path("cardqp", appauthor=False)


def download(
    url: str, path: Path, check: Callable[[bytes], object], sha256: str = ""
) -> None:
    """Bring what is at ``url`` to a file, whole and checked, or not at all.

    Parameters
    ----------
    url : str
        Address of the file.
    path : Path
        Where it goes; nothing may be there.
    check : callable
        Raises ``DataError`` when contents are not what is expected.
    sha256 : str, optional
        Checksum that the file must have.

    Raises
    ------
    DataError
        When it cannot be had, or cannot be written, or is something else, again and
        again.
    """
    try:
        import pooch
    except ImportError as err:
        raise _missing("pooch") from err
    manager = pooch.create(
        path.parent,
        base_url="",
        registry={path.name: sha256 or None},
        urls={path.name: url},
        retry_if_failed=_RETRIES,
    )
    try:
        http = pooch.HTTPDownloader(timeout=_TIMEOUT, progressbar=sys.stderr.isatty())
        manager.fetch(path.name, downloader=_with_check(http, check))
    except (OSError, ValueError) as err:
        raise DataError(f"{url} could not be downloaded: {err}") from err


def _with_check(
    downloader: Callable[[str, str, Any], object], check: Callable[[bytes], object]
) -> Callable[[str, str, Any], None]:
    """A downloader of pooch that looks at what came, before it is kept."""

    def fetch(url: str, file: str, manager: Any) -> None:
        downloader(url, file, manager)
        try:
            check(read_bytes(Path(file)))
        except DataError as err:
            # Pooch tries again after a ValueError, and keeps nothing.
            raise ValueError(str(err)) from err

    return fetch


def _missing(package: str) -> BackendNotFoundError:
    return BackendNotFoundError(
        f"Downloads need {package}: install it with `pip install '.[experiments]'`."
    )
