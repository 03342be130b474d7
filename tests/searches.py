"""How tests search where only branch and bound is meant."""

from cardqp import Exact
from cardqp.methods import DroppingSettings, SearchSettings


def by_branching(**settings):
    """The exact method without a search by dropping, which ends small ones at once."""
    never = DroppingSettings(max_variables=0)
    return Exact(SearchSettings(dropping=never, **settings))
