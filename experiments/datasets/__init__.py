"""The real data of the experiments."""

from experiments.datasets.tables import Split, Table
from experiments.datasets.uci import UCI_NAMES, load_uci

__all__ = ["UCI_NAMES", "Split", "Table", "load_uci"]
