"""Convex quadratic programs over cones, solved by clarabel."""

from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import FloatArray
from cardqp.exceptions import BackendError


def minimise(
    hessian: Any,
    slope: FloatArray,
    matrix: Any,
    rhs: FloatArray,
    *,
    n_equal: int,
    n_below: int,
    n_cones: int = 0,
    seconds: float | None = None,
) -> tuple[FloatArray, FloatArray] | None:
    """Minimise ``x'Hx/2 + slope'x`` with ``rhs - matrix x`` in a product of cones.

    The first rows are equations, then come inequalities, then triples in second-order
    cones.  The time limit is checked after each iteration.  Returns the minimiser and
    the multipliers of the rows; None if there is no feasible point.  Raises
    ``BackendError`` if clarabel gives up.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if seconds is not None:
        settings.time_limit = seconds
    cones = [
        clarabel.ZeroConeT(n_equal),
        clarabel.NonnegativeConeT(n_below),
        *[clarabel.SecondOrderConeT(3)] * n_cones,
    ]
    solver = clarabel.DefaultSolver(
        scipy.sparse.triu(hessian, format="csc"),
        slope,
        scipy.sparse.csc_matrix(matrix),
        rhs,
        cones,
        settings,
    )
    result = solver.solve()
    status = str(result.status)
    if "PrimalInfeasible" in status:
        return None
    if "Solved" not in status:
        raise BackendError(f"clarabel gave up on {len(slope)} variables ({status})")
    return np.asarray(result.x), np.asarray(result.z)
