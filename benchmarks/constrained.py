"""Time to a proven optimum of problems with rows, bounds and thresholds.

``python -m benchmarks.constrained`` solves portfolios and index tracking on one thread
to a gap of 1e-4, hot, all stages included.  The data are read from the folder that the
environment variable ``CARDQP_DATA`` names; without it only random factor models are
solved.

With ``--peers scip,gurobi,cplex,copt,xpress``, some of them or ``all``, each problem is
also solved by others on one thread, to the same gap and with the same time limit.  Each
is installed in a virtual environment of its own, and only its solve is timed, not the
building of its model.  Objectives are those of the best point on the support that a
peer found, computed again here; bounds are the peer's own.

All but SCIP are commercial, and without a licence of one's own solve small problems
only.  They get the perspective formulation (the ridge, and the least eigenvalue of
``Q``, in rotated cones), or that with big-M bounds where only that is small enough;
where neither is, the table says ``size limit``.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cardqp
from benchmarks.peers.environments import WITH_ROWS
from benchmarks.peers.records import OURS
from benchmarks.peers.referee import TOLERANCE, Verdict
from benchmarks.peers.tasks import Reference
from benchmarks.peers.with_rows import measure_peer
from benchmarks.portfolios import (
    buy_in,
    factor_model,
    index_tracking,
    near_tied_factors,
    near_ties,
    or_library,
)
from cardqp.branch_and_bound.precompile import load_kernels, load_tree_kernels

Instances = dict[str, Callable[[], cardqp.SparseQP]]


def random_instances() -> Instances:
    """Random factor models by name; seed 0 of the near-ties is p2 and p4."""
    near: Instances = {
        f"near n {n} seed {seed}": partial(near_tied_factors, n, 10, seed)
        for n in (200, 400)
        for seed in range(6)
    }
    return near | {
        f"{kind} n {n} eta {scale:g} seed {seed}": partial(
            factor_model, n, 10, scale * n**-0.5, seed, has_market=kind == "market"
        )
        for kind in ("market", "factors")
        for n in (200, 400)
        for scale in (1e2, 1e4)
        for seed in range(3)
    }


def real_instances() -> Instances:
    """Instances from files by name."""
    instances: Instances = {}
    for n in (200, 300):
        for sparsity in (6, 8, 10, 12):
            for ridge, text in ((1000.0 / n, "ridge"), (0.0, "no ridge")):
                for which in range(10):
                    name = f"pard{n} s {sparsity} {text} {'abcdefghij'[which]}"
                    instances[name] = partial(buy_in, n, which, sparsity, ridge)
    for which in (1, 2, 3):
        for sparsity in (5, 10, 20):
            for with_return in (False, True):
                name = f"port{which} s {sparsity}{' return' if with_return else ''}"
                instances[name] = partial(
                    or_library, which, sparsity, with_return=with_return
                )
    for which in range(1, 7):
        instances[f"indtrack{which}"] = partial(index_tracking, which, 10)
    instances["near port4"] = partial(near_ties, 4, 10)
    return instances


def measure(problem: cardqp.SparseQP, limit: float) -> Verdict:
    """Our own result."""
    start, start_cpu = time.perf_counter(), time.process_time()
    solution = cardqp.solve(problem, gap=TOLERANCE, time_limit=limit)
    seconds = time.perf_counter() - start
    cpu_seconds = time.process_time() - start_cpu
    is_proved = solution.status is cardqp.Status.OPTIMAL
    return Verdict(
        "proved" if is_proved else "open",
        seconds,
        solution.objective,
        gap=solution.gap,
        bound=solution.lower_bound,
        cpu_seconds=cpu_seconds,
    )


HEADER = (
    f"{'instance':30} {'solver':8} {'status':10} {'objective':>12} {'bound':>12} "
    f"{'gap':>8} {'seconds':>8} {'cpu':>8}"
)


def line(instance: str, solver: str, verdict: Verdict) -> str:
    """One line of the table, with dashes for what does not exist."""

    def cell(value: float, width: int, form: str) -> str:
        return f"{'-' if math.isnan(value) else format(value, form):>{width}}"

    return (
        f"{instance:30} {solver:8} {verdict.status:10} "
        f"{cell(verdict.objective, 12, '.6g')} {cell(verdict.bound, 12, '.6g')} "
        f"{cell(verdict.gap, 8, '.1e')} {cell(verdict.seconds, 8, '.3f')} "
        f"{cell(verdict.cpu_seconds, 8, '.3f')}"
    )


def peer_names(text: str) -> list[str]:
    """The peers of a list with commas; ``all`` stands for all of them."""
    names = list(WITH_ROWS) if text == "all" else text.split(",")
    if unknown := [name for name in names if name not in WITH_ROWS]:
        known = ", ".join(WITH_ROWS)
        raise argparse.ArgumentTypeError(f"no {unknown}; there are {known}, or all")
    return names


def parse_arguments() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument(
        "--peers",
        type=peer_names,
        default=[],
        help=f"side by side: {','.join(WITH_ROWS)}, some of them, or all",
    )
    parser.add_argument(
        "--environments", type=Path, default=Path(".peers"), help="folder of the peers"
    )
    return parser.parse_args()


def main() -> None:
    """Run the table and print it as it grows."""
    options = parse_arguments()
    instances = random_instances()
    if "CARDQP_DATA" in os.environ:
        instances |= real_instances()
    load_kernels(has_rows=True)
    load_tree_kernels(has_rows=True, is_unconstrained=False)
    print(HEADER)
    limit, home = options.time_limit, options.environments
    for name, make in instances.items():
        if not name.startswith(tuple(options.only)):
            continue
        problem = make()
        ours = measure(problem, limit)
        print(line(name, OURS, ours), flush=True)
        reference = Reference(ours.objective, ours.bound)
        for peer in options.peers:
            verdict = measure_peer(WITH_ROWS[peer], problem, reference, limit, home)
            print(line(name, peer, verdict), flush=True)


if __name__ == "__main__":
    main()
