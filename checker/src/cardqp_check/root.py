"""Steps at the root: variables are fixed, and the problem is rewritten (section 5)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from cardqp_check.archives import Archive
from cardqp_check.branches import Branch, bound, sides
from cardqp_check.points import DualPoint, Terms, batch_size, evaluate
from cardqp_check.problem import Problem, Rule
from cardqp_check.refusal import require
from cardqp_check.rounding import Ints
from cardqp_check.start import first_view, view_of
from cardqp_check.views import INDEPENDENT, View


@dataclass(frozen=True)
class Root:
    """What a checker keeps.

    Attributes
    ----------
    view, full, given : View
        The current view, the one without a minorant, and the one as given.
    problem : View
        The one of which supports are searched: the problem itself where only those
        that are independent count, else the view as given.
    dependence : float
        Only supports whose block of G is at least this share of its diagonal count.
    forced : int array
        The variables that are in a support because the problem says so, whether they
        are zero or not.
    rule : Rule
        The support rule.
    branch : Branch
        The status of each variable, and the floor.
    least : float
        The least contribution so far.
    """

    view: View
    full: View
    given: View
    problem: View
    dependence: float
    forced: Ints
    rule: Rule
    branch: Branch
    least: float = math.inf


def follow_root(problem: Problem, run: Archive) -> Root:
    """Take all steps."""
    view = first_view(problem, run)
    whole, dependence = view, 0.0
    if "start.factor" in run:
        whole, dependence = view_of(problem), INDEPENDENT
    branch = Branch(problem.status())
    branch = branch.fixed(problem.rule, problem.forced_out.tolist(), -1)
    forced, rule = problem.forced_in, problem.rule
    root = Root(view, view, view, whole, dependence, forced, rule, branch)
    count = int(run.array("root.count", "i").item())
    require(count >= 0, "root.count is negative")
    waiting = list[str]()
    for step in (f"root.{k}." for k in range(count)):
        # Dual points of the same view are evaluated together: data are read once.
        waiting.append(step)
        is_full = len(waiting) == batch_size(root.view)
        if is_full or step + "kept" in run:
            root, waiting = _after(root, run, waiting), []
    return _after(root, run, waiting)


def _after(root: Root, run: Archive, steps: list[str]) -> Root:
    """What is kept after some steps, whose keys begin with these texts."""
    points = [_point(root, run, step) for step in steps]
    for step, terms in zip(steps, evaluate(root.view, points), strict=True):
        root = _after_point(root, run, step, terms)
    return root


def _after_point(root: Root, run: Archive, step: str, terms: Terms) -> Root:
    """What is kept after a step, with what its dual point proves."""
    branch = root.branch.raised(bound(root.rule, terms, root.branch))
    root = replace(root, branch=branch)
    if step + "cutoff" in run:
        root = _cut_off(root, terms, run.number(step + "cutoff"))
    else:
        root = _fixed(root, terms, run, step)
    return _rewritten(root, run, step) if step + "kept" in run else root


def _point(root: Root, run: Archive, step: str) -> DualPoint:
    index = run.indices(step + "index", root.view.n)
    value = run.numbers(step + "value", len(index))
    require(len(np.unique(index)) == len(index), f"{step}index has a variable twice")
    beta = run.numbers(step + "beta", len(root.view.rows.b))
    scale = run.number(step + "scale") if step + "scale" in run else 1.0
    return DualPoint((index, value), beta, scale)


def _fixed(root: Root, terms: Terms, run: Archive, step: str) -> Root:
    """Fix variables that are listed; the other sides contribute their bounds."""
    n, branch = root.view.n, root.branch
    inside, outside = (
        run.indices(step + "fixed_in", n),
        run.indices(step + "fixed_out", n),
    )
    both = np.concatenate([inside, outside])
    require(
        len(np.unique(both)) == len(both) and not branch.status[both].any(),
        f"{step}fixed_in and fixed_out have a variable that is not free",
    )
    if len(both) == 0:
        return root
    _, off = sides(root.rule, terms, branch, inside)
    on, _ = sides(root.rule, terms, branch, outside)
    least = max(branch.floor, min([*off.tolist(), *on.tolist()]))
    branch = branch.fixed(root.rule, inside.tolist(), 1)
    branch = branch.fixed(root.rule, outside.tolist(), -1)
    return replace(root, branch=branch, least=min(root.least, least))


def _cut_off(root: Root, terms: Terms, cutoff: float) -> Root:
    """Fix all variables whose other side is at or above a number."""
    free = np.flatnonzero(root.branch.status == 0)
    on, off = sides(root.rule, terms, root.branch, free)
    goes_out = on >= cutoff
    goes_in = (off >= cutoff) & ~goes_out
    if not (goes_out | goes_in).any():
        return root
    branch = root.branch.fixed(root.rule, free[goes_out].tolist(), -1)
    branch = branch.fixed(root.rule, free[goes_in].tolist(), 1)
    least = min(root.least, max(root.branch.floor, cutoff))
    return replace(root, branch=branch, least=least)


def _rewritten(root: Root, run: Archive, step: str) -> Root:
    """The views on the variables that are left, the current one rewritten."""
    n, branch, has_minorant = root.view.n, root.branch, root.view.rest is not None
    if step + "drops_bounds" in run:
        views = {k: getattr(root, k) for k in ("view", "full", "given", "problem")}
        views = {k: view.without_bounds() for k, view in views.items()}
        root = replace(root, **views)
    kept = run.indices(step + "kept", n)
    dropped = np.delete(branch.status, kept)
    require(len(np.unique(kept)) == len(kept), f"{step}kept has a variable twice")
    require((dropped < 0).all(), f"{step}kept lacks a variable that is not out")
    given, full = root.given.restrict(kept), root.full.restrict(kept)
    view = root.view.restrict(kept) if has_minorant else full
    if step + "minorant" in run:
        view = _minorant(given, run, step, root.rule)
    elif step + "diagonal_shift" in run:
        view = view.moved(run.numbers(step + "diagonal_shift", len(kept)))
        full = full if has_minorant else view
    return replace(
        root,
        view=view,
        full=full,
        given=given,
        problem=root.problem.restrict(kept),
        forced=np.flatnonzero(np.isin(kept, root.forced)),
        rule=root.rule.restrict(kept),
        branch=replace(branch, status=branch.status[kept]),
    )


def _minorant(given: View, run: Archive, step: str, rule: Rule) -> View:
    """The view as given, shifted and with another matrix."""
    n = given.n
    if step + "row_shift" in run:
        given = given.shifted_by_row(run.numbers(step + "row_shift", n))
    if step + "diagonal_shift" in run:
        given = given.moved(run.numbers(step + "diagonal_shift", n))
    weights = np.ones(n)
    if step + "weights" in run:
        weights = run.numbers(step + "weights", n)
        require((weights > 0).all(), f"{step}weights are not positive")
    return given.minorant(run.numbers(step + "minorant", n, n), weights, rule.width)
