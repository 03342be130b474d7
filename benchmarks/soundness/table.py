"""The table of counts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from benchmarks.soundness.evidence import ALONE, FEATURES
from benchmarks.soundness.kinds import KINDS
from benchmarks.soundness.records import Record
from benchmarks.soundness.referee import COUNTED, MUST_BE_ZERO

SHOWN = 8
"""Numbers of problems that are listed for each failure."""

RARE = 1000
"""UNKNOWN must be rarer than one in so many answers about problems with a point."""


def table(records: Iterable[Record]) -> Iterator[str]:
    """Problems by kind and failure: how many have it."""
    columns = (*MUST_BE_ZERO, *COUNTED)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        found = {what for what, _, _ in record["findings"]}
        for kind in (record["kind"], "all"):
            counts[kind].update(found)
            counts[kind]["problems"] += 1
    width = max(map(len, KINDS))
    short = [name[:9] for name in columns]
    yield f"{'kind':{width}} {'problems':>9} " + " ".join(f"{s:>9}" for s in short)
    for kind in (*KINDS, "all"):
        if kind in counts:
            row = [counts[kind]["problems"], *(counts[kind][c] for c in columns)]
            yield f"{kind:{width}} " + " ".join(f"{v or '.':>9}" for v in row)


def first_numbers(records: Iterable[Record]) -> Iterator[str]:
    """For each failure, some problems that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r["number"]):
        for what, method, detail in record["findings"]:
            line = f"{record['number']} ({record['kind']}; {method}): {detail}"
            found[what].append(line)
    for what in (*MUST_BE_ZERO, *COUNTED):
        if what in found:
            yield f"{what}: {len(found[what])}"
            yield from (f"    {line}" for line in found[what][:SHOWN])


def parts(records: Iterable[Record]) -> Iterator[str]:
    """How often each part of a certificate occurred, and each sort of forgery."""
    records = list(records)
    seen = count_parts(records)
    yield "parts of certificates, by the number of problems that have them:"
    yield from (f"    {name:24} {seen[name] or 'never'}" for name in FEATURES)
    forged = count_forged(records)
    yield f"files forged: {forged.total()}"
    yield from (f"    {name:24} {count}" for name, count in sorted(forged.items()))
    checked = sum(record.get("checked", 0) for record in records)
    yield f"certificates that {ALONE} checked: {checked}"


def count_parts(records: Iterable[Record]) -> Counter[str]:
    """How many problems have each part in a certificate."""
    return Counter(f for record in records for f in record.get("features", ()))


def count_forged(records: Iterable[Record]) -> Counter[str]:
    """How many files were forged, by what was changed; two changes count as both."""
    forged: Counter[str] = Counter()
    for record in records:
        for names, count in record.get("forged", {}).items():
            for name in names.split(" and "):
                forged[name.split(",")[0]] += count
    return forged


def share_unknown(records: Iterable[Record]) -> tuple[int, int]:
    """How many answers about problems with a point are UNKNOWN, and of how many."""
    unknown = total = 0
    for record in records:
        if record["truth"] == "feasible" and not record.get("is_stopped"):
            statuses = record["statuses"].values()
            total += len(statuses)
            unknown += sum(status == "UNKNOWN" for status in statuses)
    return unknown, total


def is_sound(records: Iterable[Record]) -> bool:
    """Whether nothing happened that must not happen."""
    records = list(records)
    wrong = any(f[0] in MUST_BE_ZERO for record in records for f in record["findings"])
    unknown, total = share_unknown(records)
    return not wrong and unknown * RARE <= total
