"""The five real data sets of the paper, from the UCI Machine Learning Repository."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError, ParameterError
from cardqp.tables.frames import require_pandas
from experiments.datasets import download, files, frames
from experiments.datasets.catalogue import SPECS, Spec
from experiments.datasets.files import Located
from experiments.datasets.frames import Layout
from experiments.datasets.tables import Table

UCI_NAMES: tuple[str, ...] = tuple(SPECS)
"""The names that ``load_uci`` knows."""


def load_uci(
    name: str, data_dir: str | os.PathLike[str] | None = None, *, sha256: str = ""
) -> Table:
    """One of the paper's five real data sets, prepared as in the paper.

    Parameters
    ----------
    name : str
        ``"superconductivity"``, ``"online-news"``, ``"crime"``, ``"ujindoor"`` or
        ``"facebook"``; or ``"crime-as-published"``, see the notes.
    data_dir : path, optional
        The folder with the file.  By default the one that the environment variable
        ``CARDQP_DATA`` names; without it the data set is looked for in the user's
        cache and, if it is not there, downloaded into it from the UCI archive.
        Nothing is downloaded when a folder is named in either way.
    sha256 : str, optional
        Checksum that the file on disk must have: the archive's zip file, if the data
        set is read from it.

    Returns
    -------
    Table
        Features without identifiers, constant columns and, for ``"crime"``, columns
        with a missing value; ``Table.source`` says which file was read.

    Raises
    ------
    DataError
        When no file is found, or it is damaged or of the wrong shape.
    BackendNotFoundError
        When pandas, pyarrow for parquet files, or pooch and platformdirs for a download
        are not installed.

    Notes
    -----
    Files are found in the folder, up to five folders below, and in the archive's zip
    file, also in a zip file within it; text files may be gzipped.  Several are accepted
    for each data set: the archive's original first, then prepared copies.  For
    ``"facebook"`` variant 5 is taken before variant 1, wherever they are.

    The file behind the paper's numbers for ``"crime"`` has lost its decimal points on
    the way through a spreadsheet: 0.19 is 19 there, 0.2 is 2 and 1 is 1; it has two
    identifiers among its features, and one complete column less.
    ``"crime-as-published"`` does the same to the archive's file, to explain those
    numbers.

    The archive publishes no checksums that could be built in.  A download is kept if it
    is a zip file with the data set in it; the checksums within the zip file, and the
    shape of the table, are compared whenever it is read.
    """
    spec = _spec(name)
    require_pandas()
    folder = _named_folder(data_dir)
    if folder is not None:
        found = _find(folder, spec)
        if found is None:
            raise DataError(
                f"The data set {name!r} is not in `{folder}`: put one of "
                f"{spec.accepted} there ({spec.url}), or name another folder by "
                "`data_dir` or the environment variable CARDQP_DATA."
            )
    else:
        folder = download.cache_folder() / "uci" / name
        found = _find_or_download(folder, spec, sha256)
    if sha256:
        _compare(found.located.path, sha256)
    return _prepare(name, spec, found)


@dataclass(frozen=True, slots=True)
class _Found:
    located: Located
    layout: Layout
    data: bytes


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise ParameterError(
            "name", f"must be one of {', '.join(UCI_NAMES)}", given=f"it is {name!r}"
        )
    return SPECS[name]


def _named_folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """The folder that the caller or the environment names, if one does."""
    origin = "CARDQP_DATA" if data_dir is None else "data_dir"
    named = data_dir if data_dir is not None else os.environ.get(origin) or None
    if named is None:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(origin, "must be a folder", given=f"`{folder}` is none")
    return folder


def _find(folder: Path, spec: Spec) -> _Found | None:
    return _choose(files.locate(folder, spec.archives), spec, Located.read)


def _choose(
    candidates: Iterable[Located], spec: Spec, read: Callable[[Located], bytes]
) -> _Found | None:
    """The best file of the data set, by the order of layouts, then of candidates."""
    matches = [
        (located, layout)
        for layout, located in product(spec.layouts, candidates)
        if located.is_called(layout.file)
    ]
    for located, layout in matches:
        data = read(located)
        if layout.fits(data, spec.target):
            return _Found(located, layout, data)
    if matches:
        raise DataError(
            f"{matches[0][0].label} must have a column `{spec.target}`: its first line "
            "does not name it; it is empty, or another file."
        )
    return None


def _find_or_download(folder: Path, spec: Spec, sha256: str) -> _Found:
    found = _find(folder, spec) if folder.is_dir() else None
    if found is not None:
        return found
    archive = folder / spec.archive
    remedy = (
        f"nothing is in `{folder}` yet; set CARDQP_DATA or pass `data_dir` to name a "
        f"folder with one of {spec.accepted}, or put {spec.url} by hand into `{folder}`"
    )
    try:
        download.download(spec.url, archive, lambda data: _check(data, spec), sha256)
    except DataError as err:
        raise DataError(f"{str(err).removesuffix('.')}; {remedy}.") from err
    return _check(files.read_bytes(archive), spec, archive)


def _check(data: bytes, spec: Spec, archive: Path | None = None) -> _Found:
    """What a zip file holds of the data set."""
    place = Located(archive or Path(spec.archive))
    inside = list(files.members(place, data))
    found = _choose(inside, spec, lambda located: located.unpack(data))
    if found is None:
        raise DataError(f"{place.label} holds no file of the data set.")
    return found


def _compare(path: Path, expected: str) -> None:
    """Refuse a file whose SHA-256 is not the expected one."""
    actual = hashlib.sha256(files.read_bytes(path)).hexdigest()
    if actual != expected.strip().casefold():
        raise DataError(
            f"`{path}` must have the SHA-256 {expected}: it has {actual}; remove the "
            "file and get it again, or correct the checksum."
        )


def _prepare(name: str, spec: Spec, found: _Found) -> Table:
    """Choose the columns and check them."""
    label = f"{found.located.label} ({found.located.path.parent})"
    frame = frames.parse(found.data, found.layout, label)
    used = [
        column
        for column in frame.columns
        if column.startswith(spec.prefix)
        and column not in (spec.target, *spec.ignored)
        and not (spec.has_gaps and frame[column].isna().any())
    ]
    X = frames.numbers(frame, used, label)
    y = frames.numbers(frame, [spec.target], label)[:, 0]
    if spec.loses_points:
        X, y = _without_points(X), _without_points(y)
    varies = np.ptp(X, axis=0) > 0
    if varies.sum() != spec.n_features:
        raise DataError(
            f"{label} must have {spec.n_features} columns of features that are "
            f"complete and not constant: it has {varies.sum()}."
        )
    X = X[:, varies]
    for array in (X, y):
        array.setflags(write=False)
    names = tuple(np.array(used)[varies].tolist())
    source = (
        f"{spec.title} (UCI {spec.number}), from {found.located.label}: "
        f"{found.layout.remark}."
    )
    return Table(name, X, y, names, spec.target, source)


def _without_points(values: FloatArray) -> FloatArray:
    """Numbers as they are read when their decimal points are deleted."""
    distinct, places = np.unique(values, return_inverse=True)
    read = [float(f"{value:g}".replace(".", "")) for value in distinct]
    return np.asarray(np.array(read)[places].reshape(values.shape))
