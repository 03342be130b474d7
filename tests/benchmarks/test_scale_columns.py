"""Certificates that the benchmark of columns damages."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.scale_columns import Case, Record, count_harmless, damaged, flipped

from benchmarks import scale_columns
from cardqp import SparseQP, Status, solve
from cardqp.certificate import Kind
from tests.problems import enumerate_optimum
from tests.streamed import exact


@pytest.fixture
def solution():
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = SparseQP.from_data(X, y, eta=10.0, sparsity=3)
    found = solve(problem, method=exact())
    assert found.status is Status.OPTIMAL
    return found


def test_one_bit_is_flipped():
    array = np.arange(5)
    other = flipped(array, 3, 17)
    assert (array ^ other).tolist() == [0, 0, 0, 1 << 17, 0]


def test_every_array_of_every_leaf_is_damaged(solution):
    honest = solution.certificate.tree
    n_leaves = int(np.count_nonzero(honest.kind == Kind.POINT))
    changed = Counter()
    for other in damaged(solution.certificate):
        pairs = zip(honest.arrays().items(), other.tree.arrays().values(), strict=True)
        bits = {
            name: np.unpackbits(a.view(np.uint8) ^ b.view(np.uint8)).sum()
            for (name, a), b in pairs
        }
        assert sum(bits.values()) == 1
        changed[max(bits, key=bits.get)] += 1
    assert n_leaves > 2
    assert list(changed.values()) == [min(n_leaves, scale_columns.MOST_LEAVES)] * 7


@pytest.mark.parametrize("seed", range(5))
def test_what_is_damaged_proves_nothing_that_is_wrong(solution, seed):
    optimum, _ = enumerate_optimum(solution.problem)
    for other in damaged(solution.certificate, seed):
        assert other.lower_bound(solution.problem) <= optimum * (1 + 1e-12)
    n_flips, n_harmless = count_harmless(solution)
    assert n_flips == n_harmless > 20


def test_harm_is_counted(solution):
    """If the objective is too low, only flips that lower the bound are harmless."""
    n_flips, n_harmless = count_harmless(replace(solution, objective=0.0))
    assert 0 < n_harmless < n_flips


def test_other_solutions_have_no_leaves(solution):
    problem = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1)
    assert count_harmless(solve(problem)) == (0, 0)
    assert count_harmless(replace(solution, certificate=None)) == (0, 0)


def test_the_table_says_so():
    record = Record(1.0, 0.1, 0.1, 5, 9, 1e-5, "OPTIMAL", 100.0, True, 77, 76)
    line = scale_columns.row(Case(5000), record)
    assert "76 of 77" in line
    assert line.count("|") == scale_columns.HEADER.count("|")
