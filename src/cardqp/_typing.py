"""Array types used throughout."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
Float: TypeAlias = float | FloatArray
"""One number, or many at once."""

ArrayLike: TypeAlias = Any
"""What users may pass: NumPy, pandas or SciPy sparse objects, or nested lists."""
