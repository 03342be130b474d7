"""Forged files are shown to all checkers: none may be accepted."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.soundness.claims import Facts
from benchmarks.soundness.evidence import Checker, checkers, examine
from benchmarks.soundness.forge import Arrays, Forgery, forgeries
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.said import Finding
from benchmarks.soundness.truth import Truth

SHARE, SHARE_OF_TREES = 0.03, 0.1
"""How many solutions are forged: of all, and of those that have a tree."""

DAMAGES = 12
"""Certificates of a raised bound that are damaged, for each solution."""


@dataclass
class Tried:
    """Forgeries of what is said about a problem.

    Attributes
    ----------
    counts : Counter
        How many there were, by what was changed.
    found : list of Finding
        Those that were accepted, and bounds above the optimum.
    """

    rng: np.random.Generator
    problem: Exact
    truth: Truth
    counts: Counter[str] = field(default_factory=Counter)
    found: list[Finding] = field(default_factory=list)

    def is_due(self, has_tree: bool) -> bool:
        """Whether it is the turn of a solution; where there is no point, it is not."""
        share = SHARE_OF_TREES if has_tree else SHARE
        return self.truth.is_feasible and bool(self.rng.random() < share)


def try_forgeries(tried: Tried, problem: Path, run: Path, arrays: Arrays) -> None:
    """Show changed files to all checkers."""
    facts = Facts(tried.problem, tried.truth)
    for forgery in forgeries(tried.rng, arrays, facts, DAMAGES):
        tried.counts[forgery.name] += 1
        np.savez(run, **forgery.arrays)
        for name, check in checkers().items():
            detail = _complaint(check, problem, run, tried.truth.value)
            if detail:
                tried.found.append(_finding(name, forgery, detail))


def _finding(checker: str, forgery: Forgery, detail: str) -> Finding:
    what = "error" if detail.startswith("error") else "forged"
    return Finding(what, checker, f"{forgery.name}: {detail}")


def _complaint(check: Checker, problem: Path, run: Path, value: Fraction) -> str:
    """What is wrong with a verdict on a forged file; empty if nothing is."""
    verdict = examine(check, problem, run)
    if verdict.error:
        return f"error, {verdict.error}"
    if verdict.ok:
        return "accepted"
    bound = verdict.lower_bound
    if np.isnan(bound) or bound == np.inf or (bound > -np.inf and bound > value):
        return f"{bound!r} is proved, above {float(value)!r}"
    return ""
