"""Proven optima over very many columns.

``python -m benchmarks.scale_columns`` draws single-precision data with correlation
``rho`` between neighbouring columns into a file that is then mapped, and solves sparse
regressions on it to a proven gap of 1e-4.  Times include the reading of the data
(``from_data``) and the replay of the certificate; they are also given as multiples of
one pass over the columns with ten right-hand sides, measured in the same run (column
``/ pass``); ``passes`` are those that the search made.  Memory is what the process
holds at most besides the mapped file.  Then the certificate is damaged: one bit is
flipped in each array of some leaves and of the tree, one at a time, and each time it is
replayed; what it proves then must be no more than the objective.
"""

import argparse
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import cardqp
from cardqp.certificate import Certificate, Kind
from cardqp.problem.streamed_form import StreamedForm

BLOCK = 20_000
RIGHT_HAND_SIDES = 10
CASES = {
    "sizes": [
        {"n": n, "seed": seed}
        for n in (10**3, 10**4, 10**5, 10**6)
        for seed in (0, 1, 2)
    ],
    "hard": [{"n": 10**5, "rho": 0.9}, {"n": 10**5, "sparsity": 20}],
    "quick": [{"n": 2000}, {"n": 10**4}],
}


@dataclass(frozen=True)
class Case:
    """One synthetic regression."""

    n: int
    n_samples: int = 1000
    sparsity: int = 10
    rho: float = 0.5
    snr: float = 6.0
    eta: float = 10.0
    seed: int = 0


@dataclass(frozen=True)
class Record:
    """What was measured."""

    seconds: float
    replay: float
    one_pass: float
    n_passes: int
    nodes: int
    gap: float
    status: str
    megabytes: float
    found: bool
    n_flips: int
    n_harmless: int

    @property
    def ratio(self) -> float:
        """Time to the proven answer as a multiple of one pass over the columns."""
        return self.seconds / self.one_pass


def draw(case: Case, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data in a file, a target, and the columns that made it."""
    rng = np.random.default_rng([case.seed, case.n, case.n_samples])
    shape = case.n_samples, case.n
    # By columns, so that they are read one after the other.
    X = np.lib.format.open_memmap(path, "w+", np.float32, shape, fortran_order=True)
    data = X.T
    rest = np.float32(np.sqrt(1.0 - case.rho**2))
    last = rng.standard_normal(case.n_samples, dtype=np.float32)
    for start in range(0, case.n, BLOCK):
        size = min(BLOCK, case.n - start), case.n_samples
        block = rng.standard_normal(size, dtype=np.float32)
        for row in block:
            row *= rest
            row += np.float32(case.rho) * last
            last = row
        data[start : start + len(block)] = block
    true = np.sort(rng.choice(case.n, case.sparsity, replace=False))
    signal = rng.choice([-1.0, 1.0], case.sparsity) @ data[true].astype(float)
    noise = rng.standard_normal(case.n_samples) * np.sqrt(signal.var() / case.snr)
    X.flush()
    return np.load(path, mmap_mode="r"), signal + noise, true


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """The most memory in use, without mapped files, in megabytes."""
    peak, is_over = [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            text = Path("/proc/self/status").read_text()
            used = re.search(r"RssAnon:\s+(\d+)", text)
            peak[0] = max(peak[0], float(used[1]) / 1024 if used else np.nan)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()


MOST_LEAVES = 10
"""Leaves that are damaged, at most: each replay makes passes over the data."""


def flipped(array: np.ndarray, position: int, bit: int) -> np.ndarray:
    """The array with one bit of one of its entries changed."""
    damaged = array.copy()
    damaged.view(np.uint8)[position * array.itemsize + bit // 8] ^= 1 << bit % 8
    return damaged


def damaged(certificate: Certificate, seed: int = 0) -> Iterator[Certificate]:
    """Certificates with one flipped bit each: for every leaf one in each array.

    Of ``index`` and ``value`` an entry of the leaf's point is taken, of the tree the
    leaf's own entries; where and which bit is drawn, and so are the leaves if they are
    many.
    """
    rng, tree = np.random.default_rng(seed), certificate.tree
    leaves = np.flatnonzero(tree.kind == Kind.POINT)
    for leaf in rng.permutation(leaves)[:MOST_LEAVES]:
        record = int(tree.record[leaf])
        begin = int(tree.point_end[record - 1]) if record else 0
        end = int(tree.point_end[record])
        places = {"point_end": record, "scale": record}
        if end > begin:
            places |= {k: int(rng.integers(begin, end)) for k in ("index", "value")}
        places |= {name: int(leaf) for name in ("branch", "child", "record")}
        for name, place in places.items():
            array = getattr(tree, name)
            bit = int(rng.integers(8 * array.itemsize))
            changed = replace(tree, **{name: flipped(array, place, bit)})
            yield replace(certificate, tree=changed)


def count_harmless(solution: cardqp.Solution) -> tuple[int, int]:
    """How many flips of one bit there were, and how many proved nothing wrong."""
    certificate, problem = solution.certificate, solution.problem
    if certificate is None or not certificate.is_streamed(problem):
        return 0, 0  # solved in memory
    bounds = [other.lower_bound(problem) for other in damaged(certificate)]
    return len(bounds), sum(bound <= solution.objective for bound in bounds)


def measure(case: Case, folder: Path, time_limit: float) -> Record:
    """Solve one case."""
    path = folder / "columns.npy"
    X, y, true = draw(case, path)
    with peak_memory() as peak:
        start = time.perf_counter()
        problem = cardqp.SparseQP.from_data(X, y, eta=case.eta, sparsity=case.sparsity)
        solution = cardqp.solve(problem, time_limit=time_limit)
        seconds = time.perf_counter() - start
    form = problem.quadratic
    assert isinstance(form, StreamedForm)
    R = np.random.default_rng(0).standard_normal((case.n_samples, RIGHT_HAND_SIDES))
    passes = []
    for _ in range(2):
        start = time.perf_counter()
        form.map_products(R, lambda *_: None)
        passes.append(time.perf_counter() - start)
    start = time.perf_counter()
    verified = solution.verify()
    replay = time.perf_counter() - start
    n_flips, n_harmless = count_harmless(solution)
    path.unlink()
    counted = re.match(r"(\d+) passes", solution.stages[-1].detail)
    return Record(
        seconds=seconds,
        replay=replay,
        one_pass=min(passes),
        n_passes=int(counted[1]) if counted else 0,
        nodes=solution.n_nodes,
        gap=verified.gap,
        status=solution.status.name if verified.ok else "REFUSED",
        megabytes=peak[0],
        found=solution.support.tolist() == true.tolist(),
        n_flips=n_flips,
        n_harmless=n_harmless,
    )


HEADER = (
    "|       n |    N |  s | rho | seed | seconds | / pass | passes | nodes |     gap "
    "| replay | MB besides X | harmless flips | status |"
)


def row(case: Case, record: Record) -> str:
    """One line of the table."""
    return (
        f"| {case.n:7d} | {case.n_samples:4d} | {case.sparsity:2d} | {case.rho:3.1f} | "
        f"{case.seed:4d} | {record.seconds:7.2f} | {record.ratio:6.1f} | "
        f"{record.n_passes:6d} | {record.nodes:5d} | {record.gap:7.1e} | "
        f"{record.replay:6.2f} | {record.megabytes:12.0f} | "
        f"{f'{record.n_harmless} of {record.n_flips}':>14} | {record.status} |"
    )


def run(names: Sequence[str], time_limit: float) -> Iterator[tuple[Case, Record]]:
    """Measure some groups of cases."""
    with tempfile.TemporaryDirectory(prefix="cardqp-columns-") as folder:
        measure(Case(5000), Path(folder), 60.0)  # compiles
        for name in names:
            for settings in CASES[name]:
                case = Case(**settings)
                yield case, measure(case, Path(folder), time_limit)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["sizes", "hard"], metavar="CASES")
    parser.add_argument("--time-limit", type=float, default=300.0)
    options = parser.parse_args(argv)
    print(HEADER)
    print("|" + "---|" * (HEADER.count("|") - 1))
    for case, record in run(options.cases, options.time_limit):
        print(row(case, record), flush=True)


if __name__ == "__main__":
    main()
