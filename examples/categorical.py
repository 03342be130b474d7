"""Categories whose dummies are chosen as one.

Run ``python examples/categorical.py``; it needs ``cardqp[sklearn,data]``.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from cardqp import SparseRidge


def flats(n_samples: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Rents of flats: the quarter and the area matter, and a few other things."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "quarter": rng.choice(["old town", "harbour", "hill", "west"], n_samples),
            "heating": rng.choice(["gas", "oil", "district"], n_samples),
            "area": rng.uniform(25, 140, n_samples),
            "floor": rng.integers(0, 6, n_samples),
            "year": rng.integers(1900, 2020, n_samples),
        }
    )
    frame["rooms"] = np.round(frame["area"] / 28 + rng.normal(0, 0.4, n_samples))
    location = {"old town": 350.0, "harbour": 500.0, "hill": 150.0, "west": 0.0}
    rent = 9.0 * frame["area"] + frame["quarter"].map(location) + 12.0 * frame["floor"]
    return frame, rent + rng.normal(0, 60, n_samples)


def main(argv: Sequence[str] | None = None) -> None:
    """Encode, choose, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--features", type=int, default=3)
    options = parser.parse_args(argv)
    frame, rent = flats(options.rows, seed=0)

    categories = ["quarter", "heating"]
    encoder = ColumnTransformer(
        [("dummies", OneHotEncoder(sparse_output=False), categories)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    table = encoder.fit_transform(frame)
    # Each dummy `quarter_hill` belongs to its category: all are chosen, or none.
    blocks = {
        name: category
        for category in categories
        for name in table.columns
        if name.startswith(f"{category}_")
    }
    model = SparseRidge(options.features, blocks=blocks, standardize=True, eta=100.0)
    model.fit(table, rent)
    print(f"{model.status_}, gap {model.gap_:.1e}")
    print(model.summary())


if __name__ == "__main__":
    main()
