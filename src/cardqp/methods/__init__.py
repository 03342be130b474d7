"""The methods of ``solve``, one module each, and their registry.

A new method is a module here with a frozen dataclass that implements
:class:`cardqp.methods.registry.Method`, and a line in ``registry.py``.
"""

from cardqp.methods.registry import METHODS, Method

__all__ = ["METHODS", "Method"]
