"""An independent checker of cardqp's certificates: see checker/README.md."""

from cardqp_check.check import Verdict, check

__all__ = ["Verdict", "check"]
