"""What the paper says of its tables, and whether the same is found here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.reproduce.config import Exhibit
from experiments.reproduce.summary import summarise
from experiments.reproduce.work import Row

EQUAL = 0.005
"""Means that differ by a smaller share count as equal."""

ALIKE = 0.01
"""Means that differ by no more than this share are very similar."""

LEFT_OUT = ("crime",)
"""Data that the paper does not have: its file has lost its decimal points."""

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"

Numbers = Mapping[tuple[Any, str], float]
"""Means of a table, by value and method."""


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, in words, and what says so."""

    claim: str
    exhibit: str
    word: str
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about the rows of a table.

    Attributes
    ----------
    text, exhibit : str
        What it says, and of which table or figure.
    judge : callable
        Makes a word and the evidence of the exhibit and its numbers.
    reason : str
        What explains the difference where the claim does not hold, or only in part.
    """

    text: str
    exhibit: str
    judge: Callable[[Exhibit, Numbers], tuple[str, str]]
    reason: str = ""

    def verdict(self, exhibit: Exhibit, rows: Sequence[Row]) -> Verdict:
        """The verdict on rows that were made here."""
        cells = summarise(exhibit, rows)
        numbers = {
            key: cell.mean for key, cell in cells.items() if key[0] not in LEFT_OUT
        }
        word, evidence = self.judge(exhibit, numbers)
        if word in (PARTLY, FAILS) and self.reason:
            evidence = f"{evidence}. {self.reason}"
        return Verdict(self.text, self.exhibit, word, evidence)


@dataclass(frozen=True)
class Smaller:
    """Some methods have smaller numbers than others, in every row.

    Attributes
    ----------
    methods, others : tuple of str
        Which methods, and than which; where one of the others has no number it is left
        out.
    least : float or None
        The least value of the rows that it is said of.
    """

    methods: tuple[str, ...]
    others: tuple[str, ...]
    least: float | None = None

    def __call__(self, exhibit: Exhibit, numbers: Numbers) -> tuple[str, str]:
        """Compare the largest of the first with the smallest of the others."""
        found: dict[str, list[str]] = {"smaller": [], "equal": [], "larger": []}
        for value in exhibit.study.values:
            if self.least is not None and value < self.least:
                continue
            own = [numbers.get((value, name)) for name in self.methods]
            rest = [numbers[value, n] for n in self.others if (value, n) in numbers]
            mine = [each for each in own if each is not None]
            if mine and len(mine) == len(own) and rest:
                row = exhibit.heading.format(value)
                found[_relation(max(mine), min(rest))].append(row)
        return _word(found), _counted(found)


@dataclass(frozen=True)
class Alike:
    """All methods have nearly the same numbers, in every row."""

    methods: tuple[str, ...]

    def __call__(self, exhibit: Exhibit, numbers: Numbers) -> tuple[str, str]:
        """Compare the largest with the smallest."""
        alike, spread = [], {}
        for value in exhibit.study.values:
            own = [numbers[value, n] for n in self.methods if (value, n) in numbers]
            if len(own) > 1 and min(own) > 0:
                share = max(own) / min(own) - 1.0
                spread[exhibit.heading.format(value)] = share
                alike.append(share <= ALIKE)
        if not spread:
            return "not run", ""
        word = HOLDS if all(alike) else PARTLY if any(alike) else FAILS
        row, most = max(spread.items(), key=lambda item: item[1])
        return word, f"at most {most:.2%} apart (at {row})"


@dataclass(frozen=True)
class Plateau:
    """From some value on the numbers of a method are nearly the least of all."""

    method: str
    start: float

    def __call__(self, _: Exhibit, numbers: Numbers) -> tuple[str, str]:
        """Compare what follows the start with the least."""
        known = {v: x for (v, name), x in numbers.items() if name == self.method}
        least = min(known.values(), default=0.0)
        after = [x / least - 1.0 for v, x in known.items() if v >= self.start]
        if not after:
            return "not run", ""
        word = HOLDS if max(after) <= ALIKE else FAILS
        return word, f"within {max(after):.2%} of the least error from there on"


AS_STATED = (
    "Beck-Hallak and block decomposition are run as their authors state them; the "
    "scripts that the paper compares with have errors."
)
ONE_MATRIX = (
    "The warm start needs only the matrix of the features here; the one that the paper "
    "times has a row and a column for each observation."
)

OTHERS = ("warm-start", "beck-hallak", "block-decomposition")
ALL = ("dual-program", "best-response", *OTHERS)

CLAIMS = (
    Claim(
        "Dual program and best response leave no more variables than safe screening.",
        "tab1",
        Smaller(("dual-program", "best-response"), ("published-screening",)),
    ),
    Claim(
        "The same, with safe screening in the right units.",
        "tab1",
        Smaller(("dual-program", "best-response"), ("safe-screening",)),
    ),
    Claim(
        "With correlations of 0.8 and more, the dual program has smaller errors than "
        "all other methods.",
        "tab2",
        Smaller(("dual-program",), ("best-response", *OTHERS), least=0.8),
        AS_STATED,
    ),
    Claim(
        "On real data, the dual program has smaller errors than best response (in four "
        "of five data sets).",
        "tab4",
        Smaller(("dual-program-khat",), ("best-response-khat",)),
    ),
    Claim(
        "On real data, the dual program has smaller errors than the warm start, "
        "Beck-Hallak and block decomposition.",
        "tab4",
        Smaller(("dual-program-khat",), OTHERS),
        AS_STATED,
    ),
    Claim(
        "Out of sample, the dual program has smaller errors than best response (in "
        "four of five data sets).",
        "tab8",
        Smaller(("dual-program-khat",), ("best-response-khat",)),
    ),
    Claim(
        "Out of sample, the dual program has smaller errors than the warm start, "
        "Beck-Hallak and block decomposition.",
        "tab8",
        Smaller(("dual-program-khat",), OTHERS),
        AS_STATED,
    ),
    Claim(
        "The error of the dual program is on a plateau from k = 8 on.",
        "fig4",
        Plateau("dual-program", 8),
    ),
    Claim(
        "On real data, dual program and best response leave fewer variables than safe "
        "screening.",
        "tab5",
        Smaller(("dual-program-khat", "best-response-khat"), ("published-screening",)),
    ),
    Claim(
        "Best response takes less time than the dual program.",
        "figA",
        Smaller(("best-response",), ("dual-program",)),
    ),
    Claim(
        "With more observations than features, best response and dual program take "
        "less time than the warm start.",
        "figA",
        Smaller(("best-response", "dual-program"), ("warm-start",), least=5000),
        ONE_MATRIX,
    ),
    Claim(
        "For different signal-to-noise ratios the errors of all methods are very "
        "similar.",
        "tab6",
        Alike(ALL),
    ),
    Claim(
        "For different sparsities the errors of all methods are very similar.",
        "tab7",
        Alike(ALL),
    ),
)
"""What the paper concludes, in the order of its tables and figures."""


def verdicts(shown: Mapping[str, tuple[Exhibit, Sequence[Row]]]) -> list[Verdict]:
    """Verdicts on all claims about tables that were run, by the names of these."""
    return [
        claim.verdict(*shown[claim.exhibit])
        for claim in CLAIMS
        if claim.exhibit in shown
    ]


def _relation(mine: float, theirs: float) -> str:
    if abs(mine - theirs) <= EQUAL * max(abs(mine), abs(theirs)):
        return "equal"
    return "smaller" if mine < theirs else "larger"


def _word(found: Mapping[str, Sequence[str]]) -> str:
    if not any(found.values()):
        return "not run"
    if not found["larger"]:
        return HOLDS if found["smaller"] else "no difference"
    return PARTLY if found["smaller"] else FAILS


def _counted(found: Mapping[str, Sequence[str]]) -> str:
    """How many rows there are of each kind, and which speak against the claim."""
    total = sum(map(len, found.values()))
    parts = [f"{name} in {len(own)}" for name, own in found.items() if own]
    text = f"{', '.join(parts)} of {total} rows" if parts else ""
    against = ", ".join(found["larger"])
    return f"{text}; larger at {against}" if against else text
