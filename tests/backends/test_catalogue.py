"""Names of solvers, and what is installed."""

import subprocess
import sys
from importlib import metadata

import pytest

from cardqp import ParameterError
from cardqp.backends import Cvxpy, Gurobi, Scip, catalogue, find, installed


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("scip", Scip()),
        ("SCIP", Scip()),
        ("gurobi", Gurobi()),
        ("cvxpy:SCIP", Cvxpy("SCIP")),
        ("cvxpy:mosek", Cvxpy("MOSEK")),
    ],
)
def test_names(name, backend):
    assert find(name) == backend


@pytest.mark.parametrize("name", ["highs", "cvxpy:HIGHS", "cvxpy:scipy", "cbc"])
def test_solvers_without_quadratic_integer_programs(name):
    with pytest.raises(ParameterError, match='are linear; use "scip", which is free'):
        find(name)


@pytest.mark.parametrize(
    "name", ["", "mosek", "cvxpy", "cvxpy:", "cvxpy:OSQP", "a:scip"]
)
def test_unknown_names_are_answered_by_the_known_ones(name):
    with pytest.raises(
        ParameterError, match=r"must be one of scip, gurobi, cvxpy:SCIP"
    ):
        find(name)


def test_what_is_installed(monkeypatch):
    versions = {"pyscipopt": "5.1", "cvxpy": "1.6", "mosek": "11.0"}

    def version(package):
        if package not in versions:
            raise metadata.PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(metadata, "version", version)
    found = {info.name: info for info in installed()}
    assert list(found) == ["scip", "gurobi", "cvxpy", "cvxpy:SCIP", "cvxpy:MOSEK"]
    assert found["scip"].version == "5.1"
    assert found["gurobi"].version is None
    assert not found["gurobi"].is_installed
    assert found["gurobi"].install == "pip install 'cardqp[gurobi]'"
    assert "200 columns" in found["gurobi"].licence
    assert "bound" in found["cvxpy:SCIP"].supports
    assert "bound" not in found["cvxpy:MOSEK"].supports
    assert found["cvxpy:MOSEK"].formulations == ("perspective", "big-m")


def test_without_cvxpy_nothing_is_behind_it(monkeypatch):
    def version(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", version)
    assert [info.name for info in installed()] == ["scip", "gurobi", "cvxpy"]


def test_broken_packages_do_no_harm(monkeypatch):
    def version(package):
        raise KeyError(package)

    monkeypatch.setattr(metadata, "version", version)
    assert not any(info.is_installed for info in installed())


def test_every_solver_has_a_licence():
    assert set(catalogue._LICENCES) == set(catalogue.DIALECTS)


def test_no_solver_is_imported_before_it_is_used():
    code = (
        "import sys, cardqp.backends as b; b.installed(); b.find('scip'); "
        "print([m for m in ('pyscipopt', 'gurobipy', 'cvxpy') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
