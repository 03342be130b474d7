"""A page about all problems so far: counts by kind, and what was checked."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.soundness import records as files
from benchmarks.soundness.evidence import FEATURES
from benchmarks.soundness.kinds import KINDS
from benchmarks.soundness.records import Record
from benchmarks.soundness.referee import COUNTED, MUST_BE_ZERO
from benchmarks.soundness.table import (
    count_forged,
    count_parts,
    is_sound,
    share_unknown,
)

INTRODUCTION = """\
# What was tried, and what came of it

`python -m benchmarks.soundness` makes random problems of every kind, finds the optimum
of each in rational arithmetic by trying all supports, and holds against it what the
solver says. Certificates are replayed by the library and checked by
[`cardqp-check`](../../checker/README.md), which shares nothing with it. Files are
forged so that they claim more than is true, and must be refused by both. How all this
is done is said in
[`benchmarks/soundness/__init__.py`](../../benchmarks/soundness/__init__.py); the page
is written by `python -m benchmarks.soundness --publish docs/soundness`.
"""


Problems = dict[tuple[str, int], Record]
"""Records by seed and number."""


def publish(folder: Path, target: Path) -> int:
    """Write the page; the exit code is 1 if there is something wrong.

    Of a problem that was run again, the last run counts: what was wrong once is told.
    """
    paths = sorted(folder.glob("seed-*.jsonl"), key=lambda path: path.stat().st_mtime)
    runs = {path: files.read(path) for path in paths}
    last: Problems = {}
    mended: Problems = {}
    for path, records in runs.items():
        found = {(path.stem.split("-")[1], n): r for n, r in records.items()}
        mended |= {key: last[key] for key in found if key in last and _wrong(last[key])}
        last |= found
    target.mkdir(parents=True, exist_ok=True)
    page = target / "README.md"
    page.write_text("\n".join(_page(runs, list(last.values()), mended)) + "\n")
    print(f"{page}: {len(last)} problems")
    return 0 if is_sound(last.values()) else 1


def _wrong(record: Record) -> list[Any]:
    return [finding for finding in record["findings"] if finding[0] in MUST_BE_ZERO]


def _page(
    runs: dict[Path, dict[int, Record]], records: Sequence[Record], mended: Problems
) -> Iterator[str]:
    checked = sum(record.get("checked", 0) for record in records)
    forged = sum(sum(record.get("forged", {}).values()) for record in records)
    unknown, total = share_unknown(records)
    yield INTRODUCTION
    yield f"{len(records)} problems, {checked} certificates checked by both, {forged}"
    yield f"forged files; {unknown} of {total} answers about problems with a point"
    yield "are `UNKNOWN`."
    yield "\n## Must be zero\n"
    yield from _counts(records, MUST_BE_ZERO)
    if mended:
        yield "\nFound on the way, mended, and run again:\n"
        yield from _of_mended(mended)
    yield "\n## May happen\n"
    yield from _counts(records, COUNTED)
    yield "\n## Runs\n"
    yield from _of_runs(runs)
    yield "\n## Kinds of problems\n"
    yield from _of_kinds(records)
    yield "\n## Parts of certificates\n"
    yield from _rows(("part", "problems"), _filled(count_parts(records), FEATURES))
    yield "\n## Forgeries\n"
    yield from _rows(("changed", "files"), sorted(count_forged(records).items()))


def _of_mended(mended: Problems) -> Iterator[str]:
    rows = [
        (seed, number, record["kind"], "; ".join(": ".join(f) for f in _wrong(record)))
        for (seed, number), record in mended.items()
    ]
    yield from _rows(("seed", "number", "kind", "what was wrong"), rows)


def _filled(counts: Counter[str], names: Sequence[str]) -> list[tuple[str, int | str]]:
    return [(name, counts[name] or "never") for name in names]


def _rows(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """A table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _counts(records: Sequence[Record], names: Sequence[str]) -> Iterator[str]:
    found = Counter(what for r in records for what in {f[0] for f in r["findings"]})
    yield from _rows(("", "problems"), [(name, found[name]) for name in names])


def _of_runs(runs: dict[Path, dict[int, Record]]) -> Iterator[str]:
    rows = []
    for path, records in runs.items():
        beside = path.with_suffix(".json")
        about = json.loads(beside.read_text()) if beside.exists() else {}
        known = [f"{name} {v}" for name, v in about.items() if name not in OWN_COLUMNS]
        minutes = sum(record.get("seconds", 0.0) for record in records.values()) / 60
        numbers = _ranges(list(records))
        own = [about.get(name, "") for name in OWN_COLUMNS]
        rows.append((*own, numbers, f"{minutes:.0f}", ", ".join(known)))
    yield from _rows((*OWN_COLUMNS, "numbers", "CPU minutes", "versions"), rows)


OWN_COLUMNS = ("seed", "commit")
"""What of a run has a column of its own."""


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as ranges; many are told apart by how many there are."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and ends[-1][1] == number - 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    if len(ends) > 5:
        return f"{len(numbers)} of {ends[0][0]} to {ends[-1][1]}"
    return ", ".join(f"{a} to {b}" if a < b else str(a) for a, b in ends)


def _of_kinds(records: Sequence[Record]) -> Iterator[str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        found = {what for what, _, _ in record["findings"]}
        wrong = found.intersection(MUST_BE_ZERO)
        some = counts[record["kind"]]
        some.update(found)
        some.update({"problems": 1, "checked": record.get("checked", 0)})
        some.update({"files forged": sum(record.get("forged", {}).values())})
        some.update({"wrong": bool(wrong), "no point": record["truth"] == "infeasible"})
    names = ("problems", "no point", "checked", "files forged", "wrong", *COUNTED)
    rows = [
        (kind, *(counts[kind][name] for name in names))
        for kind in KINDS
        if kind in counts
    ]
    yield from _rows(("kind", *names), rows)
