"""Branching on clusters: against enumeration, replayed, resumed, and forged."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, alternatives, solve
from cardqp.datasets import make_regression
from cardqp.methods import ClusterSettings, RootSettings, SearchSettings
from tests.problems import enumerate_optimum


def always(correlation=0.5, **settings):
    """Branching on clusters from the first node on, with next to no presolve."""
    clusters = ClusterSettings("always", correlations=(correlation,), least_share=0.01)
    root = RootSettings(diagonal_gap=1e9, minorant_gap=1e9)
    return Exact(settings=SearchSettings(clusters=clusters, root=root, **settings))


def correlated(seed, n=None, sparsity=None):
    """A small regression whose neighbouring columns are correlated."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 13)) if n is None else n
    sparsity = int(rng.integers(4, 7)) if sparsity is None else sparsity
    rho, snr = rng.choice([0.7, 0.9, 0.97]), rng.choice([0.3, 1.0, 5.0])
    data = make_regression(
        15, n, sparsity=sparsity, correlation=rho, snr=snr, seed=seed
    )
    eta = 10.0 ** rng.uniform(0, 2.5)
    forced = {}
    if seed % 5 == 4:
        forced = {"forced_in": [1], "forced_out": [3]}
    return SparseQP.from_regression(
        data.X, data.y, eta=eta, sparsity=sparsity, **forced
    )


@pytest.mark.parametrize("seed", range(60))
def test_clusters_agree_with_enumeration(seed):
    problem = correlated(seed)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=always((0.3, 0.5, 0.8)[seed % 3]), gap=1e-7)
    assert found.status is Status.OPTIMAL
    assert found.verify().ok
    assert found.lower_bound <= optimum * (1 + 1e-9)
    assert found.objective == pytest.approx(optimum, rel=2e-7)
