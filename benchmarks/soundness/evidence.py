"""What checkers say about a solution in a file, and what its certificate is made of."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import cardqp

Arrays = Mapping[str, np.ndarray]

KINDS = (
    *("inherited", "point", "ray", "completed", "full"),
    *("penalised", "searched", "cut off"),
)
"""How nodes are proved, by number: see docs/certificate.md."""

LONG = 20
"""Nodes of a tree that is counted as long."""

FEATURES = (
    *("start ridge", "start added", "start factor"),
    *("fixed in", "fixed out", "cutoff", "kept", "diagonal shift", "minorant"),
    *("single precision", "weights", "row shift", "dropped bounds"),
    *("tree", "long tree", "fixed at nodes", "node ridges", "clusters", "scale"),
    *(f"node: {kind}" for kind in KINDS),
)
"""Parts of a certificate that are counted."""


@dataclass(frozen=True)
class Verdict:
    """What a checker says about a file."""

    ok: bool
    lower_bound: float
    complaints: tuple[str, ...]
    error: str = ""


Checker = Callable[[Path, Path], Verdict]
"""What is given the files of a problem and of a run."""


def replay(problem: Path, run: Path) -> Verdict:
    """The library's own check; what it refuses to read is refused."""
    try:
        found = cardqp.Solution.load(run, _load(problem)).verify()
    except cardqp.CardQPError as err:
        return Verdict(False, -np.inf, (str(err),))
    return Verdict(found.ok, found.lower_bound, tuple(found.complaints))


def check_alone(problem: Path, run: Path) -> Verdict:
    """The checker that shares nothing with the library."""
    from cardqp_check import check  # may not be installed

    found = check(problem, run)
    return Verdict(found.ok, found.lower_bound, tuple(found.complaints))


REPLAY, ALONE = "replay", "cardqp_check"


def checkers() -> dict[str, Checker]:
    """The checkers that are installed, by name."""
    found: dict[str, Checker] = {REPLAY: replay}
    if importlib.util.find_spec("cardqp_check") is not None:
        found[ALONE] = check_alone
    return found


def examine(check: Checker, problem: Path, run: Path) -> Verdict:
    """What a checker says; an exception is an error, and proves nothing."""
    try:
        return check(problem, run)
    except TimeoutError:
        raise
    except Exception as err:  # noqa: BLE001 - all of them are counted
        return Verdict(False, -np.inf, (), f"{type(err).__name__}: {err}")


@lru_cache(maxsize=1)
def _load(path: Path) -> cardqp.SparseQP:
    return cardqp.SparseQP.load(path)


def read(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file."""
    with np.load(path) as data:
        return dict(data)


def features(run: Arrays) -> Iterator[str]:
    """Which parts there are in the certificate of a run."""
    for name in ("ridge", "added", "factor"):
        if f"start.{name}" in run:
            yield f"start {name}"
    parts = {
        key.split(".")[2]
        for key in run
        if key.startswith("root.") and key[5:6].isdigit()
    }
    for name in (
        "cutoff",
        "kept",
        "diagonal_shift",
        "minorant",
        "weights",
        "row_shift",
    ):
        if name in parts:
            yield name.replace("_", " ")
    if "drops_bounds" in parts:
        yield "dropped bounds"
    for name in ("fixed_in", "fixed_out"):
        if any(len(a) for key, a in run.items() if key.endswith(f".{name}")):
            yield name.replace("_", " ")
    if any(a.dtype == np.float32 for key, a in run.items() if "minorant" in key):
        yield "single precision"
    if any((a != 1).any() for key, a in run.items() if key.endswith("scale")):
        yield "scale"
    yield from _of_tree(run, "minorant" in parts)


def _of_tree(run: Arrays, has_minorant: bool) -> Iterator[str]:
    kinds = run.get("tree.kind", np.zeros(0, dtype=np.int8))
    if len(kinds) > 1:
        yield "tree"
    if len(kinds) > LONG:
        yield "long tree"
    for kind in np.unique(kinds).tolist():
        yield f"node: {KINDS[kind]}"
    if has_minorant and (kinds == KINDS.index("point")).any():
        yield "node ridges"
    if len(run.get("tree.fixed", ())):
        yield "fixed at nodes"
    if (run.get("tree.branch", kinds) < -1).any():
        yield "clusters"
