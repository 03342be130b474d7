"""How tests search where only branch and bound is meant."""

from cardqp import Exact
from cardqp.methods import DroppingSettings, SearchSettings
from cardqp.relaxation.scaled_data import NO_CLUSTERS, Batch


def by_branching(**settings):
    """The exact method without a search by dropping, which ends small ones at once."""
    never = DroppingSettings(max_variables=0)
    return Exact(SearchSettings(dropping=never, **settings))


def one_node(relaxation, status, remaining, point, beta, clusters=NO_CLUSTERS):
    """A node and its dual point, as the compiled theorems take them."""
    scaled = point / relaxation.unit, beta * relaxation.row_scale
    w = relaxation.data.w
    batch = Batch.single(status, remaining, clusters, w, 0.0, *scaled)
    return batch, batch.x, batch.nu
