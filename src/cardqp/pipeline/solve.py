"""The whole pipe: problem, spectrum, level, screening, reduced solve, solution."""

from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import get_args

import numpy as np

from cardqp._iterate import Callback, Stop, Watch
from cardqp._typing import ArrayLike, FloatArray
from cardqp.backends.catalogue import Backend, find
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.restore import restore
from cardqp.branch_and_bound.search import PROOF_MEMORY, BranchAndBound
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.branch_and_bound.streamed.size import has_streamed_levels, is_streamed
from cardqp.certificate import Certificate, StreamedCertificate
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.methods.context import SolveContext, explore, search, solve_with_backend
from cardqp.methods.registry import (
    DirectMethod,
    Exact,
    Method,
    MethodName,
    resolve,
    run_stages,
    uses_level,
)
from cardqp.pipeline.build_solution import build_solution
from cardqp.pipeline.streamed import bound_streamed, search_streamed
from cardqp.problem import SparseQP, in_memory
from cardqp.problem import validation as check
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.problem.streamed_form import StreamedForm
from cardqp.solution import Solution
from cardqp.spectral.spectrum import Spectrum
from cardqp.subproblems.support_qp import fit_support


def solve(
    problem: SparseQP,
    *,
    method: MethodName | Method = "exact",
    level: int | None = None,
    gap: float = 1e-4,
    time_limit: float | None = 60.0,
    node_limit: int | None = None,
    threads: int = 1,
    callback: Callback | None = None,
    start: ArrayLike | None = None,
    spectrum: Spectrum | None = None,
    resume: Solution | None = None,
    proof_memory: float = PROOF_MEMORY,
    optimise_split: bool = True,
    backend: str | Backend | None = None,
) -> Solution:
    """Find a good sparse point and prove how good it is.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    method : str or a method with its settings
        See :data:`cardqp.methods.METHODS`.  ``"exact"`` searches the problem until the
        gap is closed.  ``"best-response"`` and ``"dual-program"`` screen candidates at
        one level of the hierarchy, ``"warm-start"`` with ``Q`` as it is; the problem is
        then solved on the candidates exactly, and the original problem is bounded by
        its relaxation.  ``"beck-hallak"`` and ``"block-decomposition"`` improve a
        support and bound the problem in the same way.  ``"safe-screening"`` proves
        variables zero and searches what is left.  Where there is no feasible point yet,
        or nothing was left out, all go on as ``"exact"`` does.  The point is the
        method's own, even if a better one is met while it is bounded; the stage says
        so.
    level : int, optional
        Eigenvectors to keep in best response and dual program; by default as many as
        matter.  With very many columns, whose eigenvectors do not all fit into memory,
        it must be given.
    gap : float
        Relative gap at which the answer counts as optimal.
    time_limit : float or None
        Seconds, not counting compilation in the first call; the best answer so far is
        returned with its bound.  The clock is looked at between any two expensive
        operations, and a step that time runs out in is given up: what was proved before
        it stands.  An operation that has begun is not cut short: a decomposition or
        factorisation of ``Q`` or of a block of it (a few, of at most 600 variables, for
        a Newton step), a quadratic program on one support, a linear program, a pass
        over the data.  So the answer comes about half a second after the limit, or when
        the operation that was under way is done and, if there is no point yet, one is
        fitted.  Then what was proved is replayed, which factorises once for each split
        of ``Q`` that the proof makes use of.  What is resumed is replayed first.
    node_limit : int or None
        The most branches that a search may process: that of the reduced problem, if
        there is one, and the last one, each.  A search that is resumed counts on.
    threads : int
        How many branches are looked into at the same time.  The answer and the proof
        do not depend on it.
    callback : callable, optional
        Called with a :class:`cardqp.Progress` between iterations; True stops.
    start : (n,) array, optional
        A point whose support is a good guess; it need not be feasible.  One that is
        feasible is kept until a better one is found.
    spectrum : Spectrum, optional
        The decomposition of ``Q``, if it is at hand.
    resume : Solution, optional
        An earlier solution of the problem, with its certificate: the search goes on
        where it stopped, after replaying what it has proved.
    proof_memory : float
        Bytes for the certificate.  A proof that needs more is not kept, and 0 keeps
        none: the bound is then the search's word.
    optimise_split : bool
        Whether the search may look for a better split of ``Q`` if its root is loose.
        That takes longer than a small tree.  It can be done without where a good
        diagonal is in the ridge already: see :meth:`SparseQP.move_to_ridge`.
    backend : str or backend with its settings, optional
        Another solver for the reduced problem, or the whole one if nothing is reduced:
        ``"scip"``, ``"gurobi"``, ``"cvxpy:NAME"``, or for instance
        ``cardqp.backends.Scip(formulation="sos1")``.  Its support is fitted and checked
        here; what it says about optimality is the solution's ``claim``, while
        ``lower_bound`` is what the relaxation proves.

    Returns
    -------
    Solution
        Ctrl-C, too, returns the best so far.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> solution = solve(problem)
    >>> solution.status.name, solution.support.tolist(), solution.objective
    ('OPTIMAL', [0], -2.0)
    """
    check.instance("problem", problem, SparseQP)
    chosen = resolve(method)
    _check_level(chosen, level, spectrum)
    check.at_least("gap", gap, 0.0)
    _check_limits(node_limit, threads, proof_memory)
    solver = find(backend) if isinstance(backend, str) else backend
    _check_backend(solver, chosen, resume)
    if resume is not None:
        _check_resume(resume, chosen)
    load_for(problem)
    given = problem
    if solver is not None or not _stays(problem, chosen):
        problem = in_memory(problem)
    with Watch(time_limit, callback) as watch, _executor(threads) as executor:
        branching = BranchAndBound(
            gap,
            is_over=lambda: watch.is_over,
            is_late=lambda: watch.is_late,
            seconds_left=lambda: watch.seconds_left,
            executor=executor,
            node_limit=node_limit,
            proof_memory=proof_memory,
            with_estimate=callback is not None,
            optimise_split=optimise_split,
        )
        context = SolveContext(
            problem, gap, watch, branching, threads, solver, given=given
        )
        if resume is not None:
            return _resume(context, resume)
        guess = None if start is None else check.vector("start", start, problem.n)
        if guess is not None:
            _use_start(context, guess)
        if solver is not None:
            return _delegate(context, solver, chosen, level, spectrum)
        is_partial = run_stages(context, chosen, guess, level, spectrum)
        return _search_or_bound(context, chosen, is_partial)


def _stays(problem: SparseQP, method: Method) -> bool:
    """Whether the data are streamed, and not copied into memory."""
    settings = _streamed_settings(method)
    if uses_level(method):
        return has_streamed_levels(problem, settings)
    return isinstance(method, Exact) and is_streamed(problem, settings)


def _streamed_settings(method: Method) -> StreamedSettings:
    """Settings of the search on streamed data: those of the method, if it has any."""
    return method.streamed if isinstance(method, Exact) else DEFAULT_SETTINGS


def _search_or_bound(
    context: SolveContext, method: Method, is_partial: bool
) -> Solution:
    """The last search; of the root alone, for a bound, if a method left variables out.

    Without a feasible point there is nothing to bound: one is searched for everywhere.
    """
    if isinstance(context.problem.quadratic, StreamedForm):
        settings = _streamed_settings(method)
        return _search_or_bound_streamed(context, settings, is_partial)
    is_heuristic = is_partial and context.x is not None
    name = "bound" if is_heuristic else "search"
    tree, stop = search(
        context, context.problem, name, context.x, root_only=is_heuristic
    )
    if not is_heuristic:
        context.update_incumbent(tree.best.x)
    return build_solution(context, tree, stop)


def _search_or_bound_streamed(
    context: SolveContext, settings: StreamedSettings, is_partial: bool
) -> Solution:
    """The last search, or bound, of a problem whose columns are streamed."""
    if is_partial and context.x is not None:
        found = bound_streamed(context, context.x, settings)
        return build_solution(context, *found)
    tree, stop = search_streamed(context, settings)
    context.update_incumbent(tree.x)
    return build_solution(context, tree, stop)


def _delegate(
    context: SolveContext,
    backend: Backend,
    method: Method,
    level: int | None,
    known: Spectrum | None,
) -> Solution:
    """Leave the search to another solver; the bound is ours, and taken first.

    A point that is met on the way to the bound is used only if the solver has none: the
    answer is the solver's.
    """
    tree, _ = search(context, context.problem, "bound", None, root_only=True)
    if tree.lower_bound == np.inf:
        return build_solution(context, tree, Stop.INFEASIBLE)
    is_partial = run_stages(context, method, None, level, known)
    if not is_partial or context.x is None:
        context.claim, x = solve_with_backend(
            context, backend, context.problem, "search", context.x
        )
        context.update_incumbent(x)
    if context.x is None:
        context.update_incumbent(tree.best.x)
    return build_solution(
        context, tree, Stop.BACKEND if context.gave_up else Stop.COMPLETED
    )


def _use_start(context: SolveContext, start: FloatArray) -> None:
    """Keep a guess that is feasible; fit its support, or as much of it as is allowed.

    Large entries come first.
    """
    support = context.problem.rule.select(-np.abs(start))
    context.update_incumbent(fit_support(context.problem, support, needs_proof=True).x)
    if context.x is None or context.problem.feasibility(start).holds(SOLVED_TOLERANCE):
        context.update_incumbent(start)


def _executor(threads: int) -> AbstractContextManager[Executor | None]:
    return nullcontext() if threads == 1 else ThreadPoolExecutor(threads)


def _check_limits(node_limit: int | None, threads: int, proof_memory: float) -> None:
    check.at_least("proof_memory", proof_memory, 0.0)
    check.count("threads", threads)
    if node_limit is not None:
        check.count("node_limit", node_limit)


def _check_backend(
    backend: Backend | None, method: Method, resume: Solution | None
) -> None:
    if backend is None:
        return
    is_solver = callable(getattr(backend, "solve", None))
    if not is_solver or isinstance(backend, type):
        raise ParameterError(
            '`backend` must be a name or a solver, such as "scip" or '
            f"cardqp.backends.Scip(): it is {backend!r}."
        )
    if resume is not None:
        raise ParameterError("`backend` must be None where a search is resumed.")
    if isinstance(method, get_args(DirectMethod)):
        raise ParameterError(
            "`backend` is for methods that end in a search: beck-hallak and "
            "block-decomposition do not."
        )


def _check_level(method: Method, level: int | None, known: Spectrum | None) -> None:
    if known is not None:
        check.instance("spectrum", known, Spectrum)
    given = [n for n, v in (("level", level), ("spectrum", known)) if v is not None]
    if given and not uses_level(method):
        raise ParameterError(
            f"`{given[0]}` is for best-response and dual-program: all other methods "
            "work on the problem as it is."
        )


def _check_resume(solution: Solution, method: Method) -> None:
    check.instance("resume", solution, Solution)
    if not isinstance(method, Exact):
        raise ParameterError('`resume` is for method "exact".')
    if isinstance(solution.certificate, StreamedCertificate):
        raise ParameterError("`resume` is not for problems that were streamed.")
    if solution.certificate is None:
        raise ParameterError(
            "`resume` must be a solution with a certificate: raise `proof_memory`."
        )


def _resume(context: SolveContext, solution: Solution) -> Solution:
    """Replay what was proved, and go on from there."""
    problem, certificate, x = context.problem, solution.certificate, solution.x
    if not isinstance(certificate, Certificate):
        certificate = Certificate()
    try:
        if x is not None and not problem.feasibility(x).holds():
            raise ProblemError("its point is not feasible.")
        tree = restore(problem, certificate, solution.n_nodes, x)
    except ProblemError as err:
        raise ParameterError(
            f"`resume` must be a solution of this problem: {err}"
        ) from err
    context.stages += solution.stages
    tree, stop = explore(context, context.search, "search", lambda: tree)
    context.update_incumbent(tree.best.x)
    return build_solution(context, tree, stop)
