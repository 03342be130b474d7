"""The whole check: what is claimed against what is proved."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from cardqp_check.archives import Archive
from cardqp_check.claims import complaints_about
from cardqp_check.problem import Problem, read_problem
from cardqp_check.refusal import Refused, require
from cardqp_check.root import follow_root
from cardqp_check.tree import Node, Replay, read_tree

KINDS = (
    *("inherited", "point", "ray", "completed", "full"),
    *("penalised", "searched", "cut off"),
)

FORMAT = "cardqp-solution-2"


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
    """

    lower_bound: float
    complaints: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every claim follows."""
        return not self.complaints

    def __str__(self) -> str:
        nodes = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        lines = [f"proved: no feasible point is below {self.lower_bound!r}"]
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
        How many processes follow the tree.
    """
    try:
        run = Archive(run_path)
        problem = read_problem(Archive(problem_path), data)
        require(run.text("format") == FORMAT, f"the format is not {FORMAT}")
        require(
            run.text("problem_digest") == problem.digest,
            "the answer is to another problem",
        )
        proved, counts = proved_bound(problem, run, jobs)
        found = tuple(complaints_about(problem, run, proved))
    except Refused as refusal:
        return Verdict(-math.inf, (str(refusal),))
    return Verdict(proved, found, counts)


def proved_bound(
    problem: Problem, run: Archive, jobs: int = 1
) -> tuple[float, dict[str, int]]:
    """The bound that the certificate proves, and the nodes of each kind."""
    if "root.count" not in run:
        return -math.inf, {}
    root = follow_root(problem, run)
    tree = read_tree(run, root.view.n, len(root.view.rows.b))
    if len(tree.kind) == 0:
        return min(root.least, root.branch.floor), {}
    replay = Replay(tree, root, run.number("lower_bound"))
    replay.run([Node(0, root.branch)])
    counts = {KINDS[kind]: count for kind, count in sorted(replay.counts.items())}
    return replay.least, counts
