"""Put best subsets beside other selectors: see :mod:`benchmarks.selectors`."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
from collections.abc import Sequence
from pathlib import Path

import benchmarks.selectors
from benchmarks.scale_rows import shown
from benchmarks.selectors import on_random, on_tables
from benchmarks.selectors.choosers import require_mlxtend
from benchmarks.selectors.page import write_page


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=benchmarks.selectors.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 8])
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--random", type=int, default=200, help="random tables")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--publish", type=Path, metavar="FILE", help="write a page")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write the page if it is wanted."""
    options = parse_arguments(arguments)
    require_mlxtend()
    limit, sizes = options.time_limit, options.sizes
    names = [n for n in on_tables.tables() if n.startswith(tuple(options.only))]
    enumeration = on_tables.exhaustive_rows(names, limit)
    steps = on_tables.sequential_rows(names, sizes, limit)
    tables = [
        list(shown(on_tables.EXHAUSTIVE_HEADER, enumeration)),
        list(shown(on_tables.SEQUENTIAL_HEADER, steps)),
    ]
    outcomes = list(on_random.outcomes(options.random, sizes, limit))
    tables.append(list(shown(on_random.HEADER, on_random.summary(outcomes))))
    if options.publish is not None:
        command = f"python -m benchmarks.selectors --publish {options.publish}"
        write_page(options.publish, command, limit, tables, outcomes, options.random)


if __name__ == "__main__":
    main()
