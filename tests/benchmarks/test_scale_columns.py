"""Certificates that the benchmark of columns damages."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.scale_columns import Case, Record, count_refusals, damaged, flipped

from benchmarks import scale_columns
from cardqp import SparseQP, Status, solve
from cardqp.problem.streamed_form import StreamedForm
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


def arrays_of(certificate):
    own = (certificate.branch, certificate.child, certificate.record)
    return [*own, *certificate.leaves.arrays()]


def test_one_bit_is_flipped():
    array = np.arange(5)
    other = flipped(array, 3, 17)
    assert (array ^ other).tolist() == [0, 0, 0, 1 << 17, 0]


def test_every_array_of_every_leaf_is_damaged(solution):
    honest = arrays_of(solution.certificate)
    n_leaves = int(np.count_nonzero(solution.certificate.branch < 0))
    changed = []
    for other in damaged(solution.certificate):
        bits = [
            np.bitwise_count(a.view(np.uint64) ^ b.view(np.uint64)).sum()
            for a, b in zip(honest, arrays_of(other), strict=True)
        ]
        assert sum(bits) == 1
        changed.append(int(np.argmax(bits)))
    assert n_leaves > 2
    assert np.bincount(changed).tolist() == [n_leaves] * 7


def test_all_are_refused_without_a_pass(solution, monkeypatch):
    monkeypatch.setattr(StreamedForm, "correlate", None)
    n_flips, n_refused = count_refusals(solution)
    assert n_flips == n_refused > 20


def test_refusals_are_counted(solution, monkeypatch):
    """Where the digest is not looked at, some prove what they can."""
    monkeypatch.setattr(
        type(solution.certificate), "fingerprint", lambda self: self.digest
    )
    n_flips, n_refused = count_refusals(solution)
    assert 0 < n_refused < n_flips


@pytest.mark.parametrize("seed", range(5))
def test_with_a_new_seal_they_prove_nothing_that_is_wrong(solution, seed):
    optimum, _ = enumerate_optimum(solution.problem)
    for other in damaged(solution.certificate, seed):
        proved = other.sealed().lower_bound(solution.problem)
        assert proved <= optimum * (1 + 1e-12)


def test_other_solutions_have_no_leaves(solution):
    problem = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=1)
    assert count_refusals(solve(problem)) == (0, 0)
    assert count_refusals(replace(solution, certificate=None)) == (0, 0)


def test_the_table_says_so():
    record = Record(1.0, 0.1, 0.1, 5, 9, 1e-5, "OPTIMAL", 100.0, True, 77, 76)
    line = scale_columns.row(Case(5000), record)
    assert "76 of 77" in line
    assert line.count("|") == scale_columns.HEADER.count("|")
