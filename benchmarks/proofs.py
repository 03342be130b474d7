"""Proofs of well-known instances, checked by a program that is not the solver's.

``python -m benchmarks.proofs`` solves each instance, writes the problem and the
solution to files, and lets ``cardqp-check`` decide in rigorous arithmetic what the
files prove.  Seconds are of the processor; ``loss`` is what
the checker's bound is below the claimed one, in units of the objective.  Files are
kept with ``--keep FOLDER``, and reused from there.  Real data are included when the
environment variable ``CARDQP_DATA`` names their folder.  The checker is a package of
its own: ``pip install ./checker``.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import cardqp
from benchmarks.constrained import real_instances
from benchmarks.instances import BEST_SUBSET, SYNTHETIC, UCI
from benchmarks.scale_columns import Case, draw
from cardqp_check import Verdict, check

Make = Callable[[Path], cardqp.SparseQP]

SIZES = {"rho 0.9": "rho .9, eta 10", "eta 100, rho .9": "rho .9, eta 100"}
"""Synthetic regressions with 1000 rows and columns, and what they are called here."""

SUBSETS = ("superconductivity", "online news", "crime", "diabetes")

WITH_ROWS = (
    *(f"port{which} s 10" for which in (1, 2, 3)),
    *(f"pard200 s 10 ridge {letter}" for letter in "abc"),
    "indtrack2",
)


def streamed(n: int, folder: Path) -> cardqp.SparseQP:
    """A regression on columns in a file that stays beside the proof."""
    X, y, _ = draw(Case(n), folder / "columns.npy")
    return cardqp.SparseQP.from_data(X, y, eta=10.0, sparsity=10)


def instances() -> dict[str, Make]:
    """What is to be proved, by name."""
    found: dict[str, Make] = {
        text: lambda _, make=SYNTHETIC[name]: make(0) for name, text in SIZES.items()
    }
    found["n 100000, streamed"] = partial(streamed, 100_000)
    if "CARDQP_DATA" not in os.environ:
        return found
    for name in SUBSETS:
        for sparsity in (5, 10):
            full = f"{name}, s {sparsity}, no ridge"
            found[full] = lambda _, make=BEST_SUBSET[full]: make(0)
    for name in SUBSETS[:3]:
        found[name] = lambda _, make=UCI[name]: make(0)
    rows = real_instances()
    found |= {name: lambda _, make=rows[name]: make() for name in WITH_ROWS}
    return found | {"UJIndoor": lambda _: UCI["UJIndoor"](0)}


def solve_into(folder: Path, make: Make, limit: float, threads: int) -> float:
    """Write a problem and its solution to a folder; return the seconds it took."""
    problem, start = make(folder), time.process_time()
    solution = cardqp.solve(problem, time_limit=limit, threads=threads)
    seconds = time.process_time() - start
    problem.save(folder / "problem.npz")
    solution.save(folder / "run.npz")
    return seconds


def replay(folder: Path) -> tuple[cardqp.Solution, float]:
    """The stored solution, and what its own verification takes."""
    problem = cardqp.SparseQP.load(folder / "problem.npz")
    solution = cardqp.Solution.load(folder / "run.npz", problem)
    start = time.process_time()
    solution.verify()
    return solution, time.process_time() - start


def check_proof(folder: Path, jobs: int) -> tuple[Verdict, float]:
    """What the independent checker says, and the seconds it takes."""
    start = used()
    verdict = check(folder / "problem.npz", folder / "run.npz", jobs=jobs)
    return verdict, used() - start


def used() -> float:
    """Seconds of the processor so far, with those of processes that have ended."""
    of = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in of)


HEADER = (
    "| instance | n | status | nodes | solve s | replay s | checker s | checker says | "
    "loss |\n|---|---|---|---|---|---|---|---|---|"
)


def measure(name: str, make: Make, folder: Path, options: argparse.Namespace) -> str:
    """One row of the table."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = np.nan
    if not (folder / "run.npz").exists():
        seconds = solve_into(folder, make, options.time_limit, options.threads)
    solution, replayed = replay(folder)
    verdict, checked = check_proof(folder, options.jobs)
    loss = max(solution.lower_bound - verdict.lower_bound, 0.0)
    says = "follows" if verdict.ok else " ".join(verdict.complaints)
    return (
        f"| {name} | {solution.problem.n} | {solution.status.name} | "
        f"{solution.n_nodes} | {seconds:.2f} | {replayed:.2f} | {checked:.1f} | "
        f"{says} | {loss:.0e} |"
    )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="beginnings of names")
    parser.add_argument("--keep", type=Path, help="folder for the files")
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--threads", type=int, default=1, help="of the solver")
    parser.add_argument("--jobs", type=int, default=1, help="of the checker")
    options = parser.parse_args()
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        for number, (name, make) in enumerate(instances().items()):
            if not options.only or name.startswith(tuple(options.only)):
                print(
                    measure(name, make, folder / f"{number:02d}", options), flush=True
                )


if __name__ == "__main__":
    main()
