"""The methods of ``solve``, one file each, and their registry.

A new method is a file here with a frozen dataclass that has what
:class:`cardqp.methods.registry.Method` asks for, and a line in ``registry.py``.
"""

from cardqp.methods.registry import METHODS, Method

__all__ = ["METHODS", "Method"]
