"""The problem: data that is checked once and never changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse

from cardqp import _validation as check
from cardqp import storage
from cardqp._typing import UNIT_ROUNDOFF, ArrayLike, BoolArray, FloatArray, IntArray
from cardqp.columns import Columns
from cardqp.exceptions import ProblemError
from cardqp.feasibility import Feasibility
from cardqp.quadratic import Factor, Gram, QuadraticForm
from cardqp.rows import Rows
from cardqp.sparsity import Blocks, Choice, Groups, SupportRule

_STORED = (
    *("c", "eta", "sparsity", "penalty", "A", "b", "A_eq", "b_eq"),
    *("lower", "upper", "forced_in", "forced_out", "groups", "group_sparsity"),
    *("blocks", "constant", "names"),
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SparseQP:
    r"""A convex quadratic program with few nonzeros.

    .. math::
        \min_x\; \text{constant} + c^\top x + x^\top Q x
        + \sum_j x_j^2/\eta_j + \theta |x|_0
        \quad\text{s.t.}\quad b_{lower} \le A x \le b,\; A_{eq} x = b_{eq},\;
        x_j = 0 \text{ or } \ell_j \le x_j \le u_j,\; |x|_0 \le s .

    Parameters
    ----------
    Q : (n, n) array
        Symmetric positive semidefinite.  See :meth:`from_factor` for ``Q = F'F``.
    c : (n,) array
        Linear cost.
    eta : float or (n,) array
        The ridge is ``1/eta``; positive.
    sparsity : int, optional
        The largest number of nonzeros, ``s``.
    penalty : float, optional
        The price ``theta`` of each nonzero.  Give ``sparsity``, ``penalty`` or both.
    A, b, b_lower, A_eq, b_eq : arrays, optional
        Linear rows.  Rows with a finite ``b_lower`` are kept as two inequalities.
    lower, upper : float or (n,) arrays, optional
        Bounds of the nonzeros; infinite entries mean no bound.  Where 0 is not between
        them, the variable is semi-continuous: 0, or at least as large as that.
    forced_in : sequence of int, optional
        Variables that are in the support in any case: each takes one of the ``s``
        places, pays its price and is within its bounds, whatever its value.
    forced_out : sequence of int, optional
        Variables that are zero.
    groups, group_sparsity : (n,) array of int and int or sequence of int, optional
        The group of each variable, counted from 0, -1 for none; and the largest number
        of nonzeros in each group, or in all of them alike.
    blocks : (n,) array of int, optional
        Variables with the same number share one switch: they are zero together, take
        one of the ``s`` places and pay once.  What is forced is a whole block.  Not
        with groups, nor with semi-continuous variables.
    constant : float
        Added to every objective value and bound; relative gaps refer to the sum.
    names : sequence of str, optional
        Names of the variables, carried into solutions.

    Raises
    ------
    ProblemError
        When the data break a rule.  An empty feasible set is not an error: it is a
        status of the solution, with a proof.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> problem.objective([1.0, 0.0, 0.0])
    -2.0
    """

    quadratic: QuadraticForm
    c: FloatArray
    eta: FloatArray
    sparsity: int | None
    penalty: float | None
    rows: Rows
    lower: FloatArray
    upper: FloatArray
    forced_in: IntArray
    forced_out: IntArray
    groups: IntArray | None
    group_sparsity: IntArray | None
    blocks: IntArray | None
    constant: float
    names: tuple[str, ...] | None

    def __init__(
        self,
        Q: ArrayLike | Gram | Factor | Columns,
        c: ArrayLike,
        *,
        eta: ArrayLike,
        sparsity: int | None = None,
        penalty: float | None = None,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        b_lower: ArrayLike | None = None,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        forced_in: ArrayLike | None = None,
        forced_out: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        group_sparsity: ArrayLike | None = None,
        blocks: ArrayLike | None = None,
        constant: float = 0.0,
        names: Sequence[str] | None = None,
    ) -> None:
        form: QuadraticForm
        if isinstance(Q, Gram | Factor | Columns):
            form = Q
        else:
            form = check.quadratic_matrix(Q)
        n = form.n
        if sparsity is None and penalty is None and groups is None:
            raise ProblemError(
                "`sparsity` or `penalty` is missing: give the largest number of "
                "nonzeros, the price of each nonzero, or both."
            )
        low, high = check.bounds(lower, upper, n)
        limit = check.sparsity(sparsity, n)
        shared = check.blocks(blocks, n, low, high, has_groups=groups is not None)
        inside = check.forced_in(forced_in, n, limit, shared)
        labels, group_limits = check.groups(groups, group_sparsity, n, inside)
        self._fill(
            quadratic=form,
            c=check.vector("c", c, n),
            eta=check.inverse_ridge(eta, n),
            sparsity=limit,
            penalty=check.penalty(penalty),
            rows=Rows.stack(
                *check.two_sided(A, b_lower, b, n),
                *check.rows("_eq", A_eq, b_eq, n),
            ),
            lower=low,
            upper=high,
            forced_in=inside,
            forced_out=check.forced_out(forced_out, n, inside, shared),
            groups=labels,
            group_sparsity=group_limits,
            blocks=shared,
            constant=check.scalar("constant", constant),
            names=check.names(names, n),
        )

    def _fill(self, **fields: Any) -> "SparseQP":
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def from_factor(cls, F: ArrayLike, c: ArrayLike, **settings: Any) -> "SparseQP":
        """The problem with ``Q = F'F``, which is never formed if it need not be.

        Parameters
        ----------
        F : (k, n) array
            The factor.
        c : (n,) array
            Linear cost.
        **settings
            As for :class:`SparseQP`.
        """
        return cls(check.factor_matrix(F), c, **settings)

    @classmethod
    def from_factor_model(
        cls,
        B: ArrayLike,
        psi: ArrayLike,
        c: ArrayLike,
        *,
        eta: ArrayLike | None = None,
        **settings: Any,
    ) -> "SparseQP":
        """The problem with ``Q = B'B + diag(psi)``, as of a factor model of returns.

        The diagonal makes bounds tight, and here it comes for free: it is kept as a
        part of the ridge, so that ``Q`` of the problem is ``B'B`` and its ridge is
        ``1/eta + psi``.

        Parameters
        ----------
        B : (k, n) array
            Loadings, one row per factor.
        psi : (n,) array
            Specific variances: positive, or with ``eta`` not negative.
        c : (n,) array
            Linear cost.
        eta : float or (n,) array, optional
            The ridge beyond that is ``1/eta``; none by default.
        **settings
            As for :class:`SparseQP`.

        Examples
        --------
        >>> problem = SparseQP.from_factor_model(
        ...     [[1.0, 1.0, 2.0]], [1.0, 2.0, 1.0], [0.0, 0.0, 0.0], sparsity=2
        ... )
        >>> problem.objective([1.0, 1.0, 0.0])
        7.0
        """
        form = check.factor_matrix(B, "B")
        own = check.specific_variance(psi, form.n, has_ridge=eta is not None)
        ridge = 0.0 if eta is None else 1.0 / check.inverse_ridge(eta, form.n)
        return cls(form, c, eta=1.0 / (own + ridge), **settings)

    @classmethod
    def from_regression(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        eta: ArrayLike,
        sparsity: int | None = None,
        names: Sequence[str] | None = None,
        **settings: Any,
    ) -> "SparseQP":
        """Sparse ridge regression: mean squared error plus ``|x|^2 / eta``.

        ``Q = X'X/N``, ``c = -2 X'y/N`` and ``constant = y'y/N``, so that the
        objective is the penalised mean squared error.  With more columns than rows
        the factor ``X / sqrt(N)`` takes the place of ``Q``.  There is no intercept:
        centre ``X`` and ``y`` first if you want one.

        Parameters
        ----------
        X : (N, n) array, DataFrame or SciPy sparse matrix
            One row per observation.  A DataFrame's column names are kept.
        y : (N,) array
            The responses.
        eta, sparsity, names, **settings
            As for :class:`SparseQP`.
        """
        if names is None and hasattr(X, "columns"):
            names = [str(column) for column in X.columns]
        target = check.real_array("y", y, 1)
        N = len(target)
        if scipy.sparse.issparse(X):
            data = _check_sparse(X)
        else:
            data = check.real_array("X", X, 2)
        if data.shape[0] != N or N == 0:
            raise ProblemError(
                f"`X` and `y` must have the same number of rows, at least one: "
                f"X has {data.shape[0]}, y has {N}."
            )
        if data.shape[1] == 0:
            raise ProblemError(f"`X` must have columns: its shape is {data.shape}.")
        form: Gram | Factor
        if data.shape[1] > N:
            dense = data.toarray() if scipy.sparse.issparse(data) else data
            form = check.factor_matrix(dense / np.sqrt(N))
        else:
            gram = data.T @ data / N
            dense = gram.toarray() if scipy.sparse.issparse(gram) else gram
            form = check.quadratic_matrix(dense)
        return cls(
            form,
            -2.0 * (data.T @ target) / N,
            eta=eta,
            sparsity=sparsity,
            constant=float(target @ target) / N,
            names=names,
            **settings,
        )

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        eta: ArrayLike,
        sparsity: int | None = None,
        names: Sequence[str] | None = None,
        **settings: Any,
    ) -> "SparseQP":
        """Sparse ridge regression on very many columns; ``Q`` is never formed.

        The problem is that of :meth:`from_regression`.  The data are kept as they are
        and read block by block; one sweep over all columns is made here.  Bounds,
        prices and forced variables are allowed; problems with rows, groups, blocks or
        thresholds are solved only if they fit into memory as a dense factor.

        Parameters
        ----------
        X : (N, n) array, SciPy sparse matrix or Dask array
            In memory, mapped from disk (``np.load(path, mmap_mode="r")``) or on a
            cluster, of any real type, in any layout.  Chunks of a Dask array are read
            where they are, in each sweep anew: ``persist`` it if it is made of other
            things.
        y : (N,) array
            The responses.
        eta, sparsity, names, **settings
            As for :class:`SparseQP`.
        """
        target = check.real_array("y", y, 1)
        X = check.data_matrix("X", X)
        N = len(target)
        if X.shape[0] != N or 0 in X.shape:
            raise ProblemError(
                "`X` must have columns, and as many rows as `y` has entries: its shape "
                f"is {X.shape}, y has {N}."
            )
        form = Columns.read(X, target)
        return cls(
            form,
            -2.0 * form.products / N,
            eta=eta,
            sparsity=sparsity,
            constant=float(target @ target) / N,
            names=names,
            **settings,
        )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.quadratic.n

    @property
    def Q(self) -> FloatArray:
        """The matrix of the quadratic form."""
        return self.quadratic.dense()

    @cached_property
    def ridge(self) -> FloatArray:
        """The ridge ``1/eta``, one entry per variable."""
        ridge: FloatArray = 1.0 / self.eta
        ridge.setflags(write=False)
        return ridge

    @property
    def A(self) -> FloatArray:
        """Matrix of the inequality rows."""
        return self.rows.matrix[~self.rows.is_equality]

    @property
    def b(self) -> FloatArray:
        """Right-hand side of the inequality rows."""
        return self.rows.rhs[~self.rows.is_equality]

    @property
    def A_eq(self) -> FloatArray:
        """Matrix of the equality rows."""
        return self.rows.matrix[self.rows.is_equality]

    @property
    def b_eq(self) -> FloatArray:
        """Right-hand side of the equality rows."""
        return self.rows.rhs[self.rows.is_equality]

    @cached_property
    def rule(self) -> SupportRule:
        """The support rule: how many nonzeros, at what price."""
        limit = self.n if self.sparsity is None else self.sparsity
        groups = None
        if self.groups is not None and self.group_sparsity is not None:
            groups = Groups(self.groups, self.group_sparsity)
            limit = min(limit, groups.most)
        blocks = None if self.blocks is None else Blocks.of(self.blocks)
        if blocks is not None:
            limit = min(limit, len(blocks.sizes))
        penalty, inside, outside = self.penalty or 0.0, self.forced_in, self.forced_out
        return SupportRule(limit, penalty, inside, outside, groups, blocks)

    @property
    def root(self) -> Choice:
        """The branch with all supports: what is forced is switched on, or off."""
        nothing = Choice.of_status(np.zeros(self.n, dtype=np.int8), self.rule)
        return nothing.decide(self.forced_in, self.forced_out)

    def support_of(self, x: FloatArray) -> IntArray:
        """The support of a point: its nonzeros, their blocks, and what is forced in."""
        nonzeros = np.flatnonzero(x)
        if self.blocks is not None:
            nonzeros = np.flatnonzero(Blocks.of(self.blocks).closed(x != 0))
        if len(self.forced_in) == 0:
            return nonzeros
        return np.union1d(nonzeros, self.forced_in)

    @cached_property
    def is_free(self) -> bool:
        """Whether there are neither rows nor bounds nor groups nor blocks."""
        unbounded = np.isinf(self.lower).all() and np.isinf(self.upper).all()
        is_plain = self.groups is None and self.blocks is None
        return len(self.rows) == 0 and is_plain and bool(unbounded)

    @cached_property
    def is_semicontinuous(self) -> BoolArray:
        """Which variables are zero or beyond a threshold."""
        return (self.lower > 0) | (self.upper < 0)

    @cached_property
    def signs(self) -> IntArray:
        """1 for variables that are never negative, -1 for never positive, 0 else."""
        return (self.lower >= 0).astype(np.int8) - (self.upper <= 0)

    def name_of(self, index: int) -> str:
        """The name of a variable, or ``x[index]``."""
        return f"x[{index}]" if self.names is None else self.names[index]

    def objective(self, x: ArrayLike) -> float:
        """The objective at ``x``, constant and penalty included."""
        return self.value(check.vector("x", x, self.n))

    def value(self, x: FloatArray) -> float:
        """The same for a point that need not be checked."""
        smooth = self.c @ x + self.quadratic.value(x) + self.ridge @ (x * x)
        price = 0.0
        if self.penalty:
            price = self.penalty * self.rule.count(self.support_of(x))
        return float(self.constant + smooth + price)

    def magnitude(self, x: FloatArray) -> float:
        """Size of the terms that make up the objective, at ``x`` or near it."""
        curved = self.quadratic.value(x) + self.ridge @ (x * x)
        terms = abs(self.constant) + np.abs(self.c) @ np.abs(x) + abs(curved)
        return float(terms + self.single_gain)

    @cached_property
    def single_gain(self) -> float:
        """The most that one variable alone can take off the objective, unbounded."""
        curvature = self.quadratic.diagonal + self.ridge
        return float((self.c**2 / (4.0 * curvature)).max())

    def feasibility(self, x: ArrayLike) -> Feasibility:
        """How far ``x`` is from meeting each kind of constraint."""
        x = check.vector("x", x, self.n)
        yardstick = self.rows.magnitude(x)
        relative = self.rows.violation(x) / np.where(yardstick > 0, yardstick, 1.0)
        is_equality = self.rows.is_equality
        excess = np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)
        is_off = x == 0
        is_off[self.forced_in] = False
        excess[is_off] = 0.0
        excess[self.forced_out] = np.abs(x[self.forced_out])
        outside = excess / np.where(x != 0, np.abs(x), 1.0)
        return Feasibility(
            rows=float(relative[~is_equality].max(initial=0.0)),
            equalities=float(relative[is_equality].max(initial=0.0)),
            bounds=float(outside.max(initial=0.0)),
            cardinality=self.rule.excess(self.support_of(x)),
        )

    def restrict(
        self, indices: IntArray, form: QuadraticForm | None = None
    ) -> "SparseQP":
        """The problem on some variables, all others being zero.

        Those that are forced in must be among them.  The quadratic form on them can be
        given if it is at hand.
        """
        forced_in = _places(self.forced_in, indices)
        if len(forced_in) < len(self.forced_in):
            raise ProblemError("`indices` must hold all that is forced in.")
        fewer = None if self.sparsity is None else min(self.sparsity, len(indices))
        return self._with(
            quadratic=self.quadratic.restrict(indices) if form is None else form,
            c=self.c[indices],
            eta=self.eta[indices],
            sparsity=fewer,
            rows=self.rows.restrict(indices),
            lower=self.lower[indices],
            upper=self.upper[indices],
            forced_in=forced_in,
            forced_out=_places(self.forced_out, indices),
            groups=None if self.groups is None else self.groups[indices],
            blocks=None if self.blocks is None else self.blocks[indices],
            names=None if self.names is None else tuple(self.names[j] for j in indices),
        )

    def with_quadratic(
        self, form: QuadraticForm, ridge: FloatArray | None = None
    ) -> "SparseQP":
        """The same problem with another quadratic form, and another ridge if given."""
        eta = self.eta if ridge is None else 1.0 / ridge
        return self._with(quadratic=form, eta=eta)

    def move_to_ridge(self, diagonal: ArrayLike) -> "SparseQP":
        """The same problem with a diagonal taken out of ``Q`` and put into the ridge.

        A larger ridge makes all bounds tighter.  ``Q`` is formed if only a factor was
        known.  Rounding in all this is paid for by the form's defect.

        Raises
        ------
        ProblemError
            When what is left of ``Q`` is not positive semidefinite, or a ridge is not
            positive.
        """
        diagonal = check.vector("diagonal", diagonal, self.n)
        ridge = self.ridge + diagonal
        if not (ridge > 0).all():
            raise ProblemError("`diagonal` must keep every ridge positive.")
        form = self.quadratic
        Q = form.dense() - np.diag(diagonal)
        size = np.abs(form.diagonal) + np.abs(diagonal) + ridge
        terms = 8 + (len(form.array) + 2) * self.n * isinstance(form, Factor)
        # The form at hand may itself stand for one that is off by its defect.
        defect = check.convexity_defect(Q) + terms * UNIT_ROUNDOFF * size + form.defect
        return self._with(quadratic=Gram(Q, defect), eta=1.0 / ridge)

    def with_limits(
        self, sparsity: int | None = None, penalty: float | None = None
    ) -> "SparseQP":
        """The same problem with another sparsity, penalty or both.

        Nothing that was computed from the quadratic form is computed again.
        """
        changes: dict[str, Any] = {}
        if sparsity is not None:
            changes["sparsity"] = check.sparsity(sparsity, self.n)
            check.forced_in(self.forced_in, self.n, sparsity, self.blocks)
        if penalty is not None:
            changes["penalty"] = check.penalty(penalty)
        return self._with(**changes)

    def with_forced(
        self, *, forced_in: ArrayLike | None = None, forced_out: ArrayLike | None = None
    ) -> "SparseQP":
        """The same problem with more variables forced in or out.

        Nothing that was computed from the quadratic form is computed again.

        Parameters
        ----------
        forced_in, forced_out : sequence of int, optional
            As for :class:`SparseQP`, and beyond what is forced already.

        Examples
        --------
        >>> import numpy as np
        >>> problem = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=2)
        >>> problem.with_forced(forced_in=[2], forced_out=[0]).forced_in.tolist()
        [2]
        """
        n, shared = self.n, self.blocks
        more = check.indices("forced_in", forced_in, n)
        fewer = check.indices("forced_out", forced_out, n)
        inside = check.forced_in(
            np.union1d(self.forced_in, more), n, self.sparsity, shared
        )
        check.groups(self.groups, self.group_sparsity, n, inside)
        outside = np.union1d(self.forced_out, fewer)
        return self._with(
            forced_in=inside, forced_out=check.forced_out(outside, n, inside, shared)
        )

    def with_linear(
        self,
        *,
        c: ArrayLike | None = None,
        b: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        constant: float | None = None,
    ) -> "SparseQP":
        """The same problem with another linear cost, right-hand side or constant.

        Only what is given is checked.  Nothing that was computed from the quadratic
        form is computed again.

        Parameters
        ----------
        c : (n,) array, optional
            Linear cost.
        b, b_eq : arrays, optional
            Right-hand sides, one entry for each row of :attr:`A` and :attr:`A_eq`: as
            they are stored, two-sided rows being two inequalities.
        constant : float, optional
            Added to every objective value and bound.

        Examples
        --------
        >>> import numpy as np
        >>> problem = SparseQP(np.eye(2), [-4.0, -2.0], eta=1.0, sparsity=1)
        >>> problem.with_linear(c=[0.0, -6.0], constant=1.0).objective([0.0, 1.0])
        -3.0
        """
        changes: dict[str, Any] = {}
        if isinstance(self.quadratic, Columns) and not (c is None and constant is None):
            raise ProblemError(
                "`c` and `constant` belong to the data of this problem: make another "
                "one with from_data."
            )
        if c is not None:
            changes["c"] = check.vector("c", c, self.n)
        if b is not None or b_eq is not None:
            n_above = len(self.rows) - int(np.count_nonzero(self.rows.is_equality))
            rhs = self.rows.rhs
            above = rhs[:n_above]
            if b is not None:
                above = check.right_hand_side("b", b, n_above)
            equal = rhs[n_above:]
            if b_eq is not None:
                equal = check.right_hand_side("b_eq", b_eq, len(equal))
            changes["rows"] = self.rows.with_rhs(np.concatenate([above, equal]))
        if constant is not None:
            changes["constant"] = check.scalar("constant", constant)
        return self._with(**changes)

    def _with(self, **changes: Any) -> "SparseQP":
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return SparseQP.__new__(SparseQP)._fill(**fields | changes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to a ``.npz`` archive whose keys are the arguments.

        A problem given by its factor is stored under ``F`` instead of ``Q``.
        """
        if isinstance(self.quadratic, Columns):
            raise ProblemError(
                "`path` is for problems of moderate size: keep X and y, and save the "
                "solution only."
            )
        key = "F" if isinstance(self.quadratic, Factor) else "Q"
        arguments = {name: getattr(self, name) for name in _STORED}
        storage.write_arrays(path, arguments | {key: self.quadratic.array})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "SparseQP":
        """Read a problem from a ``.npz`` archive and check it like new data."""
        data = storage.read_arrays(path)
        if unknown := sorted(set(data) - {"Q", "F", *_STORED}):
            raise ProblemError(f"`path` holds unknown arrays {unknown}: {path}.")
        for needed in (("Q", "F"), ("c",), ("eta",)):
            if sum(key in data for key in needed) != 1:
                raise ProblemError(
                    f"`path` must hold exactly one array {' or '.join(needed)}: {path}."
                )
        make = cls if "Q" in data else cls.from_factor
        return make(data.pop("Q" if "Q" in data else "F"), data.pop("c"), **data)

    def __repr__(self) -> str:
        parts = [f"n={self.n}"]
        parts += [f"sparsity={self.sparsity}"] if self.sparsity is not None else []
        parts += [f"penalty={self.penalty:g}"] if self.penalty is not None else []
        parts += [f"rows={len(self.rows)}"] if len(self.rows) else []
        if self.group_sparsity is not None:
            parts.append(f"groups={len(self.group_sparsity)}")
        parts += [f"blocks={len(set(self.blocks))}"] if self.blocks is not None else []
        return f"SparseQP({', '.join(parts)})"


def lift(part: FloatArray, indices: IntArray, n: int) -> FloatArray:
    """Undo a restriction: zeros off the indices."""
    x = np.zeros(n)
    x[indices] = part
    return x


def _places(some: IntArray, indices: IntArray) -> IntArray:
    """Where some variables are among indices."""
    return np.flatnonzero(np.isin(indices, some)) if len(some) else some


def _check_sparse(X: Any) -> Any:
    """A SciPy sparse matrix of finite real numbers in column order."""
    check.real_array("X", X.tocoo().data, 1)
    return X.tocsc().astype(np.float64)
