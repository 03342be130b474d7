"""The methods of ``solve``: their names, and what each does before the last search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cardqp._iterate import Watch, iterate
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.branch_and_bound.streamed.size import can_copy
from cardqp.exact.published_screening import PublishedScreening
from cardqp.exceptions import ParameterError
from cardqp.methods.beck_hallak import BeckHallak
from cardqp.methods.best_response import BestResponse
from cardqp.methods.block_decomposition import BlockDecomposition
from cardqp.methods.context import SolveContext, solve_reduced
from cardqp.methods.dual_program import DualProgram
from cardqp.methods.safe_screening import PerspectiveScreening, SafeScreening
from cardqp.methods.screening import Screening
from cardqp.methods.warm_start import WarmStart
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum


@dataclass(frozen=True, slots=True)
class Exact:
    """Branch and bound on the problem as it is.

    Attributes
    ----------
    streamed : StreamedSettings
        Settings of the search on streamed data.
    """

    streamed: StreamedSettings = DEFAULT_SETTINGS


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
        f"`method` must be one of {', '.join(METHODS)}, or such a method with its "
        f"settings: it is {method!r}."
    )


def uses_level(method: Method) -> bool:
    """Whether a method works at one level of the hierarchy."""
    return isinstance(method, get_args(LevelMethod))


def run_stages(
    context: SolveContext,
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
            screening = _screen_at_level(context, method, level, known)
            return screening is not None and _reduce(context, screening)
        case WarmStart() | PerspectiveScreening():
            return _reduce(context, _screen(context, method))
        case BeckHallak() | BlockDecomposition():
            return _descend(context, method, guess)


def screen_level(method: LevelMethod, level: Level, watch: Watch) -> Screening:
    """Find candidates at one level."""
    # Each branch ties the states of one method to that method.
    if isinstance(method, BestResponse):
        ended = iterate(method, level, watch)
        return method.result(level, *ended, lambda: watch.is_late)
    climbed = iterate(method, level, watch)
    return method.result(level, *climbed, lambda: watch.is_late)


def _screen_at_level(
    context: SolveContext,
    method: LevelMethod,
    level: int | None,
    known: Spectrum | None,
) -> Screening | None:
    """The paper's pipe: a spectrum, a level, its candidates.

    None if the spectrum has taken all the time there was.
    """
    problem = context.problem
    found = context.stage(
        "spectrum",
        lambda: spectrum(problem, level) if known is None else known.of(problem),
        problem.n,
        lambda s: (len(s), ""),
    )
    if context.watch.is_over:
        return None
    truncated = context.stage(
        "level",
        lambda: found.level(found.default_level() if level is None else level),
        problem.n,
        lambda cut: (cut.k, f"k = {cut.k}"),
    )
    return context.stage(
        "screening",
        lambda: screen_level(method, truncated, context.watch),
        problem.n,
        lambda s: (len(s.candidates), s.stop.value),
    )


def _screen(
    context: SolveContext, method: WarmStart | PerspectiveScreening
) -> Screening | SafeScreening | PublishedScreening:
    """Screening of the problem as it is."""
    return context.stage(
        "screening",
        lambda: method.run(context.problem, context.watch),
        context.problem.n,
        lambda s: (len(s.candidates), s.stop.value if isinstance(s, Screening) else ""),
    )


def _reduce(
    context: SolveContext, screening: Screening | SafeScreening | PublishedScreening
) -> bool:
    """Solve on the candidates, unless all are candidates or the others are proved zero.

    The last search proves zeros for itself, at its root, and goes on with the rest.
    Candidates that do not fit into memory are as good as all.
    """
    context.update_incumbent(screening.x)
    count = len(screening.candidates)
    is_all = count == context.problem.n or not can_copy(context.problem, count)
    if is_all or isinstance(screening, SafeScreening):
        return False
    solve_reduced(context, screening.candidates)
    return True


def _descend(
    context: SolveContext, method: DirectMethod, guess: FloatArray | None
) -> bool:
    """Improve a support; all variables off it are left out."""
    descent = context.stage(
        "descent",
        lambda: method.run(context.problem, context.watch, guess),
        context.problem.n,
        lambda d: (len(d.support), f"{d.n_iter} steps, {d.stop.value}"),
    )
    context.update_incumbent(descent.x)
    return True
