"""The default method: branch and bound on the problem as it is."""

from dataclasses import dataclass
from typing import ClassVar

from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.methods.context import SolveContext


@dataclass(frozen=True, slots=True)
class Exact:
    """Search the whole problem until the gap is closed.

    Attributes
    ----------
    streamed : StreamedSettings
        Settings of the search where the data are streamed.
    """

    streamed: StreamedSettings = DEFAULT_SETTINGS
    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = True

    def run_stages(self, context: SolveContext) -> bool:  # noqa: ARG002
        """Nothing comes before the search."""
        return False
