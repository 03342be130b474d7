"""Information criteria: what another feature must gain to be worth it."""

import math
from typing import Literal, get_args

import numpy as np

from cardqp.problem import validation as check

CriterionName = Literal["aic", "bic", "ebic"]
PERFECT = 1e-12
CRITERIA: tuple[str, ...] = get_args(CriterionName)


def criterion(
    name: CriterionName,
    mean_square: float,
    *,
    n_samples: float,
    n_coefs: int,
    n_chosen: int,
    n_units: int,
    gamma: float = 1.0,
) -> float:
    r"""An information criterion of a least-squares fit; the smaller the better.

    .. math::
        N \log(\text{mean square}) + p\, k, \qquad
        p = 2 \text{ (AIC)},\; \log N \text{ (BIC)}

    and for EBIC :math:`2\gamma\log\binom{n}{m}` more, for :math:`m` chosen of
    :math:`n`.

    Parameters
    ----------
    name : {"aic", "bic", "ebic"}
        Which one.
    mean_square : float
        Mean squared residual of the fit, as a share of that of no features: less than
        1e-12 counts as that, for it is rounding.
    n_samples : float
        Number of rows, or the sum of their weights.
    n_coefs : int
        Coefficients that were fitted.
    n_chosen, n_units : int
        How many features, or blocks, were chosen, of how many.
    gamma : float
        Weight of the last term of EBIC.

    Notes
    -----
    EBIC is due to Chen and Chen (Biometrika 2008).

    Examples
    --------
    >>> sizes = dict(n_samples=100, n_coefs=2, n_chosen=2, n_units=50)
    >>> [round(criterion(name, 1.0, **sizes), 2) for name in ("bic", "ebic")]
    [9.21, 23.43]
    """
    check.one_of("criterion", name, CRITERIA)
    fit = n_samples * float(np.log(max(mean_square, PERFECT)))
    if name == "aic":
        return fit + 2.0 * n_coefs
    value = fit + float(np.log(n_samples)) * n_coefs
    if name == "ebic":
        value += 2.0 * gamma * math.log(math.comb(n_units, n_chosen))
    return value
