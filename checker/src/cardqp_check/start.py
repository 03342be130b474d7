"""The first view, where some ridge may be zero (section 4)."""

import numpy as np
from flint import arb

from cardqp_check.archives import Archive
from cardqp_check.forms import MOST_DENSE, Dense, Factor, Form, diagonal
from cardqp_check.problem import Problem
from cardqp_check.refusal import require
from cardqp_check.rounding import Floats, above, below, down, exact
from cardqp_check.views import INDEPENDENT, View

STARTS = ({"start.ridge"}, {"start.added"}, {"start.added", "start.factor"})
"""The keys that a start may have."""


def view_of(problem: Problem) -> View:
    """The problem as a view."""
    return View(
        form=_form(problem),
        ridge=np.array([max(below(w), 0.0) for w in problem.ridge]),
        c=problem.c,
        constant=problem.constant,
        rows=problem.rows,
        lower=problem.lower,
        upper=problem.upper,
        is_regression=problem.target is not None,
    )


def _form(problem: Problem) -> Form:
    if problem.columns is None:
        require(problem.n <= MOST_DENSE, f"{problem.n} variables are too many")
        double = exact(problem.Q)
        return Dense((double + double.transpose()) / 2)
    form = Factor(problem.columns, problem.multiplier)
    # With fewer columns than rows, products with the matrix cost less.
    if problem.n <= min(problem.columns.n_rows, MOST_DENSE):
        return Dense(form.matrix(), is_semidefinite=True)
    return form


def first_view(problem: Problem, run: Archive) -> View:
    """The view that all proofs begin with."""
    view = view_of(problem)
    keys = {key for key in run.arrays if key.startswith("start.")}
    if not keys:
        return view
    require(keys in STARTS, f"a start is not made of {', '.join(sorted(keys))}")
    # Points with dependent nonzeros count where every ridge is positive.
    require(
        not all(w > 0 for w in problem.ridge),
        "a start needs a variable without a ridge",
    )
    if "start.factor" in keys:
        started = _scaled(problem, view, run)
    elif "start.added" in keys:
        started = _added(problem, view, _not_negative(run, problem.n))
    else:
        ridge = run.numbers("start.ridge", problem.n)
        G = view.form.matrix() + diagonal(problem.ridge)
        started = _replaced(view, Dense(G - diagonal(ridge)), ridge)
    require((started.ridge > 0).all(), "the start leaves a variable without a ridge")
    return started


def _replaced(
    view: View, form: Form, ridge: Floats, constant: arb | None = None
) -> View:
    constant = view.constant if constant is None else constant
    return View(form, ridge, view.c, constant, view.rows, view.lower, view.upper)


def _not_negative(run: Archive, n: int) -> Floats:
    added = run.numbers("start.added", n)
    require((added >= 0).all(), "start.added is negative")
    return added


def _added(problem: Problem, view: View, added: Floats) -> View:
    """A ridge that is paid for: no feasible point has more of it than the price."""
    reach = np.maximum(np.abs(view.lower), np.abs(view.upper))
    require(np.isfinite(reach[added > 0]).all(), "start.added needs finite bounds")
    prices = sorted(
        (
            above(arb(a) * arb(x) ** 2)
            for a, x in zip(added.tolist(), reach.tolist(), strict=True)
            if a > 0
        ),
        reverse=True,
    )
    constant = view.constant - sum(map(arb, prices[: problem.rule.width]), arb(0))
    return _replaced(view, view.form, down(view.ridge + added), constant)


def _scaled(problem: Problem, view: View, run: Archive) -> View:
    """A share of the form, and a ridge that is less than the rest on what counts."""
    are_signs = np.isin(view.lower, (0.0, -np.inf)) & np.isin(view.upper, (0.0, np.inf))
    require(
        len(problem.rows.b) == 0 and are_signs.all(),
        "start.factor needs a problem without rows, and no bounds but signs",
    )
    m, added = run.number("start.factor"), _not_negative(run, problem.n)
    require(0 < m < 1, "start.factor is not between 0 and 1")
    share = arb(INDEPENDENT) * (1 - arb(m))
    for a, g in zip(added.tolist(), curvatures(problem, view), strict=True):
        require(g == 0 or arb(a) <= share * g, "start.added is too large")
    ridge = down(np.array([below(m * w) for w in problem.ridge]) + added)
    return _replaced(view, view.form.times(arb(m)), ridge)


def curvatures(problem: Problem, view: View) -> list[arb]:
    """The diagonal of ``G = Q + diag(w)``."""
    if isinstance(view.form, Factor):
        own = [
            view.form.multiplier * sum((x * x for x in column), arb(0))
            for _, block in view.form.columns.blocks()
            for column in exact(block).transpose().tolist()
        ]
    else:
        M = view.form.matrix()
        own = [M[j, j] for j in range(view.n)]
    return [q + w for q, w in zip(own, problem.ridge, strict=True)]
