"""Problems by number: drafts in units of their own, made in every way there is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

import cardqp
from benchmarks.soundness.drafts import Draft
from benchmarks.soundness.kinds import KINDS, UNITS
from benchmarks.soundness.tuning import draw_options
from benchmarks.soundness.wide import WideDraft
from cardqp.methods.exact import Exact


@dataclass(frozen=True)
class Case:
    """One problem, by its number.

    Attributes
    ----------
    tuning : str
        The name of the settings of the exact search.
    method : Exact
        The exact search.
    limits : dict
        Arguments of ``solve`` that stop it before it is over; mostly none.
    """

    number: int
    kind: str
    units: str
    problem: cardqp.SparseQP
    tuning: str = "as it is"
    method: Exact = field(default_factory=Exact)
    limits: dict[str, Any] = field(default_factory=dict)


def make_case(seed: int, number: int) -> Case:
    """The problem with a number; it depends on the seed and the number alone."""
    kind = list(KINDS)[number % len(KINDS)]
    units = UNITS[number // len(KINDS) % len(UNITS)]
    make = WideDraft if "wide" in KINDS[kind] else Draft
    draft = make(np.random.default_rng([seed, number]), KINDS[kind])
    change_units(draft, units)
    tuning, settings, limits = draw_options(draft.rng, KINDS[kind])
    problem = FORMS[draft.form](draft)
    return Case(number, kind, units, problem, tuning, Exact(settings), limits)


def change_units(draft: Draft, units: str) -> None:
    """Put columns, rows, both or neither in units of their own."""
    is_mixed = "mixed" in draft.features
    has_columns = is_mixed or "columns" in units
    column = _units(draft, draft.n) if has_columns else np.ones(draft.n)
    draft.F, draft.c = draft.F / column, draft.c / column
    if has_columns and not is_mixed and draft.rng.random() < 0.5:
        draft.eta = draft.eta * column**2
    settings = draft.settings
    for name in {"lower", "upper"} & set(settings):
        settings[name] = settings[name] * column
    for matrix, sides in (("A", {"b", "b_lower"}), ("A_eq", {"b_eq"})):
        if matrix not in settings:
            continue
        A = settings[matrix] / column
        row = _units(draft, len(A)) if "rows" in units else np.ones(len(A))
        settings[matrix] = row[:, None] * A
        for side in sides & set(settings):
            settings[side] = row * settings[side]


def _units(draft: Draft, count: int) -> np.ndarray:
    """Units between 1e-8 and 1e8; powers of two where rounding would matter.

    With mixed units, which the ridge does not follow, less of that is enough.
    """
    reach = 4 if "mixed" in draft.features else 8
    logs = draft.rng.uniform(-reach, reach, count)
    if draft.is_whole or draft.has_binary_units or draft.rng.random() < 0.3:
        return 2.0 ** np.round(logs * np.log2(10.0))
    return 10.0**logs


def _of_matrix(draft: Draft) -> cardqp.SparseQP:
    Q = draft.F.T @ draft.F
    return cardqp.SparseQP((Q + Q.T) / 2, draft.c, eta=_eta(draft), **draft.settings)


def _of_factor(draft: Draft) -> cardqp.SparseQP:
    make = cardqp.SparseQP.from_factor
    return make(draft.F, draft.c, eta=_eta(draft), **draft.settings)


def _of_factor_model(draft: Draft) -> cardqp.SparseQP:
    make = cardqp.SparseQP.from_factor_model
    return make(draft.F, 1.0 / draft.eta, draft.c, **draft.settings)


def _of_regression(draft: Draft) -> cardqp.SparseQP:
    del draft.settings["constant"]
    make = cardqp.SparseQP.from_regression
    return make(draft.F, draft.y, eta=_eta(draft), **draft.settings)


def _of_data(draft: Draft) -> cardqp.SparseQP:
    del draft.settings["constant"]
    stored = (np.asarray, np.float32, scipy.sparse.csc_array)
    X = stored[draft.rng.choice(3, p=[0.6, 0.2, 0.2])](draft.F)
    make = cardqp.SparseQP.from_data
    return make(X, draft.y, eta=_eta(draft), **draft.settings)


FORMS: dict[str, Callable[[Draft], cardqp.SparseQP]] = {
    "matrix": _of_matrix,
    "factor": _of_factor,
    "factor model": _of_factor_model,
    "regression": _of_regression,
    "data": _of_data,
}
"""Ways to make a problem."""


def _eta(draft: Draft) -> Any:
    """One number if all are the same, None if there is no ridge."""
    if np.isinf(draft.eta).all():
        return None
    return draft.eta if (draft.eta != draft.eta[0]).any() else float(draft.eta[0])
