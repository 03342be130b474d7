"""How the cost grows with the numbers of rows and of columns.

``python -m benchmarks.scale --out docs/scale`` runs :mod:`benchmarks.scale_columns` and
:mod:`benchmarks.scale_rows` (a quarter of an hour, 8 GB of disk for ten million rows),
prints their tables and writes them with a picture; ``--quick`` takes small sizes.
"""

import argparse
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import scale_columns, scale_rows
from benchmarks.scale_rows import shown
from cardqp.plot import BLUE, ORANGE, new_axes

Columns = tuple[scale_columns.Case, scale_columns.Record]


def draw(
    columns: Sequence[Columns], rows: Sequence[scale_rows.Record], path: Path
) -> None:
    """Seconds against columns and against rows."""
    left, right = new_axes(2, height=7.0)
    plain = [(c, r) for c, r in columns if (c.sparsity, c.rho) == (10, 0.5)]
    left.loglog(
        [case.n for case, _ in plain],
        [record.seconds for _, record in plain],
        "o",
        color=BLUE,
        label="to a proven optimum",
    )
    left.loglog(
        [case.n for case, _ in plain],
        [record.one_pass for _, record in plain],
        "s",
        color=ORANGE,
        label="one pass with ten right-hand sides",
    )
    left.set_xlabel("columns (N = 1000 rows)")
    right.loglog(
        [r.rows for r in rows],
        [r.seconds for r in rows],
        "o-",
        color=BLUE,
        label="sums from Parquet",
    )
    right.loglog(
        [r.rows for r in rows],
        [r.solving for r in rows],
        "s--",
        color=ORANGE,
        label="to a proven optimum from the sums",
    )
    right.set_xlabel("rows (n = 100 columns)")
    for ax in (left, right):
        ax.set_ylabel("seconds")
        ax.grid(visible=True, alpha=0.3)
        ax.legend()
    left.figure.savefig(path, dpi=120)


def main(argv: Sequence[str] | None = None) -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder for table and picture")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args(argv)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    columns: list[Columns] = []
    rows: list[scale_rows.Record] = []

    def column_lines() -> Iterator[str]:
        names = ["quick"] if options.quick else ["sizes", "hard"]
        for case, record in scale_columns.run(names, 300.0):
            columns.append((case, record))
            yield scale_columns.row(case, record)

    def row_lines() -> Iterator[str]:
        for record in scale_rows.from_files(10**5 if options.quick else 10**7):
            rows.append(record)
            yield scale_rows.line(record)

    parts = ["# Cost against columns and rows", ""]
    parts += [f"`python -m benchmarks.scale --out {options.out}` makes this page.", ""]
    parts += [*shown(scale_columns.HEADER, column_lines()), ""]
    parts += [*shown(scale_rows.HEADER, row_lines()), ""]
    texts = scale_rows.with_text(10**4 if options.quick else 2 * 10**6)
    parts += [*shown(scale_rows.TEXT_HEADER, texts), ""]
    lazy = scale_rows.on_cluster(0.1 if options.quick else 20.0)
    parts += [*shown(scale_rows.CLUSTER_HEADER, lazy), "", "![](scale.png)", ""]
    draw(columns, rows, folder / "scale.png")
    (folder / "README.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
