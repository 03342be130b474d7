"""What the defaults predict on other rows, beside the lasso, and what they cost.

``python -m benchmarks.prediction`` splits real tables at random, 70 % to fit and 30 %
to judge, and prints the median R2 on the rows that judge, the median number of features
and the mean CPU seconds of several estimators.  A first table has the rules for the
ridge that were tried for ten features, with supports by heuristics: fixed ones, a third
of the rows for each feature, and what ``eta="auto"`` does.

``before`` are settings of the present code that do what the defaults did before ridges
were chosen by the data and folds were left without proofs: a ridge of a twentieth of
each feature's variance, and proofs in every fold.  As these take long, the certified
cross-validation is run on the first split only (``--before``), for its CPU seconds.

Tables are those of the folder that ``CARDQP_DATA`` names, of scikit-learn and, if it is
installed, of ISLP.  abess takes part if it is installed.  ``--publish FILE`` writes the
tables between the marks of a page.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from cardqp import BestSubset, SparseRidge, SparseRidgeCV
from cardqp._iterate import Watch
from cardqp._typing import FloatArray
from cardqp.gram import moments, moments_of_parts
from cardqp.heuristics.support_path import point_path
from cardqp.regression.automatic_ridge import (
    automatic_eta,
    ridge_folds,
    rule_of_thumb,
)
from cardqp.regression.design_settings import read_design
from experiments.datasets import load_uci

Rows = tuple[FloatArray, FloatArray]
Record = dict[str, Any]

SIZE = 10
"""The number of features where it is not chosen."""

MOST_ROWS = 1500
"""The most rows to fit to."""

FIXED = (0.3, 1.0, 3.0, 10.0, 20.0, 30.0, 100.0, 1000.0)
"""Values of ``eta`` that are tried for all tables."""

BEGIN, END = "<!-- begin of what the command writes -->", "<!-- end of it -->"


class Source(NamedTuple):
    """A table, and what it is."""

    load: Callable[[], Rows]
    about: str


def uci(name: str, n_rows: int, *, has_log: bool = False) -> Rows:
    """Rows of a UCI table, drawn at random; columns that are constant are left out."""
    table = load_uci(name)
    rows = np.random.default_rng(0).permutation(len(table.y))[:n_rows]
    X, y = np.array(table.X[rows], dtype=float), np.array(table.y[rows], dtype=float)
    return X[:, np.ptp(X, axis=0) > 0], np.log1p(y) if has_log else y


def genes(file: str, target: str | int) -> Rows:
    """Expressions of genes, one of which, or another number, is to be predicted."""
    import pandas as pd

    frame = pd.read_csv(Path(os.environ["CARDQP_DATA"], file)).select_dtypes("number")
    name = frame.columns[target] if isinstance(target, int) else target
    return frame.drop(columns=name).to_numpy(float), frame[name].to_numpy(float)


def diabetes(degree: int) -> Rows:
    """The diabetes data, with products and squares if asked for."""
    X, y = load_diabetes(return_X_y=True)
    products = PolynomialFeatures(degree, include_bias=False)
    return products.fit_transform(X / X.std(axis=0)), y


def hitters() -> Rows:
    """Salaries of baseball players."""
    from examples.hitters import load, numbers

    X, y = load()
    return numbers(X).to_numpy(float), y.to_numpy(float)


TRIM32, RIBOFLAVIN = "eyedata_trim32.csv.gz", "riboflavin.csv.gz"

TABLES: dict[str, Source] = {
    "diabetes": Source(partial(diabetes, 1), "disease progression"),
    "diabetes, squared": Source(partial(diabetes, 2), "with products and squares"),
    "hitters": Source(hitters, "salaries"),
    "crime": Source(partial(uci, "crime", 1994), "violent crimes"),
    "crime, few rows": Source(partial(uci, "crime", 285), "the same from few rows"),
    "trim32": Source(partial(genes, TRIM32, "TRIM32"), "expression of a gene"),
    "probe 101": Source(partial(genes, TRIM32, 100), "another gene of these"),
    "superconductivity": Source(
        partial(uci, "superconductivity", 2143), "critical temperature"
    ),
    "superconductivity, few rows": Source(
        partial(uci, "superconductivity", 285), "the same from few rows"
    ),
    "uji": Source(partial(uci, "ujindoor", 2143), "longitude by signals of antennas"),
    "uji, few rows": Source(partial(uci, "ujindoor", 430), "the same from few rows"),
    "riboflavin": Source(partial(genes, RIBOFLAVIN, "y"), "production rate"),
    "riboflavin, gene": Source(partial(genes, RIBOFLAVIN, 101), "a gene by all others"),
    "online news": Source(
        partial(uci, "online-news", 2143, has_log=True), "logarithm of shares"
    ),
    "facebook": Source(
        partial(uci, "facebook", 2143, has_log=True), "logarithm of comments"
    ),
    "facebook, few rows": Source(
        partial(uci, "facebook", 285, has_log=True), "the same from few rows"
    ),
}
"""Those with few rows differ from the others in what a rule for the ridge must do."""


class AbessCV:
    """Best subsets of 1 to 20 features by abess, the size by cross-validation."""

    def fit(self, X: FloatArray, y: FloatArray) -> "AbessCV":
        """Fit."""
        from abess import LinearRegression

        sizes = range(1, min(20, X.shape[1], len(y) // 2) + 1)
        # It refuses constant columns.
        self._varied = np.flatnonzero(np.ptp(X, axis=0) > 0)
        chosen = X[:, self._varied]
        self._model = LinearRegression(support_size=sizes, cv=5).fit(chosen, y)
        self.coef_ = self._model.coef_
        return self

    def score(self, X: FloatArray, y: FloatArray) -> float:
        """R2."""
        left = y - self._model.predict(X[:, self._varied])
        return float(1.0 - np.mean(left**2) / np.var(y))


def estimators(limit: float) -> dict[str, Callable[[], Any]]:
    """Those that are compared, by name; searches that are not done end at a limit."""
    old: dict[str, Any] = {"eta": 20.0, "standardize": True, "time_limit": limit}
    found: dict[str, Callable[[], Any]] = {
        "SparseRidge(10), before": lambda: SparseRidge(SIZE, **old),
        "SparseRidge(10)": lambda: SparseRidge(SIZE, time_limit=limit),
        "CV, 1 to 20, before": lambda: SparseRidgeCV(range(1, 21), **old),
        "SparseRidgeCV(range(1, 21))": lambda: SparseRidgeCV(
            range(1, 21), time_limit=limit
        ),
        "SparseRidgeCV()": lambda: SparseRidgeCV(time_limit=limit),
        "BestSubset(20)": lambda: BestSubset(20, time_limit=limit),
        "LassoCV": lambda: make_pipeline(StandardScaler(), LassoCV()),
    }
    if find_spec("abess") is not None:
        found["abess, 1 to 20"] = AbessCV
    return found


def splits(name: str, count: int) -> Iterator[tuple[Rows, Rows]]:
    """Rows to fit to, and rows to judge by."""
    X, y = TABLES[name].load()
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(y))
        n_test = round(0.3 * len(y))
        test, train = order[:n_test], order[n_test:][:MOST_ROWS]
        yield (X[train], y[train]), (X[test], y[test])


def measure(make: Callable[[], Any], train: Rows, test: Rows) -> Record:
    """One fit."""
    model = make()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(*train)
        except Exception as err:  # noqa: BLE001 - it is told in the table
            return {"error": f"{type(err).__name__}: {err}"}
    seconds = time.process_time() - start
    last = model[-1] if hasattr(model, "steps") else model
    solution = getattr(last, "solution_", None)
    return {
        "r2": float(model.score(*test)),
        "cpu": seconds,
        "features": int(np.count_nonzero(last.coef_)),
        "eta": float(getattr(last, "eta_", np.nan)),
        "gap": float(getattr(last, "gap_", np.nan)),
        "proof": np.nan if solution is None else float(solution.seconds),
    }


def rules(train: Rows, test: Rows) -> dict[str, float]:
    """R2 of ten features by each rule for the ridge, and the ridge of the last two."""
    (X, y), n = train, train[0].shape[1]
    design = read_design(n, None, always_include=None, blocks=None)
    rows, size = moments(X, y), min(SIZE, n)
    scaled = design.scaled(rows, 1.0, size)

    def r2(eta: float) -> float:
        ridged = scaled.with_eta(eta)
        points = point_path(ridged.problem, size, smallest=size)
        coef = ridged.coefficients(points[max(points)])
        left = test[1] - test[0] @ coef - ridged.intercept(coef)
        return float(1.0 - np.mean(left**2) / np.var(test[1]))

    parts = moments_of_parts(
        X, y, None, [rows for rows in ridge_folds(X, y) if len(rows)]
    )
    chosen = automatic_eta(parts, design, (size,), Watch())
    third = rule_of_thumb(len(y), size)
    found = {f"{eta:g}": r2(eta) for eta in FIXED} | {"none": r2(np.inf)}
    return found | {"N/3s": r2(third), "auto": r2(chosen), "eta": chosen}


def run(name: str, options: argparse.Namespace) -> Iterator[Record]:
    """Records of one table, as they are measured."""
    for number, (train, test) in enumerate(splits(name, options.splits)):
        shape = {"n": train[0].shape[1], "N": len(train[1])}
        common = {"table": name, "split": number, **shape}
        if options.only is None or "rules" in options.only:
            yield {**common, "estimator": "rules", **rules(train, test)}
        for title, make in estimators(options.time_limit).items():
            if options.only is not None and title not in options.only:
                continue
            yield {**common, "estimator": title, **measure(make, train, test)}
        if number < options.before:
            proved = SparseRidgeCV(
                range(1, 21),
                eta=20.0,
                standardize=True,
                prove="all",
                time_limit=options.before_limit,
            )
            found = measure(lambda model=proved: model, train, test)
            yield {**common, "estimator": "all folds proved", **found}


def medians(records: Sequence[Record], title: str, key: str) -> float:
    """The median of a number over the splits of one table."""
    values = [r[key] for r in records if r["estimator"] == title and key in r]
    return float(np.median(values)) if values else np.nan


def means(records: Sequence[Record], title: str, key: str) -> float:
    """The mean of a number over the splits of one table."""
    values = [r[key] for r in records if r["estimator"] == title and key in r]
    return float(np.mean(values)) if values else np.nan


def shown_as(value: float, digits: int) -> str:
    """A number, or a dash where no fit came to an answer."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def page(records: Sequence[Record]) -> Iterator[str]:
    """The tables as Markdown."""
    tables = {
        name: [r for r in records if r["table"] == name]
        for name in dict.fromkeys(r["table"] for r in records)
    }
    yield from _rules_table(tables)
    titles = [t for t in dict.fromkeys(r["estimator"] for r in records) if t != "rules"]
    shown = [t for t in titles if t != "all folds proved"]
    for text, key, digits, middle in (
        ("Median R2 on rows that were left out", "r2", 3, medians),
        ("Median number of features", "features", 0, medians),
        ("Mean CPU seconds, proof included", "cpu", 2, means),
    ):
        columns = titles if key == "cpu" else shown
        yield from ("", f"### {text}", "")
        yield f"| table | {' | '.join(columns)} |"
        yield f"|---|{'---|' * len(columns)}"
        for name, some in tables.items():
            cells = (shown_as(middle(some, title, key), digits) for title in columns)
            yield f"| {name} | {' | '.join(cells)} |"
    yield from _costs(tables)


def _rules_table(tables: dict[str, list[Record]]) -> Iterator[str]:
    """Median R2 of ten features by rule, and the mean regret of each."""
    names = [*(f"{eta:g}" for eta in FIXED), "none", "N/3s", "auto"]
    values = {
        table: [medians(some, "rules", name) for name in names]
        for table, some in tables.items()
    }
    yield from ("### Ten features: median R2 by rule for the ridge", "")
    titles = ("rows x features", "splits", *names, "median eta of auto")
    yield f"| table | {' | '.join(titles)} |"
    yield f"|---|{'---|' * len(titles)}"
    for table, row in values.items():
        some = tables[table][0]
        cells = " | ".join(f"{value:.3f}" for value in row)
        eta = medians(tables[table], "rules", "eta")
        count = sum(record["estimator"] == "rules" for record in tables[table])
        shape = f"{some['N']} x {some['n']} | {count}"
        yield f"| {table} | {shape} | {cells} | {eta:g} |"
    array = np.array(list(values.values()))
    lost = (array.max(axis=1, keepdims=True) - array).mean(axis=0)
    cells = " | ".join(f"{value:.3f}" for value in lost)
    yield f"| *mean loss to the best of the row* | | | {cells} | |"


def _costs(tables: dict[str, list[Record]]) -> Iterator[str]:
    """CPU seconds over those of LassoCV, and how many models are proved."""
    yield from ("", "### `SparseRidgeCV()` beside `LassoCV`", "")
    yield "| table | CPU time over LassoCV's | median gap | R2 less LassoCV's |"
    yield "|---|---|---|---|"
    for name, some in tables.items():
        title = "SparseRidgeCV()"
        ratio = means(some, title, "cpu") / means(some, "LassoCV", "cpu")
        gap = medians(some, title, "gap")
        ahead = medians(some, title, "r2") - medians(some, "LassoCV", "r2")
        yield f"| {name} | {ratio:.1f} | {gap:.1e} | {ahead:+.3f} |"


def publish(text: str, path: Path) -> None:
    """Write the tables between the marks of a page."""
    whole = path.read_text()
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def parse_arguments() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", help="estimators by name, and rules")
    parser.add_argument("--time-limit", type=float, default=10.0, help="of each fit")
    parser.add_argument(
        "--before", type=int, default=1, help="splits, all folds proved"
    )
    parser.add_argument("--before-limit", type=float, default=100.0, help="of these")
    parser.add_argument("--records", type=Path, help="where to add lines of JSON")
    parser.add_argument("--from-records", type=Path, nargs="*", help="do not measure")
    parser.add_argument("--publish", type=Path, help="a page with marks")
    return parser.parse_args()


def main() -> None:
    """Measure, print and publish."""
    options = parse_arguments()
    records: list[Record] = []
    for file in options.from_records or ():
        records += [json.loads(line) for line in file.read_text().splitlines()]
    if options.from_records is None:
        SparseRidgeCV().fit(*diabetes(1))  # compiles
        for name in options.tables:
            for record in run(name, options):
                records.append(record)
                if options.records is not None:
                    with options.records.open("a") as stream:
                        stream.write(json.dumps(record) + "\n")
    place = list(TABLES)
    records.sort(key=lambda record: place.index(record["table"]))
    text = "\n".join(page(records))
    print(text)
    if options.publish is not None:
        publish(text, options.publish)


if __name__ == "__main__":
    main()
