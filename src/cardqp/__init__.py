"""Cardinality-constrained convex quadratic programs, with proved bounds.

The public names are loaded on first use, so ``import cardqp`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from cardqp import backends as backends
    from cardqp import gram as gram
    from cardqp import methods as methods
    from cardqp import models as models
    from cardqp import plot as plot
    from cardqp import report as report
    from cardqp import tables as tables
    from cardqp._iterate import Progress as Progress
    from cardqp._iterate import Stop as Stop
    from cardqp.branch_and_bound.settings import SearchSettings as SearchSettings
    from cardqp.estimators import BestSubset as BestSubset
    from cardqp.estimators import SparseRidge as SparseRidge
    from cardqp.estimators import SparseRidgeCV as SparseRidgeCV
    from cardqp.estimators import SparseRidgePath as SparseRidgePath
    from cardqp.estimators import stability_selection as stability_selection
    from cardqp.exceptions import BackendError as BackendError
    from cardqp.exceptions import CardQPError as CardQPError
    from cardqp.exceptions import NotSolvedError as NotSolvedError
    from cardqp.exceptions import ParameterError as ParameterError
    from cardqp.exceptions import ProblemError as ProblemError
    from cardqp.methods.beck_hallak import BeckHallak as BeckHallak
    from cardqp.methods.beck_hallak import beck_hallak as beck_hallak
    from cardqp.methods.best_response import BestResponse as BestResponse
    from cardqp.methods.best_response import best_response as best_response
    from cardqp.methods.block_decomposition import (
        BlockDecomposition as BlockDecomposition,
    )
    from cardqp.methods.block_decomposition import (
        block_decomposition as block_decomposition,
    )
    from cardqp.methods.descent import Descent as Descent
    from cardqp.methods.dual_program import DualProgram as DualProgram
    from cardqp.methods.dual_program import dual_program as dual_program
    from cardqp.methods.exact import Exact as Exact
    from cardqp.methods.safe_screening import (
        PerspectiveScreening as PerspectiveScreening,
    )
    from cardqp.methods.safe_screening import safe_screen as safe_screen
    from cardqp.methods.screening import SafeScreening as SafeScreening
    from cardqp.methods.screening import Screening as Screening
    from cardqp.methods.warm_start import WarmStart as WarmStart
    from cardqp.methods.warm_start import warm_start as warm_start
    from cardqp.pipeline.alternatives import Alternatives as Alternatives
    from cardqp.pipeline.alternatives import alternatives as alternatives
    from cardqp.pipeline.hierarchy import Hierarchy as Hierarchy
    from cardqp.pipeline.hierarchy import hierarchy as hierarchy
    from cardqp.pipeline.path import Path as Path
    from cardqp.pipeline.path import path as path
    from cardqp.pipeline.solve import solve as solve
    from cardqp.problem import SparseQP as SparseQP
    from cardqp.solution import Solution as Solution
    from cardqp.solution import Status as Status
    from cardqp.solution.trace import Trace as Trace
    from cardqp.spectral.spectrum import Spectrum as Spectrum
    from cardqp.spectral.spectrum import spectrum as spectrum
    from cardqp.subsets.result import Subsets as Subsets
    from cardqp.subsets.table import all_subsets as all_subsets

_PUBLIC = {
    "_iterate": "Progress Stop",
    "branch_and_bound.settings": "SearchSettings",
    "estimators": (
        "BestSubset SparseRidge SparseRidgeCV SparseRidgePath stability_selection"
    ),
    "exceptions": "BackendError CardQPError NotSolvedError ParameterError ProblemError",
    "methods.beck_hallak": "BeckHallak beck_hallak",
    "methods.best_response": "BestResponse best_response",
    "methods.block_decomposition": "BlockDecomposition block_decomposition",
    "methods.descent": "Descent",
    "methods.dual_program": "DualProgram dual_program",
    "methods.exact": "Exact",
    "methods.safe_screening": "PerspectiveScreening safe_screen",
    "methods.screening": "SafeScreening Screening",
    "methods.warm_start": "WarmStart warm_start",
    "pipeline.alternatives": "Alternatives alternatives",
    "pipeline.hierarchy": "Hierarchy hierarchy",
    "pipeline.path": "Path path",
    "pipeline.solve": "solve",
    "problem": "SparseQP",
    "solution": "Solution Status",
    "solution.trace": "Trace",
    "spectral.spectrum": "Spectrum spectrum",
    "subsets.result": "Subsets",
    "subsets.table": "all_subsets",
}
"""Public names by the module that has them."""

_HOME = {name: home for home, names in _PUBLIC.items() for name in names.split()}

_MODULES = ("backends", "gram", "methods", "models", "plot", "report", "tables")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"cardqp.{name}")
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'cardqp' has no attribute {name!r}") from None
    value = getattr(import_module(f"cardqp.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
