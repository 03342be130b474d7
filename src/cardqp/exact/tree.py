"""The search tree: open branches, the proof so far, and the best point."""

from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.certificate import Certificate, CertificateNode
from cardqp.convex.support_qp import SupportFit
from cardqp.exact.incumbent import improve_by_swaps
from cardqp.exact.relaxation import Relaxation
from cardqp.gap import gap_unit
from cardqp.problem import SparseQP, lift
from cardqp.sparsity import Choice


@dataclass(frozen=True, order=True, slots=True)
class Node:
    """An open branch; the least bound is processed first, deeper ones before others."""

    bound: float
    height: int
    position: int
    choice: Choice = field(compare=False)
    x: FloatArray = field(compare=False)
    nu: FloatArray = field(compare=False)


@dataclass(slots=True)
class Tree:
    """The state of the search.

    Attributes
    ----------
    problem : SparseQP
        The problem to be solved.
    relaxation : Relaxation
        The problem as the open branches see it, scaled for the kernels.
    indices : int array
        Which variables of the problem the branches still see.
    open : list of Node
        A heap of branches still to be processed.
    records : list of CertificateNode
        The proof so far; open branches are leaves without a dual point of their own.
    best : SupportFit
        The best feasible point, with all variables of the problem.
    closed_bound : float
        The least bound among closed branches.
    gap_unit : float
        What a gap is relative to, given the best point.
    n_nodes : int
        Branches processed.
    tightened : float
        How many variables there were when a diagonal was last optimised.
    """

    problem: SparseQP
    relaxation: Relaxation
    indices: IntArray
    open: list[Node]
    records: list[CertificateNode]
    best: SupportFit
    closed_bound: float = np.inf
    gap_unit: float = np.inf
    n_nodes: int = 0
    tightened: float = np.inf
    tried: set[bytes] = field(default_factory=set)

    def offer(self, fit: SupportFit) -> None:
        """Keep a feasible point if it is the best."""
        if not fit.objective < self.best.objective:
            return
        fit = improve_by_swaps(self.relaxation.problem, fit)
        if fit.x is None:
            return
        x = lift(fit.x, self.indices, self.problem.n)
        objective = self.problem.objective(x)
        if objective < self.best.objective:
            self.best = SupportFit(x, fit.beta, objective)
            self.gap_unit = gap_unit(self.problem, x, objective)

    @property
    def lower_bound(self) -> float:
        """The bound proved so far."""
        least_open = self.open[0].bound if self.open else np.inf
        return min(self.closed_bound, least_open)

    @property
    def certificate(self) -> Certificate:
        """The proof so far."""
        return Certificate(tuple(self.records))
