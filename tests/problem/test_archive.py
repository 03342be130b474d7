import numpy as np
import pytest

from cardqp import ProblemError, SparseQP
from cardqp.problem.quadratic import Factor
from tests.problem.small import EYE, ONES, make
from tests.problems import KINDS, random_problem


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind, tmp_path):
    problem = random_problem(kind, 0)
    path = tmp_path / "problem.npz"
    problem.save(path)
    again = SparseQP.load(path)
    fields = "Q c eta sparsity penalty A b A_eq b_eq lower upper constant names"
    for name in fields.split():
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))
    assert type(again.quadratic) is type(problem.quadratic)
    assert list(tmp_path.iterdir()) == [path]


def test_a_factor_is_stored_as_it_is(tmp_path):
    F = np.random.default_rng(0).standard_normal((2, 3))
    SparseQP.from_factor(F, ONES, eta=1.0, sparsity=1).save(tmp_path / "p.npz")
    again = SparseQP.load(tmp_path / "p.npz").quadratic
    assert isinstance(again, Factor)
    np.testing.assert_array_equal(again.array, F)


def test_names_survive_saving(tmp_path):
    make(names=["a", "b", "ü"]).save(tmp_path / "p.npz")
    assert SparseQP.load(tmp_path / "p.npz").names == ("a", "b", "ü")


def test_bad_archives_are_refused(tmp_path):
    path = tmp_path / "p.npz"
    with pytest.raises(ProblemError, match="does not exist"):
        SparseQP.load(path)
    path.write_bytes(b"not an archive")
    with pytest.raises(ProblemError, match=r"must be a \.npz archive"):
        SparseQP.load(path)
    np.savez(path, Q=EYE, c=ONES)
    with pytest.raises(ProblemError, match="exactly one array eta"):
        SparseQP.load(path)
    np.savez(path, Q=EYE, F=EYE, c=ONES, eta=1.0, sparsity=1)
    with pytest.raises(ProblemError, match="exactly one array Q or F or y"):
        SparseQP.load(path)
    np.savez(path, Q=EYE, c=ONES, eta=1.0, sparsity=1, zeta=1.0)
    with pytest.raises(ProblemError, match="unknown arrays"):
        SparseQP.load(path)
    np.savez(path, Q=np.array([{}], dtype=object), c=ONES, eta=1.0, sparsity=1)
    with pytest.raises(ProblemError, match=r"must be a \.npz archive"):
        SparseQP.load(path)
