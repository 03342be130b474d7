"""Solvers that are not there are not tested."""

import pytest


@pytest.fixture
def gurobipy():
    """Gurobi, with whatever licence it has."""
    found = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    try:
        found.Env(params={"OutputFlag": 0}).dispose()
    except found.GurobiError as err:
        pytest.skip(f"Gurobi does not start: {err}")
    return found
