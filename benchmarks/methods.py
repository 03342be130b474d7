"""All methods side by side: objective, candidates, time and what they find.

``python -m benchmarks.methods`` draws the paper's regressions with n = N = 1000,
s = 10, rho = .9 and eta = 10, solves each by every method, and prints, averaged over
the seeds: the objective and the mean squared error, the number of candidates ``|Z|``
that the method leaves, the seconds until its point is known and those that its lower
bound takes, the gap that is then proved, and how many of the true variables, and of
those in the certified optimum, are found.  Best response and dual program use the
constants of the paper.

``cardqp reproduce`` puts them beside the numbers that the paper prints.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
from dataclasses import dataclass

import numpy as np

import cardqp
from cardqp.datasets import make_regression
from cardqp.methods import Method
from cardqp.methods.exact import Exact

LEVEL = 400


def methods(step_size: float = 4e-3) -> dict[str, Method]:
    """The methods by the names that are printed."""
    return {
        "best response": cardqp.BestResponse(max_iter=20, window=6),
        "dual program": cardqp.DualProgram(
            max_iter=500, window=50, step_size=step_size, early_stop=False
        ),
        "safe screening": cardqp.PerspectiveScreening(),
        "warm start, replies": cardqp.WarmStart("best-response"),
        "warm start": cardqp.WarmStart(),
        "Beck-Hallak 7": cardqp.BeckHallak(),
        "Beck-Hallak 6": cardqp.BeckHallak(full=False),
        "block decomposition": cardqp.BlockDecomposition(),
        "exact": Exact(),
    }


@dataclass(frozen=True)
class Row:
    """One method on one problem."""

    objective: float
    error: float
    candidates: int
    seconds: float
    bound_seconds: float
    gap: float
    found: int
    best: int


def solve(
    problem: cardqp.SparseQP, method: Method, level: int, limit: float
) -> cardqp.Solution:
    """Solve by a method, at the level if it uses one."""
    at_level = {"level": min(level, problem.n)} if method.uses_level else {}
    return cardqp.solve(problem, method=method, time_limit=limit, **at_level)


def measure(
    solution: cardqp.Solution, truth: np.ndarray, optimum: cardqp.Solution
) -> Row:
    """What the table shows of a solution."""
    screened = [s.size_after for s in solution.stages if s.name == "screening"]
    bounding = sum(s.seconds for s in solution.stages if s.name == "bound")
    return Row(
        objective=solution.objective,
        error=mean_squared_error(solution),
        candidates=screened[0] if screened else len(solution.support),
        seconds=solution.seconds - bounding,
        bound_seconds=bounding,
        gap=solution.gap,
        found=len(np.intersect1d(solution.support, truth)),
        best=len(np.intersect1d(solution.support, optimum.support)),
    )


def mean_squared_error(solution: cardqp.Solution) -> float:
    """The objective without the ridge."""
    x = solution.x
    return float(solution.objective - solution.problem.ridge @ (x * x))


def compare(options: argparse.Namespace) -> None:
    """Print the table of all methods."""
    rows: dict[str, list[Row]] = {name: [] for name in methods()}
    for seed in range(options.seeds):
        data = make_regression(
            sparsity=10, correlation=options.correlation, snr=6.0, seed=seed
        )
        problem = cardqp.SparseQP.from_regression(
            data.X, data.y, eta=options.eta, sparsity=10
        )
        optimum = cardqp.solve(problem, time_limit=options.time_limit)
        for name, method in methods().items():
            solution = solve(problem, method, LEVEL, options.time_limit)
            rows[name].append(measure(solution, data.support, optimum))
    print(
        f"{'method':24} {'objective':>10} {'MSE':>8} {'|Z|':>7} {'seconds':>8} "
        f"{'bound':>7} {'gap':>8} {'true':>5} {'best':>5}"
    )
    for name, own in rows.items():
        columns = [vars(row).values() for row in own]
        mean = Row(*np.mean([list(values) for values in columns], axis=0))
        print(
            f"{name:24} {mean.objective:10.5f} {mean.error:8.4f} "
            f"{mean.candidates:7.1f} {mean.seconds:8.3f} {mean.bound_seconds:7.3f} "
            f"{mean.gap:8.1e} {mean.found:5.1f} {mean.best:5.1f}"
        )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--correlation", type=float, default=0.9)
    parser.add_argument("--eta", type=float, default=10.0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
