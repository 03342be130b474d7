"""The methods of ``solve``, one file each, their registry, and settings of the search.

A new method is a file here with a frozen dataclass that has what
:class:`cardqp.methods.registry.Method` asks for, and a line in ``registry.py``.
"""

from cardqp.branch_and_bound.settings import RootSettings, SearchSettings
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.methods.registry import METHODS, Method
from cardqp.relaxation.settings import RelaxationSettings
from cardqp.splitting.settings import (
    AscentSettings,
    BarrierSettings,
    DiagonalSettings,
    SplittingSettings,
    SupergradientSettings,
)

__all__ = [
    "METHODS",
    "AscentSettings",
    "BarrierSettings",
    "DiagonalSettings",
    "HeuristicSettings",
    "Method",
    "RelaxationSettings",
    "RootSettings",
    "SearchSettings",
    "SplittingSettings",
    "SupergradientSettings",
]
