"""A portfolio of few assets, and its certified efficient frontier.

Run ``python examples/portfolio.py frontier.png``; it needs ``cardqp[plot]``.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from cardqp.models import Portfolio, frontier


def random_market(n: int, factors: int, seed: int) -> dict[str, np.ndarray]:
    """A factor model whose expected returns reward the exposure to the factors."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(0.0, 0.08, (factors, n))
    loadings[0] = rng.uniform(0.05, 0.2, n)  # the market, which moves all assets
    reward = 0.02 + 0.3 * loadings[0] + 0.1 * loadings[1:].sum(axis=0)
    return {
        "mean": reward + rng.normal(0.0, 0.01, n),
        "loadings": loadings,
        "specific_variance": rng.uniform(0.05, 0.3, n) ** 2,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Solve, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", help="where to write the frontier")
    parser.add_argument("--assets", type=int, default=60)
    parser.add_argument("--held", type=int, default=8, help="the most assets held")
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--time-limit", type=float, default=20.0, help="for each point")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)

    market = random_market(options.assets, 5, options.seed)
    portfolio = Portfolio(
        **market,
        max_assets=options.held,
        minimum_position=0.03,
        maximum_position=0.3,
    )
    print(portfolio.solve(time_limit=options.time_limit), end="\n\n")

    curve = frontier(portfolio, options.points, time_limit=options.time_limit)
    print(curve)
    curve.plot(options.picture)
    print(f"\nThe frontier is in {options.picture}.")


if __name__ == "__main__":
    main()
