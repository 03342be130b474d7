"""Options and status words of each solver that is called through CVXPY."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Dialect:
    """Options and status words of a solver that is called through CVXPY.

    Attributes
    ----------
    package : str
        The package to install.
    time, gap, threads : str or None
        Its names for limits.
    under : str or None
        The argument under which CVXPY wants its parameters; None if beside its own.
    bound, nodes : callables or None
        Read the lower bound and the number of branches off CVXPY's extra statistics.
    word : callable or None
        Its own word for how it ended.
    """

    package: str
    time: str
    gap: str
    threads: str | None
    under: str | None = None
    bound: Callable[[Any], float] | None = None
    nodes: Callable[[Any], int] | None = None
    word: Callable[[Any], str] | None = None


DIALECTS = {
    "SCIP": Dialect(
        "pyscipopt",
        "limits/time",
        "limits/gap",
        None,
        "scip_params",
        bound=lambda stats: stats["model"].getDualbound(),
        nodes=lambda stats: stats["model"].getNTotalNodes(),
        word=lambda stats: stats["scip_status"],
    ),
    "GUROBI": Dialect(
        "gurobipy",
        "TimeLimit",
        "MIPGap",
        "Threads",
        bound=lambda model: model.ObjBound,
        nodes=lambda model: int(model.NodeCount),
    ),
    "COPT": Dialect(
        "coptpy",
        "TimeLimit",
        "RelGap",
        "Threads",
        bound=lambda model: model.BestBnd,
        nodes=lambda model: int(model.NodeCnt),
    ),
    "MOSEK": Dialect(
        "mosek",
        "MSK_DPAR_MIO_MAX_TIME",
        "MSK_DPAR_MIO_TOL_REL_GAP",
        "MSK_IPAR_NUM_THREADS",
        "mosek_params",
    ),
    "CPLEX": Dialect(
        "cplex",
        "timelimit",
        "mip.tolerances.mipgap",
        "threads",
        "cplex_params",
    ),
    "XPRESS": Dialect("xpress", "timelimit", "miprelstop", "threads"),
}
"""Solvers that have both integers and second-order cones."""
