"""Few nonzeros: limits, groups, blocks, and which variables are switched on."""

from cardqp.problem.sparsity.blocks import Blocks
from cardqp.problem.sparsity.groups import Groups
from cardqp.problem.sparsity.rule import SupportRule
from cardqp.problem.sparsity.subproblem import Subproblem, smallest

__all__ = ["Blocks", "Groups", "Subproblem", "SupportRule", "smallest"]
