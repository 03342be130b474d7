import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.heuristics import exchange_bounds as module
from cardqp.heuristics.exchange_bounds import exchange_bounds
from cardqp.subproblems.support_qp import fit_support
from tests.problems import OWN_SWITCHES, random_problem


def after(problem, support, entering, leaves, enters):
    """The fit after an exchange, and its support."""
    rest = np.delete(support, leaves) if leaves < len(support) else support
    changed = np.union1d(rest, entering[enters : enters + 1]).astype(int)
    return fit_support(problem, changed), changed


@pytest.mark.parametrize("most_rows", [0, 32])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", OWN_SWITCHES)
def test_no_exchange_gains_more_than_its_bound(kind, seed, most_rows, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", most_rows)
    problem = random_problem(kind, seed)
    allowed = np.setdiff1d(np.arange(problem.n), problem.forced_out)
    size = min(max(problem.rule.limit - 1, 1), len(allowed))
    fit = fit_support(problem, np.union1d(allowed[:size], problem.forced_in))
    if fit.x is None:
        return
    support = problem.support_of(fit.x)
    entering = np.setdiff1d(allowed, support)
    least = exchange_bounds(problem, fit.x, fit.beta, support, entering)
    assert least.shape == (len(support) + 1, len(entering) + 1)
    # Multipliers are as accurate as the solver of the subproblem: about 1e-9.
    slack = 1e-6 * (problem.magnitude(fit.x) + 1.0)
    for leaves, enters in np.argwhere(np.isfinite(least)):
        found, changed = after(problem, support, entering, leaves, enters)
        value = found.objective
        if found.x is not None:
            zeros = len(changed) - len(problem.support_of(found.x))
            value += problem.rule.penalty * zeros
        assert value >= fit.objective + least[leaves, enters] - slack
    assert np.isinf(least[:-1][np.isin(support, problem.forced_in)]).all()


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_improvements_are_exact_with_rows_alone(seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((12, 9))
    A = rng.standard_normal((3, 9))
    problem = SparseQP(
        F.T @ F,
        rng.standard_normal(9),
        eta=10.0,
        sparsity=4,
        A=A[:2],
        b=rng.uniform(-0.2, 0.5, 2),
        A_eq=A[2:],
        b_eq=[1.0],
    )
    support, entering = np.arange(4), np.arange(4, 9)
    fit = fit_support(problem, support)
    least = exchange_bounds(problem, fit.x, fit.beta, support, entering)
    assert (least < 0).any()
    for leaves, enters in np.argwhere(least < 0):
        found, _ = after(problem, support, entering, leaves, enters)
        change = found.objective - fit.objective
        assert least[leaves, enters] == pytest.approx(change, rel=1e-6, abs=1e-8)


def test_dependent_rows_do_no_harm():
    problem = SparseQP(
        np.diag([1.0, 2.0, 3.0, 0.5]),
        np.zeros(4),
        eta=1.0,
        sparsity=2,
        A_eq=np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]),
        b_eq=[1.0, 2.0],
    )
    fit = fit_support(problem, np.array([1, 2]))
    support, entering = np.array([1, 2]), np.array([0, 3])
    least = exchange_bounds(problem, fit.x, fit.beta, support, entering)
    for leaves, enters in np.ndindex(2, 2):
        found, _ = after(problem, support, entering, leaves, enters)
        change = found.objective - fit.objective
        assert least[leaves, enters] <= change + 1e-9
        assert least[leaves, enters] == pytest.approx(min(change, 0.0), abs=1e-9)
