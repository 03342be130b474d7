"""L0BnB, told the price: branch and bound for least squares with a big M.

L0BnB minimises ``|y - X x|^2 / 2 + l0 |x|_0 + l2 |x|^2`` with ``|x_j| <= m``.  The
price is one at which our certified optimum is also the penalised one, and ``m`` is 1.2
times the largest entry of that optimum, which is L0BnB's own rule with the best of all
warm starts.  Only the solve at this price is timed.
"""

import exchange
import numpy as np
from l0bnb import BNBTree


def answer_at(
    task: exchange.Task, matrix: np.ndarray, price: float, largest: float
) -> exchange.Answer:
    """Solve at a price, in L0BnB's units, to the wanted gap of the constrained problem.

    ``largest`` bounds the coefficients.
    """
    paid = 2 * price * task.sparsity
    gap = task.tolerance * task.objective / (task.objective + paid)
    tree = BNBTree(matrix, task.y, rel_tol=gap)
    solution = tree.solve(
        l0=price,
        l2=task.ridge / 2,
        m=largest,
        gap_tol=gap,
        time_limit=task.time_limit,
    )
    reached = max(solution.gap, 0.0)
    # An exhausted tree is a proof up to the accuracy of its leaves, but the gap that
    # L0BnB returns does not count the last leaves.
    if tree.bfs_queue.empty() and tree.dfs_queue.empty():
        reached = min(reached, gap)
    # Before the root is done, the gap is a placeholder above one.
    bound = 2 * solution.cost * (1 - reached) - paid if reached < 1 else np.nan
    return exchange.Answer(solution.beta, bound, reached <= gap)


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Solve at the price that we were told."""
    matrix = np.asfortranarray(task.X)
    with clock:
        return answer_at(task, matrix, task.penalty / 2, 1.2 * task.largest)


if __name__ == "__main__":
    exchange.main(solve)
