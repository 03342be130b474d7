"""The problem of a file: its numbers, its support rule, its digest (section 1)."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, arb_mat

from cardqp_check.archives import Archive
from cardqp_check.data import Columns, all_columns, digest_of, kind_of, read_matrix
from cardqp_check.refusal import require
from cardqp_check.rounding import Floats, Ints, exact

Status = np.ndarray[Any, np.dtype[np.int8]]
"""1 for variables that are in, -1 for those that are out, 0 for free ones."""


@dataclass(eq=False)
class Rows:
    """``A x <= b`` in the first ``n_inequalities`` rows, equality in the others."""

    A: Floats
    b: Floats
    n_inequalities: int

    def restrict(self, kept: Ints) -> "Rows":
        """The rows on some of the variables, all others being zero."""
        return replace(self, A=self.A[:, kept])

    def valid(self, beta: Floats) -> Floats:
        """Multipliers, negative ones of inequalities counted as 0."""
        is_equality = np.arange(len(self.b)) >= self.n_inequalities
        return np.where(is_equality, beta, np.maximum(beta, 0.0))


@dataclass(frozen=True)
class Rule:
    """Which supports are allowed, and what they pay.

    Attributes
    ----------
    limit : int
        s, the most variables, or blocks, in a support.
    width : int
        K, the most variables that can be nonzero.
    penalty : float
        What each variable, or block, of a support pays.
    groups, group_limits : int arrays or None
        The group of each variable, -1 for none, and the limits of groups.
    blocks : int array or None
        The block of each variable.
    """

    limit: int
    width: int
    penalty: float
    groups: Ints | None
    group_limits: Ints
    blocks: Ints | None

    def restrict(self, kept: Ints) -> "Rule":
        """The rule on some of the variables, all others being out."""
        groups = None if self.groups is None else self.groups[kept]
        blocks = None if self.blocks is None else self.blocks[kept]
        return replace(self, groups=groups, blocks=blocks)

    def count(self, support: Any) -> int:
        """How many variables, or blocks, are in a support, given as indices."""
        return len(support if self.blocks is None else np.unique(self.blocks[support]))

    def whole(self, status: Status) -> Status:
        """A status in which each decision of a variable is one of its block."""
        if self.blocks is None:
            return status
        result = status.copy()
        for value in (-1, 1):
            result[np.isin(self.blocks, self.blocks[status == value])] = value
        return result


@dataclass(frozen=True)
class Problem:
    """A problem, as its file states it.

    Attributes
    ----------
    Q : (n, n) array or None
        The matrix, whose symmetric part counts.
    columns : Columns or None
        The factor F, or the data X of a regression.
    multiplier : arb
        The quadratic form is that many times the squared length of a combination of
        columns: 1 for a factor, 1/N for a regression.
    target : (N,) array or None
        y of a regression.
    c : (n, 1) matrix
        The linear cost.
    ridge : list of arb
        w.
    constant : arb
        The constant term.
    """

    Q: Floats | None
    columns: Columns | None
    multiplier: arb
    target: Floats | None
    c: arb_mat
    ridge: list[arb]
    constant: arb
    rows: Rows
    lower: Floats
    upper: Floats
    forced_in: Ints
    forced_out: Ints
    rule: Rule
    digest: str

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.lower)

    def status(self) -> Status:
        """The status of variables at first, but for those that are forced out."""
        status = np.zeros(self.n, np.int8)
        status[self.forced_in] = 1
        return self.rule.whole(status)


def read_problem(archive: Archive, data: Any = None) -> Problem:
    """Read a problem, whose data may be in the file ``data``."""
    c = archive.numbers("c", None)
    n, X, Q, columns, target = len(c), None, None, None, None
    multiplier, cost, constant = arb(1), exact(c), arb(archive.number("constant"))
    require(constant.is_finite(), "constant is not finite")
    forms = sum(key in archive for key in ("Q", "F", "y"))
    require(forms == 1, f"{archive.path} has {forms} of the arrays Q, F and y, not one")
    if "Q" in archive:
        Q = archive.numbers("Q", n, n)
    elif "F" in archive:
        columns = all_columns(archive.numbers("F", None, n))
    else:
        target, X = archive.numbers("y", None), read_matrix(archive, data)
        require(len(target) > 0, "y has no entries")
        require(X.shape == (len(target), n), f"X has the shape {X.shape}")
        columns, multiplier = all_columns(X), 1 / arb(len(target))
        cost, constant = _squared_error(columns, target)
    eta = archive.array("eta", "f", n)
    require((eta > 0).all(), "eta has numbers that are not positive")
    lower, upper = archive.array("lower", "f", n), archive.array("upper", "f", n)
    require(
        ((lower <= upper) & (lower < np.inf) & (upper > -np.inf)).all(),
        "a lower bound is above the upper one",
    )
    return Problem(
        Q,
        columns,
        multiplier,
        target,
        cost,
        [1 / arb(x) if x < np.inf else arb(0) for x in eta.tolist()],
        constant,
        _read_rows(archive, n),
        lower,
        upper,
        archive.indices("forced_in", n),
        archive.indices("forced_out", n),
        _read_rule(archive, n),
        _digest(archive, X),
    )


def _squared_error(columns: Columns, target: Floats) -> tuple[arb_mat, arb]:
    """The cost and the constant of ``|y - Xx|^2 / N``."""
    y, N = exact(target), len(target)
    products = [
        entry
        for _, block in columns.blocks()
        for entry in (exact(block).transpose() * y).entries()
    ]
    c = arb_mat(len(products), 1, products) * (arb(-2) / N)
    return c, (y.transpose() * y)[0, 0] / N


def _read_rows(archive: Archive, n: int) -> Rows:
    A, A_eq = archive.numbers("A", None, n), archive.numbers("A_eq", None, n)
    b, b_eq = archive.numbers("b", len(A)), archive.numbers("b_eq", len(A_eq))
    return Rows(np.vstack([A, A_eq]), np.concatenate([b, b_eq]), len(b))


def _read_rule(archive: Archive, n: int) -> Rule:
    """The support rule; limits that are not there are as large as they can be."""
    limit, groups, blocks = n, None, None
    limits = sizes = np.zeros(0, np.int64)
    if "groups" in archive:
        limits = archive.array("group_sparsity", "i", None)
        groups = archive.array("groups", "i", n)
        is_group = (groups >= -1) & (groups < len(limits))
        require(is_group.all() and (limits >= 0).all(), "groups are out of range")
        in_groups = np.bincount(groups + 1, minlength=len(limits) + 1)
        limit = int(in_groups[0] + np.minimum(in_groups[1:], limits).sum())
    if "blocks" in archive:
        require(groups is None, "there are both groups and blocks")
        blocks = np.unique(archive.array("blocks", "i", n), return_inverse=True)[1]
        sizes = np.sort(np.bincount(blocks))[::-1]
        limit = len(sizes)
    if "sparsity" in archive:
        limit = min(limit, int(archive.array("sparsity", "i").item()))
    require(limit >= 0, "sparsity is negative")
    penalty = archive.number("penalty") if "penalty" in archive else 0.0
    require(0 <= penalty < np.inf, "penalty is negative or infinite")
    width = limit if blocks is None else int(sizes[:limit].sum())
    return Rule(limit, width, penalty, groups, limits, blocks)


def _digest(archive: Archive, X: Any) -> str:
    """The digest by which an answer names its problem; X are the data, if any."""
    arrays: dict[str, Any] = {k: a for k, a in archive.arrays.items() if k != "names"}
    found = hashlib.sha256()
    if X is not None:
        arrays = {k: a for k, a in arrays.items() if k != "X" and k[:2] != "X."}
        names = {"X.kind": kind_of(X), "X.digest": digest_of(X)}
        for key, text in names.items():
            if key in archive:
                require(archive.text(key) == text, "the data are not those of the file")
        arrays |= {key: text.encode() for key, text in names.items()}
    for key in sorted(arrays):
        part = arrays[key]
        name, shape, entries = "str", "", part
        if isinstance(part, np.ndarray):
            shape = "x".join(map(str, part.shape))
            name, entries = part.dtype.str, part.tobytes()
        found.update("\0".join([key, name, shape, ""]).encode() + entries)
    return found.hexdigest()
