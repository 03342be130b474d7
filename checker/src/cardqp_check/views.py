"""Views: problems whose objective is at most the given one (sections 3 to 5)."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from cardqp_check.forms import Dense, Form, diagonal, part_of
from cardqp_check.problem import Rows, Status
from cardqp_check.refusal import require
from cardqp_check.rounding import (
    PRECISION,
    Floats,
    Ints,
    down,
    exact,
    matrix_above,
    matrix_below,
    sums_above,
    up,
)

INDEPENDENT = 0.5e-4
"""Supports are independent if G is at least this share of its diagonal there."""


@dataclass(eq=False)
class SupportForm:
    """``kappa + c'x + x'Gx``, of which supports are enumerated (kinds 3, 5, 6, 7).

    Attributes
    ----------
    kappa : arb
        The constant.
    c : list of arb
        The linear cost.
    G : arb_mat
        The matrix with the ridge on its diagonal.
    precision : int
        Their binary digits.
    """

    kappa: arb
    c: list[arb]
    G: arb_mat
    precision: int = PRECISION


@dataclass(frozen=True)
class Rest:
    """What a minorant leaves of the form it replaced, by which nodes raise its ridge.

    Attributes
    ----------
    losses : (n, n) array
        ``e_i rho_ij`` in row j, rounded up; zero on the diagonal.
    e : (n,) array
        The weights, in units in which the ridge is 1.
    curvature : (n,) array
        The ridge without the losses, ``w_j + R_jj``, rounded down.
    """

    losses: Floats
    e: Floats
    curvature: Floats

    def restrict(self, kept: Ints) -> "Rest":
        """The rest on some of the variables."""
        return Rest(self.losses[np.ix_(kept, kept)], self.e[kept], self.curvature[kept])

    def ridge(self, lost: Floats) -> Floats:
        """The ridge that is left by sums of losses, rounded down."""
        return np.asarray(down(self.curvature - up(lost / self.e)))

    def node_ridge(self, status: Status, places: int) -> Floats:
        """The ridge in a branch with so many places left; 0 where variables are out."""
        inside, free = np.flatnonzero(status > 0), np.flatnonzero(status == 0)
        ridge = np.zeros(len(status))
        for rows, room in ((inside, places), (free, places - 1)):
            certain = self.losses[np.ix_(rows, inside)]
            largest = largest_of(self.losses[np.ix_(rows, free)], room)
            lost = sums_above(np.hstack([certain, largest]))
            ridge[rows] = down(self.curvature[rows] - up(lost / self.e[rows]))
        return ridge


@dataclass(frozen=True)
class View:
    """A problem whose objective is at most the given one where it matters.

    Attributes
    ----------
    form : Form
        ``x'Mx``.
    ridge : (n,) array
        w, rounded down.
    c : (n, 1) matrix
        The linear cost.
    constant : arb
        The constant term.
    is_regression : bool
        Whether ``constant + c'x + x'Mx`` is a mean of squares.
    rest : Rest or None
        What is left of the form that a minorant replaced.
    """

    form: Form
    ridge: Floats
    c: arb_mat
    constant: arb
    rows: Rows
    lower: Floats
    upper: Floats
    is_regression: bool = False
    rest: Rest | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.lower)

    def restrict(self, kept: Ints) -> "View":
        """The view on some of the variables, all others being zero."""
        return replace(
            self,
            form=self.form.restrict(kept),
            ridge=self.ridge[kept],
            c=part_of(self.c, kept, [0]),
            rows=self.rows.restrict(kept),
            lower=self.lower[kept],
            upper=self.upper[kept],
            rest=None if self.rest is None else self.rest.restrict(kept),
        )

    def without_bounds(self) -> "View":
        """The view with infinite bounds."""
        infinite = np.full(self.n, np.inf)
        return replace(self, lower=-infinite, upper=infinite)

    def moved(self, shift: Floats) -> "View":
        """The same function, with a diagonal moved from the matrix to the ridge."""
        rest = self.rest
        if rest is not None:
            rest = replace(rest, curvature=down(rest.curvature + shift))
        form = Dense(self.form.matrix() - diagonal(shift))
        ridge = down(self.ridge + shift)
        return replace(self, form=form, ridge=ridge, is_regression=False, rest=rest)

    def shifted_by_row(self, h: Floats) -> "View":
        """The same function where the first equality holds that 0 does not meet."""
        A, b = self.rows.A, self.rows.b
        is_equality = np.arange(len(b)) >= self.rows.n_inequalities
        found = np.flatnonzero(is_equality & (b != 0) & A.any(axis=1))
        require(len(found) > 0, "a row_shift needs an equality that 0 does not meet")
        alpha, vector, rhs = exact(A[found[0]]), exact(h), arb(b[found[0]])
        product = alpha * vector.transpose()
        form = Dense(self.form.matrix() + product + product.transpose())
        c = self.c - vector * (2 * rhs)
        return replace(self, form=form, c=c, is_regression=False)

    def minorant(self, P: Floats, weights: Floats, width: int) -> "View":
        """The minorant with P in place of M, at points with at most K nonzeros."""
        double = exact(P)
        symmetric = (double + double.transpose()) / 2
        difference = self.form.matrix() - symmetric
        low, high = matrix_below(difference), matrix_above(difference)
        sign = (self.lower >= 0).astype(int) - (self.upper <= 0)
        signs = np.multiply.outer(sign, sign)
        # |R_ij|, or what of it can take something off products that have a sign
        rho = np.maximum(np.maximum(-low, high), 0.0)
        rho = np.where(signs > 0, np.maximum(-low, 0.0), rho)
        rho = np.where(signs < 0, np.maximum(high, 0.0), rho)
        np.fill_diagonal(rho, 0.0)
        require((self.ridge > 0).all(), "a minorant needs a positive ridge")
        # Any positive numbers are valid: these stand for weights / sqrt(w).
        e = weights / np.sqrt(self.ridge)
        require(((e > 0) & (e < np.inf)).all(), "weights are out of range")
        rest = Rest(up(rho * e), e, down(self.ridge + low.diagonal()))
        np.fill_diagonal(rest.losses, 0.0)
        ridge = rest.ridge(sums_above(largest_of(rest.losses, width - 1)))
        form = Dense(symmetric)
        return replace(self, form=form, ridge=ridge, is_regression=False, rest=rest)

    @cached_property
    def supports(self) -> SupportForm:
        """What kinds 3, 5 and 7 are about."""
        G = self.form.matrix() + diagonal(self.ridge)
        return SupportForm(self.constant, self.c.entries(), G)


def largest_of(losses: Floats, count: int) -> Floats:
    """The largest entries of each row, as many as there are up to a number."""
    n = losses.shape[1]
    count = min(max(count, 0), n)
    if count == 0 or count == n:
        return losses[:, :count]
    return np.asarray(np.partition(losses, n - count, axis=1)[:, n - count :])
