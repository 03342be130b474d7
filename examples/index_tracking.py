"""Follow an index with few of its assets.

Run ``python examples/index_tracking.py tracking.png``; it needs ``cardqp[plot]``.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from cardqp.models import IndexTracking
from cardqp.plot import BLUE, ORANGE, new_axes


def random_market(n: int, weeks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weekly returns of assets, and of the index that weighs them by size."""
    rng = np.random.default_rng(seed)
    moves = rng.normal(0.001, 0.02, (weeks, 4))
    returns = moves @ rng.uniform(0.0, 0.5, (4, n)) + rng.normal(0, 0.02, (weeks, n))
    sizes = rng.pareto(1.2, n) + 0.1
    return returns, returns @ (sizes / sizes.sum())


def main(argv: Sequence[str] | None = None) -> None:
    """Fit on the first half of the weeks, and draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", help="where to write index and tracker")
    parser.add_argument("--assets", type=int, default=50)
    parser.add_argument("--held", type=int, default=8, help="the most assets held")
    parser.add_argument("--weeks", type=int, default=260)
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)

    returns, index = random_market(options.assets, options.weeks, options.seed)
    half = options.weeks // 2
    model = IndexTracking(returns[:half], index[:half], max_assets=options.held)
    answer = model.solve(time_limit=options.time_limit)
    print(answer)

    later = returns[half:] @ answer.weights - index[half:]
    print(f"Error in the second half: {np.sqrt(np.mean(later**2)):.4g} per week.")

    ax = new_axes()
    for name, weekly, colour in (
        ("index", index, BLUE),
        (f"{len(answer.named())} assets", returns @ answer.weights, ORANGE),
    ):
        ax.plot(100 * np.cumprod(1 + weekly), color=colour, label=name)
    ax.axvline(half, color="grey", linestyle=":", label="end of the fit")
    ax.set_xlabel("week")
    ax.set_ylabel("value (100 at the start)")
    ax.legend()
    ax.figure.savefig(options.picture)
    print(f"The picture is in {options.picture}.")


if __name__ == "__main__":
    main()
