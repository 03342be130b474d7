"""Sentences on the best subsets, which claim nothing more than is proved."""

from cardqp.plot.subsets import TITLES
from cardqp.report.sentences import at_most, plural
from cardqp.subsets.result import Subset, Subsets

PROVED = "OPTIMAL"
"""The status of subsets that are proved."""

NAMED = 8
"""How many features a headline names."""


def headline(subsets: Subsets, target: str, *, is_centred: bool) -> str:
    """Which subset is chosen, and what it explains, in one sentence or two."""
    best = subsets.best()
    of = plural(len(subsets.names), "feature")
    is_folded = subsets.criterion == "cv"
    subject = "Cross-validation" if is_folded else TITLES[subsets.criterion]
    chooses = f"{subject} chooses"
    if not best.features:
        rest = "the intercept alone" if is_centred else "the prediction is always 0"
        return f"{chooses} none of {of} to predict {target}: {rest}."
    chosen = (
        f"{chooses} {len(best.features)} of {of} to predict {target}: {_named(best)}."
    )
    if best.size != len(best.features):
        chosen += f" What is chosen together counts once: the size is {best.size}."
    r2 = best.measures["r2"]
    if not 0 <= r2 <= 1:
        return chosen
    verb = "It explains" if len(best.features) == 1 else "They explain"
    what = "variation" if is_centred else "sum of squares"
    return f"{chosen} {verb} {100 * r2:.3g} % of its {what} in these rows."


def _named(subset: Subset) -> str:
    """The names of features, but for many."""
    more = len(subset.units) - NAMED
    shown = ", ".join(subset.units[:NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def proof(subsets: Subsets) -> list[str]:
    """Which subsets are proved to be the best, and how far others may be from it."""
    proved = [each for each in subsets if each.status == PROVED]
    others = [each for each in subsets if each.status != PROVED]
    told = []
    if others:
        sizes = ", ".join(map(str, dict.fromkeys(each.size for each in others)))
        told.append(
            f"Not all is proved of size {sizes}: other subsets may have a sum of "
            f"squared residuals up to {_most(others)} smaller."
        )
    if proved:
        subject = "All others are" if others else "Every listed subset is"
        told.append(
            f"{subject} proved to have the right rank: no other subset of the same "
            "size, but for those listed before, has a sum of squared residuals more "
            f"than {_most(proved)} smaller."
        )
    if subsets.stop.is_early:
        told.append(f"The search ended early: {subsets.stop.value}.")
    return told


def _most(subsets: list[Subset]) -> str:
    """The largest gap, in percent."""
    return at_most(max(each.gap for each in subsets))
