"""Fitted models as JSON: the encoder of the table, coefficients, and what is proved."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cardqp import __version__, storage
from cardqp._typing import FloatArray
from cardqp.exceptions import DataError
from cardqp.tables.cells import read_cells
from cardqp.tables.column import is_finite
from cardqp.tables.encoder import Encoded, TableEncoder
from cardqp.tables.score import Score

FORMAT, VERSION = "cardqp model", 1

_MAY_BE_INFINITE = ("objective", "lower_bound", "gap", "eta")


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of optimality when the model was fitted, in short.

    Attributes
    ----------
    status : str
        ``OPTIMAL``, ``FEASIBLE``, ...
    objective, lower_bound, gap : float or None
        Of the quadratic program; None if infinite.
    eta : float or None
        The ridge is ``1 / eta``; None if there is none.
    n_nonzero : int
        How many features, or columns, were allowed.
    n_rows : int
        How many rows the model was fitted to.
    """

    status: str
    objective: float | None
    lower_bound: float | None
    gap: float | None
    eta: float | None
    n_nonzero: int
    n_rows: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A sparse linear model of a table.

    Attributes
    ----------
    encoder : TableEncoder
        How tables become numbers; only the columns that are used.
    coefficients : dict
        From the names of features to their coefficients; all others are zero.
    intercept : float
        What is added.
    proof : Proof
        What is proved about the choice.
    cardqp : str
        The version of the library that fitted it.
    """

    encoder: TableEncoder
    coefficients: Mapping[str, float]
    intercept: float
    proof: Proof
    cardqp: str = field(default=__version__)

    @classmethod
    def of(
        cls,
        encoder: TableEncoder,
        coefficients: FloatArray,
        intercept: float,
        proof: Proof,
    ) -> "ModelFile":
        """The model whose coefficients are those of an encoder's features, in order."""
        nonzeros = np.flatnonzero(coefficients)
        used = {encoder.columns[j].name for j in encoder.blocks[nonzeros]}
        named = {encoder.names[j]: float(coefficients[j]) for j in nonzeros}
        return cls(encoder.restrict(tuple(used)), named, float(intercept), proof)

    def with_policy(self, missing: str) -> "ModelFile":
        """A copy with another policy; see :meth:`TableEncoder.with_policy`."""
        return replace(self, encoder=self.encoder.with_policy(missing))

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.encoder.target

    def predict(self, frame: Any) -> FloatArray:
        """A prediction for each row; NaN where a cell that is needed is missing.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table with the columns that the model uses.

        Raises
        ------
        DataError
            When a column is not there, or its cells are not of its kind.
        """
        return self.evaluate(frame)[0]

    def evaluate(self, frame: Any) -> tuple[FloatArray, Encoded]:
        """Predictions, and the table as numbers with notes on what was done."""
        encoded = self.encoder.apply_features(frame)
        weights = np.array([self.coefficients.get(name, 0.0) for name in encoded.names])
        predictions = np.full(len(frame), np.nan)
        predictions[encoded.rows] = encoded.X @ weights + self.intercept
        return predictions, encoded

    def score(self, frame: Any, predictions: FloatArray) -> Score | None:
        """The score of predictions for a table; None if it lacks the target.

        Raises
        ------
        DataError
            When the cells of the target are not of its kind.
        """
        if self.target not in frame.columns:
            return None
        cells = read_cells(frame, {self.target: self.encoder.target_kind})
        return Score.of(cells.numbers[:, 0], predictions)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model; an existing file is replaced once everything is written."""
        entry = {
            "format": FORMAT,
            "version": VERSION,
            "cardqp": self.cardqp,
            "target": self.target,
            "intercept": self.intercept,
            "coefficients": dict(self.coefficients),
            "proof": asdict(self.proof),
            "recipe": self.encoder.to_dict(),
        }
        text = json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False)
        storage.write_text(path, text + "\n")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "ModelFile":
        """Read a model that :meth:`save` wrote, and check it.

        Raises
        ------
        DataError
            When it is not such a file, or was changed to something that cannot be.
        """
        try:
            entry = json.loads(Path(path).read_text(encoding="utf-8"))
            # Escapes may be half letters.
            json.dumps(entry, ensure_ascii=False).encode()
        except (FileNotFoundError, IsADirectoryError):
            raise DataError(
                None, f"{path} must be a model", given="there is no such file"
            ) from None
        except (OSError, ValueError, RecursionError) as err:
            raise DataError(
                None, f"{path} must be a model in JSON", given=str(err)
            ) from err
        try:
            return _from_dict(entry)
        except DataError as err:
            raise DataError(
                None,
                f"{path} must be a model of cardqp",
                given=str(err).removesuffix("."),
            ) from err


def _from_dict(entry: Any) -> ModelFile:
    wrong = _complaint(entry)
    if wrong:
        raise DataError(None, wrong)
    encoder = TableEncoder.from_dict(entry["recipe"])
    unknown = [name for name in entry["coefficients"] if name not in encoder.names]
    if unknown:
        raise DataError(None, f"the coefficient of {unknown[0]!r} has no column")
    proof = {name: entry["proof"].get(name) for name in Proof.__dataclass_fields__}
    return ModelFile(
        encoder,
        {name: float(value) for name, value in entry["coefficients"].items()},
        float(entry["intercept"]),
        Proof(**proof),
        entry["cardqp"],
    )


def _complaint(entry: Any) -> str:
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        return "it is another file"
    if entry.get("version") != VERSION:
        return f"its version is {entry.get('version')!r}, not {VERSION}"
    parts = {"cardqp": str, "recipe": dict, "coefficients": dict, "proof": dict}
    for key, kind in parts.items():
        if not isinstance(entry.get(key), kind):
            return f"`{key}` is missing"
    proof = entry["proof"]
    if not isinstance(proof.get("status"), str):
        return "`status` is missing"
    known = [name for name in _MAY_BE_INFINITE if proof.get(name) is not None]
    numbers = [
        *entry["coefficients"].items(),
        ("intercept", entry.get("intercept")),
        *((name, proof.get(name)) for name in ("n_nonzero", "n_rows", *known)),
    ]
    for name, value in numbers:
        if not is_finite(value):
            return f"`{name}` must be a finite number, it is {value!r}"
    return ""
