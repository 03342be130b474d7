"""Best subset selection: the best subsets of features of every size."""

from cardqp.subsets.result import Subset, Subsets
from cardqp.subsets.table import all_subsets

__all__ = ["Subset", "Subsets", "all_subsets"]
