"""More rows than memory: sums from Parquet files, and on a Dask cluster.

``python -m benchmarks.scale_rows`` writes Parquet files with 100 features to a
temporary folder (8 GB for ten million rows), adds up their rows by
``GramAccumulator.from_files`` and solves for 10 features.  For each number of rows it
prints the peak of memory, the seconds, those of decoding alone and of the products
alone (blocks that are in memory already), and the ratio to both of them together.
``--text`` adds up a file with three columns of labels, one of dates and missing cells,
and one with the numbers alone.  ``--dask`` adds up rows that are made as they are
needed, 20 GB by default, by four workers, and prints the peak of memory of each.
"""

import argparse
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

import cardqp
from cardqp.gram import GramAccumulator
from cardqp.gram.sums import BLOCK_ROWS

N_FEATURES, SPARSITY, GROUP_ROWS, CHUNK_ROWS = 100, 10, 131_072, 50_000


def peak() -> float:
    """The most memory that this process ever had, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def coefficients() -> np.ndarray:
    """Ten of the features matter."""
    rng = np.random.default_rng(0)
    coef = np.zeros(N_FEATURES)
    coef[rng.choice(N_FEATURES, SPARSITY, replace=False)] = rng.uniform(1, 2, SPARSITY)
    return coef


def write(path: Path, n_rows: int, seed: int) -> Path:
    """A file of random rows whose means are not zero."""
    rng, coef = np.random.default_rng(seed), coefficients()
    names = [*(f"x{j}" for j in range(N_FEATURES)), "y"]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, n_rows, GROUP_ROWS):
            m = min(GROUP_ROWS, n_rows - start)
            columns = rng.standard_normal((N_FEATURES, m)) + 10.0
            y = coef @ columns + rng.standard_normal(m)
            arrays = [pyarrow.array(column) for column in (*columns, y)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
    return path


def alone(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """A result, its seconds and the peak of memory, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found: tuple[Any, float, float] = pool.submit(_run, work, arguments).result()
        return found


def _run(work: Callable[..., Any], arguments: Any) -> tuple[Any, float, float]:
    start = time.perf_counter()
    result = work(*arguments)
    return result, time.perf_counter() - start, peak()


def accumulate(paths: Sequence[Path]) -> GramAccumulator:
    """What is measured."""
    return GramAccumulator.from_files(paths, target="y")


def decode(paths: Sequence[Path]) -> None:
    """The rows, and nothing done with them."""
    for path in paths:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            for _ in file.iter_batches(BLOCK_ROWS):
                pass


def multiply(n_rows: int) -> float:
    """Seconds of the products for so many rows, from blocks in memory."""
    Z = np.random.default_rng(0).standard_normal((BLOCK_ROWS, N_FEATURES + 1))
    Z.T @ Z
    start, repeats = time.perf_counter(), min(max(n_rows // BLOCK_ROWS, 10), 100)
    for _ in range(repeats):
        Z.T @ Z
    return (time.perf_counter() - start) * n_rows / (BLOCK_ROWS * repeats)


def solve(rows: GramAccumulator) -> tuple[cardqp.Solution, float]:
    """The ten best features and the seconds it took to find and prove them."""
    problem = rows.problem(eta=10.0, sparsity=SPARSITY, standardize=True)
    cardqp.solve(problem)  # compiles
    start = time.perf_counter()
    solution = cardqp.solve(rows.problem(eta=10.0, sparsity=SPARSITY, standardize=True))
    return solution, time.perf_counter() - start


@dataclass(frozen=True)
class Record:
    """What was measured for one number of rows."""

    rows: int
    megabytes: float
    seconds: float
    decoding: float
    products: float
    solving: float
    gap: float

    @property
    def ratio(self) -> float:
        """Seconds in units of decoding and products alone."""
        return self.seconds / (self.decoding + self.products)


HEADER = (
    "|     rows | peak MB | seconds | decoding | products | ratio | solving |     gap |"
)


def line(record: Record) -> str:
    """One line of the table."""
    return (
        f"| {record.rows:8d} | {record.megabytes:7.0f} | {record.seconds:7.2f} | "
        f"{record.decoding:8.2f} | {record.products:8.2f} | {record.ratio:5.2f} | "
        f"{record.solving:7.3f} | {record.gap:7.1e} |"
    )


def from_files(most: int) -> Iterator[Record]:
    """Costs against the number of rows."""
    with tempfile.TemporaryDirectory(prefix="cardqp-rows-") as folder:
        paths: list[Path] = []
        done, n_rows = 0, min(10_000, most)
        while True:
            paths.append(write(Path(folder) / f"{n_rows}.parquet", n_rows - done, done))
            done = n_rows
            _, decoding, _ = alone(decode, paths)
            rows, seconds, megabytes = alone(accumulate, paths)
            solution, solving = solve(rows)
            products = multiply(n_rows)
            yield Record(
                n_rows, megabytes, seconds, decoding, products, solving, solution.gap
            )
            if n_rows >= most:
                return
            n_rows = min(10 * n_rows, most)


def write_text(path: Path, n_rows: int) -> Path:
    """A file with 20 numbers, three labels and a date in each row; some are missing."""
    rng = np.random.default_rng(0)
    parts = []
    for start in range(0, n_rows, GROUP_ROWS):
        m = min(GROUP_ROWS, n_rows - start)
        columns = {f"x{j}": rng.standard_normal(m) for j in range(20)}
        columns["y"] = columns["x0"] - columns["x1"] + rng.standard_normal(m)
        gaps = rng.random(m) < 0.01
        columns["x3"] = pyarrow.array(columns["x3"], mask=gaps)
        for name, count in (("city", 40), ("shop", 12), ("size", 3)):
            labels = pyarrow.array([f"{name} {i}" for i in range(count)])
            columns[name] = labels.take(pyarrow.array(rng.integers(0, count, m)))
        days = rng.integers(15_000, 20_000, m).astype("datetime64[D]")
        columns["day"] = pyarrow.array(days, mask=gaps[::-1])
        parts.append(pyarrow.table(columns))
    with pyarrow.parquet.ParquetWriter(path, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    return path


def accumulate_numbers(path: Path) -> GramAccumulator:
    """The sums of complete columns of numbers."""
    names = [f"x{j}" for j in range(20) if j != 3]
    return GramAccumulator.from_files(path, target="y", columns=names)


def accumulate_all(path: Path) -> GramAccumulator:
    """The sums of all columns, what is missing filled in."""
    return GramAccumulator.from_files(path, target="y", missing="mean")


TEXT_HEADER = "| rows with text | features | peak MB | seconds | numbers alone |"


def with_text(n_rows: int) -> Iterator[str]:
    """The cost of columns that are not numbers, in a line of a table."""
    with tempfile.TemporaryDirectory(prefix="cardqp-text-") as folder:
        path = write_text(Path(folder) / "rows.parquet", n_rows)
        rows, seconds, megabytes = alone(accumulate_all, path)
        _, numbers, _ = alone(accumulate_numbers, path)
    width = len(rows.names or ())
    yield (
        f"| {n_rows:14d} | {width:8d} | {megabytes:7.0f} | {seconds:7.2f} | "
        f"{numbers:13.2f} |"
    )


CLUSTER_HEADER = (
    "| rows made on 4 workers |   GB | chunks | seconds | peak MB of each worker | "
    "solving |     gap |"
)


def on_cluster(gigabytes: float) -> Iterator[str]:
    """Rows that are made when they are needed, on four workers; a line of a table."""
    import dask.array as da
    from distributed import Client, LocalCluster

    n_rows = int(gigabytes * 1e9 / (8 * N_FEATURES))
    random = da.random.default_rng(0)
    shape, chunks = (n_rows, N_FEATURES), (CHUNK_ROWS, N_FEATURES)
    X = random.standard_normal(shape, chunks=chunks) + 10.0
    y = X @ coefficients() + random.standard_normal(n_rows, chunks=CHUNK_ROWS)
    with (
        LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        start = time.perf_counter()
        rows = GramAccumulator.from_dask(X, y, client=client)
        seconds = time.perf_counter() - start
        peaks = sorted(client.run(peak).values())
    solution, solving = solve(rows)
    each = ", ".join(f"{peak:.0f}" for peak in peaks)
    yield (
        f"| {n_rows:22d} | {X.nbytes / 1e9:4.1f} | {X.numblocks[0]:6d} | "
        f"{seconds:7.1f} | {each:>22} | {solving:7.3f} | {solution.gap:7.1e} |"
    )


def shown(header: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines of a table, printed as they come."""
    for each in chain((header, "|" + "---|" * (header.count("|") - 1)), lines):
        print(each, flush=True)
        yield each


def main(argv: Sequence[str] | None = None) -> None:
    """Run one of the tables and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="the most rows")
    parser.add_argument("--text", action="store_true", help="columns of text instead")
    parser.add_argument("--dask", action="store_true", help="on a cluster instead")
    parser.add_argument("--gigabytes", type=float, default=20.0, help="with --dask")
    options = parser.parse_args(argv)
    if options.dask:
        lines = shown(CLUSTER_HEADER, on_cluster(options.gigabytes))
    elif options.text:
        lines = shown(TEXT_HEADER, with_text(options.rows))
    else:
        lines = shown(HEADER, map(line, from_files(options.rows)))
    deque(lines, maxlen=0)


if __name__ == "__main__":
    main()
