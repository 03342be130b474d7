"""``solve``: check, prepare, run the method's stages, search, build the solution."""

from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike
from cardqp.backends.catalogue import Backend
from cardqp.branch_and_bound.distributed.search import searches_on
from cardqp.branch_and_bound.driver import PROOF_MEMORY
from cardqp.branch_and_bound.precompile import load_first, load_for
from cardqp.methods import Method
from cardqp.methods.context import SolveContext
from cardqp.methods.exact import Exact
from cardqp.methods.registry import resolve
from cardqp.pipeline.build_solution import build_solution
from cardqp.pipeline.checks import (
    check_client,
    check_limits,
    check_method,
    find_backend,
)
from cardqp.pipeline.searches import (
    note_dependence,
    prepare,
    resume_search,
    search_by_backend,
    search_or_bound,
    search_settings,
    stays_streamed,
    use_start,
)
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.solution import Solution
from cardqp.spectral.spectrum import Spectrum


@did_you_mean
def solve(
    problem: SparseQP,
    *,
    method: str | Method = "exact",
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
    client: Any = None,
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
        so.  ``Exact(SearchSettings(...))`` tunes the search.
    level : int, optional
        Eigenvectors to keep in best response and dual program; by default as many as
        matter.  With very many columns, whose eigenvectors do not all fit into memory,
        it must be given.
    gap : float
        Relative gap at which the answer counts as optimal.
    time_limit : float or None
        Seconds, not counting compilation in the first call; the best answer so far is
        returned with its bound.  The clock is read between any two expensive
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
        Number of branches that are processed at the same time.  The answer and the
        proof do not depend on it.
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
        Bytes for the branches of the certificate.  A proof that needs more is not kept:
        ``lower_bound`` is then what the root proves, and what the search says beyond
        that is the solution's ``claim``.  0 keeps no branches.
    optimise_split : bool
        Whether the search may optimise the split of ``Q`` if its root is loose.
        That takes longer than a small tree.  It can be done without where a good
        diagonal is in the ridge already: see :meth:`SparseQP.move_to_ridge`.
    backend : str or backend with its settings, optional
        Another solver for the reduced problem, or the whole one if nothing is reduced:
        ``"scip"``, ``"gurobi"``, ``"cvxpy:NAME"``, or for instance
        ``cardqp.backends.Scip(formulation="sos1")``.  Its support is fitted and checked
        here; what it says about optimality is the solution's ``claim``, while
        ``lower_bound`` is what the relaxation proves.
    client : distributed.Client, optional
        A Dask cluster to help with long searches: after a second, workers are handed
        subtrees, and what they prove becomes a part of the one certificate.  How the
        tree grows depends on who is done first; answers agree up to ``gap``.  Workers
        may come, go and die: their nodes are handed out again, and until one answers
        the search goes on here.  They load or compile what they need while the clock
        runs.  The root, the replay and all tuning stay here, as does what ``threads``
        says.  Ctrl-C and the time limit lose no more than what workers have found in
        the last second.

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
    check_problem(problem)
    chosen, solver = resolve(method), find_backend(backend)
    check_limits(gap, node_limit, threads, proof_memory)
    check_method(chosen, solver, level, spectrum, resume)
    guess = None if start is None else check.vector("start", start, problem.n)
    # The exact method relaxes nothing before its search, which may do without.
    load = load_first if isinstance(chosen, Exact) else load_for
    load(problem)
    is_streamed = solver is None and stays_streamed(problem, chosen, resume)
    check_client(client, solver, is_streamed=is_streamed)
    with (
        Watch(time_limit, callback) as watch,
        _executor(threads) as executor,
        searches_on(client) as make_search,
    ):
        branching = make_search(
            gap,
            is_over=lambda: watch.is_over,
            is_late=lambda: watch.is_late,
            seconds_left=lambda: watch.seconds_left,
            executor=executor,
            node_limit=node_limit,
            proof_memory=proof_memory,
            with_estimate=callback is not None,
            optimise_split=optimise_split,
            settings=search_settings(chosen),
        )
        context = SolveContext(
            prepare(problem, chosen, solver, is_streamed=is_streamed),
            gap,
            watch,
            branching,
            threads,
            solver,
            guess,
            level,
            spectrum,
            given=problem,
        )
        note_dependence(context)
        use_start(context)
        if resume is not None:
            searched, stop = resume_search(context, resume)
        elif solver is not None:
            searched, stop = search_by_backend(context, solver, chosen)
        else:
            is_partial = chosen.run_stages(context)
            searched, stop = search_or_bound(context, is_partial)
        return build_solution(context, searched, stop)


def _executor(threads: int) -> AbstractContextManager[Executor | None]:
    return nullcontext() if threads == 1 else ThreadPoolExecutor(threads)
