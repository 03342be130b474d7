"""Small functions with known least objectives, computed in fractions."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from flint import arb, arb_mat


@dataclass
class Form:
    """What the checker is given: balls, here without a radius."""

    kappa: arb
    c: list[arb]
    G: arb_mat
    precision: int = 128


def make_form(kappa, c, G) -> Form:
    """Make a form of floats."""
    rows = [[float(entry) for entry in row] for row in G]
    return Form(arb(float(kappa)), [arb(float(cost)) for cost in c], arb_mat(rows))


def exact(value: arb) -> Fraction:
    """Return the number in a ball without a radius."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exact_objective(form: Form, support) -> Fraction:
    """Return the least objective on a support, by elimination in fractions."""
    value = exact(form.kappa)
    G = [[exact(form.G[int(i), int(j)]) for j in support] for i in support]
    c = [exact(form.c[int(i)]) for i in support]
    while c:
        pivot, cost, row = G[0][0], c[0], G[0]
        assert pivot > 0
        value -= cost * cost / (4 * pivot)
        c = [c[j] - row[j] * cost / pivot for j in range(1, len(c))]
        G = [
            [G[j][k] - row[j] * row[k] / pivot for k in range(1, len(row))]
            for j in range(1, len(row))
        ]
    return value


def all_supports(fixed_in, free, places):
    """Return the supports of a branch that have no place left, or all variables."""
    free = [int(j) for j in free]
    return [
        (*map(int, fixed_in), *chosen)
        for chosen in combinations(free, min(places, len(free)))
    ]


def least_exact(form: Form, fixed_in, free, places, listed=()) -> Fraction:
    """Return the least objective over the supports of a branch that are not listed."""
    known = {(*map(int, fixed_in), *sorted(map(int, row))) for row in listed}
    return min(
        exact_objective(form, support)
        for support in all_supports(fixed_in, sorted(free), places)
        if support not in known
    )


def random_form(seed: int, n: int, kind: str) -> Form:
    """Make a regression: plain, nearly collinear, with equal columns, or in scales."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * n, n))
    ridge = 1e-3
    if kind == "collinear":
        X = X[:, :2] @ rng.standard_normal((2, n)) + 1e-4 * X
        ridge = 1e-9
    elif kind == "tied":
        X[:, n // 2 :] = X[:, : n - n // 2]
        X[:, 0] = X[:, 1]
    elif kind == "scaled":
        X *= 10.0 ** rng.uniform(-4, 4, n)
        ridge = 1e-12
    y = X @ (rng.standard_normal(n) / np.abs(X).max(axis=0)) + rng.standard_normal(
        4 * n
    )
    if kind == "tied":
        X, y = np.round(8 * X) / 8, np.round(8 * y) / 8
    G = X.T @ X / len(y)
    G = 0.5 * (G + G.T) + ridge * np.eye(n)
    return make_form(y @ y / len(y), -2.0 * X.T @ y / len(y), G)


KINDS = ("plain", "collinear", "tied", "scaled")


def best_in_floats(form: Form, n: int, places: int):
    """Return the best support of so many variables, as floats see it."""
    G = np.array([[float(form.G[i, j]) for j in range(n)] for i in range(n)])
    half = 0.5 * np.array([float(cost) for cost in form.c])
    sets = np.array(list(combinations(range(n), places)))
    best, most = sets[0], -np.inf
    for some in np.array_split(sets, 1 + len(sets) // 20_000):
        blocks = G[some[:, :, None], some[:, None, :]]
        x = np.linalg.solve(blocks, half[some][:, :, None])[:, :, 0]
        gains = (half[some] * x).sum(axis=1)
        if gains.max() > most:
            best, most = some[gains.argmax()], gains.max()
    return best


def hidden_form(seed: int, n: int, size: int) -> Form:
    """Make a form of which one support is best, whose variables gain little alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * n, n))
    X[:, 1:] += 0.8 * X[:, :-1]
    coefficients = np.zeros(n)
    chosen = rng.choice(n - 1, size, replace=False)
    coefficients[chosen] = rng.choice([-1.0, 1.0], size)
    y = X @ coefficients + 0.7 * rng.standard_normal(len(X))
    G = X.T @ X / len(y) + 1e-6 * np.eye(n)
    return make_form(y @ y / len(y), -2.0 * X.T @ y / len(y), 0.5 * (G + G.T))
