"""``cardqp bench``: a quick test of this machine and installation."""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from cardqp import __version__
from cardqp.bounds.gap import finite
from cardqp.cli.codes import REFUTED, SOLVED
from cardqp.cli.outputs import print_json
from cardqp.datasets import make_regression
from cardqp.models.portfolio import Portfolio
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP

SECONDS = 4.0
"""The most that one search may take."""


@dataclass(frozen=True, slots=True)
class Row:
    """One problem, solved and verified."""

    problem: str
    n: int
    s: int
    seconds: float
    gap: float | None
    status: str
    verified: bool


def bench(options: argparse.Namespace) -> int:
    """``cardqp bench``."""
    begin = time.perf_counter()
    for warm_up in (regression(20, 3), market(20, 3)):
        solve(warm_up, time_limit=SECONDS, threads=options.threads).verify()
    compiling = time.perf_counter() - begin
    rows = []
    if not options.json:
        print(f"{_machine()}\nfirst answers after {compiling:.1f} s\n\n{HEADER}")
    for name, build, n, s in cases(quick=options.quick):
        rows.append(measure(name, build(n, s), options.threads))
        if not options.json:
            print(_line(rows[-1]), flush=True)
    if options.json:
        print_json(
            {
                "machine": _machine(),
                "first_answers_seconds": compiling,
                "rows": [asdict(row) for row in rows],
            }
        )
    return SOLVED if all(row.verified for row in rows) else REFUTED


def cases(
    *, quick: bool
) -> Iterator[tuple[str, Callable[[int, int], SparseQP], int, int]]:
    """Problems of several sizes, without constraints and with."""
    yield "regression", regression, 100, 5
    yield "portfolio", market, 50, 5
    if quick:
        return
    yield "regression", regression, 500, 10
    yield "regression", regression, 1000, 10
    yield "regression", regression, 1000, 30
    yield "portfolio", market, 200, 10


def regression(n: int, s: int) -> SparseQP:
    """The paper's synthetic regression with as many rows as features."""
    data = make_regression(n, n, sparsity=s, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=s)


def market(n: int, s: int) -> SparseQP:
    """The least variance in a random market, no position below 2 %."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(0.0, 0.05, (5, n))
    loadings[0] = rng.uniform(0.05, 0.2, n)  # what moves all assets
    specific = rng.uniform(0.05, 0.3, n) ** 2
    return Portfolio(
        loadings=loadings,
        specific_variance=specific,
        max_assets=s,
        minimum_position=0.02,
    ).problem


def measure(name: str, problem: SparseQP, threads: int) -> Row:
    """Solve a problem and replay the proof."""
    begin = time.perf_counter()
    solution = solve(problem, time_limit=SECONDS, threads=threads)
    seconds = time.perf_counter() - begin
    return Row(
        name,
        problem.n,
        problem.sparsity or problem.n,
        seconds,
        finite(solution.gap),
        solution.status.name,
        solution.verify(threads=threads).ok,
    )


HEADER = f"{'problem':<12}{'n':>6}{'s':>5}{'seconds':>10}{'gap':>11}  status"


def _line(row: Row) -> str:
    gap = "-" if row.gap is None else f"{row.gap:.1e}"
    proof = "proof verified" if row.verified else "PROOF REFUTED"
    return (
        f"{row.problem:<12}{row.n:>6}{row.s:>5}{row.seconds:>10.3f}{gap:>11}  "
        f"{row.status}, {proof}"
    )


def _machine() -> str:
    return (
        f"cardqp {__version__}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores"
    )
