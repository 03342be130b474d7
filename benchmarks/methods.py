"""All methods side by side: objective, candidates, time and what they find.

``python -m benchmarks.methods`` draws the paper's regressions with n = N = 1000,
s = 10, rho = .9 and eta = 10, solves each by every method, and prints, averaged over
the seeds: the objective and the mean squared error, the number of candidates ``|Z|``
that the method leaves, the seconds until its point is known and those that its lower
bound takes, the gap that is then proved, and how many of the true variables, and of
those in the certified optimum, are found.  Best response and dual program use the
constants of the paper.

``python -m benchmarks.methods --published`` prints, for every setting with a table in
the paper, the mean squared errors printed there next to ours and the certified
optimum.  Real data sets are included when the environment variable ``CARDQP_DATA``
names their folder.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import cardqp
from benchmarks.instances import UCI
from cardqp.datasets import make_regression
from cardqp.methods.registry import Method, uses_level

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
        "exact": cardqp.methods.Exact(),
    }


BASELINES = ("warm start", "safe screening", "Beck-Hallak 7", "block decomposition")

PUBLISHED_SYNTHETIC: dict[str, tuple[dict[str, float], Sequence[float]]] = {
    "rho .7": ({"correlation": 0.7}, (1.829, np.nan, 1.897, 1.829)),
    "rho .8": ({"correlation": 0.8}, (1.988, np.nan, 2.114, 1.866)),
    "rho .9": ({"correlation": 0.9}, (3.714, np.nan, 2.570, 1.984)),
    "SNR 20": ({"snr": 20.0}, (0.588, np.nan, 0.588, 0.588)),
    "SNR 6": ({"snr": 6.0}, (1.767, np.nan, 1.767, 1.767)),
    "SNR 3": ({"snr": 3.0}, (3.452, np.nan, 3.452, 3.452)),
    "SNR 1": ({"snr": 1.0}, (10.190, np.nan, 10.198, 10.205)),
    "SNR .05": ({"snr": 0.05}, (194.560, np.nan, 194.756, 199.928)),
    "s 5": ({"sparsity": 5}, (0.887, np.nan, 0.887, 0.887)),
    "s 20": ({"sparsity": 20}, (3.435, np.nan, 3.557, 3.450)),
    "s 30": ({"sparsity": 30}, (5.058, np.nan, 5.888, 5.440)),
    "s 40": ({"sparsity": 40}, (6.918, np.nan, 8.290, 8.560)),
}
"""Errors that the paper prints for ``BASELINES``; rho is .5 where nothing is said."""

PUBLISHED_REAL: dict[str, Sequence[float]] = {
    "facebook": (np.nan, 3.036e-4, 3.220e-4, 3.436e-4),
    "online news": (1.914e-4, 1.914e-4, 1.921e-4, 1.922e-4),
    "superconductivity": (1.326e-2, 1.256e-2, 1.455e-2, 1.470e-2),
    "crime": (2.800e-2, 2.760e-2, 3.072e-2, 3.063e-2),
    "UJIndoor": (2.440e-2, 2.267e-2, 3.804e-2, 3.066e-2),
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
    at_level = {"level": min(level, problem.n)} if uses_level(method) else {}
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


def published(options: argparse.Namespace) -> None:
    """Print the errors in the paper next to ours."""
    heads = "".join(f"{name:>22}" for name in (*BASELINES, "exact"))
    print(f"{'setting':18}{heads}   (paper's mean, ours; exact: mean and largest gap)")
    for name, (settings, printed) in PUBLISHED_SYNTHETIC.items():
        problems = []
        for seed in range(options.seeds):
            asked = {"sparsity": 10, "correlation": 0.5, "snr": 6.0} | settings
            data = make_regression(seed=seed, **asked)
            problems.append(
                cardqp.SparseQP.from_regression(
                    data.X, data.y, eta=10.0, sparsity=int(asked["sparsity"])
                )
            )
        _print_published(name, problems, printed, options.time_limit)
    if "CARDQP_DATA" not in os.environ:
        return
    for name, printed in PUBLISHED_REAL.items():
        problems = [UCI[name](seed) for seed in range(options.seeds)]
        _print_published(name, problems, printed, options.time_limit)


def _print_published(
    name: str,
    problems: list[cardqp.SparseQP],
    printed: Sequence[float],
    limit: float,
) -> None:
    every, cells = methods(), []
    for method, value in zip(BASELINES, printed, strict=True):
        solutions = [solve(p, every[method], LEVEL, limit) for p in problems]
        own = np.mean([mean_squared_error(s) for s in solutions])
        cells.append(f"{value:11.4g} {own:10.5g}")
    best = [cardqp.solve(p, time_limit=limit) for p in problems]
    own, gap = np.mean([mean_squared_error(s) for s in best]), max(s.gap for s in best)
    print(f"{name:18}{''.join(cells)}{own:12.5g} {gap:9.1e}", flush=True)


def main() -> None:
    """Parse the arguments and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--correlation", type=float, default=0.9)
    parser.add_argument("--eta", type=float, default=10.0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    published(options) if options.published else compare(options)


if __name__ == "__main__":
    main()
