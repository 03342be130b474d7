"""The methods of ``solve``, one file each, their registry, and settings of the search.

A new method is a file here with a frozen dataclass that has what
:class:`cardqp.methods.registry.Method` asks for, and a line in ``registry.py``.
Settings are loaded on first use, so that the names of methods cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cardqp.methods.registry import METHODS, Method

if TYPE_CHECKING:
    from cardqp.branch_and_bound.settings import (
        ClusterSettings,
        DroppingSettings,
        RootSettings,
        SearchSettings,
    )
    from cardqp.branch_and_bound.streamed.settings import (
        CoarseningSettings,
        StreamedSettings,
    )
    from cardqp.heuristics.settings import HeuristicSettings
    from cardqp.relaxation.settings import RelaxationSettings
    from cardqp.splitting.settings import (
        AscentSettings,
        BarrierSettings,
        DiagonalSettings,
        FunctionSettings,
        JointSettings,
        SplittingSettings,
        SupergradientSettings,
        TrackingSettings,
    )

_HOMES = (
    "cardqp.branch_and_bound.settings",
    "cardqp.branch_and_bound.streamed.settings",
    "cardqp.heuristics.settings",
    "cardqp.relaxation.settings",
    "cardqp.splitting.settings",
)

__all__ = [
    "METHODS",
    "AscentSettings",
    "BarrierSettings",
    "ClusterSettings",
    "CoarseningSettings",
    "DiagonalSettings",
    "DroppingSettings",
    "FunctionSettings",
    "HeuristicSettings",
    "JointSettings",
    "Method",
    "RelaxationSettings",
    "RootSettings",
    "SearchSettings",
    "SplittingSettings",
    "StreamedSettings",
    "SupergradientSettings",
    "TrackingSettings",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            if (found := vars(import_module(home)).get(name)) is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
