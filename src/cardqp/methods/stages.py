"""The stages that methods consist of: screen, reduce, descend."""

from collections.abc import Callable

from cardqp._iterate import Watch
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.streamed.size import can_copy
from cardqp.methods.context import SolveContext, solve_reduced
from cardqp.methods.descent import Descent
from cardqp.methods.screening import SafeScreening, Screening
from cardqp.problem import SparseQP
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum


def screen_at_level(
    context: SolveContext, screen: Callable[[Level, Watch], Screening]
) -> bool:
    """Run the paper's stages: spectrum, level, screening, reduced problem.

    Returns whether variables were left out that are not proved zero; none are if the
    decomposition took all the time.
    """
    problem, level = context.problem, context.level

    def decompose() -> Spectrum:
        known = context.spectrum
        return spectrum(problem, level) if known is None else known.of(problem)

    found = context.stage("spectrum", decompose, problem.n, lambda s: (len(s), ""))
    if context.watch.is_over:
        return False
    truncated = context.stage(
        "level",
        lambda: found.level(found.default_level() if level is None else level),
        problem.n,
        lambda cut: (cut.k, f"k = {cut.k}"),
    )
    screening = context.stage(
        "screening",
        lambda: screen(truncated, context.watch),
        problem.n,
        lambda s: (len(s.candidates), s.stop.value),
    )
    return _reduce(context, screening)


def screen_problem(
    context: SolveContext,
    screen: Callable[[SparseQP, Watch], Screening | SafeScreening],
) -> bool:
    """Screen the whole problem, and solve the reduced problem.

    Returns whether variables were left out that are not proved zero.
    """
    screening = context.stage(
        "screening",
        lambda: screen(context.problem, context.watch),
        context.problem.n,
        lambda s: (len(s.candidates), s.stop.value if isinstance(s, Screening) else ""),
    )
    return _reduce(context, screening)


def descend(
    context: SolveContext,
    improve: Callable[[SparseQP, Watch, FloatArray | None], Descent],
) -> bool:
    """Improve a support, from the user's start if there is one.

    Returns True: all variables off the support are left out.
    """
    descent = context.stage(
        "descent",
        lambda: improve(context.problem, context.watch, context.start),
        context.problem.n,
        lambda d: (len(d.support), f"{d.n_iter} steps, {d.stop.value}"),
    )
    context.update_incumbent(descent.x)
    return True


def _reduce(context: SolveContext, screening: Screening | SafeScreening) -> bool:
    """Solve on the candidates, unless all are candidates or the others are proved zero.

    Returns whether variables were left out that are not proved zero.
    """
    context.update_incumbent(screening.x)
    # Proved zeros need no reduced problem: the last search finds them itself at its
    # root, with a proof.  Candidates that do not fit into memory count as all.
    count = len(screening.candidates)
    is_all = count == context.problem.n or not can_copy(context.problem, count)
    if is_all or isinstance(screening, SafeScreening):
        return False
    solve_reduced(context, screening.candidates)
    return True
