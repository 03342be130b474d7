import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import ProblemError, SparseQP, solve
from cardqp.quadratic import Factor
from tests.problems import KINDS, random_problem

EYE = np.eye(3)
ONES = np.ones(3)


def make(Q=EYE, c=ONES, *, eta=1.0, sparsity=1, **settings):
    return SparseQP(Q, c, eta=eta, sparsity=sparsity, **settings)


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
    with pytest.raises(AttributeError):
        problem.sparsity = 2


def test_rounding_in_a_rank_deficient_matrix_is_accepted():
    F = np.random.default_rng(0).standard_normal((3, 40))
    problem = SparseQP(F.T @ F, np.ones(40), eta=1.0, sparsity=2)
    smallest = np.linalg.eigvalsh(problem.Q + np.diag(problem.quadratic.defect))[0]
    assert smallest > 0


def test_nearly_symmetric_matrix_is_made_symmetric():
    Q = EYE.copy()
    Q[0, 1] = 1e-12
    problem = make(Q)
    np.testing.assert_array_equal(problem.Q, problem.Q.T)


def test_objective_has_all_terms():
    problem = make(
        np.diag([1.0, 2.0, 3.0]), [1.0, -1.0, 0.0], eta=[1.0, 2.0, 4.0], penalty=0.5,
        constant=10.0,
    )  # fmt: skip
    # 10 + (2 - 3) + (4 + 18) + (4 + 4.5) + 2 * 0.5
    assert problem.objective([2.0, 3.0, 0.0]) == 40.5


def test_feasibility_measures_each_constraint():
    problem = make(
        A=[[1.0, 1.0, 0.0]], b=[2.0], A_eq=[[0.0, 0.0, 1.0]], b_eq=[1.0], upper=2.0
    )  # fmt: skip
    found = problem.feasibility([2.5, 1.5, 0.5])
    assert found.rows == 2.0 / 2.5
    assert found.equalities == 0.5 / 2.5
    assert found.bounds == pytest.approx(0.2)
    assert found.cardinality == 2
    assert not found.holds()
    assert problem.feasibility([0.0, 0.0, 1.0]).holds()


def regression_data(N, n):
    rng = np.random.default_rng(5)
    return rng.standard_normal((N, n)) + 1.0, rng.standard_normal(N)


@pytest.mark.parametrize("shape", [(30, 4), (5, 8)])
@pytest.mark.parametrize("kind", ["numpy", "pandas", "sparse", "float32"])
def test_regression_objective_is_the_penalised_mean_squared_error(shape, kind):
    X, y = regression_data(*shape)
    convert = {
        "numpy": np.asarray,
        "pandas": pd.DataFrame,
        "sparse": scipy.sparse.csr_matrix,
        "float32": lambda X: X.astype(np.float32),
    }[kind]
    problem = SparseQP.from_regression(convert(X), y, eta=3.0, sparsity=2)
    x = np.random.default_rng(1).standard_normal(shape[1])
    expected = np.mean((y - X @ x) ** 2) + x @ x / 3.0
    tolerance = 1e-6 if kind == "float32" else 1e-12
    assert problem.objective(x) == pytest.approx(expected, rel=tolerance)
    assert isinstance(problem.quadratic, Factor) == (shape[1] > shape[0])


def test_regression_keeps_column_names():
    X, y = regression_data(20, 3)
    frame = pd.DataFrame(X, columns=["age", "bmi", "bp"])
    problem = SparseQP.from_regression(frame, pd.Series(y), eta=1.0, sparsity=1)
    assert problem.names == ("age", "bmi", "bp")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((3, 2)), np.ones(4), "`X` and `y` must have the same number of rows"),
        (np.ones((0, 2)), np.ones(0), "at least one"),
        (np.ones((3, 0)), np.ones(3), "`X` must have columns"),
        (np.full((3, 2), np.nan), np.ones(3), r"`X` must be finite: X\[0, 0\]"),
        (np.ones((3, 2)), [1.0, np.nan, 1.0], r"`y` must be finite: y\[1\]"),
        (pd.DataFrame({"a": ["u", "v", "w"]}), np.ones(3), "`X` must hold numbers"),
    ],
)
def test_bad_regression_data(X, y, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP.from_regression(X, y, eta=1.0, sparsity=1)


def test_bad_sparse_regression_data():
    X = scipy.sparse.csr_matrix(np.diag([1.0, np.nan]))
    with pytest.raises(ProblemError, match="`X` must be finite"):
        SparseQP.from_regression(X, np.ones(2), eta=1.0, sparsity=1)


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
    with pytest.raises(ProblemError, match="exactly one array Q or F"):
        SparseQP.load(path)
    np.savez(path, Q=EYE, c=ONES, eta=1.0, sparsity=1, zeta=1.0)
    with pytest.raises(ProblemError, match="unknown arrays"):
        SparseQP.load(path)
    np.savez(path, Q=np.array([{}], dtype=object), c=ONES, eta=1.0, sparsity=1)
    with pytest.raises(ProblemError, match=r"must be a \.npz archive"):
        SparseQP.load(path)


def test_restriction_is_the_problem_with_other_variables_zero():
    problem = random_problem("everything at once", 3)
    kept = np.array([0, 2])
    part = np.array([0.3, -0.2])
    x = np.zeros(problem.n)
    x[kept] = part
    assert problem.restrict(kept).objective(part) == pytest.approx(problem.objective(x))


def test_other_limits_share_the_data():
    problem = make(penalty=0.1)
    other = problem.with_limits(sparsity=2)
    assert other.sparsity == 2
    assert other.penalty == 0.1
    assert other.quadratic is problem.quadratic
    with pytest.raises(ProblemError, match="`sparsity` must lie"):
        problem.with_limits(sparsity=9)


def test_more_can_be_forced():
    problem = SparseQP(
        np.eye(5), np.ones(5), eta=1.0, sparsity=3, forced_in=[4], forced_out=[0]
    )
    other = problem.with_forced(forced_in=[2, 4], forced_out=[1])
    assert other.forced_in.tolist() == [2, 4]
    assert other.forced_out.tolist() == [0, 1]
    assert other.quadratic is problem.quadratic
    assert problem.forced_in.tolist() == [4]
    assert problem.with_forced(forced_out=[3]).forced_in.tolist() == [4]


def test_more_forced_variables_bring_their_blocks():
    problem = SparseQP(
        np.eye(5), np.ones(5), eta=1.0, sparsity=1, blocks=[0, 0, 1, 2, 2]
    )
    other = problem.with_forced(forced_in=[1], forced_out=[3])
    assert other.forced_in.tolist() == [0, 1]
    assert other.forced_out.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ({"forced_in": [0, 1]}, "`forced_in` must leave room: it names 3 variables"),
        ({"forced_in": [3]}, "`forced_in` must leave room: it names 2 variables of gr"),
        ({"forced_in": [5]}, "`forced_in` must hold indices between 0 and 4"),
        ({"forced_in": [1, 1]}, "`forced_in` must name no variable twice"),
        ({"forced_out": [9]}, "`forced_out` must hold indices between 0 and 4"),
        ({"forced_out": [4]}, "`forced_out` must not name what `forced_in` names"),
        ({"forced_in": [2]}, "`forced_out` must not name what `forced_in` names"),
    ],
)
def test_more_that_is_forced_is_checked(forced, message):
    problem = SparseQP(
        np.eye(5),
        np.ones(5),
        eta=1.0,
        sparsity=2,
        forced_in=[4],
        forced_out=[2],
        groups=[-1, -1, -1, 0, 0],
        group_sparsity=[1],
    )
    with pytest.raises(ProblemError, match=message):
        problem.with_forced(**forced)


def test_repr_tells_the_shape():
    assert repr(make(A=[[1, 1, 1]], b=[1])) == "SparseQP(n=3, sparsity=1, rows=1)"
    assert make(names=["a", "b", "c"]).name_of(1) == "b"
    assert make().name_of(1) == "x[1]"


def test_defect_makes_nearly_convex_matrices_convex():
    """Also where the diagonal is zero, and where scales differ."""
    for Q in ([[0.0, 3e-5], [3e-5, 1.0]], [[1e-2, 0.1 * (1 + 9e-10)], [0, 1.0]]):
        Q = np.array(Q)
        Q[1, 0] = Q[0, 1]
        problem = SparseQP(Q, np.ones(2), eta=1.0, sparsity=1)
        repaired = problem.Q + np.diag(problem.quadratic.defect)
        assert np.linalg.eigvalsh(repaired)[0] >= -1e-17


def test_zero_rows_of_q_have_no_defect():
    assert make(np.diag([1.0, 0.0, 1.0])).quadratic.defect[1] == 0.0


@pytest.mark.parametrize("is_factor", [True, False])
def test_moving_a_diagonal_changes_nothing_but_the_split(is_factor):
    F = np.random.default_rng(0).standard_normal((6, 4))
    args = (np.ones(4),)
    settings = {"eta": 2.0, "sparsity": 2}
    if is_factor:
        problem = SparseQP.from_factor(F, *args, **settings)
    else:
        problem = SparseQP(F.T @ F, *args, **settings)
    moved = problem.move_to_ridge(np.full(4, 0.2))
    x = np.array([1.0, -2.0, 0.0, 3.0])
    assert moved.objective(x) == pytest.approx(problem.objective(x), rel=1e-14)
    np.testing.assert_allclose(moved.ridge, 0.7)
    assert (moved.quadratic.defect > 0).all()
    for bad in (np.full(4, 100.0), np.full(4, -0.5), np.zeros(3)):
        with pytest.raises(ProblemError):
            problem.move_to_ridge(bad)


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


def test_feasibility_of_thresholds_and_forced_variables():
    problem = SparseQP(
        np.eye(3),
        np.zeros(3),
        eta=1.0,
        sparsity=2,
        lower=[0.5, -1.0, 0.5],
        upper=1.0,
        forced_in=[0],
        forced_out=[1],
    )
    assert problem.feasibility([0.5, 0.0, 0.0]).holds()
    assert problem.feasibility([0.5, 0.0, 1.0]).holds()
    for wrong in ([0.0, 0.0, 0.5], [0.5, 0.1, 0.0], [0.5, 0.0, 0.2]):
        assert problem.feasibility(wrong).bounds > 0.1


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


def test_groups_without_members_do_not_count():
    settings = {"eta": 1.0, "sparsity": 2, "groups": [-1, -1], "group_sparsity": 1}
    assert SparseQP(np.eye(2), np.ones(2), **settings).is_free


@pytest.mark.parametrize("kind", KINDS)
def test_other_vectors_make_the_same_problem_as_new_data(kind):
    problem = random_problem(kind, 1)
    c, b, b_eq = problem.c + 1.0, problem.b - 0.5, 2.0 * problem.b_eq
    changed = problem.with_linear(c=c, b=b, b_eq=b_eq, constant=7.0)
    assert changed.quadratic is problem.quadratic
    assert changed.rows.matrix is problem.rows.matrix
    assert changed.constant == 7.0
    for name, expected in (("c", c), ("b", b), ("b_eq", b_eq)):
        np.testing.assert_array_equal(getattr(changed, name), expected)
    for name in ("eta", "sparsity", "lower", "upper", "forced_in", "forced_out"):
        assert getattr(changed, name) is getattr(problem, name)
    x = np.linspace(-1.0, 1.0, problem.n)
    difference = 7.0 - problem.constant + x.sum()
    assert changed.objective(x) == pytest.approx(problem.objective(x) + difference)
    same = problem.with_linear()
    assert same.objective(x) == problem.objective(x)
    assert same.rows is problem.rows


def test_other_vectors_are_copied_and_checked():
    problem = make(A=np.ones((1, 3)), b=[1.0], A_eq=np.eye(3)[:1], b_eq=[0.5])
    c = np.ones(3)
    changed = problem.with_linear(c=c, b=2.0)
    c[0] = 5.0
    assert changed.c[0] == 1.0
    assert changed.b.tolist() == [2.0]
    assert changed.b_eq.tolist() == [0.5]
    with pytest.raises(ValueError, match="read-only"):
        changed.rows.rhs[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": np.ones(4)}, "`c` must have 3 entries, one per variable"),
        ({"c": [np.nan, 0, 0]}, r"`c` must be finite: c\[0\] is nan"),
        ({"b": [1.0, 2.0]}, "`b` must have 1 entries, one per row of `A`"),
        ({"b_eq": [np.inf]}, "`b_eq` must be finite"),
        ({"b_eq": [1.0, 1.0]}, "`b_eq` must have 1 entries, one per row of `A_eq`"),
        ({"constant": "much"}, "`constant` must hold numbers"),
    ],
)
def test_other_vectors_that_do_not_fit(changes, message):
    problem = make(A=np.ones((1, 3)), b=[1.0], A_eq=np.eye(3)[:1], b_eq=[0.5])
    with pytest.raises(ProblemError, match=message):
        problem.with_linear(**changes)
