"""What a first solve takes to compile, without anything kept on disk.

``python -m benchmarks.compilation`` starts a process for each kind of problem, with an
empty folder for machine code.  It solves one problem twice: what the first time takes
longer is compilation.  ``--list`` shows the functions that took longest by themselves,
and the types of those that are compiled more than once: an argument that is a literal
has a type of its own.  Seconds are of the processor.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import event

import cardqp
from cardqp.datasets import make_regression

LISTED = 15
"""How many functions are shown."""


def free(eta: float, sparsity: int, n: int = 60) -> cardqp.SparseQP:
    """A regression with correlated columns."""
    data = make_regression(150, n, sparsity=sparsity, correlation=0.9, snr=1.0, seed=0)
    return cardqp.SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=sparsity)


def with_rows() -> cardqp.SparseQP:
    """A portfolio: weights that sum to one, none of them negative."""
    rng = np.random.default_rng(0)
    returns = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 30))
    returns += rng.standard_normal((60, 30))
    return cardqp.SparseQP(
        np.cov(returns.T),
        -0.1 * rng.random(30),
        eta=10.0,
        sparsity=5,
        A_eq=np.ones((1, 30)),
        b_eq=[1.0],
        lower=0.0,
    )


KINDS: dict[str, Callable[[], cardqp.SparseQP]] = {
    "free": lambda: free(5.0, 10),
    "rows": with_rows,
    "weak ridge, short": lambda: free(1e6, 5),
    "weak ridge, presolved": lambda: free(1e6, 10),
    "weak ridge, branched on": lambda: free(1e6, 12),
}


class Listener(event.Listener):
    """Notes the time that each function takes, without that of what it calls."""

    def __init__(self) -> None:
        self.open: list[list[float]] = []
        self.rows: list[tuple[float, str, str]] = []

    def on_start(self, _: Any) -> None:
        """Begin to compile a function."""
        self.open.append([time.process_time(), 0.0])

    def on_end(self, seen: Any) -> None:
        """End it; the time belongs to no function around it."""
        start, inner = self.open.pop()
        seconds = time.process_time() - start
        if self.open:
            self.open[-1][1] += seconds
        function = seen.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        self.rows.append((seconds - inner, name, str(seen.data["args"])))

    def show(self) -> None:
        """Print the functions that took longest, and those that came twice."""
        for seconds, name, _ in sorted(self.rows, reverse=True)[:LISTED]:
            print(f"    {seconds:6.2f}  {name}")
        count = Counter(name for _, name, _ in self.rows)
        for seconds, name, types in self.rows:
            if count[name] > 1 and name.startswith("cardqp"):
                print(f"    {seconds:6.2f}  {name}: ... {types[-90:]}")


def measure(kind: str, *, is_listed: bool) -> None:
    """Print one row, in a process that has compiled nothing."""
    listener, problem, seconds = Listener(), KINDS[kind](), []
    event.register("numba:compile", listener)
    for _ in range(2):
        start = time.process_time()
        solution = cardqp.solve(problem, time_limit=60.0)
        seconds.append(time.process_time() - start)
    print(
        f"{kind:26} {solution.status.name:9} {solution.n_nodes:8d} {seconds[0]:8.2f} "
        f"{seconds[1]:8.2f} {seconds[0] - seconds[1]:8.2f}",
        flush=True,
    )
    if is_listed:
        listener.show()


def main() -> None:
    """Parse the arguments and print the table, each row by a new process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=KINDS, help="kinds of problems")
    parser.add_argument("--list", action="store_true", help="show functions")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure(options.here, is_listed=options.list)
        return
    print(
        f"{'kind':26} {'status':9} {'nodes':>8} {'first':>8} {'second':>8} "
        f"{'compiled':>8}",
        flush=True,
    )
    for kind in options.only or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.compilation", "--here", kind]
            subprocess.run(
                command + ["--list"] * options.list,
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
                check=True,
            )


if __name__ == "__main__":
    main()
