"""Versions of the software that results were made with."""

import platform

import numpy as np
import scipy

from cardqp import __version__


def versions() -> dict[str, str]:
    """Versions of what numbers depend on."""
    return {
        "cardqp": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
