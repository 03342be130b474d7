"""The result of a direct method: a point, and the trace of its iterations."""

from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.subproblems.support_qp import SupportFit


@dataclass(frozen=True, slots=True)
class DescentTrace:
    """The objectives and supports of a descent: the start first, then each iteration.

    Attributes
    ----------
    objectives : (T,) array
        The objective, constant included.
    supports : tuple of int arrays
        The support.
    """

    objectives: FloatArray
    supports: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True)
class Descent:
    """The result of a direct method.  Nothing about the optimum is proved.

    Attributes
    ----------
    x : (n,) array or None
        The best point; None if no feasible start was found.
    support : int array
        Its nonzeros.
    objective : float
        The objective at ``x``, constant included; infinite without a point.
    n_iter : int
        Iterations made.
    stop : Stop
        Why it ended.
    trace : DescentTrace
        Objectives and supports by iteration.
    """

    x: FloatArray | None
    support: IntArray
    objective: float
    n_iter: int
    stop: Stop
    trace: DescentTrace

    @classmethod
    def ended(
        cls,
        fit: SupportFit,
        objectives: list[float],
        supports: list[IntArray],
        stop: Stop,
    ) -> "Descent":
        """Build the result from the last fit and the histories of a run."""
        return cls(
            x=fit.x,
            support=np.flatnonzero(np.zeros(0) if fit.x is None else fit.x),
            objective=fit.objective,
            n_iter=len(objectives) - 1,
            stop=stop,
            trace=DescentTrace(np.array(objectives), tuple(supports)),
        )
