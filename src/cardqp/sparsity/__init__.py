"""Few nonzeros: limits, groups, blocks, and which variables are switched on."""

from cardqp.sparsity.blocks import Blocks
from cardqp.sparsity.choice import Choice, smallest
from cardqp.sparsity.groups import Groups
from cardqp.sparsity.rule import SupportRule

__all__ = ["Blocks", "Choice", "Groups", "SupportRule", "smallest"]
