"""Results as JSON lines: a run goes on where it stopped."""

import hashlib
import json
from pathlib import Path
from typing import Any

import cardqp

Record = dict[str, Any]


def file_for(folder: Path, seed: int) -> Path:
    """The file of a seed; another state of the sources has another file."""
    digest = hashlib.sha256()
    for root in (Path(cardqp.__file__).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return folder / f"seed-{seed}-{digest.hexdigest()[:12]}.jsonl"


def read(path: Path) -> dict[int, Record]:
    """All records of a file by number; a line that was cut short is left out."""
    records = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[record["number"]] = record
    return records


def append(path: Path, record: Record) -> None:
    """Write one more record, on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() and not _ends_with_line(file):
            file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")


def _ends_with_line(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) == b"\n")
