"""What is run and what is shown: one file for each table and figure of the paper."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

from cardqp.exceptions import ParameterError

IDS = (
    *("fig1", "fig2", "tab1", "tab2", "tab3", "tab4", "tab8"),
    *("fig4", "tab5", "figA", "tab6", "tab7"),
)
"""Tables and figures in the order of the paper."""

Kind = Literal["synthetic", "real", "spectrum", "levels"]


@dataclass(frozen=True)
class Study:
    """Runs that one or more tables and figures are made of.

    Attributes
    ----------
    name : str
        The table or figure whose file describes it.
    kind : {"synthetic", "real", "spectrum", "levels"}
        What one replication computes.
    vary, values : str and tuple
        The setting that differs between rows of a table, and what it is set to.
    replications : int
        Data sets drawn, or splits made, for each value.
    methods : tuple of str
        What is run on each.
    settings : mapping
        Everything else: sizes, constants of methods, limits.
    """

    name: str
    kind: Kind
    vary: str
    values: tuple[Any, ...]
    replications: int
    methods: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure: which numbers of a study it shows, and the paper's own.

    Attributes
    ----------
    id : str
        Its name in the paper, about.
    title, heading : str
        What stands above it; what stands before a row, with the value filled in.
    study : Study
        Where its numbers come from.
    metric : str
        The number that is shown.
    columns : mapping of str to str
        Methods and their names.
    paper : mapping of str to tuple
        Values that the paper prints, by method, one for each of the study's values.
    reasons : mapping of str to str
        Why a number differs, by method or by value.
    picture : str or None
        The picture it is, if it is one.
    decimals, scientific : int and bool
        How the paper prints numbers: digits after the point, of all or the mantissa.
    only : Any
        The only one of the study's values that is shown, if it is one.
    """

    id: str
    title: str
    heading: str
    study: Study
    metric: str
    columns: Mapping[str, str]
    paper: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    picture: str | None = None
    decimals: int = 3
    scientific: bool = False
    only: Any = None


@cache
def _read(name: str) -> dict[str, Any]:
    file = resources.files("experiments.reproduce") / "configs" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_study(name: str, *, quick: bool = False) -> Study:
    """The study that a table's file describes."""
    data = _read(name)
    if quick:
        data = _merged(data, data["quick"])
    methods = (*data.get("columns", {}), *data.get("also", ()))
    return Study(
        name=name,
        kind=data["kind"],
        vary=data["vary"],
        values=tuple(data["values"]),
        replications=data["replications"],
        methods=methods,
        settings=data.get("settings", {}),
    )


def load_exhibit(name: str, *, quick: bool = False) -> Exhibit:
    """A table or figure by its name.

    Raises
    ------
    ParameterError
        When there is none.
    """
    if name not in IDS:
        raise ParameterError(
            "ids",
            f"must be all or some of {', '.join(IDS)}",
            given=f"{name!r} is none of them",
        )
    data = _read(name)
    source = data.get("study", name)
    behind, study = _read(source), load_study(source, quick=quick)
    same_settings = not quick or study.kind in ("real", "levels", "spectrum")
    return Exhibit(
        id=name,
        title=data["title"] + (" (quick: small sizes)" if quick else ""),
        heading=behind["heading"],
        study=study,
        metric=data["metric"],
        columns=data.get("columns", behind.get("columns", {})),
        paper=_printed(data, behind, study.values) if same_settings else {},
        reasons=behind.get("reasons", {}) | data.get("reasons", {}),
        picture=data.get("picture"),
        decimals=data.get("decimals", 3),
        scientific=data.get("scientific", False),
        only=data.get("only"),
    )


def _printed(
    data: Mapping[str, Any], behind: Mapping[str, Any], values: tuple[Any, ...]
) -> dict[str, tuple[float, ...]]:
    """What the paper prints, by method, one number for each value.

    What is the same in the paper, such as both ways to screen, shares its numbers.
    """
    same = behind.get("same_in_paper", {}) | data.get("same_in_paper", {})
    rows = [value for value in behind["values"] if value not in same]
    places = [rows.index(same.get(value, value)) for value in values]
    paper = {
        method: tuple(printed[i] for i in places)
        for method, printed in data.get("paper", {}).items()
    }
    return paper | {own: paper[name] for own, name in same.items() if name in paper}


def with_replications(exhibit: Exhibit, replications: int | None) -> Exhibit:
    """The same with another number of replications.

    Real data are split twice as often: 25 replications are 50 splits, as in the paper.
    """
    if replications is None:
        return exhibit
    study = exhibit.study
    count = replications if study.kind == "synthetic" else 2 * replications
    return replace(exhibit, study=replace(study, replications=count))


def _merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Tables joined; where both have an entry, that of the second counts."""
    joined = dict(base)
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(joined.get(key), Mapping):
            value = _merged(joined[key], value)
        joined[key] = value
    return joined
