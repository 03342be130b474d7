"""Results as JSON lines: a run goes on where it stopped."""

import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import cardqp

Record = dict[str, Any]


def file_for(folder: Path, seed: int) -> Path:
    """The file of a seed; another state of the sources has another file."""
    digest = hashlib.sha256()
    for root in _sources():
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return folder / f"seed-{seed}-{digest.hexdigest()[:12]}.jsonl"


def _sources() -> list[Path]:
    """Folders of what is run."""
    spec = importlib.util.find_spec("cardqp_check")
    checker = [] if spec is None else [Path(p) for p in spec.submodule_search_locations]
    return [Path(cardqp.__file__).parent, Path(__file__).parent, *checker]


def describe_run(path: Path, seed: int) -> None:
    """Write the versions that a file of records comes from beside it."""
    names = ("numpy", "scipy", "numba", "python-flint")
    about = {name: importlib.metadata.version(name) for name in names}
    about |= {"python": platform.python_version(), "cardqp": cardqp.__version__}
    is_checked = importlib.util.find_spec("cardqp_check") is not None
    about |= {"seed": seed, "commit": _commit(), "cardqp_check": is_checked}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(about))


def _commit() -> str:
    """The commit of the sources, if there is one."""
    command = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


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
