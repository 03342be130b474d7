"""The path: certified answers for a range of sparsities."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from cardqp._iterate import Callback
from cardqp._keywords import did_you_mean
from cardqp.exceptions import ParameterError
from cardqp.methods import Method
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.solution import Solution


@dataclass(frozen=True, slots=True)
class Path:
    """One solution per sparsity, in increasing order; print it or plot it."""

    sparsities: tuple[int, ...]
    solutions: tuple[Solution, ...]

    def __len__(self) -> int:
        return len(self.solutions)

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, ready for a DataFrame."""
        return {
            "sparsity": list(self.sparsities),
            "objective": [s.objective for s in self.solutions],
            "lower_bound": [s.lower_bound for s in self.solutions],
            "gap": [s.gap for s in self.solutions],
            "status": [s.status.name for s in self.solutions],
            "seconds": [s.seconds for s in self.solutions],
        }

    def __str__(self) -> str:
        lines = ["sparsity    objective  lower bound       gap  seconds  status"]
        lines += [
            f"{k:8d} {s.objective:12.6g} {s.lower_bound:12.6g} {s.gap:9.2e} "
            f"{s.seconds:8.3f}  {s.status.name}"
            for k, s in zip(self.sparsities, self.solutions, strict=True)
        ]
        return "\n".join(lines)

    def plot(self, path: str | PathLike[str] | None = None, ax: Any = None) -> Any:
        """Draw objective, bound and gap against the sparsity.

        Parameters
        ----------
        path : path, optional
            Where to write the picture.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from cardqp.plot import plot_path, saved

        return saved(plot_path(self, ax), path)


@did_you_mean
def path(
    problem: SparseQP,
    sparsities: Iterable[int] = range(1, 21),
    *,
    method: str | Method = "exact",
    gap: float = 1e-4,
    time_limit: float | None = 60.0,
    callback: Callback | None = None,
) -> Path:
    """Solve a problem for several sparsities, each to proven optimality if time allows.

    Parameters
    ----------
    problem : SparseQP
        The problem; its own sparsity is ignored.
    sparsities : iterable of int
        Sparsities; those above the number of variables are left out.
    method : str or a method with its settings
        As for :func:`cardqp.solve`.
    gap : float
        Relative gap at which an answer counts as optimal.
    time_limit : float or None
        Seconds for each sparsity.
    callback : callable, optional
        Called with a :class:`cardqp.Progress`; True ends the path, as Ctrl-C does.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> [s.support.tolist() for s in path(problem, [1, 2]).solutions]
    [[0], [0, 1]]
    """
    check_problem(problem)
    wanted = _check_sparsities(sparsities, problem.n)
    solutions: list[Solution] = []
    for sparsity in wanted:
        solution = solve(
            problem.with_limits(sparsity=sparsity),
            method=method,
            gap=gap,
            time_limit=time_limit,
            callback=callback,
            start=solutions[-1].x if solutions else None,
        )
        solutions.append(solution)
        if solution.stop.is_wish:
            break
    return Path(tuple(wanted[: len(solutions)]), tuple(solutions))


def _check_sparsities(sparsities: Iterable[int], n: int) -> list[int]:
    check.integers("sparsities", sparsities)
    given = list(sparsities)
    for value in given:
        check.whole("sparsities", value)
    wanted = sorted({int(value) for value in given if value <= n})
    if not wanted:
        raise ParameterError(
            "sparsities", f"must name at least one number up to n = {n}"
        )
    return wanted
