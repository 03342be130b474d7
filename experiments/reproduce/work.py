"""What one replication computes: plain numbers in, plain rows out."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.datasets import make_regression
from cardqp.methods import Method
from cardqp.methods.beck_hallak import BeckHallak
from cardqp.methods.best_response import BestResponse
from cardqp.methods.block_decomposition import BlockDecomposition
from cardqp.methods.dual_program import DualProgram
from cardqp.methods.safe_screening import safe_screen
from cardqp.methods.warm_start import WarmStart
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.solution import Solution
from cardqp.spectral.spectrum import Spectrum, spectrum
from experiments.datasets import Table, load_uci
from experiments.published_screening import screen_as_published
from experiments.reproduce.config import Study

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One replication of a study at one of its values."""

    study: Study
    value: Any
    replication: int
    data_dir: str | None = None

    @property
    def key(self) -> str:
        """What tells it from all other tasks of the study."""
        return f"{self.value}/{self.replication}"


@dataclass(frozen=True)
class Bench:
    """A regression that methods are tried on, and what they share.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    n_samples : int
        Observations behind it.
    score : callable
        More metrics of a point.
    settings : mapping
        Constants of the methods, by name.
    """

    problem: SparseQP
    n_samples: int
    score: Callable[[FloatArray], Row]
    settings: Mapping[str, Any]

    @property
    def limits(self) -> dict[str, Any]:
        """How far the search of the whole problem goes."""
        limits = self.settings.get("exact", {})
        # A count of branches gives the same answer on every machine.
        return {"time_limit": None, **limits} if "node_limit" in limits else limits

    def run(
        self, method: Method, level: int | None = None, known: Spectrum | None = None
    ) -> Row:
        """Solve by a method; its own time, without that of the bound."""
        at_level: dict[str, Any] = {}
        if method.uses_level:
            at_level = {"level": level, "spectrum": known}
        # The bound is not shown, so that it need not be the best one.
        solution = solve(
            self.problem,
            method=method,
            optimise_split=False,
            **at_level,
            **self.limits,
        )
        screened = [s.size_after for s in solution.stages if s.name == "screening"]
        size = screened[0] if screened else len(solution.support)
        seconds = sum(s.seconds for s in solution.stages if s.name != "bound")
        return self.row(solution, size, seconds)

    def row(self, solution: Solution, size: int, seconds: float) -> Row:
        """What is kept of a solution."""
        x = solution.x
        own = {} if x is None else {"mse": self.error(solution), **self.score(x)}
        return own | {
            "size": size,
            "objective": solution.objective,
            "lower_bound": solution.lower_bound,
            "gap": solution.gap,
            "status": solution.status.name,
            "nodes": solution.n_nodes,
            "seconds": seconds,
        }

    def error(self, solution: Solution) -> float:
        """The mean squared error: the objective without the ridge."""
        x = np.zeros(self.problem.n) if solution.x is None else solution.x
        return float(solution.objective - self.problem.ridge @ (x * x))

    def certify(self) -> Row:
        """The search of the whole problem; what its root leaves is its size."""
        root = solve(self.problem, node_limit=1, time_limit=None, optimise_split=False)
        solution = solve(self.problem, **self.limits)
        return self.row(solution, root.stages[-1].size_after, solution.seconds)

    def screen_safely(self, certified: Row) -> Row:
        """Safe screening; the search of what it leaves is that of the whole problem."""
        start = time.perf_counter()
        found = safe_screen(self.problem)
        seconds = time.perf_counter() - start + certified["seconds"]
        return certified | {"size": len(found.candidates), "seconds": seconds}

    def screen_as_published(self) -> Row:
        """Safe screening as the published script does it: only its size is of use."""
        start = time.perf_counter()
        kept = screen_as_published(self.problem, self.n_samples)
        return {"size": len(kept), "seconds": time.perf_counter() - start}


def run_task(task: Task) -> list[Row]:
    """All rows of one replication."""
    kinds: dict[str, Callable[[Task], Iterator[Row]]] = {
        "synthetic": _synthetic,
        "real": _real,
        "spectrum": _spectrum,
        "levels": _levels,
    }
    start = time.perf_counter()
    rows = list(kinds[task.study.kind](task))
    total = time.perf_counter() - start
    base = {"study": task.study.name, task.study.vary: task.value}
    base |= {"replication": task.replication, "task_seconds": total}
    return [base | row for row in rows]


def _synthetic(task: Task) -> Iterator[Row]:
    settings = {**task.study.settings, task.study.vary: task.value}
    names = ("sparsity", "correlation", "snr")
    data = make_regression(
        settings["n_samples"],
        settings["n_features"],
        **{name: settings[name] for name in names},
        seed=task.replication,
    )
    start = time.perf_counter()
    problem = SparseQP.from_regression(
        data.X, data.y, eta=settings["eta"], sparsity=settings["sparsity"]
    )
    forming = time.perf_counter() - start
    truth = set(data.support)

    def found(x: FloatArray) -> Row:
        return {"found": len(truth & set(np.flatnonzero(x))), "forming": forming}

    bench = Bench(problem, settings["n_samples"], found, settings)
    level = settings["level"]
    if level == "half":
        level = min(data.X.shape) // 2
    yield from _try_methods(bench, task.study.methods, {"": level})


def _real(task: Task) -> Iterator[Row]:
    table = _table(task.value, task.data_dir)
    split = table.split(task.replication)
    bench = _regression(split.X_train, split.y_train, task.study.settings)

    def test(x: FloatArray) -> Row:
        residual = split.y_test - split.X_test @ x
        return {"test_mse": float(residual @ residual) / len(residual)}

    bench = Bench(bench.problem, bench.n_samples, test, task.study.settings)
    levels = {"-40": min(40, bench.problem.n), "-khat": None}
    rows = _try_methods(bench, task.study.methods, levels)
    yield from (row | {"source": table.source} for row in rows)


def _levels(task: Task) -> Iterator[Row]:
    settings = task.study.settings
    split = _table(settings["data"], task.data_dir).split(task.replication)
    bench = _regression(split.X_train, split.y_train, settings)
    methods = [m for m in task.study.methods if m != "relaxation"]
    yield from _try_methods(bench, tuple(methods), {"": int(task.value)})
    bound = safe_screen(bench.problem, level=int(task.value)).lower_bound
    yield {"method": "relaxation", "objective": bound}


def _spectrum(task: Task) -> Iterator[Row]:
    table = _table(task.value, task.data_dir)
    split = table.split(task.replication)
    problem = _regression(split.X_train, split.y_train, {"sparsity": 1}).problem
    found = spectrum(problem)
    yield {
        "method": "spectrum",
        "eigenvalues": [float(value) for value in found.eigenvalues],
        "errors": [float(value) for value in found.truncation_error()],
        "k_hat": found.k_hat(),
        "n_features": table.X.shape[1],
        "n_samples": len(table.y),
        "source": table.source,
    }


@cache
def _table(name: str, data_dir: str | None) -> Table:
    return load_uci(name, data_dir)


def _regression(X: FloatArray, y: FloatArray, settings: Mapping[str, Any]) -> Bench:
    """A regression by the paper's convention: eta is the root of the rows."""
    eta = float(np.sqrt(len(y)))
    problem = SparseQP.from_regression(X, y, eta=eta, sparsity=settings["sparsity"])
    return Bench(problem, len(y), lambda _: {}, settings)


def _try_methods(
    bench: Bench, methods: tuple[str, ...], levels: Mapping[str, int | None]
) -> Iterator[Row]:
    """Rows of all methods; those at a level once for each, named by its suffix."""
    start = time.perf_counter()
    known = spectrum(bench.problem)
    decomposing = time.perf_counter() - start
    certified = bench.certify()
    yield {"method": "exact", **certified}
    for suffix, level in levels.items():
        k = known.k_hat() if level is None else level
        for name in _AT_LEVEL:
            if name + suffix in methods:
                row = bench.run(_method(name, bench.settings), k, known)
                row["seconds"] += decomposing
                yield {"method": name + suffix, "level": k, **row}
    for name in methods:
        if name == "safe-screening":
            yield {"method": name, **bench.screen_safely(certified)}
        elif name == "published-screening":
            yield {"method": name, **bench.screen_as_published()}
        elif name in _MAKERS and name not in _AT_LEVEL:
            yield {"method": name, **bench.run(_method(name, bench.settings))}


_MAKERS: dict[str, Callable[..., Method]] = {
    "dual-program": partial(DualProgram, early_stop=False),
    "best-response": BestResponse,
    "warm-start": WarmStart,
    "warm-start-subgradient": WarmStart,
    "beck-hallak": BeckHallak,
    "block-decomposition": BlockDecomposition,
}
_AT_LEVEL = ("dual-program", "best-response")


def _method(name: str, settings: Mapping[str, Any]) -> Method:
    """A method with the constants of a study."""
    return _MAKERS[name](**settings.get(name, {}))
