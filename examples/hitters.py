"""Best subset selection on the Hitters data, as chapter 6 of ISLP has it.

``python -m examples.hitters FOLDER`` prints the tables and draws the pictures of
``docs/subsets/hitters.md``.  The data come with the package ``ISLP`` (James, Witten,
Hastie, Tibshirani, Taylor: An Introduction to Statistical Learning, with Applications
in Python); its CSV file is read, nothing else of it is needed.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cardqp


def load() -> tuple[Any, Any]:
    """Features and salaries of the players whose salary is known."""
    import pandas as pd

    package = find_spec("ISLP")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The data come with ISLP: pip install --no-deps ISLP")
    file = Path(package.submodule_search_locations[0], "data", "Hitters.csv")
    rows = pd.read_csv(file).dropna()
    return rows.drop(columns="Salary"), rows["Salary"]


def numbers(X: Any) -> Any:
    """The features as numbers, with one column of zeros and ones for each category."""
    import pandas as pd

    return pd.get_dummies(X, drop_first=True, dtype=float)


def main() -> None:
    """Print what the page says, and draw its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write the pictures")
    folder = parser.parse_args().folder
    X, y = load()

    found = cardqp.all_subsets(X, y, max_size=19, n_best=1)
    print(found.table[["size", "features", "rss", "adjusted_r2", "cp", "bic"]])
    for criterion in ("adjusted_r2", "cp", "bic"):
        print(f"{criterion}: {found.best(criterion).size} features")
    found.plot(folder / "hitters.png")
    cardqp.all_subsets(X, y, max_size=19).plot_criterion(folder / "hitters-bic.png")

    Z = numbers(X)
    model = cardqp.BestSubset(19, criterion="cv", cv=10).fit(Z, y)
    print(f"cross-validation: {model.n_nonzero_coefs_} features")
    model = cardqp.BestSubset(19).fit(Z, y)
    print(model.inference())
    print(model.split_inference(Z, y, random_state=0))
    print(model.bootstrap(Z, y, n_resamples=200, random_state=0))


if __name__ == "__main__":
    main()
