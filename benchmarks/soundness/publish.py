"""A page about all problems so far: counts by kind, and what was checked."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

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


def publish(folder: Path, target: Path) -> int:
    """Write the page; the exit code is 1 if there is something wrong."""
    paths = sorted(folder.glob("seed-*.jsonl"))
    runs = {path: list(files.read(path).values()) for path in paths}
    records = [record for some in runs.values() for record in some]
    target.mkdir(parents=True, exist_ok=True)
    page = target / "README.md"
    page.write_text("\n".join(_page(runs, records)) + "\n")
    print(f"{page}: {len(records)} problems")
    return 0 if is_sound(records) else 1


def _page(runs: dict[Path, list[Record]], records: Sequence[Record]) -> Iterator[str]:
    checked = sum(record.get("checked", 0) for record in records)
    forged = sum(sum(record.get("forged", {}).values()) for record in records)
    unknown, total = share_unknown(records)
    yield INTRODUCTION
    yield f"{len(records)} problems, {checked} certificates checked by both, {forged}"
    yield f"forged files; {unknown} of {total} answers about problems with a point"
    yield "are `UNKNOWN`."
    yield "\n## Must be zero\n"
    yield from _counts(records, MUST_BE_ZERO)
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


def _of_runs(runs: dict[Path, list[Record]]) -> Iterator[str]:
    rows = []
    for path, records in runs.items():
        beside = path.with_suffix(".json")
        about = json.loads(beside.read_text()) if beside.exists() else {}
        known = [f"{name} {v}" for name, v in about.items() if name not in OWN_COLUMNS]
        minutes = sum(record.get("seconds", 0.0) for record in records) / 60
        numbers = _ranges([record["number"] for record in records])
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
