"""Answers to 200 problems of all kinds, to be compared between two states of the code.

``python -m benchmarks.answers --out FILE`` writes one line of JSON for each problem:
objective, bound, status, branches and support.  ``python -m benchmarks.answers
--compare FILE FILE`` prints what differs; the exit code is 1 if anything does.  A
change that is to leave answers alone leaves these alone.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.problems import KINDS, random_problem

import cardqp
from cardqp.datasets import make_regression

METHODS = ("best-response", "dual-program", "safe-screening", "warm-start")
HEURISTICS = ("beck-hallak", "block-decomposition")

Case = tuple[str, cardqp.SparseQP, dict[str, Any]]


def cases() -> Iterator[Case]:
    """Name, problem and settings of each of the 200 problems."""
    for kind in KINDS:
        for seed in range(3):
            yield f"{kind} {seed}", random_problem(kind, seed), {}
    for seed in range(20):
        yield f"tree {seed}", regression(40 + seed, 6, 100, seed), {}
    for seed in range(20):
        yield f"portfolio {seed}", portfolio(30 + seed, seed), {}
    for seed in range(10):
        yield f"streamed {seed}", streamed(seed), {}
    for seed, method in enumerate(5 * (*METHODS, *HEURISTICS)):
        problem = regression(60, 5, 150, 100 + seed)
        yield f"{method} {seed}", problem, {"method": method}


def regression(n: int, s: int, n_samples: int, seed: int) -> cardqp.SparseQP:
    """A correlated regression whose search branches."""
    data = make_regression(n_samples, n, sparsity=s, correlation=0.7, snr=1, seed=seed)
    return cardqp.SparseQP.from_regression(data.X, data.y, eta=20.0, sparsity=s)


def portfolio(n: int, seed: int) -> cardqp.SparseQP:
    """Few assets with a budget and least positions."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n + 10, n)) / np.sqrt(n)
    return cardqp.SparseQP(
        F.T @ F,
        -0.3 * rng.random(n),
        eta=100.0,
        sparsity=6,
        A_eq=np.ones((1, n)),
        b_eq=[1.0],
        lower=0.05,
        upper=0.5,
    )


def streamed(seed: int) -> cardqp.SparseQP:
    """More columns than are solved in memory."""
    data = make_regression(60, 4200, sparsity=4, seed=seed)
    return cardqp.SparseQP.from_data(data.X, data.y, eta=10.0, sparsity=4)


def answer(case: Case) -> dict[str, Any]:
    """What ``solve`` says, as plain numbers."""
    name, problem, settings = case
    solution = cardqp.solve(problem, time_limit=None, node_limit=2000, **settings)
    return {
        "name": name,
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "status": solution.status.name,
        "n_nodes": solution.n_nodes,
        "support": solution.support.tolist(),
    }


def differences(before: Path, after: Path) -> list[str]:
    """One line for each answer that is not the same, floats up to 1e-9."""
    pairs = zip(_read(before), _read(after), strict=True)
    found = []
    for old, new in pairs:
        for key, value in old.items():
            is_number = isinstance(value, float)
            same = np.isclose(value, new[key], 1e-9) if is_number else value == new[key]
            if not same:
                found.append(f"{old['name']}: {key} {value} -> {new[key]}")
    return found


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> int:
    """Write answers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the answers")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE")
    options = parser.parse_args()
    if options.out is not None:
        with options.out.open("w") as stream:
            for case in cases():
                stream.write(json.dumps(answer(case)) + "\n")
    if options.compare is None:
        return 0
    found = differences(*options.compare)
    count = len(_read(options.compare[0]))
    print(*found, f"{len(found)} differences in {count} answers", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
