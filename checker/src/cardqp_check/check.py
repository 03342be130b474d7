"""The whole check: what is claimed against what is proved."""

import math
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from os import PathLike
from pathlib import Path

import numpy as np

from cardqp_check.archives import Archive
from cardqp_check.claims import complaints_about
from cardqp_check.problem import Problem, read_problem
from cardqp_check.refusal import Refused, require
from cardqp_check.root import follow_root
from cardqp_check.rounding import Ints
from cardqp_check.tree import Node, Replay
from cardqp_check.tree_arrays import read_tree

KINDS = (
    *("inherited", "point", "ray", "completed", "full"),
    *("penalised", "searched", "cut off"),
)

FORMAT = "cardqp-solution-2"

NODES_PER_JOB = 64
"""How many open nodes each process is given: their subtrees differ much in size."""


@dataclass(frozen=True)
class Verdict:
    """What came of a check.

    Attributes
    ----------
    lower_bound : float
        What the certificate proves, rounded down.
    complaints : tuple of str
        Claims that do not follow; empty if all do.
    counts : mapping
        How many nodes of each kind the tree has.
    is_about_independent : bool
        Whether the bound is about points with independent nonzeros only.
    """

    lower_bound: float
    complaints: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    is_about_independent: bool = False

    @property
    def ok(self) -> bool:
        """Whether every claim follows."""
        return not self.complaints

    def __str__(self) -> str:
        nodes = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        which = " with independent nonzeros" if self.is_about_independent else ""
        lines = [f"proved: no feasible point{which} is below {self.lower_bound!r}"]
        lines += [f"nodes: {nodes}"] if nodes else []
        lines += [f"refused: {complaint}" for complaint in self.complaints]
        return "\n".join([*lines, "Every claim follows." if self.ok else "Refused."])


def check(
    problem_path: str | PathLike[str],
    run_path: str | PathLike[str],
    *,
    data: str | PathLike[str] | None = None,
    jobs: int = 1,
) -> Verdict:
    """Check an answer and its certificate.

    Parameters
    ----------
    problem_path, run_path : path
        The files of the problem and of the answer.
    data : path, optional
        The ``.npy`` file with the data, if the problem's file does not name it.
    jobs : int
        How many processes follow the tree.  With more than one, a script that calls
        this needs ``if __name__ == "__main__"``, as for all new processes in Python.
    """
    data = None if data is None else Path(data)
    files = Files(Path(problem_path), Path(run_path), data)
    try:
        problem, run = files.read()
        proved, counts = _proved(files, problem, run, jobs)
        found = tuple(complaints_about(problem, run, proved))
    except Refused as refusal:
        return Verdict(-math.inf, (str(refusal),))
    except MemoryError:
        return Verdict(-math.inf, ("the files ask for more memory than there is",))
    named = {KINDS[kind]: count for kind, count in sorted(counts.items())}
    return Verdict(proved, found, named, "start.factor" in run)


@dataclass(frozen=True)
class Files:
    """Where the problem, the answer and perhaps the data are."""

    problem: Path
    run: Path
    data: Path | None

    def read(self) -> tuple[Problem, Archive]:
        """The problem and the answer, which belong together."""
        run = Archive(self.run)
        require(run.text("format") == FORMAT, f"the format is not {FORMAT}")
        problem = read_problem(Archive(self.problem), self.data)
        is_same = run.text("problem_digest") == problem.digest
        require(is_same, "the answer is to another problem")
        return problem, run


def _proved(
    files: Files, problem: Problem, run: Archive, jobs: int
) -> tuple[float, Counter[int]]:
    """The bound that the certificate proves, and how many nodes of each kind it has."""
    if "root.count" not in run:
        return -math.inf, Counter()
    shares = [_follow(problem, run, 0, 1)] if jobs == 1 else _shares(files, jobs)
    seen = np.concatenate([nodes for _, nodes in shares])
    require(len(np.unique(seen)) == len(seen), "a node has two parents")
    counts = Counter(run.array("tree.kind", "i", None)[seen].tolist())
    return min(least for least, _ in shares), counts


def _shares(files: Files, jobs: int) -> list[tuple[float, Ints]]:
    """The shares of all processes."""
    try:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            return list(pool.map(_share, [files] * jobs, range(jobs), [jobs] * jobs))
    except BrokenProcessPool as error:
        raise Refused("a process was ended before it was done") from error


def _share(files: Files, share: int, jobs: int) -> tuple[float, Ints]:
    """What a process does, which reads the files itself."""
    return _follow(*files.read(), share, jobs)


def _follow(
    problem: Problem, run: Archive, share: int, jobs: int
) -> tuple[float, Ints]:
    """Follow a share of the tree: the bound, and the nodes that were followed.

    All processes follow the nodes next to the root; the first one returns them.
    """
    # What overflows proves nothing, and is no reason to warn.
    with np.errstate(all="ignore"):
        return _followed(problem, run, share, jobs)


def _followed(
    problem: Problem, run: Archive, share: int, jobs: int
) -> tuple[float, Ints]:
    root = follow_root(problem, run)
    tree = read_tree(run, root.view.n, len(root.view.rows.b))
    if len(tree.kind) == 0:
        return min(root.least, root.branch.floor), np.zeros(0, np.int64)
    replay = Replay(tree, root, run.number("lower_bound"))
    waiting = replay.run([Node(0, root.branch)], NODES_PER_JOB * jobs)
    by_all = replay.seen.copy()
    replay.run(waiting[share::jobs])
    followed = replay.seen if share == 0 else replay.seen & ~by_all
    return replay.least, np.flatnonzero(followed)
