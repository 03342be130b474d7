"""L0BnB on the problem as it is posed: a number of nonzeros, not a price for them.

L0BnB knows a price per nonzero only.  As its users would, we fit its own path of prices
until there are enough nonzeros, look between two of them by bisection where the path
jumps over the wanted number, and prove the optimum at the price that was found.  All
of it is timed.  Its bound on the coefficients is its own, from the path.
"""

import exchange
import numpy as np
from l0bnb import BNBTree, fit_path
from prices import SEARCH_GAP, find_price
from with_l0bnb_told import answer_at


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Find the price, then solve at it to the wanted gap."""
    matrix = np.asfortranarray(task.X)
    with clock:
        path = fit_path(
            matrix,
            task.y,
            lambda_2=task.ridge / 2,
            max_nonzeros=task.sparsity,
            intercept=False,
            normalize=False,
            gap_tol=SEARCH_GAP,
            time_limit=task.time_limit,
        )
        largest = path[-1]["M"]

        def count_at(price: float) -> int:
            found = BNBTree(matrix, task.y).solve(
                l0=price,
                l2=task.ridge / 2,
                m=largest,
                gap_tol=SEARCH_GAP,
                time_limit=task.time_limit,
            )
            return int(np.count_nonzero(found.beta))

        prices = {p["lambda_0"]: int(np.count_nonzero(p["B"])) for p in path}
        prices.setdefault(2.0 * max(prices), 0)
        while (price := find_price(count_at, prices, task.sparsity)) is not None:
            answer = answer_at(task, matrix, price, largest)
            prices[price] = int(np.count_nonzero(answer.x))
            if prices[price] == task.sparsity or clock.elapsed > task.time_limit:
                return answer
    return exchange.Answer(np.zeros(task.X.shape[1]), np.nan, False)


if __name__ == "__main__":
    exchange.main(solve)
