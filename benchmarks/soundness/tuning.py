"""Settings with which small problems are proved in all the ways large ones are.

None of them affects what a search may claim, only how it arrives there: without them a
problem of a dozen variables is over before there is a tree.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cardqp.branch_and_bound.settings import (
    ClusterSettings,
    DroppingSettings,
    RootSettings,
    SearchSettings,
)
from cardqp.branch_and_bound.streamed.settings import (
    CoarseningSettings,
    StreamedSettings,
)
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.splitting.settings import (
    AscentSettings,
    DiagonalSettings,
    FunctionSettings,
    JointSettings,
    SplittingSettings,
)

_NO_DROPPING = DroppingSettings(max_variables=0)

_EAGER = RootSettings(
    **{"easy_nodes": 0, "easy_gap": 0.0, "tiny_nodes": 0, "tiny_variables": 0},
    **{"minorant_gap": 0.0, "split_gap": 0.0, "diagonal_gap": 0.0, "tight_gap": 0.0},
    **{"row_shift_gap": 0.0, "race_gap": 0.0, "ascent_nodes": 0},
    **{"least_shrinking": 1e-9, "hopeless_nodes": 1e-9},
)
"""Splits are looked for at every root, and taken."""

_SHORT = {
    "ascent": AscentSettings(max_steps=12, checkpoints=(5,)),
    "joint": JointSettings(
        max_steps=12, race_steps=4, trial_steps=8, checkpoints=(5,), iterations=30
    ),
}
"""Ascents of a few steps."""

_MINORANTS = SplittingSettings(diagonal=DiagonalSettings(max_variables=0), **_SHORT)

_FUNCTION = SplittingSettings(
    function=FunctionSettings(
        min_variables=1, weak_ridge=1.0, sample_size=8, cubes_per_second=1e15
    ),
    diagonal=DiagonalSettings(max_variables=0),
    **_SHORT,
)

_NO_COMPLETION = HeuristicSettings(max_completion_variables=0)

SETTINGS: dict[str, SearchSettings] = {
    "as it is": SearchSettings(),
    "trees": SearchSettings(dropping=_NO_DROPPING, heuristics=_NO_COMPLETION),
    "completions": SearchSettings(dropping=_NO_DROPPING),
    "diagonals": SearchSettings(dropping=_NO_DROPPING, root=_EAGER),
    "minorants": SearchSettings(
        dropping=_NO_DROPPING, root=_EAGER, splitting=_MINORANTS
    ),
    "minorants, trees": SearchSettings(
        dropping=_NO_DROPPING,
        root=_EAGER,
        splitting=_MINORANTS,
        heuristics=_NO_COMPLETION,
    ),
    "matrix functions": SearchSettings(
        dropping=_NO_DROPPING, root=_EAGER, splitting=_FUNCTION
    ),
    "matrix functions, dropping": SearchSettings(
        root=_EAGER,
        splitting=_FUNCTION,
        dropping=DroppingSettings(first_weak_ridge=0.0, weak_ridge=1.0),
    ),
    "dropping": SearchSettings(
        dropping=DroppingSettings(first_weak_ridge=1.0, weak_ridge=1.0)
    ),
}
"""By name, for problems in memory."""

SHARES = (0.08, 0.08, 0.08, 0.08, 0.22, 0.22, 0.08, 0.08, 0.08)
"""How often each of them is used."""

CLUSTERS = SearchSettings(
    dropping=_NO_DROPPING,
    clusters=ClusterSettings(
        rule="always", correlations=(0.4,), try_after=0, least_share=0.02
    ),
    max_in_vain=0,
)
"""Branching on clusters wherever there are correlated columns."""

STREAMED = SearchSettings(
    streamed=StreamedSettings(
        min_columns=0,
        **{"initial_columns": 3, "columns_per_nonzero": 1, "steepest_columns": 1},
        **{"replacements": 1, "single_columns": 1, "derivative_columns": 1},
        **{"root_columns": 1, "max_root_passes": 2, "leaf_columns": 1},
        **{"cheapest_columns": 2, "batch_size": 2},
        coarsening=CoarseningSettings(first_nodes=2, max_nodes=8, min_seconds=0.05),
    )
)
"""Data are read in passes, with a working set of a few columns."""


def draw_options(
    rng: np.random.Generator, features: Sequence[str]
) -> tuple[str, SearchSettings, dict[str, Any]]:
    """The name of settings, the settings, and limits of a search."""
    limits = _draw_limits(rng) if "stopped" in features else {}
    if "clusters" in features:
        return "clusters", CLUSTERS, limits
    if "streamed" in features:
        return "streamed", STREAMED, limits
    if "wide" not in features:
        return "as it is", SETTINGS["as it is"], limits
    name = str(rng.choice(list(SETTINGS), p=SHARES))
    return name, SETTINGS[name], limits


def _draw_limits(rng: np.random.Generator) -> dict[str, Any]:
    """What stops a search before it is over; now and then before it has begun."""
    if rng.random() < 0.7:
        return {"node_limit": int(rng.integers(1, 7))}
    return {"time_limit": float(rng.choice([1e-6, 1e-3, 1e-2]))}
