"""Models that are solved as sparse quadratic programs.

The names are loaded on first use; only :class:`SparseMeanVariance` needs scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cardqp.models.binary import BinaryQP as BinaryQP
    from cardqp.models.binary import BinarySolution as BinarySolution
    from cardqp.models.control import ControlStep as ControlStep
    from cardqp.models.control import SparseControl as SparseControl
    from cardqp.models.efficient_frontier import Frontier as Frontier
    from cardqp.models.efficient_frontier import frontier as frontier
    from cardqp.models.estimator import SparseMeanVariance as SparseMeanVariance
    from cardqp.models.portfolio import Portfolio as Portfolio
    from cardqp.models.portfolio import PortfolioSolution as PortfolioSolution
    from cardqp.models.tracking import IndexTracking as IndexTracking
    from cardqp.models.tracking import TrackingSolution as TrackingSolution

_PUBLIC = {
    "binary": "BinaryQP BinarySolution",
    "control": "ControlStep SparseControl",
    "efficient_frontier": "Frontier frontier",
    "estimator": "SparseMeanVariance",
    "portfolio": "Portfolio PortfolioSolution",
    "tracking": "IndexTracking TrackingSolution",
}
"""Public names by the module that has them."""

_HOME = {name: home for home, names in _PUBLIC.items() for name in names.split()}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(
            f"module 'cardqp.models' has no attribute {name!r}"
        ) from None
    value = getattr(import_module(f"cardqp.models.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
