"""Results as JSON lines, and the ratios computed from them."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

OURS = "cardqp"


@dataclass(frozen=True, slots=True)
class Record:
    """One solver on one instance; numbers that do not exist are NaN.

    Attributes
    ----------
    status : str
        See :class:`benchmarks.peers.referee.Verdict`, or why there is no result.
    largest : float
        For our own solver, the largest entry of its point in absolute value.
    """

    instance: str
    seed: int
    solver: str
    time_limit: float
    status: str
    seconds: float = math.nan
    objective: float = math.nan
    gap: float = math.nan
    certified_gap: float = math.nan
    bound: float = math.nan
    largest: float = math.nan

    @property
    def is_proved(self) -> bool:
        """Whether this is a proof within the limit."""
        return self.status == "proved"

    def to_json(self) -> str:
        """One line, with null for what does not exist."""
        return json.dumps({k: _finite(v) for k, v in asdict(self).items()})

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Undo :meth:`to_json`."""
        values: dict[str, Any] = json.loads(line)
        for name, value in values.items():
            values[name] = math.nan if value is None else value
        return cls(**values)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Key = tuple[str, int, str, float]


@dataclass(slots=True)
class Records:
    """All records of a file; new ones are appended to it as they come.

    Parameters
    ----------
    path : Path or None
        The file; without one, records are kept in memory only.
    """

    path: Path | None = None
    _known: dict[Key, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            try:
                record = Record.from_json(line)
            except (json.JSONDecodeError, TypeError):
                continue  # the run was cut short in the middle of this line
            self._known[_key(record)] = record

    def find(
        self, instance: str, seed: int, solver: str, time_limit: float
    ) -> Record | None:
        """The record of a solver on an instance, if it is there."""
        return self._known.get((instance, seed, solver, time_limit))

    def add(self, record: Record) -> Record:
        """Keep a record and append it to the file."""
        self._known[_key(record)] = record
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+") as file:
                file.seek(0)
                text = file.read()
                gap = "\n" if text and not text.endswith("\n") else ""
                file.write(f"{gap}{record.to_json()}\n")
        return record


def _key(record: Record) -> Key:
    return record.instance, record.seed, record.solver, record.time_limit


def ratio(ours: Record, peers: Mapping[str, Record]) -> float:
    """Time of the best peer that proves, divided by ours; NaN if none does.

    Where we have no proof, our time is at least the limit.
    """
    proving = [record.seconds for record in peers.values() if record.is_proved]
    if not proving:
        return math.nan
    seconds = ours.seconds
    if not ours.is_proved:
        seconds = max(seconds, ours.time_limit)
    return min(proving) / seconds


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean of the ratios that exist; NaN if none does."""
    logs = [math.log(value) for value in ratios if not math.isnan(value)]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan
