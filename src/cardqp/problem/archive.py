"""Problems in ``.npz`` archives whose keys are the arguments."""

import hashlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cardqp import storage
from cardqp.exceptions import ProblemError
from cardqp.problem import kept_data
from cardqp.problem import validation as check
from cardqp.problem.data import ProblemData
from cardqp.problem.quadratic import Factor
from cardqp.problem.squared_error import columns
from cardqp.problem.streamed_form import StreamedForm

_STORED = (
    *("c", "eta", "sparsity", "penalty", "A", "b", "A_eq", "b_eq"),
    *("lower", "upper", "forced_in", "forced_out", "groups", "group_sparsity"),
    *("blocks", "constant", "names"),
)


def write(path: str | PathLike[str], problem: ProblemData) -> None:
    """Write a problem: its matrix ``Q``, its factor ``F``, or its data and ``y``."""
    form = problem.quadratic
    if isinstance(form, StreamedForm):
        arrays = kept_data.to_arrays(form, Path(path).parent)
    else:
        arrays = {"F" if isinstance(form, Factor) else "Q": form.array}
    storage.write_arrays(path, _arguments(problem) | arrays)


def digest(problem: ProblemData) -> str:
    """SHA-256 of the arrays of a problem, names of variables left out.

    The data of a regression are represented by their own digest, which takes a pass
    over them.
    """
    form = problem.quadratic
    if isinstance(form, StreamedForm):
        arrays = kept_data.reference(form)
    else:
        arrays = {"F" if isinstance(form, Factor) else "Q": form.array}
    arrays |= _arguments(problem)
    found = hashlib.sha256()
    for key in sorted(arrays.keys() - {"names"}):
        found.update(b"\0".join(part for part in _parts(key, arrays[key])))
    return found.hexdigest()


def _parts(key: str, value: Any) -> Iterator[bytes]:
    """The parts of a digest: name, type, shape and entries."""
    if isinstance(value, str):
        yield from (key.encode(), b"str", b"", value.encode())
        return
    array = np.asarray(value)
    shape = "x".join(map(str, array.shape))
    yield from (key.encode(), array.dtype.str.encode(), shape.encode())
    yield np.ascontiguousarray(array).tobytes()


def _arguments(problem: ProblemData) -> dict[str, Any]:
    """The arguments of a problem but for its form, those left out that are None."""
    arguments = {name: getattr(problem, name) for name in _STORED}
    return {name: value for name, value in arguments.items() if value is not None}


def read(path: str | PathLike[str], data: Any) -> dict[str, Any]:
    """Read the arguments of a problem, which are yet to be checked.

    ``data`` is the matrix or file that the archive refers to, or None.
    """
    arrays = storage.read_arrays(path)
    if unknown := sorted(set(arrays) - {"Q", "F", *kept_data.KEYS, *_STORED}):
        raise ProblemError("path", f"holds unknown arrays {unknown}", given=str(path))
    for needed in (("Q", "F", "y"), ("c",), ("eta",)):
        if sum(key in arrays for key in needed) != 1:
            raise ProblemError(
                "path",
                f"must hold exactly one array {' or '.join(needed)}",
                given=str(path),
            )
    arguments = {key: arrays[key] for key in _STORED if key in arrays}
    if "y" in arrays:
        X = kept_data.from_arrays(arrays, path, data)
        return arguments | {"Q": columns(X, arrays["y"])}
    if data is not None:
        raise ProblemError("data", "must be None", given=f"{path} refers to no data")
    Q = arrays["Q"] if "Q" in arrays else check.factor_matrix(arrays["F"])
    return arguments | {"Q": Q}
