"""`R-n` on Spark: the changes of a relation, by the names of their files, until the epoch in which they are due.

Nothing is copied. A change is a few files of inserted and deleted rows; n epochs later the delayed relation gets the
same files as its own change. The manifest has the changes still to come, so they last as long as the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.engine.spark.storage.manifest import Waiting
from tidelog.engine.spark.storage.state_files import Changed
from tidelog.rules.ir import Feed


def due(feeds: Sequence[Feed], waiting: Waiting) -> dict[str, Changed]:
    """Returns the changes of delayed relations in the next epoch."""
    found: dict[str, Changed] = {}
    for feed in feeds:
        queue = waiting.get(feed.relation, ())
        first = queue[0] if len(queue) == feed.delay and not feed.latest else None
        if first is not None:
            found[feed.relation] = first
    return found


def still_waiting(
    feeds: Sequence[Feed], waiting: Waiting, changed: Mapping[str, Changed]
) -> dict[str, tuple[Changed | None, ...]]:
    """Returns the changes to come after an epoch that changed these relations."""
    return {
        feed.relation: (*waiting.get(feed.relation, ()), changed.get(feed.source))[-feed.delay :]
        for feed in feeds
        if not feed.latest
    }
