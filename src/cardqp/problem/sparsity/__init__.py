"""Few nonzeros: limits, groups, blocks, and which variables are switched on."""

from cardqp.problem.sparsity.blocks import Blocks
from cardqp.problem.sparsity.choice import Choice, smallest
from cardqp.problem.sparsity.groups import Groups
from cardqp.problem.sparsity.rule import SupportRule

__all__ = ["Blocks", "Choice", "Groups", "SupportRule", "smallest"]
