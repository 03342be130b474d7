"""The rules for arguments of ``solve`` that concern more than one of them."""

from typing import Any

from cardqp.backends.catalogue import Backend, find
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.gram.tree_sum import dask
from cardqp.methods import Method
from cardqp.methods.exact import Exact
from cardqp.problem import validation as check
from cardqp.solution import Solution
from cardqp.spectral.spectrum import Spectrum


def check_limits(
    gap: float, node_limit: int | None, threads: int, proof_memory: float
) -> None:
    """Refuse limits that are out of range."""
    check.at_least("gap", gap, 0.0)
    check.at_least("proof_memory", proof_memory, 0.0)
    check.count("threads", threads)
    if node_limit is not None:
        check.count("node_limit", node_limit)


def find_backend(backend: str | Backend | None) -> Backend | None:
    """Return the solver with a name, or the one given; refuse what is neither."""
    if backend is None:
        return None
    if isinstance(backend, str):
        return find(backend)
    can_solve = callable(getattr(backend, "solve", None))
    is_solver = can_solve and not isinstance(backend, type)
    rule = 'must be a name or a solver, such as "scip" or cardqp.backends.Scip()'
    check.demand(is_solver, "backend", rule, backend)
    return backend


def check_client(client: Any, backend: Backend | None, *, is_streamed: bool) -> None:
    """Refuse what is no cluster, and searches that a cluster cannot help with."""
    if client is None:
        return
    check.instance("client", client, dask("distributed").Client)
    if client.asynchronous or client.status == "closed":
        kind = "asynchronous" if client.asynchronous else "closed"
        raise ParameterError(
            "client", "must be open and not asynchronous", given=f"it is {kind}"
        )
    if backend is not None:
        raise ParameterError("client", "must be None with a `backend`, which searches")
    if is_streamed:
        raise ParameterError("client", "is not for problems that are streamed")


def check_method(
    method: Method,
    backend: Backend | None,
    level: int | None,
    spectrum: Spectrum | None,
    resume: Solution | None,
) -> None:
    """Refuse arguments that the method has no use for."""
    _check_level(method, level, spectrum)
    if backend is not None and resume is not None:
        raise ParameterError("backend", "must be None where a search is resumed")
    if backend is not None and not method.ends_in_search:
        raise ParameterError(
            "backend",
            "is for methods that end in a search",
            given=f"{type(method).__name__} does not",
        )
    if resume is not None:
        _check_resume(method, resume)


def _check_level(method: Method, level: int | None, known: Spectrum | None) -> None:
    if known is not None:
        check.instance("spectrum", known, Spectrum)
    given = [n for n, v in (("level", level), ("spectrum", known)) if v is not None]
    if given and not method.uses_level:
        raise ParameterError(
            given[0],
            "is for methods that work at one level of the hierarchy",
            given=f"{type(method).__name__} works on the problem as it is",
        )


def _check_resume(method: Method, solution: Solution) -> None:
    check.instance("resume", solution, Solution)
    if not isinstance(method, Exact):
        raise ParameterError("resume", 'is for method "exact"')
    if solution.certificate is None:
        raise ParameterError(
            "resume",
            "must be a solution with a certificate",
            remedy=Phrase("raise {}", Setting("proof_memory")),
        )
