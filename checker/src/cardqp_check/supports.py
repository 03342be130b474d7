"""Lower bounds on the objective over the supports of a branch.

The branch has the variables ``fixed_in`` and at most ``places`` of the ``free`` ones.
The gain of a support does not decrease when it grows, so that only those matter that
have no place left, or all free variables.  :func:`completed`, :func:`cut_off` and
:func:`penalised` look at all of them; how is told in
:mod:`~cardqp_check.bordered`, and :mod:`~cardqp_check.submatrices` proves which need
no look.  :func:`~cardqp_check.dropping.searched` has a search of its own.  All bounds
are floats, rounded down, and -inf where nothing is proved.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from flint import arb, arb_mat, ctx

from cardqp_check.bordered import Bordered, all_sets, bordered_of, suspects
from cardqp_check.dropping import searched
from cardqp_check.objectives import Form, objective
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

__all__ = ["completed", "cut_off", "penalised", "searched"]

FEW, MANY = 20, 3000
"""As many supports are computed in balls right away, and if nothing else helps."""

MOST_ROUNDS = 40
"""How often the number that supports are compared with is lowered."""

PENALTY = 2.0**10
"""The least penalty of an equation, in units of the curvature: not below the search's,
which is 1e3."""

NONE: IntArray = np.empty((0, 0), np.intp)


def completed(
    form: Form,
    fixed_in: IntArray,
    free: IntArray,
    places: int,
    enough: float = math.inf,
) -> float:
    """Bound all supports of a branch with up to four places, or room for all.

    Returns the lesser of ``enough`` and the least objective.  A caller that does not
    need more than some number says so: that saves most of the time.
    """
    return least_objective(form, fixed_in, free, places, enough, NONE)


def cut_off(
    form: Form, fixed_in: IntArray, free: IntArray, places: int, cutoff: float
) -> float:
    """Bound all supports of a branch by the lesser of a cutoff and the least objective.

    With three or four places this takes long if many supports are close to the cutoff.
    """
    return least_objective(form, fixed_in, free, places, cutoff, NONE)


class Rows(Protocol):
    """Rows of a problem: inequalities ``A x <= b`` first, then equalities."""

    A: FloatArray
    b: FloatArray
    n_inequalities: int


def penalised(
    form: Form,
    rows: Rows,
    beta: FloatArray,
    fixed_in: IntArray,
    free: IntArray,
    listed: IntArray,
    enough: float = math.inf,
) -> float:
    """Bound all supports of a branch that are not listed, by a function without rows.

    At feasible points ``A x <= b`` with multipliers, nonnegative on inequalities, and
    squares of what equalities lack, which are zero, may be added to the objective.

    Parameters
    ----------
    form : Form
        The objective without its rows.
    rows : Rows
        They are floats, and exact.
    beta : (m,) array
        Multipliers; negative ones of inequalities count as 0.
    fixed_in, free : int arrays
        The branch.
    listed : (k, places) array
        Free variables of the supports that need no bound; of all others, those with as
        many free variables are bounded, and those within them.
    enough : float
        No better bound is looked for.
    """
    with ctx.workprec(form.precision):
        lowered = _PenalisedRows.of(form, rows).at(beta)
    places = listed.shape[1]
    return least_objective(lowered, fixed_in, free, places, enough, listed)


@dataclass
class _Lowered:
    """A form below another one on the feasible points."""

    kappa: arb
    c: list[arb]
    G: arb_mat
    precision: int


@dataclass
class _PenalisedRows:
    """A form with the squares of equalities, times penalties, added to it."""

    form: Form
    rows: Rows
    squared: _Lowered

    @classmethod
    def of(cls, form: Form, rows: Rows) -> "_PenalisedRows":
        """Add the squares, unless that has been done for the form before."""
        cached = vars(form).get("_penalised")
        if cached is None or cached.rows is not rows:
            cached = cls(form, rows, _with_squares(form, rows))
            vars(form)["_penalised"] = cached
        return cached

    def at(self, beta: FloatArray) -> _Lowered:
        """Add the rows times multipliers, too."""
        n_inequalities, squared = self.rows.n_inequalities, self.squared
        beta = np.array(beta, dtype=float)
        beta[:n_inequalities] = np.maximum(beta[:n_inequalities], 0.0)
        kappa, c = squared.kappa, list(squared.c)
        for i in np.flatnonzero(beta):
            multiplier = arb(float(beta[i]))
            kappa -= multiplier * float(self.rows.b[i])
            for j in np.flatnonzero(self.rows.A[i]):
                c[j] += multiplier * float(self.rows.A[i, j])
        lowered = _Lowered(kappa, c, squared.G, self.form.precision)
        # The matrix in floats is that of all multipliers.
        shared = bordered_of(squared)
        vars(lowered)["_bordered"] = shared.with_costs(lowered)
        return lowered


def _with_squares(form: Form, rows: Rows) -> _Lowered:
    """Add ``rho (a'x - b)^2`` for each equality; any penalty rho >= 0 is valid."""
    n = len(form.c)
    curvature = np.array([max(float(form.G[j, j]), 1e-300) for j in range(n)])
    kappa, c, G = form.kappa, list(form.c), arb_mat(form.G)
    for i in range(rows.n_inequalities, len(rows.b)):
        a, b = rows.A[i], float(rows.b[i])
        size = float((a**2 / curvature).max(initial=0.0))
        if not 0.0 < size < math.inf:
            continue
        rho = arb(2) ** -math.floor(math.log2(size)) * PENALTY
        column = arb_mat(n, 1, [float(entry) for entry in a])
        G += column * column.transpose() * rho
        kappa += rho * b * b
        c = [c[j] - 2 * rho * b * column[j, 0] for j in range(n)]
    return _Lowered(kappa, c, G, form.precision)


def least_objective(
    form: Form,
    fixed_in: IntArray,
    free: IntArray,
    places: int,
    enough: float,
    listed: IntArray,
) -> float:
    """Return the lesser of ``enough`` and the least objective over unlisted supports.

    All supports that may be below a number are listed, and computed in balls if they
    are few.  Otherwise the number is lowered to the objective of the best of them.
    """
    fixed_in, free = np.asarray(fixed_in, np.intp), np.asarray(free, np.intp)
    if places < 0:
        return math.inf
    if places == 0 or len(free) <= places:
        members = free if places > 0 else free[:0]
        return min(enough, objective(form, np.concatenate([fixed_in, members])))
    branch = _Branch(bordered_of(form), fixed_in, free, places, _names(listed), {})
    try:
        value = enough if enough < math.inf else branch.best_of(None)
        return branch.lesser_of(value)
    except (UndecidedError, np.linalg.LinAlgError):
        return -math.inf


def _names(listed: IntArray) -> set[tuple[int, ...]]:
    return {tuple(sorted(map(int, row))) for row in listed}


@dataclass
class _Branch:
    """A branch, of which some supports need no bound, and objectives found so far."""

    bordered: Bordered
    fixed_in: IntArray
    free: IntArray
    places: int
    listed: set[tuple[int, ...]]
    known: dict[tuple[int, ...], float]

    def lesser_of(self, value: float) -> float:
        """Return the lesser of a number and the least objective."""
        found = self._below(value)
        for k in range(MOST_ROUNDS):
            if found is not None and len(found) <= FEW:
                break
            better = self.best_of(found)
            if not better < value:
                if found is not None:
                    break
                # The next number is a little less, where there is no tie.
                better = min(value, better)
                better -= 2.0 ** (4 * min(k, 5) - 44) * max(abs(better), 1e-30)
            value, found = better, self._below(better)
        if found is None or len(found) > MANY:
            raise UndecidedError
        return min([value, *(self._objective(members) for members in found)])

    def _below(self, value: float) -> IntArray | None:
        """Return the sets of free variables that may be below a number, if not many."""
        try:
            self.bordered.compare_with(value)
            inside = np.concatenate([[0], self.fixed_in + 1])
            found = suspects(self.bordered, inside, self.free + 1, self.places) - 1
        except UndecidedError:
            return None
        is_new = [not self._is_listed(members) for members in found]
        return np.asarray(found[np.array(is_new, dtype=bool)])

    def _objective(self, members: IntArray) -> float:
        name = tuple(sorted(map(int, members)))
        if name not in self.known:
            support = np.concatenate([self.fixed_in, members])
            self.known[name] = objective(self.bordered.form, support)
        return self.known[name]

    def best_of(self, found: IntArray | None) -> float:
        """Return the objective of a good support: the best of those, or a greedy one.

        This is a guess which is best; its objective is exact, but for rounding down.
        """
        if found is None:
            chosen = self._greedy()
            if self._is_listed(chosen):
                found = all_sets(self.free, self.places)
                found = found[[not self._is_listed(members) for members in found]]
        if found is not None:
            if len(found) == 0:
                raise UndecidedError
            inside = np.broadcast_to(self.fixed_in, (len(found), len(self.fixed_in)))
            gains = self.bordered.gains(np.concatenate([inside, found], axis=1))
            chosen = found[np.argmax(gains)]
        return self._objective(chosen)

    def _greedy(self) -> IntArray:
        """Add the variable that gains most, again and again."""
        chosen: IntArray = np.empty(0, np.intp)
        for _ in range(self.places):
            rest = np.setdiff1d(self.free, chosen)
            inside = np.concatenate([self.fixed_in, chosen])
            gains = self.bordered.single_gains(inside, rest)
            chosen = np.append(chosen, rest[np.argmax(gains)])
        return chosen

    def _is_listed(self, members: IntArray) -> bool:
        return bool(self.listed) and tuple(sorted(members.tolist())) in self.listed
