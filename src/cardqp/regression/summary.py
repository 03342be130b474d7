"""Summaries of models: coefficients, the worth of each feature, R2."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.gram import Moments, mean_squared_error
from cardqp.problem import lift
from cardqp.regression.design import Design


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A model in numbers; print it or make a DataFrame of :meth:`to_dict`.

    Attributes
    ----------
    features : tuple of str
        Names of the chosen features.
    coef, coef_refit : arrays
        Their coefficients, and those of least squares without the ridge.
    intercept, intercept_refit : float
        The intercepts that belong to them.
    worth : array
        By how much R2 falls if a feature, or its block, is left out and the others are
        fitted anew without the ridge.
    r2, r2_refit : float
        R2 on the rows of the fit.
    r2_test, r2_refit_test : float or None
        R2 on other rows, if there are any.
    """

    features: tuple[str, ...]
    coef: FloatArray
    coef_refit: FloatArray
    intercept: float
    intercept_refit: float
    worth: FloatArray
    r2: float
    r2_refit: float
    r2_test: float | None = None
    r2_refit_test: float | None = None

    def on(self, rows: Moments, chosen: IntArray) -> "Summary":
        """A copy with R2 on other rows, whose moments are about their means."""
        scores = []
        for part, intercept in (
            (self.coef, self.intercept),
            (self.coef_refit, self.intercept_refit),
        ):
            coef = lift(part, chosen, len(rows.mean))
            scores.append(r_squared(rows, coef, intercept, rows.power))
        return replace(self, r2_test=scores[0], r2_refit_test=scores[1])

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, one row per feature."""
        return {
            "feature": list(self.features),
            "coef": self.coef.tolist(),
            "coef_refit": self.coef_refit.tolist(),
            "worth": self.worth.tolist(),
        }

    def __str__(self) -> str:
        width = max([len("intercept"), *map(len, self.features)])
        lines = [f"{'feature':<{width}}  coefficient  without ridge  worth in R2"]
        lines += [
            f"{name:<{width}} {coef:12.5g} {refit:14.5g} {worth:12.4f}"
            for name, coef, refit, worth in zip(
                self.features, self.coef, self.coef_refit, self.worth, strict=True
            )
        ]
        intercepts = f"{self.intercept:12.5g} {self.intercept_refit:14.5g}"
        lines.append(f"{'intercept':<{width}} {intercepts}")
        lines.append(f"{'R2':<{width}} {self.r2:12.4f} {self.r2_refit:14.4f}")
        if self.r2_test is not None and self.r2_refit_test is not None:
            lines.append(
                f"{'R2, test':<{width}} {self.r2_test:12.4f} {self.r2_refit_test:14.4f}"
            )
        return "\n".join(lines)


def summarise(
    design: Design,
    rows: Moments,
    coef: FloatArray,
    chosen: IntArray,
    features: Iterable[str],
    spread: float,
) -> Summary:
    """Numbers of a model, by names of its features, on the rows that it was fitted to.

    The spread is the variance of the target about its mean, which a model should
    explain.
    """
    refit = design.refitted(rows, chosen)
    intercept, offset = (
        rows.target_mean - float(rows.mean @ each) for each in (coef, refit)
    )
    others = [np.setdiff1d(chosen, design.unit_of(j)) for j in chosen]
    fewer = [design.refitted(rows, support) for support in others]
    errors = np.array([rows.mean_square(each) for each in fewer])
    spent = (errors - rows.mean_square(refit)) / (spread or 1.0)
    return Summary(
        features=tuple(features),
        coef=coef[chosen],
        coef_refit=refit[chosen],
        intercept=intercept,
        intercept_refit=offset,
        worth=np.maximum(spent, 0.0),
        r2=r_squared(rows, coef, intercept, spread),
        r2_refit=r_squared(rows, refit, offset, spread),
    )


def r_squared(
    rows: Moments, coef: FloatArray, intercept: float, spread: float
) -> float:
    """The share of a variance that a model explains."""
    error = mean_squared_error(rows, coef, intercept)
    return 1.0 - error / spread if spread > 0 else float(error == 0)
