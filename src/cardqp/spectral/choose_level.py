"""The level of the hierarchy that a method works at."""

from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.problem import SparseQP, check_problem
from cardqp.spectral.level import Level
from cardqp.spectral.spectrum import Spectrum, spectrum


def choose_level(
    problem: SparseQP, level: int | None = None, known: Spectrum | None = None
) -> Level:
    """The level asked for, or the one beyond which bounds gain little."""
    check_problem(problem)
    problem = with_positive_ridge(problem)
    found = spectrum(problem, level) if known is None else known.of(problem)
    if level is None:
        return found.level(found.default_level())
    return found.level(level)
