"""The problem: how it is stated, made from data, changed and kept in files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from cardqp._keywords import did_you_mean, not_a_problem
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.problem import archive as files
from cardqp.problem import changes
from cardqp.problem import squared_error as regression
from cardqp.problem import validation as check
from cardqp.problem.data import ProblemData
from cardqp.problem.quadratic import Factor, Gram, QuadraticForm
from cardqp.problem.rows import Rows
from cardqp.problem.streamed_form import StreamedForm


@did_you_mean
@dataclass(frozen=True, init=False, eq=False, repr=False)
class SparseQP(ProblemData):
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
    eta : float, (n,) array or None
        The ridge is ``1/eta``; positive.  None, or infinite entries, mean no ridge:
        see :func:`cardqp.bounds.positive_ridge.with_positive_ridge`.
    sparsity : int, optional
        The largest number of nonzeros, ``s``.
    penalty : float, optional
        The cost ``theta`` of each nonzero.  Give ``sparsity``, ``penalty`` or both.
    A, b, b_lower, A_eq, b_eq : arrays, optional
        Linear rows.  Rows with a finite ``b_lower`` are kept as two inequalities.
    lower, upper : float or (n,) arrays, optional
        Bounds of the nonzeros; infinite entries mean no bound.  Where 0 is not between
        them, the variable is semi-continuous: 0, or at least as large as that.
    forced_in : sequence of int, optional
        Variables that are in the support in any case: each takes one of the ``s``
        places, pays the penalty and is within its bounds, whatever its value.
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

    def __init__(
        self,
        Q: ArrayLike | Gram | Factor | StreamedForm,
        c: ArrayLike,
        *,
        eta: ArrayLike | None,
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
        is_form = isinstance(Q, Gram | Factor | StreamedForm)
        form: QuadraticForm = Q if is_form else check.quadratic_matrix(Q)
        n = form.n
        check.some_limit(sparsity, penalty, groups)
        low, high = check.bounds(lower, upper, n)
        limit = check.sparsity(sparsity, n)
        shared = check.blocks(blocks, n, low, high, has_groups=groups is not None)
        fixed_in = check.forced_in(forced_in, n, limit, shared)
        labels, group_limits = check.groups(groups, group_sparsity, n, fixed_in)
        if labels is None and limit is None and penalty is None:
            limit = n  # groups without members allow everything
        vars(self).update(
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
            forced_in=fixed_in,
            forced_out=check.forced_out(forced_out, n, fixed_in, shared),
            groups=labels,
            group_sparsity=group_limits,
            blocks=shared,
            constant=check.scalar("constant", constant),
            names=check.names(names, n),
        )

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
    @did_you_mean
    def from_regression(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        eta: ArrayLike | None,
        sparsity: int | None = None,
        names: Sequence[str] | None = None,
        **settings: Any,
    ) -> "SparseQP":
        """Sparse ridge regression: mean squared error plus ``|x|^2 / eta``.

        ``Q = X'X/N``, ``c = -2 X'y/N`` and ``constant = y'y/N``, so that the
        objective is the penalised mean squared error.  With more columns than rows
        the factor ``X / sqrt(N)`` takes the place of ``Q``.  There is no intercept:
        centre ``X`` and ``y`` first if you want one.

        What counts is ``Q`` as it is stored, rounding included.  Without a ridge,
        columns that are linearly dependent up to that rounding are not chosen together;
        what is optimal then is so among the supports with independent columns.

        Parameters
        ----------
        X : (N, n) array, DataFrame or SciPy sparse matrix
            One row per observation.  A DataFrame's column names are kept.
        y : (N,) array
            The responses: zeros, or 1e-140 and more somewhere.
        eta, sparsity, names, **settings
            As for :class:`SparseQP`.
        """
        if names is None and hasattr(X, "columns"):
            names = [str(column) for column in X.columns]
        error = regression.of_arrays(X, y)
        return cls(**error, eta=eta, sparsity=sparsity, names=names, **settings)

    @classmethod
    @did_you_mean
    def from_data(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        eta: ArrayLike | None,
        sparsity: int | None = None,
        names: Sequence[str] | None = None,
        **settings: Any,
    ) -> "SparseQP":
        """Sparse ridge regression on very many columns; ``Q`` is never formed.

        The problem is that of :meth:`from_regression`.  The data are kept as they are
        and read block by block; one pass over all columns is made here.  Bounds,
        penalties and forced variables are allowed; problems with rows, groups, blocks
        or thresholds are solved only if they fit into memory as a dense factor.

        Parameters
        ----------
        X : (N, n) array, SciPy sparse matrix or Dask array
            In memory, mapped from disk (``np.load(path, mmap_mode="r")``) or on a
            cluster, of any real type, in any layout.  Chunks of a Dask array are read
            where they are, in each pass anew: ``persist`` it if it is made of other
            things.
        y : (N,) array
            The responses: zeros, or 1e-140 and more somewhere.
        eta, sparsity, names, **settings
            As for :class:`SparseQP`.
        """
        error = regression.of_columns(X, y)
        return cls(**error, eta=eta, sparsity=sparsity, names=names, **settings)

    def restrict(
        self, indices: IntArray, form: QuadraticForm | None = None
    ) -> "SparseQP":
        """Return the problem on some variables, all others being zero.

        Those that are forced in must be among them.  The quadratic form on them can be
        given if it is at hand.
        """
        return self._with(**changes.restriction(self, indices, form))

    def with_quadratic(
        self, form: QuadraticForm, ridge: FloatArray | None = None
    ) -> "SparseQP":
        """Return the problem with another quadratic form, and ridge if given."""
        if ridge is None:
            return self._with(quadratic=form)
        with np.errstate(divide="ignore"):  # no ridge
            return self._with(quadratic=form, eta=1.0 / ridge)

    def with_independence(self, least: float) -> "SparseQP":
        """Return the problem in which only points with independent nonzeros count."""
        return self._with(independence=least)

    def move_to_ridge(self, diagonal: ArrayLike) -> "SparseQP":
        """Return the equal problem with a diagonal moved from ``Q`` to the ridge.

        A larger ridge makes all bounds tighter.  ``Q`` is formed if only a factor was
        known.  The form's ``psd_violation`` covers the rounding.

        Raises
        ------
        ProblemError
            When what is left of ``Q`` is not positive semidefinite, or a ridge is not
            positive.
        """
        return self._with(**changes.moved_diagonal(self, diagonal))

    def without_bounds(self) -> "SparseQP":
        """Return the problem without the bounds of its variables."""
        infinite = np.full(self.n, np.inf)
        return self._with(lower=-infinite, upper=infinite)

    def with_limits(
        self, sparsity: int | None = None, penalty: float | None = None
    ) -> "SparseQP":
        """Return the problem with another sparsity, penalty or both.

        Nothing that was computed from the quadratic form is computed again.
        """
        return self._with(**changes.limits(self, sparsity, penalty))

    def with_forced(
        self, *, forced_in: ArrayLike | None = None, forced_out: ArrayLike | None = None
    ) -> "SparseQP":
        """Return the problem with more variables forced in or out.

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
        return self._with(**changes.forced(self, forced_in, forced_out))

    def with_linear(
        self,
        *,
        c: ArrayLike | None = None,
        b: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        constant: float | None = None,
    ) -> "SparseQP":
        """Return the problem with another linear cost, right-hand side or constant.

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
        return self._with(**changes.linear(self, c, b, b_eq, constant))

    def _with(self, **changed: Any) -> "SparseQP":
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        problem = SparseQP.__new__(SparseQP)
        vars(problem).update(fields | changed)
        return problem

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to a ``.npz`` archive whose keys are the arguments.

        A problem given by its factor is stored under ``F`` instead of ``Q``; one made
        by :meth:`from_data` under ``X`` and ``y``.  A ``.npy`` file that ``X`` is
        mapped from is referred to by its name (relative to the folder of the archive
        if it is in there), type, shape and digest, which takes one pass over it.
        Arrays beyond 250 MB and Dask arrays are referred to by their digest alone, and
        must be handed to :meth:`load`.
        """
        files.write(path, self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the data, which stored solutions name their problem by.

        See docs/certificate.md.  Data that are streamed are read once.
        """
        return files.digest(self)

    @classmethod
    def load(cls, path: str | PathLike[str], *, data: Any = None) -> "SparseQP":
        """Read a problem from a ``.npz`` archive and check it like new data.

        Parameters
        ----------
        path : path
            The archive.
        data : path, array, SciPy sparse matrix or Dask array, optional
            Where the data are that the archive refers to: the matrix, or the name of a
            ``.npy`` file.  By default the file that was mapped when the problem was
            saved.

        Raises
        ------
        ProblemError
            When the file is not a problem, or the data are missing or have changed.
        """
        return cls(**files.read(path, data))

    def __repr__(self) -> str:
        parts = [f"n={self.n}"]
        parts += [f"sparsity={self.sparsity}"] if self.sparsity is not None else []
        parts += [f"penalty={self.penalty:g}"] if self.penalty is not None else []
        parts += [f"rows={len(self.rows)}"] if len(self.rows) else []
        if self.group_sparsity is not None:
            parts.append(f"groups={len(self.group_sparsity)}")
        parts += [f"blocks={len(set(self.blocks))}"] if self.blocks is not None else []
        return f"SparseQP({', '.join(parts)})"


def check_problem(value: Any) -> None:
    """Refuse what is no problem, such as its matrix, and say how to make one."""
    if not isinstance(value, SparseQP):
        raise not_a_problem("problem", value)
