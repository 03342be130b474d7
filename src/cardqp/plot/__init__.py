"""Pictures; Matplotlib is imported only here and only when asked for."""

from cardqp.plot.coefficients import plot_coefficients
from cardqp.plot.convergence import plot_convergence
from cardqp.plot.curves import plot_frontier, plot_hierarchy, plot_path
from cardqp.plot.screening_steps import plot_screening
from cardqp.plot.style import BLUE, GREEN, ORANGE, new_axes, saved
from cardqp.plot.subsets import plot_sizes, plot_subsets

__all__ = [
    "BLUE",
    "GREEN",
    "ORANGE",
    "new_axes",
    "plot_coefficients",
    "plot_convergence",
    "plot_frontier",
    "plot_hierarchy",
    "plot_path",
    "plot_screening",
    "plot_sizes",
    "plot_subsets",
    "saved",
]
