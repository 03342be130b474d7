"""How solvers that know only a price per nonzero get a given number of nonzeros."""

from collections.abc import Callable

SEARCH_GAP = 1e-2
"""The gap of solves that only look for a price: coarse, in favour of the solver."""

MOST_SOLVES = 60


def find_price(
    count_at: Callable[[float], int], prices: dict[float, int], wanted: int
) -> float | None:
    """A price at which a solver uses as many nonzeros as wanted, by bisection.

    Parameters
    ----------
    count_at : callable
        The number of nonzeros at a price; it is solved for.
    prices : dict
        Prices that have been solved for, and how many nonzeros there were; at least
        one with fewer than wanted.  New ones are added.
    wanted : int
        The number of nonzeros.

    Returns
    -------
    float or None
        The price; None where the number jumps over what is wanted.
    """
    for _ in range(MOST_SOLVES):
        for price, count in prices.items():
            if count == wanted:
                return price
        low = max((p for p, count in prices.items() if count > wanted), default=0.0)
        high = min(p for p, count in prices.items() if count < wanted)
        if not low < (1 - 1e-9) * high:
            return None
        middle = (low * high) ** 0.5 if low > 0 else 0.5 * high
        prices[middle] = count_at(middle)
    return None
