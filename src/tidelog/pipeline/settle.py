"""The operations of one batch on one relation → what is to come, to go, and to take which key: one per row or key.

With an order the last operation on a row (or key) wins. Of operations that are equally late, and without an order all
are, deletes are done before inserts, so an insert wins. That a row was both inserted and deleted is counted as a
conflict. Two different rows for one key, equally late, cannot be decided: their records are bad.

In a multiset every operation counts, and in a stream every insert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.values import Row, quoted
from tidelog.pipeline.operations import FeedOperation, Verb
from tidelog.pipeline.records import BadRecord
from tidelog.rules.ir import Kind, Relation


@dataclass(slots=True)
class Settled:
    """What a batch does to one relation. `by_key` has for each key the row that it has afterwards, or None.

    `inserts` are in the order in which they came about. `conflict` tells of the first conflict.
    """

    deletes: list[Row] = field(default_factory=list)
    inserts: list[Row] = field(default_factory=list)
    by_key: dict[Row, Row | None] = field(default_factory=dict)
    conflicts: int = 0
    conflict: str = ""


def settle(operations: Iterable[FeedOperation], relation: Relation, on_bad: Callable[[BadRecord], None]) -> Settled:
    """Costs a pass over the operations. `on_bad` is told of records that contradict one another, and may raise."""
    settled = Settled()
    if relation.kind is not Kind.SET:
        for each in operations:
            assert each.row is not None
            (settled.deletes if each.verb is Verb.DELETE else settled.inserts).append(each.row)
        return settled
    latest: dict[tuple[bool, Row], list[FeedOperation]] = {}
    for each in operations:
        subject = (True, each.key) if each.key is not None else (False, each.row or ())
        found = latest.get(subject)
        if found is None or each.order > found[0].order:
            latest[subject] = [each]
        elif each.order == found[0].order:
            found.append(each)
    for (is_key, subject), last in sorted(latest.items(), key=lambda item: item[1][0].order):
        verbs = {each.verb is Verb.DELETE for each in last}
        if len(verbs) == 2:
            settled.conflicts += 1
            settled.conflict = settled.conflict or _conflict(subject, is_key, relation, last)
        if is_key:
            _settle_key(subject, last, settled, relation, on_bad)
        else:
            (settled.inserts if False in verbs else settled.deletes).append(subject)
    return settled


def _settle_key(
    key: Row, last: list[FeedOperation], settled: Settled, relation: Relation, on_bad: Callable[[BadRecord], None]
) -> None:
    rows = {each.row for each in last if each.row is not None}
    if len(rows) < 2:
        settled.by_key[key] = next(iter(rows), None)
        return
    for each in last:
        if each.row is not None:
            error = DataError(
                f"{each.record.place}: the key {quoted(key)} of `{relation.name}` has another row in the same batch,"
                " and nothing says which is the later",
                code=Code.CONFLICTING_ROWS,
                help="name a column with `order = ...` in the feed, such as a time or a number that grows",
            )
            on_bad(BadRecord(each.record.place, each.record.text, error))


def _conflict(subject: Row, is_key: bool, relation: Relation, last: list[FeedOperation]) -> str:
    what = "the key" if is_key else "the row"
    insert = next(each for each in last if each.verb is not Verb.DELETE)
    delete = next(each for each in last if each.verb is Verb.DELETE)
    return (
        f"{what} {quoted(subject)} of `{relation.name}` is both inserted ({insert.record.place}) and deleted"
        f" ({delete.record.place}); the insert counts"
    )
