"""Catalogue of solvers: whether they are installed, and what they can do."""

from dataclasses import dataclass
from importlib import metadata
from typing import Protocol, Unpack

from cardqp.backends.adapter import Limits
from cardqp.backends.cvxpy import FORMULATIONS as OF_CVXPY
from cardqp.backends.cvxpy import Cvxpy
from cardqp.backends.dialects import DIALECTS
from cardqp.backends.gurobi import Gurobi
from cardqp.backends.program import FORMULATIONS, Formulation
from cardqp.backends.scip import Scip
from cardqp.exceptions import ParameterError
from cardqp.problem import SparseQP
from cardqp.solution.claim import Claim

NAMES = ("scip", "gurobi", *(f"cvxpy:{name}" for name in DIALECTS))

LINEAR_ONLY = ("HIGHS", "SCIPY", "GLPK_MI", "CBC")
"""Solvers whose mixed-integer programs are linear."""

_LICENCES = {
    "SCIP": "free",
    "GUROBI": "commercial; without a licence 200 columns where anything is quadratic",
    "COPT": "commercial; without a licence small problems only",
    "MOSEK": "commercial; does not start without a licence",
    "CPLEX": "commercial; without a licence 1000 columns and 1000 rows",
    "XPRESS": "commercial; without a licence 200 rows and columns together",
}
_WARM = ("GUROBI", "XPRESS")
"""Solvers that CVXPY hands a start to."""


class Backend(Protocol):
    """A solver of mixed-integer programs that takes any problem."""

    def solve(self, problem: SparseQP, **limits: Unpack[Limits]) -> Claim:
        """Solve a problem to a relative gap, as far as time allows.

        Parameters
        ----------
        problem : SparseQP
            Any problem.
        gap, time_limit, start, threads
            See :class:`cardqp.backends.adapter.Limits`.

        Raises
        ------
        BackendNotFoundError
            When a package is missing.
        BackendError
            When the solver fails, or its licence does not allow the problem.
        ParameterError
            When it does not know its parameters, or bounds cannot be proved.
        """


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """Facts about a solver that are known without starting it.

    Attributes
    ----------
    name : str
        The name to pass to :func:`find`.
    package : str
        The package that it comes in.
    version : str or None
        The package's version; None if it is not installed.
    licence : str
        The kind of licence, and the size of problems allowed without one.
    formulations : tuple of str
        The ways of switching variables off that it has.
    supports : tuple of str
        Settings that it takes, and results that it returns.
    install : str
        The command that installs it.
    """

    name: str
    package: str
    version: str | None
    licence: str
    formulations: tuple[Formulation, ...]
    supports: tuple[str, ...]
    install: str

    @property
    def is_installed(self) -> bool:
        """Whether the package is installed; it is not imported."""
        return self.version is not None


def find(name: str) -> Scip | Gurobi | Cvxpy:
    """The solver with a name, with its usual settings.

    Parameters
    ----------
    name : str
        ``"scip"``, ``"gurobi"``, or ``"cvxpy:NAME"`` with ``NAME`` one of ``SCIP``,
        ``GUROBI``, ``COPT``, ``MOSEK``, ``CPLEX`` and ``XPRESS``, in any case.

    Raises
    ------
    ParameterError
        When there is no such solver, or it cannot solve such problems.

    Examples
    --------
    >>> find("scip")
    Scip(formulation='perspective', parameters={})
    """
    if not isinstance(name, str):
        raise ParameterError("backend", "must be a name", given=f"it is {name!r}")
    direct: dict[str, type[Scip] | type[Gurobi]] = {"scip": Scip, "gurobi": Gurobi}
    if name.lower() in direct:
        return direct[name.lower()]()
    prefix, _, solver = name.upper().rpartition(":")
    if prefix in ("", "CVXPY") and solver in LINEAR_ONLY:
        raise ParameterError(
            "backend",
            "must be a solver with quadratic mixed-integer programs",
            given=f"those of {solver} are linear",
            remedy='use "scip", which is free',
        )
    if prefix == "CVXPY" and solver in DIALECTS:
        return Cvxpy(solver)
    raise ParameterError(
        "backend", f"must be one of {', '.join(NAMES)}", given=f"it is {name!r}"
    )


def installed() -> list[BackendInfo]:
    """Describe all back-ends: SCIP, Gurobi, CVXPY, and solvers that CVXPY would find.

    Nothing is imported, so that a package that is broken does no harm here.

    Examples
    --------
    >>> [info.name for info in installed()][:3]
    ['scip', 'gurobi', 'cvxpy']
    """
    own = ("gap", "time limit", "warm start", "bound")
    more = (*own, "threads")
    opener = "free; opens the solvers below, each with a licence of its own"
    found = [
        BackendInfo(
            name,
            package,
            _version(package),
            licence,
            formulations,
            supports,
            f"pip install 'cardqp[{name}]'",
        )
        for name, package, licence, formulations, supports in (
            ("scip", "pyscipopt", _LICENCES["SCIP"], FORMULATIONS, own),
            ("gurobi", "gurobipy", _LICENCES["GUROBI"], FORMULATIONS, more),
            ("cvxpy", "cvxpy", opener, OF_CVXPY, ()),
        )
    ]
    if found[-1].is_installed:
        behind = (_behind_cvxpy(name) for name in DIALECTS)
        found += [info for info in behind if info.is_installed]
    return found


def _behind_cvxpy(solver: str) -> BackendInfo:
    dialect = DIALECTS[solver]
    supports = ["gap", "time limit"]
    supports += ["warm start"] if solver in _WARM else []
    supports += ["bound"] if dialect.bound is not None else []
    supports += ["threads"] if dialect.threads is not None else []
    return BackendInfo(
        f"cvxpy:{solver}",
        dialect.package,
        _version(dialect.package),
        _LICENCES[solver],
        OF_CVXPY,
        tuple(supports),
        f"pip install 'cardqp[cvxpy]' {dialect.package}",
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package) or "unknown"
    except (metadata.PackageNotFoundError, KeyError, OSError, ValueError):
        return None
