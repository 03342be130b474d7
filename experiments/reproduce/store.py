"""Rows on disk: appended as they are made, never lost, never mixed."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cardqp import __version__
from cardqp.exceptions import ParameterError
from cardqp.report.versions import versions
from experiments.reproduce.config import Study
from experiments.reproduce.work import Row, Task

FORMAT = 1
"""Raised whenever rows mean something else than before."""


def fingerprint(study: Study) -> str:
    """A short name for everything that rows of a study depend on.

    The number of replications and the list of values are not part of it: rows that are
    there stay valid when there are more.
    """
    described = asdict(study)
    for name in ("replications", "values"):
        del described[name]
    described |= {"format": FORMAT, "version": __version__}
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Store:
    """The rows of one study in one folder, a line for each task that is done.

    A line is written in one piece and brought to disk before the next task counts as
    done.  What is left of a line after a crash is cut off before anything is added.
    """

    folder: Path
    study: Study

    @property
    def path(self) -> Path:
        """The file; another configuration has another one."""
        return self.folder / f"{self.study.name}-{fingerprint(self.study)}.jsonl"

    def read(self) -> dict[str, list[Row]]:
        """The rows of all tasks that are done, by the tasks' keys."""
        if not self.path.exists():
            return {}
        lines = self.path.read_bytes().split(b"\n")[:-1]
        done = (json.loads(line) for line in lines)
        return {entry["task"]: entry["rows"] for entry in done}

    def rows(self) -> list[Row]:
        """The rows of the study's own values and replications; there may be more."""
        vary, values = self.study.vary, set(self.study.values)
        return [
            row
            for own in self.read().values()
            for row in own
            if row[vary] in values and row["replication"] < self.study.replications
        ]

    def repair(self) -> None:
        """Cut off a line that was not finished."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.path.open("r+b") as stream:
                stream.truncate(len(whole))

    def append(self, task: Task, rows: Iterable[Row]) -> None:
        """Add the rows of a task that is done."""
        entry = {"task": task.key, "rows": list(rows), "versions": versions()}
        line = json.dumps(entry, default=_plain).encode() + b"\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self.path, flags, 0o644)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a number")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs from writing to a folder; the lock dies with the process.

    Raises
    ------
    ParameterError
        When another run is at it, or when there can be no such folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ParameterError(
            "out",
            "must be a folder",
            given=f"a file is where {folder} would be",
            remedy="name another",
        ) from None
    with (folder / ".lock").open("a") as stream:  # never cuts what a link leads to
        try:
            import fcntl
        except ImportError:  # Windows: nothing that dies with the process
            yield
            return
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(
                "out",
                "must be a folder of its own",
                given=f"another run writes to {folder}",
            ) from None
        yield
