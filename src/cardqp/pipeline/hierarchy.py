"""The hierarchy level by level: what each level proves, guesses and costs."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.exceptions import ParameterError
from cardqp.methods import Method
from cardqp.methods.context import SolveContext, solve_reduced
from cardqp.methods.registry import resolve
from cardqp.methods.screening import Screening
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum
from cardqp.spectral.spectrum import spectrum as decompose


class LevelMethod(Protocol):
    """A method that screens candidates at one level, such as best response."""

    uses_level: ClassVar[bool]

    def screen(self, level: Level, watch: Watch) -> Screening:
        """Find candidates at a level."""


DEFAULT_COUNT = 12
"""Number of levels that are tried by default."""


@dataclass(frozen=True, slots=True)
class LevelResult:
    """One level of the hierarchy.

    Attributes
    ----------
    level : int
        Eigenvectors kept.
    lower_bound : float
        Proved for the original problem.
    n_candidates : int
        Variables that screening left.
    objective : float
        The optimum of the original problem on the candidates; infinite if none of
        their supports is feasible.
    seconds : float
        Time for this level, the decomposition not included.
    """

    level: int
    lower_bound: float
    n_candidates: int
    objective: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """All levels that were tried, lowest first; print it or plot it."""

    problem: SparseQP
    method: str
    levels: tuple[LevelResult, ...]

    def __len__(self) -> int:
        return len(self.levels)

    def to_dict(self) -> dict[str, list[float]]:
        """One list per column, ready for a DataFrame."""
        columns = ("level", "lower_bound", "n_candidates", "objective", "seconds")
        return {
            name: [getattr(level, name) for level in self.levels] for name in columns
        }

    def __str__(self) -> str:
        lines = ["level  lower bound  candidates    objective   seconds"]
        lines += [
            f"{r.level:5d} {r.lower_bound:12.6g} {r.n_candidates:11d} "
            f"{r.objective:12.6g} {r.seconds:9.3f}"
            for r in self.levels
        ]
        return "\n".join(lines)

    def plot(self, path: str | PathLike[str] | None = None, ax: Any = None) -> Any:
        """Draw bounds, reduced optima and candidates against the level.

        Parameters
        ----------
        path : path, optional
            Where to write the picture.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from cardqp.plot import plot_hierarchy, saved

        return saved(plot_hierarchy(self, ax), path)


@did_you_mean
def hierarchy(
    problem: SparseQP,
    levels: Iterable[int] | None = None,
    *,
    method: str | Method = "dual-program",
    gap: float = 1e-4,
    time_limit: float | None = 60.0,
    callback: Callback | None = None,
    spectrum: Spectrum | None = None,
) -> Hierarchy:
    """Screen and solve at several levels of the hierarchy.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    levels : iterable of int, optional
        Levels to try; by default about a dozen, evenly spread on a logarithmic scale.
    method : str or a method with its settings
        How candidates are found: "best-response", "dual-program", or any other method
        that works at a level.
    gap : float
        Gap to which each reduced problem is solved.
    time_limit : float or None
        Seconds for all levels; levels not reached are left out.
    callback : callable, optional
        Called with a :class:`cardqp.Progress`; True stops.
    spectrum : Spectrum, optional
        The decomposition of ``Q``, if it is at hand.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.diag([1.0, 2.0, 3.0]), -np.ones(3), eta=1.0, sparsity=1)
    >>> [result.level for result in hierarchy(problem).levels]
    [1, 2, 3]
    """
    check_problem(problem)
    check.at_least("gap", gap, 0.0)
    screener = _level_method(method)
    wanted = _check_levels(levels, problem.n)
    with Watch(time_limit, callback) as watch:
        problem = with_positive_ridge(problem)
        if spectrum is None:
            found = decompose(problem, wanted[-1] if wanted else None)
        else:
            found = spectrum.of(problem)
        results: list[LevelResult] = []
        for k in wanted or _spread(len(found)):
            context = SolveContext(problem, gap, watch)
            result = _solve_level(context, screener, found.level(k))
            if watch.stopped is not None and results:
                break
            results.append(result)
    name = method if isinstance(method, str) else type(method).__name__
    return Hierarchy(problem, name, tuple(results))


def _level_method(method: str | Method) -> LevelMethod:
    found = resolve(method)
    if not found.uses_level:
        raise ParameterError(
            "method",
            "must work at one level of the hierarchy",
            given=f"{type(found).__name__} works on the problem as it is",
            remedy='use "best-response" or "dual-program"',
        )
    return cast(LevelMethod, found)


def _check_levels(levels: Iterable[int] | None, n: int) -> list[int] | None:
    if levels is None:
        return None
    check.integers("levels", levels)
    wanted = sorted({check.level(k, n) for k in levels})
    if not wanted:
        raise ParameterError(
            "levels", "must not be empty", remedy="name at least one level"
        )
    return wanted


def _solve_level(
    context: SolveContext, method: LevelMethod, level: Level
) -> LevelResult:
    start = time.perf_counter()
    screening = method.screen(level, context.watch)
    context.update_incumbent(screening.x)
    solve_reduced(context, screening.candidates)
    return LevelResult(
        level=level.k,
        lower_bound=screening.lower_bound,
        n_candidates=len(screening.candidates),
        objective=np.inf if context.x is None else context.problem.objective(context.x),
        seconds=time.perf_counter() - start,
    )


def _spread(highest: int) -> list[int]:
    """Levels from 1 to the highest, denser at the low end."""
    if highest <= DEFAULT_COUNT:
        return list(range(1, highest + 1))
    return sorted({round(value) for value in np.geomspace(1, highest, DEFAULT_COUNT)})
