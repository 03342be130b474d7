"""The default method: branch and bound on the problem as it is."""

from dataclasses import dataclass
from typing import ClassVar

from cardqp._keywords import did_you_mean
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.methods.context import SolveContext
from cardqp.problem import validation as check


@did_you_mean
@dataclass(frozen=True, slots=True)
class Exact:
    """Search the whole problem until the gap is closed.

    Parameters
    ----------
    settings : SearchSettings
        Tuning of the search, in memory or on streamed data.
    """

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = True

    settings: SearchSettings = DEFAULT

    def __post_init__(self) -> None:
        check.instance("settings", self.settings, SearchSettings)

    def run_stages(self, context: SolveContext) -> bool:  # noqa: ARG002 - not used
        """Return False: there are no stages before the search."""
        return False
