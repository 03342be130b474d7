"""The methods of ``solve``, one file each, and their registry."""

from cardqp.methods.registry import METHODS, Exact, Method, MethodName

__all__ = ["METHODS", "Exact", "Method", "MethodName"]
