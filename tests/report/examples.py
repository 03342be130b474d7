"""Reports to look at: friendly, hostile, not proved, without an answer."""

from dataclasses import replace
from functools import cache

import numpy as np

from cardqp import SparseQP, Trace, path, solve
from cardqp.report import (
    Alternative,
    Correlations,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
    Rival,
)

ATTACK = "<script>window.parent.hacked = true</script>"
HOSTILE = (
    ATTACK,
    "\"><img src=x onerror='window.parent.hacked = true'>",
    "'></title></style><i>",
    "$a_b$ \\frac",
    "_hidden & co",
    "名前 ψ",
    "a\x00b\ud800",
    "very long name " * 12,
    "w" * 120,
    "two\nlines",
)
"""Names that no page should trip over."""

NAMES = tuple(name for name in HOSTILE if name.isprintable() or "\n" in name)
"""Those of them that columns of tables can have."""


def features_of(solution, names):
    return tuple(
        Feature(names[j], solution.x[j], 1.1 * solution.x[j], 0.5, 2.0, 0.01)
        for j in solution.support
    )


@cache
def report_data(names=None):
    """A small regression with everything there is to tell."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 10))
    y = X @ np.array([2.0, -1.5, 1.0, 0.8, 0, 0, 0, 0, 0.5, 0])
    y += 0.5 * rng.standard_normal(60)
    names = names or tuple(f"feature {j}" for j in range(10))
    problem = SparseQP.from_regression(X, y, eta=10.0, sparsity=4, names=names)
    trace = Trace()
    solution = solve(problem, callback=trace)
    trace.close(solution)
    rest = int(np.setdiff1d(np.arange(10), solution.support)[0])
    return ReportData(
        title=f"Report on {names[0]}",
        source=f"{names[1]}.csv",
        target=f"target {names[2]}",
        command=f"cardqp regress '{names[0]}.csv' --features 4",
        date="1 January 2030",
        n_samples=60,
        n_features=10,
        solution=solution,
        features=features_of(solution, names),
        intercept=1.25,
        r2_in_sample=0.912,
        r2_out_of_sample=0.871,
        judged_by="5-fold cross-validation",
        eta=10.0,
        is_standardized=True,
        rivals=(
            Rival("all features, with a ridge", 10, 0.934, 0.852, "One of five."),
            Rival(f"another {names[6]}", 4, 0.9, None),
        ),
        correlations=Correlations(
            tuple(names[j] for j in solution.support),
            tuple(map(tuple, np.corrcoef(X[:, solution.support].T).tolist())),
        ),
        notes=(f"`{names[4]}` became 4 columns", "3 rows dropped"),
        path=path(problem, range(6)),
        cv=CVCurve((1, 2, 4), (3.0, 2.0, 1.5), (0.2, 0.1, 0.1), 4, "It is the least."),
        trace=trace,
        predictions=Predictions(tuple(y), tuple(X @ solution.x)),
        alternatives=(Alternative(2, 0.5, 0.012, (names[0],), (names[rest], "other")),),
        alternatives_note=f"One choice is nearly as good: {names[5]}.",
        versions={"cardqp": "1.0", "numpy": "2.0"},
    )


def bare(data):
    """The same without anything that can be left out."""
    return replace(
        data,
        r2_out_of_sample=None,
        notes=(),
        rivals=(),
        correlations=None,
        path=None,
        cv=None,
        trace=None,
        predictions=None,
        alternatives=(),
        alternatives_note="",
        versions={},
        features=tuple(replace(feature, worth=None) for feature in data.features),
    )
