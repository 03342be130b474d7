"""Count what the solver says that is not so: see :mod:`benchmarks.soundness`."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import benchmarks.soundness
from benchmarks.soundness import records as files
from benchmarks.soundness.evidence import ALONE, checkers
from benchmarks.soundness.pool import run_all
from benchmarks.soundness.publish import publish
from benchmarks.soundness.records import Record
from benchmarks.soundness.show import show
from benchmarks.soundness.table import (
    first_numbers,
    is_sound,
    parts,
    share_unknown,
    table,
)
from benchmarks.soundness.trial import run

STOPPED = 3
"""Exit code of a run that was stopped and has found nothing."""


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=benchmarks.soundness.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--numbers", type=int, nargs="*", help="these problems instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--out", type=Path, default=Path(".soundness"), help="folder; runs go on there"
    )
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="FOLDER",
        help="write a page about all that is in --out, of all seeds, and do no more",
    )
    parser.add_argument("--show", type=int, metavar="NUMBER", help="one problem")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not yet done, and print the table.

    The exit code is 1 if something is wrong, 3 if the run was stopped before that.
    """
    options = parse_arguments(arguments)
    if options.show is not None:
        print(*show(run(options.seed, options.show), options.out), sep="\n")
        return 0
    if options.publish is not None:
        return publish(options.out, options.publish)
    path = files.file_for(options.out, options.seed)
    files.describe_run(path, options.seed)
    if ALONE not in checkers():
        print(f"{ALONE} is not installed: certificates are not checked by it")
    last = options.first + options.problems
    numbers = options.numbers or range(options.first, last)
    done = files.read(path)
    left = [number for number in numbers if number not in done]
    print(f"{path}: {len(done)} are done, {len(left)} are left", flush=True)
    try:
        for record in run_all(options.seed, left, options.jobs):
            files.append(path, record)
            done[record["number"]] = record
    except KeyboardInterrupt:
        print("stopped; the same command goes on")
    known = [done[number] for number in numbers if number in done]
    return report(known) or (0 if len(known) == len(numbers) else STOPPED)


def report(records: Sequence[Record]) -> int:
    """Print the counts; 1 if something is wrong."""
    print(*first_numbers(records), sep="\n")
    print(*table(records), sep="\n")
    print(*parts(records), sep="\n")
    unknown, total = share_unknown(records)
    print(f"UNKNOWN: {unknown} of {total} answers about problems with a point")
    return 0 if is_sound(records) else 1


if __name__ == "__main__":
    # A request to end is an interruption, too: no process is left behind.
    for request in (signal.SIGINT, signal.SIGTERM):
        signal.signal(request, signal.default_int_handler)
    sys.exit(main())
