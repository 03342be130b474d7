"""The data of a regression in a problem's file: stored, or referred to by a digest.

``X`` is stored as it is if it is not too large.  A ``.npy`` file that is mapped into
memory is referred to by its name; what is too large to be stored, or on a cluster, is
handed in when the problem is read.  The digest tells whether it is the same.
"""

import hashlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cardqp.exceptions import ProblemError
from cardqp.problem import validation as check
from cardqp.problem.streamed_form import StreamedForm, is_lazy

MOST_STORED = 250e6
"""Bytes of data that are stored, at most."""

BLOCK, NARROW = 4_000_000, 1024
"""Entries of a block whose digest is taken, and its least number of columns.  Digests
in files depend on them: they are part of the format, not a matter of speed."""

MOST_THREADS = 8

_SPARSE = ("data", "indices", "indptr", "shape")
_REFERENCE = ("kind", "digest", "file")
KEYS = ("X", "y", *(f"X.{part}" for part in (*_SPARSE, *_REFERENCE)))
"""Names of arrays in a problem's file."""


def to_arrays(form: StreamedForm, folder: Path) -> dict[str, Any]:
    """Arrays to store in an archive in ``folder``: the data, or a reference to it."""
    X = form.X
    file = _mapped_file(X)
    arrays: dict[str, Any] = {"y": form.target}
    if file is None and not is_lazy(X) and _n_bytes(X) <= MOST_STORED:
        if not scipy.sparse.issparse(X):
            return arrays | {"X": X}
        return arrays | {f"X.{part}": getattr(X, part) for part in _SPARSE}
    arrays |= reference(form)
    if file is not None:
        folder = folder.resolve()
        near = file.is_relative_to(folder)
        arrays["X.file"] = (file.relative_to(folder) if near else file).as_posix()
    return arrays


def reference(form: StreamedForm) -> dict[str, Any]:
    """The target, and texts that stand for the data."""
    X = form.X
    return {"y": form.target, "X.kind": _kind(X), "X.digest": digest(X)}


def from_arrays(arrays: Mapping[str, Any], path: str | PathLike[str], data: Any) -> Any:
    """The matrix ``X`` of a problem's file; ``data`` is the matrix or its file, if any.

    Data that are not there, or not what they were, are refused.
    """
    if "X.digest" not in arrays:
        if data is not None:
            raise ProblemError(
                "data", "must be None", given=f"{path} holds its own data"
            )
        return _stored(arrays, path)
    if data is None and "X.file" not in arrays:
        raise ProblemError(
            "data",
            "must be given",
            given=f"{path} refers to a {arrays.get('X.kind')} that is not in a file",
            remedy="pass it on, or the name of a .npy file that holds it",
        )
    if data is None:
        data = Path(path).parent / str(arrays["X.file"])
    X = _opened(data, path) if isinstance(data, str | PathLike) else data
    X = check.data_matrix("data", X)
    if _kind(X) != arrays.get("X.kind"):
        raise ProblemError(
            "data",
            f"must be what {path} refers to, a {arrays.get('X.kind')}",
            given=f"it is a {_kind(X)}",
        )
    if digest(X) != arrays["X.digest"]:
        raise ProblemError(
            "data",
            f"must be what it was when {path} was written",
            given="its entries have changed",
            remedy="restore them, or make the problem anew with from_data",
        )
    return X


def digest(X: Any) -> str:
    """SHA-256 of the entries, whatever their layout or the chunks they come in."""
    X = X.tocsc() if scipy.sparse.issparse(X) else X
    N, n = X.shape
    width = max(BLOCK // N, NARROW)
    blocks = [X[:, start : start + width] for start in range(0, n, width)]
    if is_lazy(X):
        from dask.base import compute
        from dask.delayed import delayed

        task = delayed(_block_digest)
        parts = list(compute(*(task(block) for block in blocks)))
    else:
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS)) as pool:
            parts = list(pool.map(_block_digest, blocks))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _block_digest(block: Any) -> bytes:
    """The digest of some columns: their rows one after the other."""
    found = hashlib.sha256()
    if scipy.sparse.issparse(block):
        block = block.tocsc().sorted_indices()
        for part in (block.indptr, block.indices):
            found.update(part.astype(np.int64).tobytes())
        found.update(block.data.tobytes())
        return found.digest()
    height = max(BLOCK // block.shape[1], 1)
    for start in range(0, len(block), height):
        found.update(block[start : start + height].tobytes())
    return found.digest()


def _kind(X: Any) -> str:
    """Shape and type of a matrix, as a readable text."""
    prefix = "sparse " if scipy.sparse.issparse(X) else ""
    return f"{prefix}matrix {X.shape[0]} x {X.shape[1]} of type {X.dtype.str}"


def _n_bytes(X: Any) -> int:
    if scipy.sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def _mapped_file(X: Any) -> Path | None:
    """The ``.npy`` file that a whole matrix is mapped from, unchanged."""
    if not isinstance(X, np.memmap) or X.filename is None or X.mode == "c":
        return None
    try:
        whole = np.lib.format.open_memmap(X.filename, mode="r")
    except (OSError, ValueError):
        return None
    same = all(
        getattr(X, a) == getattr(whole, a) for a in ("shape", "dtype", "strides")
    )
    return Path(X.filename).resolve() if same else None


def _opened(file: str | PathLike[str], path: str | PathLike[str]) -> Any:
    try:
        return np.lib.format.open_memmap(file, mode="r")
    except (OSError, ValueError) as err:
        raise ProblemError(
            "data",
            f"must say where the data of {path} are",
            given=f"{file} is not a .npy file that can be read ({err})",
        ) from None


def _stored(arrays: Mapping[str, Any], path: str | PathLike[str]) -> Any:
    if "X" in arrays:
        return arrays["X"]
    try:
        *parts, shape = (arrays[f"X.{part}"] for part in _SPARSE)
        X = scipy.sparse.csc_array(tuple(parts), shape=tuple(shape))
        X.check_format()
    except (KeyError, TypeError, ValueError, IndexError) as err:
        raise ProblemError(
            "path", "must hold a matrix X", given=f"{path}: {err}"
        ) from None
    return X
