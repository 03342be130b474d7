"""Directions of a quasi-Newton method with limited memory.

It is meant for smooth functions, and does well on others, too, if steps need not be
nearly optimal along their direction (Lewis & Overton 2013).
"""

from collections import deque

import numpy as np

from cardqp._typing import FloatArray


class Memory:
    """The last steps of an ascent, and how its gradient fell along them.

    Parameters
    ----------
    size : int
        How many steps are kept.
    first_length : float
        The length of a step if there are none.
    """

    def __init__(self, size: int, first_length: float) -> None:
        self.first_length = first_length
        self.pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=size)

    def add(self, step: FloatArray, fall: FloatArray) -> None:
        """Keep a step, and by what the gradient fell, unless it rose along the step."""
        curvature = float(np.vdot(step, fall))
        sizes = float(np.linalg.norm(step) * np.linalg.norm(fall))
        if curvature > 1e-12 * sizes:
            self.pairs.append((step, fall, curvature))

    def direction(self, gradient: FloatArray) -> FloatArray:
        """The gradient times what is known of the inverse of the negative Hessian."""
        if not self.pairs:
            size = float(np.linalg.norm(gradient))
            return gradient * (self.first_length / max(size, 1e-300))
        result, shares = gradient.copy(), []
        for step, fall, curvature in reversed(self.pairs):
            shares.append(float(np.vdot(step, result)) / curvature)
            result -= shares[-1] * fall
        _, fall, curvature = self.pairs[-1]
        result *= curvature / float(np.vdot(fall, fall))
        for step, fall, curvature in self.pairs:
            share = shares.pop() - float(np.vdot(fall, result)) / curvature
            result += share * step
        return result
