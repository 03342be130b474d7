"""The last search of ``solve``, or what takes its place."""

import numpy as np

from cardqp._iterate import Stop
from cardqp.backends.catalogue import Backend
from cardqp.bounds.dependence import describe
from cardqp.bounds.positive_ridge import counted, with_positive_ridge
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.branch_and_bound.streamed.size import has_streamed_levels, is_streamed
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.methods import Method
from cardqp.methods.context import (
    SolveContext,
    search,
    solve_with_backend,
)
from cardqp.methods.exact import Exact
from cardqp.pipeline.build_solution import Searched
from cardqp.pipeline.tree_search import go_on, restored, search_whole
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.solution import Solution
from cardqp.subproblems.support_qp import fit_support


def stays_streamed(
    problem: SparseQP, method: Method, resume: Solution | None = None
) -> bool:
    """Whether the method reads the data in blocks, without a copy in memory.

    A search that did so goes on like that.
    """
    if resume is not None and resume.certificate is not None:
        return resume.certificate.is_streamed(problem)
    settings = search_settings(method).streamed
    if method.uses_level:
        return has_streamed_levels(problem, settings)
    return isinstance(method, Exact) and is_streamed(problem, settings)


def search_settings(method: Method) -> SearchSettings:
    """Tuning of the searches that a method makes."""
    return method.settings if isinstance(method, Exact) else SearchSettings()


def prepare(
    problem: SparseQP, method: Method, backend: Backend | None, *, is_streamed: bool
) -> SparseQP:
    """The problem in memory unless it is streamed, with a ridge if need be.

    The exact search keeps objectives as they are and finds a ridge by itself; all other
    methods and solvers are given a problem that has one, if one can be found.
    """
    if is_streamed:
        return with_positive_ridge(problem)
    ruled = counted(in_memory(problem))
    if isinstance(method, Exact) and backend is None:
        return ruled
    return with_positive_ridge(ruled)


def note_dependence(context: SolveContext) -> None:
    """Say in a stage which columns are dependent, where that matters."""
    problem = context.problem
    if problem.independence > 0.0:
        context.stage(
            "dependent columns",
            lambda: describe(problem),
            problem.n,
            lambda detail: (problem.n, detail),
        )


def use_start(context: SolveContext) -> None:
    """Keep a guess that is feasible; fit its support, or as much of it as is allowed.

    Large entries come first.
    """
    problem, start = context.problem, context.start
    if start is None:
        return
    support = problem.rule.select(-np.abs(start))
    context.update_incumbent(fit_support(problem, support, needs_proof=True).x)
    if context.x is None or problem.feasibility(start).holds(SOLVED_TOLERANCE):
        context.update_incumbent(start)


def search_or_bound(context: SolveContext, is_partial: bool) -> tuple[Searched, Stop]:
    """Search the whole problem, or bound it where a method has the answer.

    If a method left out variables that are not proved zero, its point is the answer,
    and the root of the search bounds it.  Without a feasible point there is nothing to
    bound: one is searched for everywhere.
    """
    is_heuristic = is_partial and context.x is not None
    found = search_whole(context, root_only=is_heuristic)
    if not is_heuristic:
        context.update_incumbent(found[0].best.x)
    return found


def search_by_backend(
    context: SolveContext, backend: Backend, method: Method
) -> tuple[Searched, Stop]:
    """Let another solver search, after computing a proved bound of our own.

    A point that is met on the way to the bound is used only if the solver has none: the
    answer is the solver's.
    """
    tree, _ = search(context, context.problem, "bound", None, root_only=True)
    if tree.lower_bound == np.inf:
        return tree, Stop.INFEASIBLE
    is_partial = method.run_stages(context)
    if not is_partial or context.x is None:
        context.claim, x = solve_with_backend(
            context, backend, context.problem, "search", context.x
        )
        context.update_incumbent(x)
    if context.x is None:
        context.update_incumbent(tree.best.x)
    return tree, Stop.BACKEND if context.gave_up else Stop.COMPLETED


def resume_search(context: SolveContext, solution: Solution) -> tuple[Searched, Stop]:
    """Replay what an earlier solution of the problem proves, and go on from there."""
    problem, x = context.problem, solution.x
    try:
        if x is not None and not problem.feasibility(x).holds():
            raise ProblemError(None, "its point is not feasible")
        tree = restored(problem, solution, context.search.settings)
    except ProblemError as err:
        raise ParameterError(
            "resume",
            "must be a solution of this problem",
            given=str(err).removesuffix("."),
        ) from err
    context.stages += solution.stages
    found = go_on(context, tree)
    context.update_incumbent(found[0].best.x)
    return found
