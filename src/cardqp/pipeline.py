"""The whole pipe: problem, spectrum, level, screening, reduced solve, solution."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from cardqp import _validation as check
from cardqp._iterate import Callback, Stop, Watch, iterate
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.certificate import Certificate
from cardqp.convex.support_qp import fit_support
from cardqp.exact.branch_and_bound import PROOF_MEMORY, BranchAndBound
from cardqp.exact.resume import replant
from cardqp.exact.tree import Tree
from cardqp.exact.warm_up import load_kernels, load_tree_kernels
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.gap import relative_gap
from cardqp.problem import SparseQP, lift
from cardqp.screening.best_response import BestResponse
from cardqp.screening.dual_program import DualProgram
from cardqp.screening.result import Screening
from cardqp.solution import Solution, Stage, Status
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum

log = logging.getLogger(__name__)

ScreeningName = Literal["best-response", "dual-program"]
MethodName = ScreeningName | Literal["exact"]
METHODS: tuple[MethodName, ...] = ("best-response", "dual-program", "exact")

QUICK = 3000
"""A certificate with no more branches is replayed before any bound is reported; a
larger one only for a claim of optimality."""

Result = TypeVar("Result")


@dataclass(slots=True)
class Run:
    """One call of ``solve``: its clock, its stages and the best point so far."""

    problem: SparseQP
    gap: float
    watch: Watch
    search: BranchAndBound = field(default_factory=BranchAndBound)
    threads: int = 1
    stages: list[Stage] = field(default_factory=list)
    x: FloatArray | None = None

    def stage(
        self,
        name: str,
        work: Callable[[], Result],
        before: int,
        after: Callable[[Result], tuple[int, str]],
    ) -> Result:
        """Do a stage's work and record how long it took and what it left."""
        start = self.watch.seconds
        result = work()
        size, detail = after(result)
        stage = Stage(name, self.watch.seconds - start, before, size, detail)
        self.stages.append(stage)
        log.info("%s: %d -> %d variables, %.3g s", name, before, size, stage.seconds)
        return result

    def offer(self, x: FloatArray | None) -> None:
        """Keep a feasible point if it is the best."""
        if x is None:
            return
        objective = self.problem.objective
        if self.x is None or objective(x) < objective(self.x):
            self.x = x


def solve(
    problem: SparseQP,
    *,
    method: MethodName = "exact",
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
) -> Solution:
    """Find a good sparse point and prove how good it is.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    method : {"exact", "best-response", "dual-program"}
        ``"exact"`` searches the problem until the gap is closed.  The other two screen
        candidates at one level of the hierarchy, solve the problem on them exactly, and
        bound the original problem by its relaxation; if no candidate support is
        feasible, or none was left out, they go on as ``"exact"`` does.
    level : int, optional
        Eigenvectors to keep in screening; by default as many as matter.
    gap : float
        Relative gap at which the answer counts as optimal.
    time_limit : float or None
        Seconds, not counting compilation in the first call; the best answer so far is
        returned with its bound.  A decomposition of ``Q`` is not cut short.
    node_limit : int or None
        The most branches that a search may process.
    threads : int
        How many branches are looked into at the same time.  The answer and the proof
        do not depend on it.
    callback : callable, optional
        Called with a :class:`cardqp.Progress` between iterations; True stops.
    start : (n,) array, optional
        A point whose support is a good guess; it need not be feasible.
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
    _check_settings(problem, method, level, gap)
    _check_limits(node_limit, threads, proof_memory)
    if resume is not None:
        _check_resume(resume, method)
    load_kernels(**_kind(problem))
    with Watch(time_limit, callback) as watch, _executor(threads) as executor:
        search = BranchAndBound(
            gap,
            is_over=lambda: watch.is_over,
            executor=executor,
            node_limit=node_limit,
            proof_memory=proof_memory,
            with_estimate=callback is not None,
            optimise_split=optimise_split,
        )
        run = Run(problem, gap, watch, search, threads)
        if resume is not None:
            return _resume(run, resume)
        if start is not None:
            _offer_start(run, check.vector("start", start, problem.n))
        return _solve(run, method, level, spectrum)


def _offer_start(run: Run, start: FloatArray) -> None:
    """Fit the support of a guess, as much of it as is allowed, large entries first."""
    support = run.problem.rule.select(-np.abs(start))
    run.offer(fit_support(run.problem, support).x)


def _executor(threads: int) -> AbstractContextManager[Executor | None]:
    return nullcontext() if threads == 1 else ThreadPoolExecutor(threads)


def _check_limits(node_limit: int | None, threads: int, proof_memory: float) -> None:
    check.at_least("proof_memory", proof_memory, 0.0)
    check.count("threads", threads)
    if node_limit is not None:
        check.count("node_limit", node_limit)


def _check_resume(solution: Solution, method: str) -> None:
    check.instance("resume", solution, Solution)
    if method != "exact":
        raise ParameterError('`resume` is for method "exact".')
    if solution.certificate is None:
        raise ParameterError(
            "`resume` must be a solution with a certificate: raise `proof_memory`."
        )


def _resume(run: Run, solution: Solution) -> Solution:
    """Replay what was proved, and go on from there."""
    problem, certificate = run.problem, solution.certificate or Certificate()
    x = solution.x
    try:
        if x is not None and not problem.feasibility(x).holds():
            raise ProblemError("its point is not feasible.")
        tree = replant(problem, certificate, solution.n_nodes, x)
    except ProblemError as err:
        raise ParameterError(
            f"`resume` must be a solution of this problem: {err}"
        ) from err
    run.stages += solution.stages
    return _conclude(run, *_explore(run, run.search, "search", lambda: tree))


def _solve(
    run: Run, method: MethodName, level: int | None, known: Spectrum | None
) -> Solution:
    is_partial = method != "exact" and _screen_and_reduce(run, method, level, known)
    # Without a feasible point there is nothing to bound: search for one everywhere.
    is_heuristic = is_partial and run.x is not None
    name = "bound" if is_heuristic else "search"
    tree, stop = _search(run, run.problem, name, run.x, root_only=is_heuristic)
    return _conclude(run, tree, stop)


def _check_settings(
    problem: SparseQP, method: str, level: int | None, gap: float
) -> None:
    check.instance("problem", problem, SparseQP)
    if method not in METHODS:
        raise ParameterError(
            f"`method` must be one of {', '.join(METHODS)}: it is {method!r}."
        )
    if level is not None and method == "exact":
        raise ParameterError(
            '`level` is for screening: method "exact" works on the problem as it is.'
        )
    check.at_least("gap", gap, 0.0)


def _screen_and_reduce(
    run: Run, method: ScreeningName, level: int | None, known: Spectrum | None
) -> bool:
    """The paper's pipe: a level, its candidates, the exact solve on them.

    Returns whether any variable was left out; if none was, there is nothing to reduce.
    """
    problem = run.problem
    found = run.stage(
        "spectrum",
        lambda: spectrum(problem, level) if known is None else known.of(problem),
        problem.n,
        lambda s: (len(s), ""),
    )
    truncated = run.stage(
        "level",
        lambda: found.level(found.enough() if level is None else level),
        problem.n,
        lambda cut: (cut.k, f"k = {cut.k}"),
    )
    screening = run.stage(
        "screening",
        lambda: screen(run, method, truncated),
        problem.n,
        lambda s: (len(s.candidates), s.stop.value),
    )
    run.offer(screening.x)
    if len(screening.candidates) == problem.n:
        return False
    solve_reduced(run, screening.candidates)
    return True


def screen(run: Run, method: ScreeningName, level: Level) -> Screening:
    """Find candidates at one level."""
    if method == "best-response":
        response = BestResponse()
        return response.result(level, *iterate(response, level, run.watch))
    program = DualProgram()
    return program.result(level, *iterate(program, level, run.watch))


def solve_reduced(run: Run, candidates: IntArray) -> None:
    """Solve the problem on the candidates exactly; all other variables are zero."""
    if len(candidates) == 0:
        return
    reduced = run.problem.restrict(candidates)
    start = None if run.x is None else run.x[candidates]
    tree, _ = _search(run, reduced, "reduced", start)
    if tree.best.x is not None:
        run.offer(lift(tree.best.x, candidates, run.problem.n))


def _search(
    run: Run,
    problem: SparseQP,
    name: str,
    start: FloatArray | None,
    *,
    root_only: bool = False,
) -> tuple[Tree, Stop]:
    """Branch and bound as one stage, from a feasible point if there is one."""
    search = replace(run.search, root_only=root_only)
    return _explore(run, search, name, lambda: search.plant(problem, start), problem.n)


def _explore(
    run: Run,
    search: BranchAndBound,
    name: str,
    plant: Callable[[], Tree],
    size: int | None = None,
) -> tuple[Tree, Stop]:
    """Search a tree as one stage."""
    return run.stage(
        name,
        lambda: _grow(search, plant(), run.watch),
        run.problem.n if size is None else size,
        lambda done: (_undecided(done[0]), _account(done[0])),
    )


def _grow(search: BranchAndBound, tree: Tree, watch: Watch) -> tuple[Tree, Stop]:
    """Take the steps at the root and, if they are not enough, grow branches."""
    tree, stop = iterate(replace(search, root_only=True), tree, watch)
    if search.root_only or stop is not Stop.COMPLETED:
        return tree, stop
    with watch.paused():
        problem = tree.view.exact
        load_tree_kernels(**_kind(problem), is_free=problem.is_free)
    return iterate(search, tree, watch)


def _kind(problem: SparseQP) -> dict[str, bool]:
    """Which kernels a problem needs."""
    return {
        "has_rows": len(problem.rows) > 0,
        "has_groups": problem.groups is not None,
    }


def _account(tree: Tree) -> str:
    """What a search did, in words."""
    text = f"{tree.n_nodes} nodes"
    if tree.n_by_cones > 0:
        text += f", {tree.n_by_cones} of them relaxed by clarabel"
    return text


def _undecided(tree: Tree) -> int:
    """Variables that may still be nonzero."""
    if not tree.is_rooted:
        return int(np.count_nonzero(~tree.view.choice.outside))
    maybe = np.zeros(tree.view.problem.n, dtype=bool)
    for node in (*tree.heap, *tree.stack):
        maybe |= node.status >= 0
    x = tree.best.x
    if x is not None:
        maybe |= x[tree.view.indices] != 0
    return int(np.count_nonzero(maybe))


def _conclude(run: Run, tree: Tree, stop: Stop) -> Solution:
    """Assemble the solution; more is claimed only after it was recomputed."""
    run.offer(tree.best.x)
    problem, x = run.problem, run.x
    objective = np.inf if x is None else problem.objective(x)
    certificate = tree.certificate
    lower = min(tree.lower_bound, objective)
    gap = relative_gap(problem, x, objective, lower)
    status = Status.UNKNOWN if x is None else Status.FEASIBLE
    claim = Solution(
        x=x,
        support=np.zeros(0, dtype=np.intp) if x is None else np.flatnonzero(x),
        objective=objective,
        lower_bound=lower,
        gap=gap,
        status=status,
        stop=run.watch.stopped or stop,
        stages=tuple(run.stages),
        certificate=certificate,
        n_nodes=tree.n_nodes,
        tolerance=run.gap,
        problem=problem,
    )
    return _claim_more(claim, run.threads)


def _claim_more(solution: Solution, threads: int) -> Solution:
    """Call a solution optimal, or infeasible, if its own check confirms it."""
    if solution.x is None:
        better = replace(solution, status=Status.INFEASIBLE, stop=Stop.INFEASIBLE)
        is_proved = solution.lower_bound == np.inf
    else:
        better = replace(solution, status=Status.OPTIMAL, stop=Stop.GAP)
        is_proved = solution.gap <= solution.tolerance
    certificate = solution.certificate
    if certificate is None:
        return better if is_proved else solution  # the bound is the search's word
    if is_proved and (found := better.verify(threads=threads)).ok:
        return _claim_less(better, found.lower_bound)
    if is_proved or len(certificate) <= QUICK:
        return _claim_less(solution, certificate.lower_bound(solution.problem))
    return solution


def _claim_less(solution: Solution, proved: float) -> Solution:
    """The solution with no more of a bound than its certificate proves."""
    lower = min(solution.lower_bound, proved)
    gap = relative_gap(solution.problem, solution.x, solution.objective, lower)
    return replace(solution, lower_bound=lower, gap=gap)
