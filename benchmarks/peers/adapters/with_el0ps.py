"""El0ps on the problem as it is posed: a number of nonzeros, not a price for them.

El0ps knows a price per nonzero only.  As its users would, we fit its own path of prices
until there are enough nonzeros, look between two of them by bisection where the path
jumps over the wanted number, and prove the optimum at the price that was found.  All
of it is timed.
"""

import exchange
import numpy as np
from el0ps.datafit import Leastsquares
from el0ps.path import Path
from el0ps.penalty import L2norm
from el0ps.solver import BnbSolver
from prices import SEARCH_GAP, find_price
from with_el0ps_told import answer_at

PRICES = 40
"""Prices on the path: fine enough not to fall far below the wanted one, where solves
take much longer."""


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Find the price, then solve at it to the wanted gap."""
    datafit, penalty = Leastsquares(task.y), L2norm(task.ridge / 2)
    matrix = np.asfortranarray(task.X)
    search = BnbSolver(relative_gap=SEARCH_GAP, time_limit=task.time_limit)

    def count_at(price: float) -> int:
        result = search.solve(datafit, penalty, matrix, price)
        return int(np.count_nonzero(result.x))

    with clock:
        path = Path(lmbd_num=PRICES, max_nnz=task.sparsity - 1, verbose=False)
        results = path.fit(search, datafit, penalty, matrix)
        prices = {p: int(np.count_nonzero(r.x)) for p, r in results.items()}
        while (price := find_price(count_at, prices, task.sparsity)) is not None:
            answer = answer_at(task, datafit, penalty, matrix, price)
            prices[price] = int(np.count_nonzero(answer.x))
            if prices[price] == task.sparsity or clock.elapsed > task.time_limit:
                return answer
    return exchange.Answer(np.zeros(task.X.shape[1]), np.nan, False)


if __name__ == "__main__":
    exchange.main(solve)
