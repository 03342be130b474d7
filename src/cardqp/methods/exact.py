"""The default method: branch and bound on the problem as it is."""

from dataclasses import dataclass
from typing import ClassVar

from cardqp.methods.context import SolveContext


@dataclass(frozen=True, slots=True)
class Exact:
    """Branch and bound on the whole problem, without stages before it."""

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = True

    def run_stages(self, context: SolveContext) -> bool:  # noqa: ARG002
        """Return False: there are no stages before the search."""
        return False
