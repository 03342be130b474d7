"""Compile, or load from disk, what the search needs, before a clock starts."""

from functools import cache

import numpy as np

from cardqp.certificate.completions import completion_bound
from cardqp.exact.assessment import (
    assess,
    most_undecided,
    round_anchor,
    signed_changes,
)
from cardqp.exact.completion import is_countable
from cardqp.exact.relaxation import Effort, Relaxation
from cardqp.exact.supports import Supports
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice


@cache
def load_kernels() -> None:
    """Call every compiled function once, on a tiny problem."""
    problem = SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1)
    relaxation, root = Relaxation.prepare(problem), Choice.root(2, 1)
    x, nu = relaxation.start()
    relaxation.solve(root, x, nu, Effort(1.0))
    round_anchor(x, relaxation.unit, False)
    assess(relaxation.data, None, relaxation.margins, root.status, 1, x, nu, 0.0)
    most_undecided(relaxation.data.w, root.status, x, x, x, True)
    signed_changes(root.status, root.status)
    is_countable(2, 1)
    inside, free = np.arange(0), np.arange(2)
    if (supports := Supports.of(problem)) is not None:
        supports.best(inside, free, 1)
    completion_bound(problem, inside, free, 1, 0.0)
