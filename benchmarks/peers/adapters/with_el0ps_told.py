"""El0ps, told the price: branch and bound for least squares with a ridge.

El0ps minimises ``|y - X x|^2 / 2 + lmbd |x|_0 + beta |x|^2``.  The price is one at
which our certified optimum is also the penalised one; only the solve at this price is
timed.  El0ps measures its gap relative to ``max(1, objective)``.
"""

import exchange
import numpy as np
from el0ps.datafit import Leastsquares
from el0ps.penalty import L2norm
from el0ps.solver import BnbSolver, Status


class Solver(BnbSolver):
    """El0ps' solver, remembering the lower bound that it does not return."""

    bound = np.nan

    def package_results(self, problem: object, results: object) -> object:
        self.bound = results.bound
        return super().package_results(problem, results)


def answer_at(
    task: exchange.Task,
    datafit: Leastsquares,
    penalty: L2norm,
    matrix: np.ndarray,
    price: float,
) -> exchange.Answer:
    """Solve at a price, in units of El0ps, to the gap of the constrained problem."""
    paid = 2 * price * task.sparsity
    total = (task.objective + paid) / 2
    gap = task.tolerance * task.objective / 2 / max(1.0, total)
    solver = Solver(relative_gap=gap, time_limit=task.time_limit)
    result = solver.solve(datafit, penalty, matrix, price)
    is_optimal = result.status == Status.OPTIMAL
    return exchange.Answer(np.asarray(result.x), 2 * solver.bound - paid, is_optimal)


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Solve at the price that we were told."""
    datafit, penalty = Leastsquares(task.y), L2norm(task.ridge / 2)
    matrix = np.asfortranarray(task.X)
    with clock:
        return answer_at(task, datafit, penalty, matrix, task.penalty / 2)


if __name__ == "__main__":
    exchange.main(solve)
