"""Sums of many parts on a Dask cluster, in a tree that no scheduler can change."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from cardqp.exceptions import optional
from cardqp.gram.files import Meter

SECONDS_BETWEEN_REPORTS = 0.2


def total(
    parts: Sequence[Any],
    add: Callable[[Any, Any], Any],
    client: Any,
    meter: Meter | None = None,
    sizes: Sequence[int] = (),
) -> Any:
    """Sums of neighbours, of neighbours of these, and so on, of delayed objects.

    Without a client they are added up where Dask would.  The meter is told how many
    rows are done, of the sizes of the parts.
    """
    if meter is None or not hasattr(client, "subscribe_topic"):
        [found] = dask().compute(_tree(parts, add), scheduler=client)
        if meter is not None:
            meter.add(sum(sizes))
        return found
    before = meter.done
    with _events(client) as (topic, finished):
        tell = dask().delayed(_tell)
        told = [tell(part, topic, i) for i, part in enumerate(parts)]
        future = client.compute(_tree(told, add))
        try:
            while not future.done():
                time.sleep(SECONDS_BETWEEN_REPORTS)
                meter.reach(before + sum(sizes[i] for i in set(finished)))
        except BaseException:
            future.cancel()
            raise
        found = future.result()
    meter.reach(before + sum(sizes))
    return found


def _tree(parts: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    level, both = list(parts), dask().delayed(add)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        last = level[-1:] if len(level) % 2 else []
        level = [both(a, b) for a, b in pairs] + last
    return level[0]


@contextmanager
def _events(client: Any) -> Iterator[tuple[str, list[int]]]:
    """A topic that workers can write to, and what they have written."""
    topic, found = f"cardqp-{uuid4().hex}", list[int]()
    client.subscribe_topic(topic, lambda event: found.append(int(event[1])))
    try:
        yield topic, found
    finally:
        client.unsubscribe_topic(topic)


def _tell(part: Any, topic: str, number: int) -> Any:
    """The part itself, after a word that it is done."""
    from distributed import get_worker

    get_worker().log_event(topic, number)
    return part


def dask(module: str = "") -> Any:
    """The module dask or a part of it, or an error that says how to get it."""
    name = f"dask.{module}" if module else "dask"
    return optional(name, "Clusters need Dask", "dask")
