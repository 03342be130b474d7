"""Problems in ``.npz`` archives whose keys are the arguments."""

from os import PathLike
from typing import Any

from cardqp import _validation as check
from cardqp import storage
from cardqp.columns import Columns
from cardqp.exceptions import ProblemError
from cardqp.problem.data import ProblemData
from cardqp.quadratic import Factor

_STORED = (
    *("c", "eta", "sparsity", "penalty", "A", "b", "A_eq", "b_eq"),
    *("lower", "upper", "forced_in", "forced_out", "groups", "group_sparsity"),
    *("blocks", "constant", "names"),
)


def write(path: str | PathLike[str], problem: ProblemData) -> None:
    """Write a problem; the quadratic form is its matrix ``Q`` or its factor ``F``."""
    if isinstance(problem.quadratic, Columns):
        raise ProblemError(
            "`path` is for problems of moderate size: keep X and y, and save the "
            "solution only."
        )
    key = "F" if isinstance(problem.quadratic, Factor) else "Q"
    arguments = {name: getattr(problem, name) for name in _STORED}
    storage.write_arrays(path, arguments | {key: problem.quadratic.array})


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """The arguments of a problem, which are yet to be checked."""
    data = storage.read_arrays(path)
    if unknown := sorted(set(data) - {"Q", "F", *_STORED}):
        raise ProblemError(f"`path` holds unknown arrays {unknown}: {path}.")
    for needed in (("Q", "F"), ("c",), ("eta",)):
        if sum(key in data for key in needed) != 1:
            raise ProblemError(
                f"`path` must hold exactly one array {' or '.join(needed)}: {path}."
            )
    if "F" in data:
        data["Q"] = check.factor_matrix(data.pop("F"))
    return data
