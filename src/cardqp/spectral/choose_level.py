"""The level of the hierarchy that a method works at."""

from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum


def choose_level(
    problem: SparseQP, level: int | None = None, known: Spectrum | None = None
) -> Level:
    """The level asked for, or the one beyond which bounds gain little."""
    check.instance("problem", problem, SparseQP)
    problem = with_positive_ridge(problem)
    found = spectrum(problem, level) if known is None else known.of(problem)
    if level is None:
        return found.level(found.default_level())
    return found.level(level)
