"""Problems from applications, as sparse quadratic programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cardqp.models.binary import BinaryQP as BinaryQP
    from cardqp.models.binary import BinarySolution as BinarySolution
    from cardqp.models.control import ControlStep as ControlStep
    from cardqp.models.control import SparseControl as SparseControl

_HOME = {
    "BinaryQP": "cardqp.models.binary",
    "BinarySolution": "cardqp.models.binary",
    "ControlStep": "cardqp.models.control",
    "SparseControl": "cardqp.models.control",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(
            f"module 'cardqp.models' has no attribute {name!r}"
        ) from None
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
