"""The methods of ``solve``: their names, and what each does before the last search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cardqp._iterate import Watch, iterate
from cardqp._typing import FloatArray
from cardqp.direct.beck_hallak import BeckHallak
from cardqp.direct.block_decomposition import BlockDecomposition
from cardqp.exact.published_screening import PublishedScreening
from cardqp.exact.safe_screening import PerspectiveScreening, SafeScreening
from cardqp.exceptions import ParameterError
from cardqp.run import Run, solve_reduced
from cardqp.screening.best_response import BestResponse
from cardqp.screening.dual_program import DualProgram
from cardqp.screening.result import Screening
from cardqp.screening.warm_start import WarmStart
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum
from cardqp.wide import can_copy


@dataclass(frozen=True, slots=True)
class Exact:
    """Branch and bound on the problem as it is."""


LevelMethod: TypeAlias = BestResponse | DualProgram
DirectMethod: TypeAlias = BeckHallak | BlockDecomposition
Method: TypeAlias = (
    Exact | LevelMethod | WarmStart | PerspectiveScreening | DirectMethod
)

LevelName = Literal["best-response", "dual-program"]
MethodName = (
    LevelName
    | Literal[
        "exact", "safe-screening", "warm-start", "beck-hallak", "block-decomposition"
    ]
)

METHODS: dict[str, Callable[[], Method]] = {
    "exact": Exact,
    "best-response": BestResponse,
    "dual-program": DualProgram,
    "safe-screening": PerspectiveScreening,
    "warm-start": WarmStart,
    "beck-hallak": BeckHallak,
    "block-decomposition": BlockDecomposition,
}
"""Methods by name, with their default settings."""


def resolve(method: MethodName | Method) -> Method:
    """The method with a name, or the one given."""
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    if not isinstance(method, str) and isinstance(method, get_args(Method)):
        return method
    raise ParameterError(
        "method",
        f"must be one of {', '.join(METHODS)}, or such a method with its settings",
        given=f"it is {method!r}",
    )


def uses_level(method: Method) -> bool:
    """Whether a method works at one level of the hierarchy."""
    return isinstance(method, get_args(LevelMethod))


def prepare(
    run: Run,
    method: Method,
    guess: FloatArray | None,
    level: int | None,
    known: Spectrum | None,
) -> bool:
    """All stages before the last search.

    Returns whether variables were left out that are not proved zero: the last search
    is then for a bound only.
    """
    match method:
        case Exact():
            return False
        case BestResponse() | DualProgram():
            screening = _screen_at_level(run, method, level, known)
            return screening is not None and _reduce(run, screening)
        case WarmStart() | PerspectiveScreening():
            return _reduce(run, _screen(run, method))
        case BeckHallak() | BlockDecomposition():
            return _descend(run, method, guess)


def screen_level(method: LevelMethod, level: Level, watch: Watch) -> Screening:
    """Find candidates at one level."""
    # Each branch ties the states of one method to that method.
    if isinstance(method, BestResponse):
        ended = iterate(method, level, watch)
        return method.result(level, *ended, lambda: watch.is_late)
    climbed = iterate(method, level, watch)
    return method.result(level, *climbed, lambda: watch.is_late)


def _screen_at_level(
    run: Run, method: LevelMethod, level: int | None, known: Spectrum | None
) -> Screening | None:
    """The paper's pipe: a spectrum, a level, its candidates.

    None if the spectrum has taken all the time there was.
    """
    problem = run.problem
    found = run.stage(
        "spectrum",
        lambda: spectrum(problem, level) if known is None else known.of(problem),
        problem.n,
        lambda s: (len(s), ""),
    )
    if run.watch.is_over:
        return None
    truncated = run.stage(
        "level",
        lambda: found.level(found.enough() if level is None else level),
        problem.n,
        lambda cut: (cut.k, f"k = {cut.k}"),
    )
    return run.stage(
        "screening",
        lambda: screen_level(method, truncated, run.watch),
        problem.n,
        lambda s: (len(s.candidates), s.stop.value),
    )


def _screen(
    run: Run, method: WarmStart | PerspectiveScreening
) -> Screening | SafeScreening | PublishedScreening:
    """Screening of the problem as it is."""
    return run.stage(
        "screening",
        lambda: method.run(run.problem, run.watch),
        run.problem.n,
        lambda s: (len(s.candidates), s.stop.value if isinstance(s, Screening) else ""),
    )


def _reduce(
    run: Run, screening: Screening | SafeScreening | PublishedScreening
) -> bool:
    """Solve on the candidates, unless all are candidates or the others are proved zero.

    The last search proves zeros for itself, at its root, and goes on with the rest.
    Candidates that do not fit into memory are as good as all.
    """
    run.offer(screening.x)
    count = len(screening.candidates)
    is_all = count == run.problem.n or not can_copy(run.problem, count)
    if is_all or isinstance(screening, SafeScreening):
        return False
    solve_reduced(run, screening.candidates)
    return True


def _descend(run: Run, method: DirectMethod, guess: FloatArray | None) -> bool:
    """Improve a support; all variables off it are left out."""
    descent = run.stage(
        "descent",
        lambda: method.run(run.problem, run.watch, guess),
        run.problem.n,
        lambda d: (len(d.support), f"{d.n_iter} steps, {d.stop.value}"),
    )
    run.offer(descent.x)
    return True
