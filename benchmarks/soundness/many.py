"""Lower bounds of many supports at once, in floats whose rounding is accounted for."""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.soundness.scaled import Scaled, Support

UNIT = 2.0**-53
"""The rounding of one operation."""

SPARE = 4.0
"""What errors are multiplied by: they are computed with rounding, too."""

CHUNK = 20_000
"""Supports at a time."""


def lower_bounds(problem: Scaled, supports: Sequence[Support]) -> np.ndarray:
    """Numbers that the optima on supports are not below, rows and bounds left out.

    At any point ``y``, with ``g`` the gradient and ``w`` the ridge,
    ``J(x) >= J(y) + g'(x - y) + (x - y)'diag(w)(x - y) >= J(y) - sum(g^2 / (4 w))``,
    as ``Q`` is positive semidefinite.  Floats find ``y``, the optimum nearly.  What
    their sums are off by is a share of the sum of the absolute values of the terms.
    """
    found = np.full(len(supports), -np.inf)
    ridge = np.array([float(v) for v in problem.ridge])
    if not problem.is_definite or not (ridge > 0).all():
        return found
    sizes = np.array([len(support) for support in supports])
    for size in np.unique(sizes):
        for some in _chunks(np.flatnonzero(sizes == size)):
            index = np.array([supports[i] for i in some], dtype=np.intp)
            found[some] = _of_one_size(problem, ridge, index.reshape(len(some), size))
    return found


def _chunks(where: np.ndarray) -> Iterator[np.ndarray]:
    for begin in range(0, len(where), CHUNK):
        yield where[begin : begin + CHUNK]


def _of_one_size(problem: Scaled, ridge: np.ndarray, index: np.ndarray) -> np.ndarray:
    G = problem.G[index[:, :, None], index[:, None, :]]
    c, w = problem.linear[index], ridge[index]
    try:
        y = -0.5 * np.linalg.solve(G, c[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.full(len(index), -np.inf)
    image, size = _times(G, y), _times(np.abs(G), np.abs(y))
    # An entry of G is off by its own rounding; sums of k products by k more.
    share = SPARE * (index.shape[1] + 4) * UNIT
    slope = np.abs(c + 2.0 * image) + share * (np.abs(c) + 2.0 * size)
    value = np.sum(c * y, axis=1) + np.sum(y * image, axis=1)
    terms = np.sum(np.abs(c * y), axis=1) + np.sum(np.abs(y) * size, axis=1)
    loss = np.sum(slope**2 / w, axis=1) * (0.25 * (1.0 + share))
    fixed = np.array([float(problem.fixed(tuple(row))) for row in index])
    total = value - loss + fixed
    error = 2.0 * share * (terms + np.abs(fixed) + loss)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(total), total - error, -np.inf)


def _times(G: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (G @ y[..., None])[..., 0]
