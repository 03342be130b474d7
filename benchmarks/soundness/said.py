"""What a method says, and what is found to be wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Said:
    """What a method says, and what checkers say about that.

    Attributes
    ----------
    proved : float
        The bound that the replay of the certificate gives.
    complaints : tuple of str
        Of ``verify``, at once and after saving and loading.
    checked : dict
        Bounds that checkers compute from the files, by checker.
    disputes : tuple of str
        What the independent checker complains about.
    errors : tuple of str
        Exceptions out of checkers.
    features : tuple of str
        Parts of the certificate.
    error : str
        An exception instead of an answer.
    refusal : str
        Why a problem without a ridge is declined.
    """

    method: str
    status: str = ""
    x: np.ndarray | None = None
    objective: float = np.inf
    lower_bound: float = -np.inf
    gap: float = np.inf
    asked: float = 1e-4
    proved: float = -np.inf
    complaints: tuple[str, ...] = ()
    error: str = ""
    refusal: str = ""
    is_late: bool = False
    is_stopped: bool = False
    warnings: tuple[str, ...] = ()
    checked: Mapping[str, float] = field(default_factory=dict)
    disputes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Something that is not so."""

    what: str
    method: str
    detail: str
