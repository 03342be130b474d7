import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import ProblemError, SparseQP, solve
from tests.problem.small import EYE, ONES, make

WITH_NAN = np.diag([1.0, np.nan, 1.0])


BAD_INPUT = [
    ({"Q": np.ones((2, 3))}, "`Q` must be square and not empty"),
    ({"Q": np.ones(3)}, "`Q` must have 2 dimensions"),
    ({"Q": np.zeros((0, 0)), "c": []}, "`Q` must be square and not empty"),
    ({"Q": WITH_NAN}, r"`Q` must be finite: Q\[1, 1\] is nan"),
    ({"Q": EYE + np.triu(EYE, 0) * 1j}, "`Q` must be real"),
    ({"Q": np.triu(np.ones((3, 3)))}, "`Q` must be symmetric: .* pass"),
    ({"Q": np.diag([1.0, 1.0, -2.0])}, "smallest eigenvalue is -2"),
    ({"Q": [["a", "b"], ["c", "d"]]}, "`Q` must hold numbers"),
    ({"Q": np.array([[None, 1], [1, 1]])}, "`Q` must be finite|must hold numbers"),
    ({"c": np.ones(4)}, "`c` must have 3 entries"),
    ({"c": np.ones((3, 1))}, "`c` must have 1 dimension:"),
    ({"c": [1.0, np.inf, 1.0]}, r"`c` must be finite: c\[1\] is inf"),
    ({"c": ["x", "y", "z"]}, "`c` must hold numbers"),
    ({"eta": 0.0}, "`eta` must be positive, between"),
    ({"eta": -1.0}, "`eta` must be positive, between"),
    ({"eta": np.nan}, "`eta` must be positive, between"),
    ({"eta": -np.inf}, "`eta` must be positive, between .* or None"),
    ({"eta": [1.0, 2.0]}, "`eta` must be a number or have 3 entries"),
    ({"eta": "ten"}, "`eta` must hold numbers"),
    ({"sparsity": -1}, "`sparsity` must lie between 0 and n = 3"),
    ({"sparsity": 4}, "`sparsity` must lie between 0 and n = 3"),
    ({"sparsity": 1.5}, "`sparsity` must be an integer"),
    ({"sparsity": True}, "`sparsity` must be an integer"),
    ({"sparsity": None}, "`sparsity` or `penalty` is missing"),
    ({"penalty": -0.1}, "`penalty` must not be negative"),
    ({"penalty": np.nan}, "`penalty` must be finite"),
    ({"penalty": "cheap"}, "`penalty` must hold numbers"),
    ({"penalty": [1.0]}, "`penalty` must be a single number"),
    ({"Q": [[1.0, 2.0], [3.0]]}, "`Q` must hold numbers"),
    ({"c": [10**400, 1, 1]}, "`c` must hold numbers"),
    ({"c": [1e101, 1, 1]}, r"`c` must be below 1e\+100: c\[0\] is 1e\+101"),
    ({"c": np.ma.masked_array(ONES, [True, False, False])}, "`c` must not be masked"),
    ({"Q": [*np.ma.masked_equal(EYE, 1)]}, "`Q` must not be masked"),
    ({"forced_in": np.ma.masked_equal([0, 1], 1)}, "`forced_in` must not be masked"),
    ({"forced_out": np.ma.masked_equal([0, 1], 1)}, "`forced_out` must not be masked"),
    ({"blocks": np.ma.masked_equal([0, 1, 1], 0)}, "`blocks` must not be masked"),
    (
        {"groups": np.ma.masked_equal([0, 1, 1], 0), "group_sparsity": 1},
        "`groups` must not be masked",
    ),
    (
        {"groups": [0, 1, 1], "group_sparsity": np.ma.masked_equal([1, 2], 1)},
        "`group_sparsity` must not be masked",
    ),
    ({"names": np.ma.masked_equal(list("abc"), "a")}, "`names` must not be masked"),
    ({"constant": 1e150}, r"`constant` must be below 1e\+100: it is 1e\+150"),
    ({"eta": 1e-200}, "`eta` must be positive, between"),
    ({"A": [[1e-200, 0, 0]], "b": [1.0]}, "`A` must have rows of zeros or of size"),
    ({"upper": 1e-200}, "`upper` must be 0, infinite, or between"),
    ({"names": 5}, "`names` must be a list of names"),
    ({"names": "abc"}, "`names` must be a list of names"),
    ({"A": np.ones((1, 3))}, "`b` is missing: `A` was given without it"),
    ({"b": [1.0]}, "`A` is missing: `b` was given without it"),
    ({"A_eq": np.ones((1, 3))}, "`b_eq` is missing"),
    ({"A": np.ones((1, 2)), "b": [1.0]}, "`A` must have 3 columns"),
    ({"A": np.ones((1, 3)), "b": [1.0, 2.0]}, "`b` must have 1 entries"),
    ({"A": np.full((1, 3), np.nan), "b": [1.0]}, "`A` must be finite"),
    ({"A_eq": np.ones((1, 3)), "b_eq": [np.inf]}, "`b_eq` must be finite"),
    ({"lower": 1.0, "upper": 0.5}, "`lower` must not exceed `upper`"),
    ({"lower": np.inf}, "must leave room for finite numbers"),
    ({"forced_out": [5]}, "`forced_out` must hold indices"),
    ({"forced_in": [1], "forced_out": [1]}, "both name 1"),
    ({"A": np.ones((1, 3)), "b": 1.0, "b_lower": [0.0, 1.0]}, "as many entries as `b`"),
    ({"b_lower": 1.0}, "`A` is missing: `b_lower` was given without it"),
    ({"A": np.ones((1, 3)), "b": 1.0, "b_lower": 2.0}, "`b_lower` must not exceed `b`"),
    ({"lower": [0.0, 0.0]}, "`lower` must be a number or have 3 entries"),
    ({"upper": np.nan}, "`upper` must not be NaN"),
    ({"constant": np.inf}, "`constant` must be finite"),
    ({"names": ["a", "b"]}, "`names` must have 3 entries"),
    ({"names": ["a", "b", "a"]}, "`names` must be distinct: 'a' occurs twice"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_INPUT)
def test_bad_input_gets_one_clear_error(changes, message):
    with pytest.raises(ProblemError, match=message):
        make(**changes)


def test_problem_errors_are_value_errors():
    with pytest.raises(ValueError, match="`eta`"):
        make(eta=0)


@pytest.mark.parametrize(
    ("forced_in", "message"),
    [
        ([0.5], "`forced_in` must be a list of indices"),
        (["a"], "`forced_in` must be a list of indices"),
        ([[0]], "`forced_in` must be a list of indices"),
        ([3], "`forced_in` must hold indices between 0 and 2"),
        ([-1], "`forced_in` must hold indices between 0 and 2"),
        ([1, 1], "`forced_in` must name no variable twice"),
        ([0, 1, 2], "`forced_in` must leave room"),
    ],
)
def test_what_cannot_be_forced_in(forced_in, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=2, forced_in=forced_in)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": [0, 0, 1]}, "belong together"),
        ({"group_sparsity": 1}, "belong together"),
        ({"groups": [0, 1], "group_sparsity": 1}, "each of the 3 variables"),
        ({"groups": [0.0, 1.0, 1.0], "group_sparsity": 1}, "counted from 0"),
        ({"groups": [0, -2, 1], "group_sparsity": 1}, "-1 for none"),
        ({"groups": [0, 0, 1], "group_sparsity": -1}, "must be a count"),
        ({"groups": [0, 0, 1], "group_sparsity": 0.5}, "must be a count"),
        ({"groups": [0, 0, 1], "group_sparsity": [[1]]}, "must be a count"),
        ({"groups": [0, 0, 1], "group_sparsity": [1]}, "each of the 2 groups"),
        ({"groups": [0, 0, 10**12], "group_sparsity": 1}, "number the groups from 0"),
        (
            {"groups": [0, 0, 10**12], "group_sparsity": [1]},
            "each of the 1000000000001",
        ),
        (
            {"groups": [0, 0, 1], "group_sparsity": 1, "forced_in": [0, 1]},
            "names 2 variables of group 0",
        ),
    ],
)
def test_groups_that_are_refused(settings, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=2, **settings)


def test_groups_without_members_do_not_count():
    settings = {"eta": 1.0, "sparsity": 2, "groups": [-1, -1], "group_sparsity": 1}
    assert SparseQP(np.eye(2), np.ones(2), **settings).is_unconstrained


@pytest.mark.parametrize(
    "Q",
    [
        2 * np.eye(3, dtype=int),
        2 * np.eye(3, dtype=np.float32),
        np.asfortranarray(2 * EYE),
        (2 * np.eye(6))[::2, ::2],
        (2 * np.eye(3)).tolist(),
        pd.DataFrame(2 * EYE),
        scipy.sparse.csr_matrix(2 * EYE),
        np.array(2 * EYE, dtype=object),
    ],
)
def test_matrices_of_all_kinds_are_converted(Q):
    problem = make(Q, [1, 2, 3])
    assert problem.Q.dtype == np.float64
    assert problem.Q.flags.c_contiguous
    np.testing.assert_array_equal(problem.Q, 2 * EYE)
    assert problem.objective([1.0, 0, 0]) == 4.0


def test_data_cannot_change_afterwards():
    Q = 2.0 * EYE
    problem = make(Q)
    Q[0, 0] = 99.0
    assert problem.Q[0, 0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        problem.c[0] = 1.0
    for name in ("sparsity", "anything_else"):
        with pytest.raises(AttributeError):
            setattr(problem, name, 2)


def test_rounding_in_a_rank_deficient_matrix_is_accepted():
    F = np.random.default_rng(0).standard_normal((3, 40))
    problem = SparseQP(F.T @ F, np.ones(40), eta=1.0, sparsity=2)
    smallest = np.linalg.eigvalsh(problem.Q + np.diag(problem.quadratic.psd_violation))[
        0
    ]
    assert smallest > 0


def test_nearly_symmetric_matrix_is_made_symmetric():
    Q = EYE.copy()
    Q[0, 1] = 1e-12
    problem = make(Q)
    np.testing.assert_array_equal(problem.Q, problem.Q.T)


def test_defect_makes_nearly_convex_matrices_convex():
    """Also where the diagonal is zero, and where scales differ."""
    for Q in ([[0.0, 3e-5], [3e-5, 1.0]], [[1e-2, 0.1 * (1 + 9e-10)], [0, 1.0]]):
        Q = np.array(Q)
        Q[1, 0] = Q[0, 1]
        problem = SparseQP(Q, np.ones(2), eta=1.0, sparsity=1)
        repaired = problem.Q + np.diag(problem.quadratic.psd_violation)
        assert np.linalg.eigvalsh(repaired)[0] >= -1e-17


def test_zero_rows_of_q_have_no_defect():
    assert make(np.diag([1.0, 0.0, 1.0])).quadratic.psd_violation[1] == 0.0


def test_factor_is_the_same_problem_as_its_product():
    F = np.random.default_rng(2).standard_normal((2, 5))
    c, x = np.arange(5.0), np.linspace(-1, 1, 5)
    by_factor = SparseQP.from_factor(F, c, eta=1.0, sparsity=2)
    by_matrix = SparseQP(F.T @ F, c, eta=1.0, sparsity=2)
    assert by_factor.objective(x) == pytest.approx(by_matrix.objective(x))
    np.testing.assert_allclose(by_factor.Q, by_matrix.Q)
    with pytest.raises(ProblemError, match="`F` must have columns"):
        SparseQP.from_factor(np.ones((2, 0)), [], eta=1.0, sparsity=0)


@pytest.mark.parametrize("eta", [None, 2.0, [1.0, 2.0, 3.0, 4.0, 5.0]])
def test_factor_model_is_the_same_problem_as_its_covariance(eta):
    rng = np.random.default_rng(2)
    B, psi, c = rng.standard_normal((2, 5)), rng.uniform(0.5, 1.0, 5), np.arange(5.0)
    by_model = SparseQP.from_factor_model(B, psi, c, eta=eta, sparsity=2)
    covariance = B.T @ B + np.diag(psi)
    by_matrix = SparseQP(covariance, c, eta=eta or 1e12, sparsity=2)
    x = np.linspace(-1, 1, 5)
    assert by_model.objective(x) == pytest.approx(by_matrix.objective(x))


@pytest.mark.parametrize(
    ("psi", "eta", "message"),
    [
        ([1.0, 0.0], None, "`psi` must be positive"),
        ([1.0, -1.0], 1.0, "`psi` must not be negative"),
        ([1.0], None, "`psi` must have 2 entries"),
    ],
)
def test_factor_model_refuses(psi, eta, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP.from_factor_model(
            np.ones((1, 2)), psi, np.zeros(2), eta=eta, sparsity=1
        )
    with pytest.raises(ProblemError, match="`B` must have columns"):
        SparseQP.from_factor_model(np.ones((2, 0)), [], [], sparsity=0)


def test_copies_by_pickle_are_the_same_problem():
    problem = make(A=[[1, 1, 1]], b=[1], names=["a", "b", "c"], penalty=0.5)
    again = pickle.loads(pickle.dumps(problem))
    assert repr(again) == repr(problem)
    assert again.names == problem.names
    assert again.objective([1.0, 0.0, 2.0]) == problem.objective([1.0, 0.0, 2.0])


def test_repr_tells_the_shape():
    assert repr(make(A=[[1, 1, 1]], b=[1])) == "SparseQP(n=3, sparsity=1, rows=1)"
    assert make(names=["a", "b", "c"]).name_of(1) == "b"
    assert make().name_of(1) == "x[1]"


def test_groups_in_and_out(tmp_path):
    labels = [0, 1, 0, -1]
    settings = {"eta": 1.0, "groups": labels, "group_sparsity": [1, 0]}
    problem = SparseQP(np.eye(4), -np.arange(1.0, 5.0), **settings)
    assert problem.rule.limit == 2
    assert repr(problem) == "SparseQP(n=4, groups=2)"
    assert problem.feasibility([1.0, 0.0, 1.0, 0.0]).cardinality == 1
    assert problem.feasibility([0.0, 0.0, 1.0, 1.0]).holds()
    assert solve(problem).support.tolist() == [2, 3]
    assert problem.restrict(np.array([1, 2])).groups.tolist() == [1, 0]
    problem.save(tmp_path / "p.npz")
    loaded = SparseQP.load(tmp_path / "p.npz")
    assert loaded.groups.tolist() == labels
    assert loaded.group_sparsity.tolist() == [1, 0]


def test_what_is_forced_in_counts_and_stays(tmp_path):
    problem = SparseQP(
        np.eye(3), np.ones(3), eta=1.0, sparsity=2, penalty=5.0, forced_in=[2]
    )
    assert problem.objective([0.0, 0.0, 0.0]) == 5.0
    assert problem.feasibility([1.0, 1.0, 0.0]).cardinality == 1
    assert problem.restrict(np.array([1, 2])).forced_in.tolist() == [1]
    with pytest.raises(ProblemError, match="must hold all that is forced in"):
        problem.restrict(np.array([0, 1]))
    with pytest.raises(ProblemError, match="must leave room"):
        problem.with_limits(sparsity=0)
    problem.save(tmp_path / "p.npz")
    assert SparseQP.load(tmp_path / "p.npz").forced_in.tolist() == [2]
