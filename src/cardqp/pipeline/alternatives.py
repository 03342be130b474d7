"""Alternatives: the best supports in order, and a proof that none was missed."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np

from cardqp._iterate import Callback, Stop, Watch, iterate
from cardqp._keywords import did_you_mean, not_a_problem
from cardqp._typing import IntArray
from cardqp.bounds.gap import finite, gap_unit
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.streamed.size import is_streamed
from cardqp.methods.exact import Exact
from cardqp.pipeline.coverage import covers, recheck
from cardqp.pipeline.partition import Enumeration, bounded
from cardqp.pipeline.searches import prepare
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution import Solution, Status, Verification

ROUNDING = 1e-7
"""Objectives this close, relatively, count as equal: each is computed to about as many
digits where there are rows."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Alternatives:
    """The best supports in order of their objectives; print it.

    A support is the set of switches of a point: its nonzeros, their blocks, and what
    the problem forces in.  Each one that is listed is that of the best point, up to the
    gap, among those left when it was found.  A support that includes a listed one is
    never listed after it: with a penalty for each nonzero there would be many that only
    add what does not pay.  Where one is listed before it, it is the better of the two.

    Proved, and checked by :meth:`verify`: every feasible point whose support includes
    none of the listed ones has an objective of at least ``lower_bound``.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    percent : float
        The most that a listed support may be worse than the best, in percent.
    solutions : tuple of Solution
        One for each support, the optimum first.  Each has the problem of the branch
        that it is the best point of, in which more is forced in and out, and the
        certificate for that.  Where the search for the optimum was stopped, there is
        one, with what was found.
    lower_bound : float
        For all that is not listed.
    is_complete : bool
        Whether that is no less than the objective that is ``percent`` worse than the
        best, so that nothing is missing.
    branches : tuple of Solution
        The branches that, with the supports that include a listed one, make up the
        problem, each with the certificate for its bound.
    stop : Stop
        Why the enumeration ended.
    """

    problem: SparseQP
    percent: float
    solutions: tuple[Solution, ...]
    lower_bound: float
    is_complete: bool
    branches: tuple[Solution, ...]
    stop: Stop

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @property
    def supports(self) -> tuple[IntArray, ...]:
        """The supports, best first."""
        zero = np.zeros(self.problem.n)
        points = (zero if s.x is None else s.x for s in self.solutions)
        return tuple(self.problem.support_of(x) for x in points)

    @property
    def excess(self) -> tuple[float, ...]:
        """Objective of each minus that of the best, relative to the best objective."""
        return tuple(self._excess(s.objective) for s in self.solutions)

    def _excess(self, objective: float) -> float:
        best = self.solutions[0]
        more = objective - best.objective
        return more / _unit(self.problem, best) if more else 0.0

    def shares(self) -> dict[int, float]:
        """Share of the listed supports that each variable is in, if it is in any."""
        members, counts = np.unique(np.concatenate(self.supports), return_counts=True)
        pairs = zip(members.tolist(), counts.tolist(), strict=True)
        return {member: count / len(self) for member, count in pairs}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, for JSON; infinities become None."""
        return {
            "percent": finite(self.percent),
            "objective": [s.objective for s in self.solutions],
            "excess": list(self.excess),
            "supports": [support.tolist() for support in self.supports],
            "names": [self._names(support) for support in self.supports],
            "shares": {self.problem.name_of(j): v for j, v in self.shares().items()},
            "lower_bound": finite(self.lower_bound),
            "is_complete": self.is_complete,
            "stop": self.stop.name,
        }

    def _names(self, support: IntArray) -> list[str]:
        return [self.problem.name_of(int(j)) for j in support]

    def __str__(self) -> str:
        best, *others = self.supports
        changes = [", ".join(self._names(best)) or "nothing"]
        for support in others:
            leaves = self._names(np.setdiff1d(best, support))
            enters = self._names(np.setdiff1d(support, best))
            changes.append(
                " ".join(
                    [f"-{name}" for name in leaves] + [f"+{name}" for name in enters]
                )
            )
        lines = ["rank    objective   excess  support, and what leaves and enters"]
        lines += [
            f"{rank:4d} {s.objective:12.6g} {100.0 * e:6.2f} %  {change}"
            for rank, (s, e, change) in enumerate(
                zip(self.solutions, self.excess, changes, strict=True), 1
            )
        ]
        return "\n".join([*lines, self.claim])

    @property
    def claim(self) -> str:
        """A sentence that states what is proved; percentages are rounded down."""
        if self.is_complete:
            return f"All supports within {self.percent:g} % are listed{self._but}."
        if self.lower_bound == -np.inf:
            return "Nothing is proved about other supports."
        percent = floor(1e4 * self._excess(self.lower_bound)) / 100.0
        side = "above" if percent >= 0 else "below"
        is_proved = self.solutions[0].status is Status.OPTIMAL
        what, but = "the optimum" if is_proved else "this one", self._but
        words = f"{abs(percent):g} % {side} {what}"
        if self.stop is Stop.MAX_COUNT:
            listed = "best is" if len(self) == 1 else f"best {len(self)} are"
            return f"Only the {listed} listed; all others are {words}, or more{but}."
        return f"No other support is better than {words}{but}."

    @property
    def _but(self) -> str:
        """The exception for supersets, needed where one more nonzero may cost a bit."""
        problem = self.problem
        is_costless = not problem.penalty and not problem.is_semicontinuous.any()
        return "" if is_costless else ", but for those that include a listed one"

    def __repr__(self) -> str:
        return (
            f"Alternatives({len(self)} supports, percent={self.percent:g}, "
            f"lower_bound={self.lower_bound:.6g}, is_complete={self.is_complete})"
        )

    def verify(self, *, threads: int = 1) -> Verification:
        """Check all that is claimed from the problem's data alone.

        The points are feasible and have these objectives, the certificates prove the
        bounds of the branches, and the branches leave nothing out.

        Parameters
        ----------
        threads : int
            A long proof is replayed in so many threads.

        Returns
        -------
        Verification
            The best point, recomputed, and the bound that is proved for all supports
            that include none of the listed ones.
        """
        check.count("threads", threads)
        if not self.solutions:
            nothing = ("no solution is listed",)
            return Verification(np.inf, -np.inf, np.inf, None, nothing)
        found = [recheck(self.problem, s, threads) for s in self.solutions]
        left = [recheck(self.problem, s, threads) for s in self.branches]
        best, checks = found[0], {"solution": found, "branch": left}
        complaints = [
            f"{part} {i}: {complaint}"
            for part, each in checks.items()
            for i, verification in enumerate(each)
            for complaint in verification.complaints
        ]
        return Verification(
            objective=best.objective,
            lower_bound=min((each.lower_bound for each in left), default=np.inf),
            gap=best.gap,
            feasibility=best.feasibility,
            complaints=(*complaints, *self._complaints()),
        )

    def _complaints(self) -> Iterator[str]:
        """Errors of the list as a whole, found even if each part of it is right."""
        objectives = [s.objective for s in self.solutions]
        if sorted(objectives) != objectives:
            yield "the solutions are not in order"
        if len({tuple(support) for support in self.supports}) < len(self):
            yield "a support is listed twice"
        if not any(_is_whole(self.problem, s) for s in self.solutions):
            yield "no solution is about the problem as a whole"
        if not covers(self.problem, [s.problem for s in self.branches], self.supports):
            yield "the branches leave supports out"
        least = min((s.lower_bound for s in self.branches), default=np.inf)
        if not self.lower_bound <= least:
            yield f"the branches prove {least}, not {self.lower_bound}"
        is_complete = self.lower_bound >= _limit(self.solutions[0], self.percent)
        if self.is_complete and not is_complete:
            yield f"not all supports within {self.percent:g} % need be listed"


@did_you_mean
def alternatives(
    source: SparseQP | Solution,
    percent: float = 5.0,
    *,
    max_count: int = 20,
    gap: float = 1e-4,
    time_limit: float | None = 60.0,
    callback: Callback | None = None,
) -> Alternatives:
    """List the best supports, in order, and prove that none was missed.

    Supports that include a listed one are not listed: see :class:`Alternatives`.

    Parameters
    ----------
    source : SparseQP or Solution
        The problem, or a solution to start from; an optimal one with its certificate
        is not computed again.
    percent : float
        Supports are listed whose objective is at most this much above the optimum, in
        percent of its absolute value.
    max_count : int
        The most supports to be listed.  The next one is found too, so that the bound
        for all others is as good as it gets.
    gap : float
        Relative gap at which the best point of a branch counts as known; the order is
        right up to that.
    time_limit : float or None
        Seconds for all; what is listed by then is returned with the bound for all else,
        as it is after Ctrl-C.
    callback : callable, optional
        Called with a :class:`cardqp.Progress`; True stops.

    Raises
    ------
    NotSolvedError
        When the problem is infeasible, or no feasible point was found in time.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -3.9, -1.0], eta=1.0, sparsity=1)
    >>> print(alternatives(problem, percent=10))
    rank    objective   excess  support, and what leaves and enters
       1           -2   0.00 %  x[0]
       2     -1.90125   4.94 %  -x[0] +x[1]
    All supports within 10 % are listed.
    """
    if not isinstance(source, SparseQP | Solution):
        raise not_a_problem("source", source)
    check.at_least("percent", percent, 0.0)
    check.count("max_count", max_count)
    check.at_least("gap", gap, 0.0)
    given = source if isinstance(source, SparseQP) else source.problem
    problem = prepare(given, Exact(), None, is_streamed=is_streamed(given))
    load_for(problem)
    with Watch(time_limit, callback) as watch:
        root = _optimum(source, problem, gap, watch)
        if root.x is None:
            root.raise_for_status()
        if not root.has_gap:
            return _result(root, percent, [root], [root], root.stop)
        limit, unit = _limit(root, percent), _unit(problem, root)
        slack = ROUNDING * unit
        method = Enumeration(limit + slack, slack, max_count, gap, watch)
        state, stop = iterate(method, root, watch)
    return _result(root, percent, state.listed or [root], state.leaves(), stop)


def _optimum(
    source: SparseQP | Solution, problem: SparseQP, gap: float, watch: Watch
) -> Solution:
    """The solution of the whole problem, unless it is at hand."""
    if isinstance(source, SparseQP):
        return bounded(problem, None, gap, watch)
    is_enough = source.has_gap and source.gap <= gap
    if is_enough and source.certificate is not None and source.problem is problem:
        return source
    return bounded(problem, source.x, gap, watch)


def _result(
    root: Solution,
    percent: float,
    listed: list[Solution],
    left: list[Solution],
    stop: Stop,
) -> Alternatives:
    solutions = sorted(listed, key=lambda solution: solution.objective)
    lower = min((solution.lower_bound for solution in left), default=np.inf)
    return Alternatives(
        problem=root.problem,
        percent=float(percent),
        solutions=tuple(solutions),
        lower_bound=lower,
        is_complete=lower >= _limit(solutions[0], percent),
        branches=tuple(left),
        stop=stop,
    )


def _is_whole(problem: SparseQP, solution: Solution) -> bool:
    """Whether a solution's problem forces no more variables than ``problem``."""
    own = solution.problem
    is_same = len(own.forced_in) == len(problem.forced_in)
    return is_same and len(own.forced_out) == len(problem.forced_out)


def _unit(problem: SparseQP, best: Solution) -> float:
    """The magnitude of the best objective, which percentages refer to."""
    x = np.zeros(problem.n) if best.x is None else best.x
    return gap_unit(problem, x, best.objective)


def _limit(best: Solution, percent: float) -> float:
    """The largest objective that is within so many percent of the best."""
    if percent == np.inf:
        return np.inf
    return best.objective + percent / 100.0 * _unit(best.problem, best)
