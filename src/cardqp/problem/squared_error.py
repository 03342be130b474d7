"""The mean squared error of a regression, as arguments of a problem.

With ``N`` rows, ``|y - Xx|^2 / N = constant + c'x + x'Qx`` for ``Q = X'X / N``,
``c = -2 X'y / N`` and ``constant = y'y / N``.
"""

from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ProblemError
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor, Gram
from cardqp.problem.streamed_form import StreamedForm


def of_arrays(X: Any, y: ArrayLike) -> dict[str, Any]:
    """The error for data in memory, dense or sparse."""
    check.refuse_texts(X, y)
    target = check.target("y", y)
    N = len(target)
    data = _matrix(X)
    if data.shape[0] != N or N == 0:
        raise ProblemError(
            None,
            "`X` and `y` must have the same number of rows, at least one",
            given=f"X has {data.shape[0]}, y has {N}",
        )
    check.shaped(data.shape[1] > 0, "X", "must have columns", data)
    return _mean_squared_error(_form(data), data.T @ target, target)


def of_columns(X: Any, y: ArrayLike) -> dict[str, Any]:
    """The error of streamed data, after one pass over them."""
    form = columns(X, y)
    return _mean_squared_error(form, form.products, form.target)


def columns(X: Any, y: ArrayLike) -> StreamedForm:
    """The quadratic form of streamed data, after one pass over them."""
    target = check.target("y", y)
    X = check.data_matrix("X", X)
    N = len(target)
    if X.shape[0] != N or 0 in X.shape:
        raise ProblemError(
            "X",
            "must have columns, and as many rows as `y` has entries",
            given=f"its shape is {X.shape}, y has {N}",
        )
    return StreamedForm.read(X, target)


def _mean_squared_error(
    form: Gram | Factor | StreamedForm, products: FloatArray, target: FloatArray
) -> dict[str, Any]:
    """The error, given its quadratic form and ``X'y``."""
    N = len(target)
    constant = check.mean_square("y", float(target @ target) / N)
    return {"Q": form, "c": -2.0 * products / N, "constant": constant}


def _matrix(X: Any) -> Any:
    """Finite real numbers, in column order if they are sparse."""
    if not scipy.sparse.issparse(X):
        return check.real_array("X", X, 2)
    check.real_array("X", X.tocoo().data, 1)
    return X.tocsc().astype(np.float64)


def _form(data: Any) -> Gram | Factor:
    """``X'X / N``, by its factor where there are more columns than rows."""
    N, n = data.shape
    if n > N:
        return check.factor_matrix(_dense(data) / np.sqrt(N))
    return check.quadratic_matrix(_dense(data.T @ data / N))


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)
