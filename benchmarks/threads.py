"""Nodes per second with one thread and with two.

``python -m benchmarks.threads`` searches the tree of UJIndoor up to ``--nodes`` nodes
with each, which are the same nodes, and prints the ratio.  ``CPU s`` are seconds of the
processor; seconds and nodes per second are those of the search, the latter without its
root.  The data are read from the folder that ``CARDQP_DATA`` names.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import time

import cardqp
from benchmarks.instances import UCI


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=70_000)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    problem = UCI["UJIndoor"](0)
    # The first nodes compile, or load from disk.
    cardqp.solve(problem, node_limit=200)
    print(
        f"{'threads':>7} {'nodes':>8} {'gap':>8} {'seconds':>8} {'CPU s':>8} per second"
    )
    for _ in range(options.repeat):
        rates = []
        for threads in (1, 2):
            start = time.process_time()
            found = cardqp.solve(problem, node_limit=options.nodes, threads=threads)
            used, stage = time.process_time() - start, found.stages[-1]
            rates.append(float(stage.detail.split(",")[1].split()[0]))
            print(
                f"{threads:7d} {found.n_nodes:8d} {found.gap:8.4f} "
                f"{stage.seconds:8.2f} {used:8.2f} {rates[-1]:10.0f}",
                flush=True,
            )
        print(f"ratio {rates[1] / rates[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
