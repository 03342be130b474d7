"""Files that claim too much: solutions of which something was changed.

A bound that is claimed above the optimum must be refused whatever else is in the file.
So the claim is raised first, and then entries of the certificate are changed: at
random, and where a careless checker would believe them.  What is claimed about the
point is changed likewise; exact arithmetic tells whether it is wrong then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.soundness.claims import Facts, false_claims
from benchmarks.soundness.evidence import KINDS

Arrays = dict[str, np.ndarray]

BESIDE = {
    "drops_bounds": lambda _rng, _n: np.array(True),
    "diagonal_shift": lambda rng, n: rng.uniform(0, 10, n),
    "row_shift": lambda rng, n: rng.standard_normal(n),
    "weights": lambda rng, n: 10.0 ** rng.uniform(-3, 3, n),
    "minorant": lambda rng, n: 10.0 ** rng.uniform(-3, 3) * np.eye(n),
    "kept": lambda rng, n: rng.permutation(n),
    "cutoff": lambda _rng, _n: np.array(1e9),
}
"""What may be put into a step that does not have it."""


@dataclass(frozen=True)
class Forgery:
    """A file that claims too much.

    Attributes
    ----------
    name : str
        What was changed.
    arrays : dict
        The file.
    """

    name: str
    arrays: Arrays


def forgeries(
    rng: np.random.Generator, run: Arrays, facts: Facts, count: int
) -> Iterator[Forgery]:
    """All false claims about the point, and some certificates of a raised bound."""
    for name, arrays in false_claims(rng, run, facts):
        yield Forgery(name, arrays)
    raised = facts.with_raised_bound(run)
    yield Forgery("lower_bound", raised)
    parts = [k for k in run if k.startswith(("start.", "root.", "tree."))]
    for _ in range(count if parts else 0):
        yield _damaged(rng, raised, parts, facts)


def _damaged(
    rng: np.random.Generator, raised: Arrays, parts: list[str], facts: Facts
) -> Forgery:
    """One more change, or two, of the certificate of a raised bound."""
    arrays = dict(raised)
    ways = (_change_entry, _change_entry, _believe, _add_part, _reshape)
    names = {ways[rng.integers(len(ways))](rng, arrays, parts, facts)}
    if rng.random() < 0.3:
        # The other ways need a file that is whole.
        way = (_change_entry, _add_part)[rng.integers(2)]
        names.add(way(rng, arrays, parts, facts))
    return Forgery(" and ".join(sorted(names)), arrays)


def _plain(key: str) -> str:
    """The name of a part, without the number of its step."""
    return ".".join(word for word in key.split(".") if not word.isdigit())


def _change_entry(
    rng: np.random.Generator, arrays: Arrays, parts: list[str], facts: Facts
) -> str:
    """Change one entry, or all, of an array that is not empty."""
    filled = [key for key in parts if key in arrays and arrays[key].size]
    if not filled:
        return "nothing"
    key = filled[rng.integers(len(filled))]
    array = np.array(arrays[key])
    at = ... if rng.random() < 0.1 else int(rng.integers(array.size))
    flat = array.reshape(-1)
    change = _change_float if array.dtype.kind == "f" else _change_integer
    with np.errstate(all="ignore"):
        flat[at] = change(rng, flat, at, facts.n)
    arrays[key] = flat.reshape(array.shape)
    return _plain(key)


def _change_float(
    rng: np.random.Generator, values: np.ndarray, at: int, _n: int
) -> np.ndarray:
    value, other = values[at], values[rng.integers(len(values))]
    size = np.abs(values).max()
    found = (
        *(0 * value, -value, 2 * value, 1e3 * value, 1e-3 * value, (1 + 1e-6) * value),
        *(value + 0.01 * size, other, size, rng.standard_normal() * (size + 1.0)),
        *(1e300 + 0 * value, np.inf + 0 * value, np.nan * value),
    )
    return found[rng.integers(len(found))]


def _change_integer(
    rng: np.random.Generator, values: np.ndarray, at: int, n: int
) -> np.ndarray:
    value, other = values[at], values[rng.integers(len(values))]
    if values.dtype.kind == "b":
        return ~value
    largest = np.iinfo(values.dtype).max
    found = (
        *(value + 1, value - 1, -value, 0 * value, other, other),
        *(rng.integers(-n, n + 1), rng.integers(0, len(KINDS)), -2, largest, -largest),
    )
    return np.asarray(found[rng.integers(len(found))]).astype(values.dtype)


def _believe(
    rng: np.random.Generator, arrays: Arrays, parts: list[str], facts: Facts
) -> str:
    """Raise what a careless checker would take as a bound, or cut a tree off."""
    kinds = arrays.get("tree.kind", np.zeros(0, dtype=np.int8))
    cutoffs = [key for key in parts if key.endswith(".cutoff") and key in arrays]
    choices: list[Callable[[], str]] = []
    if cutoffs:
        choices.append(lambda: _raise_cutoffs(arrays, cutoffs, facts))
    if len(kinds):
        choices.append(lambda: _prove_otherwise(rng, arrays, facts))
        choices.append(lambda: _cut_off(rng, arrays))
    if np.isin(kinds, (6, 7)).any():
        choices.append(lambda: _raise_recorded(arrays, facts))
    if not choices:
        return _change_entry(rng, arrays, parts, facts)
    return choices[rng.integers(len(choices))]()


def _raise_cutoffs(arrays: Arrays, keys: list[str], facts: Facts) -> str:
    for key in keys:
        arrays[key] = np.array(facts.beyond)
    return "root.cutoff, raised"


def _raise_recorded(arrays: Arrays, facts: Facts) -> str:
    """Put the claim into the records of nodes that are searched or cut off."""
    value = np.array(arrays["tree.value"], dtype=np.float64)
    ends, records = arrays["tree.point_end"], arrays["tree.record"]
    for record in records[np.isin(arrays["tree.kind"], (6, 7))].tolist():
        value[ends[record - 1] if record > 0 else 0] = facts.beyond
    arrays["tree.value"] = value
    return "tree.value, raised"


def _prove_otherwise(rng: np.random.Generator, arrays: Arrays, facts: Facts) -> str:
    """Let a node be proved in another way, with a record that fits it."""
    kinds = np.array(arrays["tree.kind"])
    at, kind = int(rng.integers(len(kinds))), int(rng.integers(len(KINDS)))
    kinds[at] = kind
    arrays["tree.kind"] = kinds
    if kind in (6, 7):
        own = [facts.beyond] if kind == 7 else [facts.beyond, 1e4]
        _append_record(arrays, at, np.array(own))
    return f"tree.kind, {KINDS[kind]}"


def _append_record(arrays: Arrays, node: int, values: np.ndarray) -> None:
    beta, records = arrays["tree.beta"], np.array(arrays["tree.record"])
    records[node] = len(beta)
    zeros = np.zeros(len(values), dtype=arrays["tree.index"].dtype)
    more = {
        "tree.beta": np.zeros((1, beta.shape[1])),
        "tree.scale": np.ones(1),
        "tree.index": zeros,
        "tree.value": values.astype(arrays["tree.value"].dtype),
        "tree.point_end": np.array([len(arrays["tree.index"]) + len(values)]),
        "tree.fixed_end": np.array([len(arrays["tree.fixed"])]),
    }
    for key, rest in more.items():
        arrays[key] = np.concatenate([arrays[key], rest])
    arrays["tree.record"] = records


def _cut_off(rng: np.random.Generator, arrays: Arrays) -> str:
    """Take the children of a node away, or give it those of another."""
    child = np.array(arrays["tree.child"])
    parents = np.flatnonzero(child)
    at = int(rng.choice(parents)) if len(parents) else 0
    child[at] = 0 if rng.random() < 0.5 else int(rng.choice(child))
    arrays["tree.child"] = child
    return "tree.child, cut off"


def _add_part(
    rng: np.random.Generator, arrays: Arrays, _parts: list[str], facts: Facts
) -> str:
    """Put something into a step or the start, or take it out."""
    count = int(arrays.get("root.count", 0))
    name = list(BESIDE)[rng.integers(len(BESIDE))]
    if count <= 0 or rng.random() < 0.15:
        own = str(rng.choice(["ridge", "added", "factor"]))
        value = np.array(0.5) if own == "factor" else rng.uniform(0, 1, facts.n)
        arrays[f"start.{own}"] = value
        return f"start.{own}, added"
    prefix = f"root.{rng.integers(count)}."
    if prefix + name in arrays and rng.random() < 0.5:
        del arrays[prefix + name]
        return f"root.{name}, removed"
    if name == "cutoff":
        arrays.pop(prefix + "fixed_in", None)
        arrays.pop(prefix + "fixed_out", None)
        arrays[prefix + name] = np.array(facts.beyond)
        return "root.cutoff, added"
    kept = arrays.setdefault(prefix + "kept", np.arange(facts.n))
    arrays[prefix + name] = BESIDE[name](rng, len(kept))
    return f"root.{name}, added"


def _reshape(
    rng: np.random.Generator, arrays: Arrays, parts: list[str], _facts: Facts
) -> str:
    """Lengthen, shorten, reorder or remove an array."""
    some = [key for key in parts if key in arrays]
    key = some[rng.integers(len(some))]
    array, way = arrays[key], rng.integers(4)
    if array.ndim == 0 or way == 0:
        del arrays[key]
        return f"{_plain(key)}, removed"
    if way == 1:
        arrays[key] = array[:-1]
        return f"{_plain(key)}, shorter"
    if way == 2:
        arrays[key] = np.concatenate([array, array[-1:]])
        return f"{_plain(key)}, longer"
    arrays[key] = rng.permutation(array)
    return f"{_plain(key)}, reordered"
