"""Classical standard errors of least-squares coefficients."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import ProblemError
from cardqp.gram import Moments

AS_IF_GIVEN = (
    "Standard errors take the features for given: they ignore that the same rows chose "
    "them, so that p-values are too small and intervals too narrow. "
    "`bootstrap` and `split_inference` of `cardqp.BestSubset` repeat the choice, or "
    "keep rows apart from it."
)
ON_OTHER_ROWS = (
    "Features were chosen by other rows than those behind these standard errors, which "
    "are right if rows are independent and the model holds."
)


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """Coefficients with standard errors; print it, or make a DataFrame of it.

    Attributes
    ----------
    features : tuple of str
        The intercept, if there is one, and the chosen features.
    coef, standard_error, t, p_value, lower, upper : arrays
        Coefficients, their classical standard errors, t statistics, two-sided p-values
        and confidence intervals.
    level : float
        Of the intervals.
    degrees : float
        Degrees of freedom, rows less coefficients.
    note : str
        What the numbers do not account for.
    """

    features: tuple[str, ...]
    coef: FloatArray
    standard_error: FloatArray
    t: FloatArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    degrees: float
    note: str

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, one row per coefficient."""
        names = ("coef", "standard_error", "t", "p_value", "lower", "upper")
        columns = {name: getattr(self, name).tolist() for name in names}
        return {"feature": list(self.features), **columns}

    def __str__(self) -> str:
        width = max(map(len, ("feature", *self.features)))
        percent = f"{100 * self.level:g} %"
        lines = [
            f"{'feature':<{width}}         coef   std. error        t   p-value"
            f"   {percent} interval"
        ]
        lines += [
            f"{name:<{width}} {coef:12.5g} {error:12.5g} {t:8.2f} {p:9.2g}   "
            f"{low:.5g} to {high:.5g}"
            for name, coef, error, t, p, low, high in zip(
                *self.to_dict().values(), strict=True
            )
        ]
        return "\n".join([*lines, self.note])


def classical(
    rows: Moments,
    support: IntArray,
    coef: FloatArray,
    names: tuple[str, ...],
    *,
    level: float = 0.95,
    note: str = AS_IF_GIVEN,
) -> Inference:
    r"""Standard errors of a least-squares fit, as textbooks have them.

    With :math:`\hat\sigma^2 = \mathrm{RSS} / (N - p)`, the covariance of coefficients
    is :math:`\hat\sigma^2 (X^\top X)^{-1}`.

    Parameters
    ----------
    rows : Moments
        The rows; weights count as repeated rows.
    support : int array
        The features.
    coef : (n,) array
        The coefficients of all features.
    names : tuple of str
        Names of the chosen features.
    level : float
        Of confidence intervals.
    note : str
        What the numbers do not account for.

    Raises
    ------
    ProblemError
        When there are no more rows than coefficients.
    """
    N, is_centred = rows.weight, rows.is_centred
    degrees = N - len(support) - is_centred
    if not degrees > 0:
        raise ProblemError(
            None,
            "standard errors need more rows than coefficients",
            given=f"there are {N:g} rows and {len(support) + is_centred} coefficients",
        )
    scale = np.sqrt(rows.variance[support])
    scaled = rows.block(support) / np.multiply.outer(scale, scale)
    inverse = np.linalg.pinv(scaled, hermitian=True) / np.multiply.outer(scale, scale)
    variance = N * rows.mean_square(coef) / degrees
    values, spread = coef[support], np.diagonal(inverse)
    if is_centred:
        mean = rows.mean[support]
        values = np.insert(values, 0, rows.target_mean - float(mean @ values))
        spread = np.insert(spread, 0, 1.0 + float(mean @ inverse @ mean))
        names = ("intercept", *names)
    error = np.sqrt(variance * spread / N)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = values / error
    half = float(scipy.stats.t.ppf(0.5 + 0.5 * level, degrees)) * error
    p_value = 2.0 * scipy.stats.t.sf(np.abs(t), degrees)
    return Inference(
        names,
        values,
        error,
        t,
        p_value,
        values - half,
        values + half,
        level,
        math.floor(degrees) if float(degrees).is_integer() else float(degrees),
        note,
    )
