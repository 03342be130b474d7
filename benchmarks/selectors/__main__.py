"""Put best subsets beside other selectors: see :mod:`benchmarks.selectors`."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import benchmarks.selectors
from benchmarks.prediction import publish
from benchmarks.scale_rows import shown
from benchmarks.selectors import on_random, on_tables
from benchmarks.selectors.choosers import require_mlxtend
from cardqp.plot import saved

PEERS = ("mlxtend", "scikit-learn")
CAPTION = "how often the best subset is missed, by correlation"


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
    parser.add_argument(
        "--publish", type=Path, metavar="FILE", help="a page with marks"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; if it is wanted, put them on a page and draw its picture."""
    options = parse_arguments(arguments)
    require_mlxtend()
    limit, sizes = options.time_limit, options.sizes
    names = [n for n in on_tables.tables() if n.startswith(tuple(options.only))]
    enumeration = on_tables.exhaustive_rows(names, limit)
    steps = on_tables.sequential_rows(names, sizes, limit)
    lines = ["### Enumeration", "", *shown(on_tables.EXHAUSTIVE_HEADER, enumeration)]
    lines += ["", "### Step by step", "", *shown(on_tables.SEQUENTIAL_HEADER, steps)]
    outcomes = list(on_random.outcomes(options.random, sizes, limit))
    lines += ["", f"### {options.random} random tables", ""]
    lines += shown(on_random.HEADER, on_random.summary(outcomes))
    if options.publish is not None:
        picture = options.publish.with_suffix(".png")
        saved(on_random.draw(outcomes), picture)
        versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
        lines += ["", f"![{CAPTION}]({picture.name})", "", f"Versions: {versions}."]
        publish("\n".join(lines), options.publish)


if __name__ == "__main__":
    main()
