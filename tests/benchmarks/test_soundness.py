"""The referee must be right, and must find what is wrong."""

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.soundness import records as files
from benchmarks.soundness.__main__ import main
from benchmarks.soundness.active_set import Answer, Program, inverse
from benchmarks.soundness.cases import make_case
from benchmarks.soundness.evidence import checkers
from benchmarks.soundness.kinds import KINDS, UNITS
from benchmarks.soundness.pool import run_all
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.referee import (
    COUNTED,
    FROM_START,
    MUST_BE_ZERO,
    Said,
    judge,
)
from benchmarks.soundness.scaled import confirm
from benchmarks.soundness.table import is_sound
from benchmarks.soundness.trial import ALL_METHODS, is_for_all, run
from benchmarks.soundness.truth import Truth, find_truth

import cardqp
from tests.problems import KINDS as EASY
from tests.problems import enumerate_optimum, random_problem


@pytest.mark.parametrize("kind", EASY)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_truth_is_what_enumeration_in_floats_finds(kind, seed):
    problem = random_problem(kind, seed)
    truth = find_truth(Exact.of(problem))
    value, _ = enumerate_optimum(problem)
    if np.isinf(value):
        assert truth.is_infeasible
    else:
        assert float(truth.value) == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("number", range(0, 4 * len(KINDS), 7))
def test_truth_is_the_value_of_its_point_which_is_feasible(number):
    exact = Exact.of(make_case(1, number).problem)
    truth = find_truth(exact)
    if truth.x is None:
        return
    support = exact.support_of(truth.x)
    assert not exact.complaint(support)
    n = range(exact.n)
    curved = sum(exact.Q[i][j] * truth.x[i] * truth.x[j] for i in n for j in n)
    ridge = sum(exact.ridge[j] * truth.x[j] ** 2 for j in n)
    linear = sum(exact.c[j] * truth.x[j] for j in n)
    total = exact.constant + linear + curved + ridge
    # A variable that is switched on may be zero at the optimum, and pay all the same.
    assert truth.value >= total + exact.price * exact.count(support)
    assert exact.price > 0 or truth.value == total


def test_units_and_an_offset_do_not_change_what_is_true():
    Q, c = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([-4.0, 1.0])
    unit = np.array([2.0**-26, 2.0**26])
    plain = cardqp.SparseQP(Q, c, eta=4.0, sparsity=1, A=[[1.0, 1.0]], b=[0.5])
    other = cardqp.SparseQP(
        Q / np.outer(unit, unit),
        c / unit,
        eta=4.0 * unit**2,
        sparsity=1,
        A=[2.0**20 / unit],
        b=[2.0**19],
        constant=0.25,
    )
    truths = [find_truth(Exact.of(problem)) for problem in (plain, other)]
    assert truths[1].value == truths[0].value + Fraction(1, 4)


def test_a_matrix_whose_rounding_is_larger_than_the_ridge_has_no_known_optimum():
    Q = np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-53]])
    assert not find_truth(
        Exact.of(cardqp.SparseQP(Q, [1.0, -1.0], eta=1e18, sparsity=2))
    ).is_convex


@pytest.mark.parametrize(
    ("x", "multipliers"),
    [
        ([Fraction(1), Fraction(0)], {}),  # better, and not feasible
        ([Fraction(0), Fraction(0)], {}),  # feasible, and not optimal
        ([Fraction(1, 2), Fraction(0)], {0: Fraction(-1)}),  # a wrong sign
        (None, {0: Fraction(1)}),  # not a proof that there is no point
    ],
)
def test_wrong_answers_of_the_exact_method_are_noticed(x, multipliers):
    G = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    rows, rhs = [[Fraction(1), Fraction(0)]], [Fraction(1, 2)]
    half = [[v / 2 for v in row] for row in inverse(G)]
    program = Program(half, [Fraction(-2), Fraction(0)], rows, rhs, 0)
    confirm(G, program, program.solve())
    with pytest.raises(AssertionError):
        confirm(G, program, Answer(x, multipliers, []))


@pytest.fixture(scope="module")
def problem():
    """The optimum is -4.125 at (1, 0.25, 0, 0, 0)."""
    return cardqp.SparseQP(
        np.eye(5),
        [-8.0, -1.0, -0.5, -0.25, 2.0],
        eta=1.0,
        sparsity=3,
        A=[[1e-8, 0.0, 0.0, 0.0, 0.0]],
        b=[1e-8],
        lower=[-5.0, -5.0, -5.0, -5.0, 0.5],
        forced_out=[3],
        groups=[0, 1, 1, 0, 0],
        group_sparsity=[2, 1],
        constant=2.0,
    )


@pytest.fixture(scope="module")
def exact(problem):
    return Exact.of(problem)


@pytest.fixture(scope="module")
def truth(exact):
    found = find_truth(exact)
    assert found.value == Fraction(-33, 8)
    assert found.x == [1, Fraction(1, 4), 0, 0, 0]
    return found


@pytest.fixture(scope="module")
def honest():
    return Said(
        method="exact",
        status="OPTIMAL",
        x=np.array([1.0, 0.25, 0.0, 0.0, 0.0]),
        objective=-4.125,
        lower_bound=-4.125,
        gap=0.0,
        proved=-4.125,
    )


def moved(said, problem, x, **changes):
    """The same claim about another point, with its objective."""
    x = np.array(x)
    return replace(said, x=x, objective=problem.objective(x), **changes)


def found(exact, truth, *said):
    return {finding.what for finding in judge(exact, truth, said)}


def test_an_honest_answer_is_not_blamed(exact, truth, honest):
    bounded = replace(honest, status="FEASIBLE", lower_bound=-6.0, gap=0.4, proved=-6.0)
    other = replace(bounded, method="best-response")
    assert found(exact, truth, honest, other) == set()


@pytest.mark.parametrize(
    "x",
    [
        [1.0, 0.25, 0.125, 0.0, 0.0],  # two of a group of which one is allowed
        [1.0, 0.25, 0.0, 1e-30, 0.0],  # forced out
        [1.0, 0.25, 0.0, 0.0, 0.4999],  # below a threshold
        [1.00001, 0.25, 0.0, 0.0, 0.0],  # off a row in small units
        [1.0, -5.1, 0.0, 0.0, 0.0],  # out of bounds
    ],
)
def test_infeasible_points_are_counted(exact, truth, honest, problem, x):
    said = moved(honest, problem, x, status="FEASIBLE", lower_bound=-9.0, proved=-9.0)
    assert "infeasible" in found(exact, truth, said)


def test_cardinality_and_forced_variables_are_counted(honest):
    problem = cardqp.SparseQP(
        np.eye(3), -np.ones(3), eta=1.0, sparsity=1, forced_in=[2], lower=[0.0, 0, 0.25]
    )
    exact = Exact.of(problem)
    truth = find_truth(exact)
    for x in ([0.25, 0.0, 0.25], [0.25, 0.0, 0.0], [0.0, 0.0, 0.0]):
        said = moved(honest, problem, x, lower_bound=-9.0, proved=-9.0)
        assert "infeasible" in found(exact, truth, said)


WRONG_STATUSES = {
    "not the optimum": {"x": [0.0, 0.25, 0.0, 0.0, 0.0], "lower_bound": -9.0},
    "no point": {"x": None, "objective": np.inf},
    "a point, but INFEASIBLE": {"status": "INFEASIBLE", "lower_bound": np.inf},
    "closed, but FEASIBLE": {"status": "FEASIBLE"},
    "OPTIMAL, but not closed": {"gap": 0.1, "lower_bound": -4.5},
}


@pytest.mark.parametrize("name", WRONG_STATUSES)
def test_wrong_statuses_are_counted(exact, truth, honest, problem, name):
    changes = dict(WRONG_STATUSES[name])
    said = replace(honest, **changes)
    if changes.get("x") is not None:
        said = moved(said, problem, changes["x"], proved=-9.0)
    assert "status" in found(exact, truth, said)


def test_infeasible_although_there_is_a_point(exact, truth, honest):
    said = replace(
        honest, status="INFEASIBLE", x=None, objective=np.inf, lower_bound=np.inf
    )
    assert found(exact, truth, said) == {"status"}


@pytest.mark.parametrize("name", ["lower_bound", "proved"])
def test_bounds_above_the_truth_are_counted(exact, truth, honest, name):
    above = np.nextafter(-4.125, 0.0)
    assert found(exact, truth, replace(honest, **{name: above})) == {"bound"}


def test_misreported_objectives_are_counted(exact, truth, honest):
    said = replace(honest, objective=-4.125 - 1e-9)
    assert found(exact, truth, said) == {"objective"}


def test_points_better_than_proved_are_counted(exact, honest):
    unknown = Truth(is_convex=False)
    said = replace(honest, lower_bound=-4.0)
    assert "beyond" in found(exact, unknown, said)


def test_contradictions_are_counted(exact, truth, honest, problem):
    empty = Said("empty", status="INFEASIBLE", lower_bound=np.inf)
    assert "contradiction" in found(exact, truth, honest, empty)
    worse = moved(
        honest, problem, [1.0, 0.0, 0.0, 0.0, 0.0], method="worse", lower_bound=-9.0
    )
    assert "contradiction" in found(exact, truth, honest, worse)
    bounded = Said("bounded", status="UNKNOWN", lower_bound=-3.0)
    assert "contradiction" in found(exact, truth, honest, bounded)


def test_refusals_are_counted_if_nothing_else_is_wrong(exact, truth, honest):
    said = replace(honest, complaints=("the support is [1], not [0]",))
    assert found(exact, truth, said) == {"refused"}
    rightly = replace(said, objective=-5.0)
    assert found(exact, truth, rightly) == {"objective"}


def test_errors_and_late_answers_are_counted(exact, truth, honest):
    assert found(exact, truth, Said("exact", error="IndexError: 3")) == {"error"}
    assert found(exact, truth, replace(honest, is_late=True)) == {"time"}
    assert found(exact, truth, replace(honest, warnings=("overflow",))) == {"warning"}


def test_answers_that_say_little_are_counted(exact, truth):
    nothing = Said("exact", status="UNKNOWN")
    assert found(exact, truth, nothing) == {"unknown"}
    assert found(exact, Truth(is_convex=True), nothing) == {"undecided"}


def test_answers_worse_than_the_point_they_were_given_are_counted(
    exact, truth, honest, problem
):
    given = replace(honest, method=FROM_START)
    assert found(exact, truth, given) == set()
    open_gap = {"status": "FEASIBLE", "lower_bound": -9.0, "proved": -9.0}
    worse = moved(given, problem, [1.0, 0.0, 0.0, 0.0, 0.0], **open_gap)
    assert found(exact, truth, worse) == {"start", "open"}
    nothing = Said(FROM_START, status="UNKNOWN")
    assert found(exact, truth, nothing) == {"start", "unknown"}


@pytest.mark.parametrize(("by", "excuse"), [(1e-8, "tolerance"), (1e-15, "rounding")])
def test_what_the_tolerance_explains_is_counted_apart(by, excuse):
    """The two rows contradict each other by less than the tolerance."""
    problem = cardqp.SparseQP(
        np.eye(1), [0.0], eta=1.0, sparsity=1, A_eq=[[1.0], [1.0]], b_eq=[1.0, 1 + by]
    )
    exact = Exact.of(problem)
    truth = find_truth(exact)
    assert truth.is_infeasible
    said = Said("exact", "OPTIMAL", np.ones(1), 2.0, 2.0, 0.0, proved=2.0)
    empty = Said("empty", status="INFEASIBLE", lower_bound=np.inf)
    assert found(exact, truth, said, empty) == {excuse}
    wrong = replace(said, x=np.array([1.1]), objective=problem.objective([1.1]))
    assert {"infeasible", "status"} <= found(exact, truth, wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_made_in_all_units(kind):
    first = list(KINDS).index(kind)
    for k, units in enumerate(UNITS):
        case = make_case(3, first + k * len(KINDS))
        again = make_case(3, first + k * len(KINDS))
        assert (case.kind, case.units) == (kind, units)
        np.testing.assert_array_equal(case.problem.c, again.problem.c)


def test_files_are_checked_and_say_what_they_are_made_of():
    number = next(k for k in range(5 * len(KINDS)) if is_for_all(k))
    said = run(0, number).said
    exact = said[0]
    assert (exact.status, exact.errors, exact.complaints) == ("OPTIMAL", (), ())
    assert set(exact.checked) == set(checkers())
    assert {one.method for one in said} >= set(cardqp.methods.METHODS)


def test_all_methods_are_asked_about_each_kind_in_all_units():
    some = [
        number for number in range(4 * ALL_METHODS * len(KINDS)) if is_for_all(number)
    ]
    pairs = {(k % len(KINDS), k // len(KINDS) % len(UNITS)) for k in some}
    assert len(pairs) == len(KINDS) * len(UNITS)
    assert len(some) == 4 * len(KINDS)


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped_and_ends_with_a_table(tmp_path, capfd):
    numbers = [str(number) for number in range(20)]
    options = ["--out", str(tmp_path), "--numbers"]
    main([*options, *numbers[:5]])
    capfd.readouterr()
    code = main([*options, *numbers])
    printed = capfd.readouterr().out
    assert "5 are done, 15 are left" in printed
    assert all(name[:9] in printed for name in (*MUST_BE_ZERO, *COUNTED))
    records = files.read(files.file_for(tmp_path, 0))
    assert sorted(records) == list(range(20))
    assert code == 0
    assert all("exact" in record["statuses"] for record in records.values())
    assert files.file_for(tmp_path, 0).with_suffix(".json").exists()


def die_at_three(seed, number):
    """Work that takes the process with it."""
    if number == 3:
        os._exit(1)
    return {"number": number, "seed": seed, "findings": []}


@pytest.mark.slow
def test_a_process_that_dies_is_one_error():
    records = {r["number"]: r for r in run_all(7, range(6), 1, die_at_three)}
    assert sorted(records) == list(range(6))
    assert records[3]["findings"] == [["error", "some method", "the process died"]]
    assert [n for n, r in records.items() if r["findings"]] == [3]


def test_the_exit_code_tells_and_a_line_that_was_cut_short_is_left_out(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = {"number": 1, "truth": "feasible", "statuses": {}, "findings": []}
    files.append(path, good)
    with path.open("a") as file:
        file.write('{"number": 2, "tru')
    files.append(path, good | {"number": 3})
    assert sorted(files.read(path)) == [1, 3]
    assert is_sound([good])
    assert not is_sound([good | {"findings": [["bound", "exact", ""]]}])
    assert is_sound([good | {"findings": [["tolerance", "exact", ""]]}])
    assert not is_sound([good | {"statuses": {"exact": "UNKNOWN"}}])


def test_one_problem_is_shown_and_saved(tmp_path, capsys):
    number = next(k for k in range(5, 5 * len(KINDS)) if is_for_all(k))
    assert main(["--out", str(tmp_path), "--show", str(number)]) == 0
    printed = capsys.readouterr().out
    assert "the optimum is" in printed
    assert "block-decomposition" in printed
    loaded = cardqp.SparseQP.load(tmp_path / f"{number}.npz")
    assert loaded.n == make_case(0, number).problem.n


MENDED = {
    "rays that did not balance": (2027, 5585),
    "factors whose terms cancel": (2027, 14538),
    "penalties below the search's": (2028, 238),
    "no ridge where a residual is bounded": (2028, 90),
    "multipliers that are forged": (2028, 3979),
    "multipliers that overflow": (2028, 4021),
    "an objective without a size": (2028, 5217),
    "inverses that underflow": (2028, 8873),
    "a price that overflows": (2028, 89823),
    "supports that do not count": (2028, 91381),
    "curvature that cancels": (2028, 19424),
    "variables that are decided twice": (2028, 81965),
    "variables that the root decides, too": (2028, 65362),
}
"""What random problems found once."""


@pytest.mark.parametrize(("seed", "number"), MENDED.values(), ids=MENDED)
def test_what_was_mended_stays_so(seed, number):
    found = {finding.what for finding in run(seed, number).findings}
    assert not found & {*MUST_BE_ZERO, "warning"}
