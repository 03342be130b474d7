"""The methods of ``solve`` by name; a method is loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from cardqp.exceptions import ParameterError

if TYPE_CHECKING:
    from cardqp.methods.context import SolveContext

METHODS = {
    "exact": "cardqp.methods.exact.Exact",
    "best-response": "cardqp.methods.best_response.BestResponse",
    "dual-program": "cardqp.methods.dual_program.DualProgram",
    "safe-screening": "cardqp.methods.safe_screening.PerspectiveScreening",
    "warm-start": "cardqp.methods.warm_start.WarmStart",
    "beck-hallak": "cardqp.methods.beck_hallak.BeckHallak",
    "block-decomposition": "cardqp.methods.block_decomposition.BlockDecomposition",
}
"""The class of each method by name; its fields are settings with defaults."""


@runtime_checkable
class Method(Protocol):
    """The interface of a method of ``solve``.

    Attributes
    ----------
    uses_level : bool
        Whether it works at one level of the hierarchy and takes ``level`` and
        ``spectrum``.
    ends_in_search : bool
        Whether it ends in a search, in place of which another solver can be used.
    """

    uses_level: ClassVar[bool]
    ends_in_search: ClassVar[bool]

    def run_stages(self, context: "SolveContext") -> bool:
        """Run all stages that come before the last search of the whole problem.

        Feasible points and records of the stages go into the context.

        Returns
        -------
        bool
            Whether variables were left out that are not proved zero: what the stages
            found is then the answer, and the last search is for a bound only.
        """


def resolve(method: str | Method) -> Method:
    """Return a method: the given one, or the one with a name and default settings.

    Examples
    --------
    >>> resolve("best-response")
    BestResponse(max_iter=50, window=None)
    """
    if isinstance(method, str) and method in METHODS:
        module, _, name = METHODS[method].rpartition(".")
        made: Method = getattr(import_module(module), name)()
        return made
    if isinstance(method, Method) and not isinstance(method, type):
        return method
    raise ParameterError(
        "method",
        f"must be one of {', '.join(METHODS)}, or such a method with its settings",
        given=f"it is {method!r}",
    )
