"""Operations of one batch on one relation → deletes, inserts and rows by key: at most one operation per row or key.

With an order the last operation on a row (or key) wins. Of equally late operations (all, without an order) deletes are
done before inserts, so an insert wins. A row that was both inserted and deleted is counted as a conflict. Two different
rows for one key, equally late, cannot be decided: their records are bad. The primary key of the relation is such a key,
whether the feed names one or not.

In a multiset every operation counts, and in a stream every insert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord, OnBad
from tidelog.io.values import Row, quoted
from tidelog.pipeline.operations import FeedOperation, Verb
from tidelog.rules.ir import Kind, Relation, RuleProgram


@dataclass(slots=True)
class Resolved:
    """The operations of a batch on one relation. `by_key` has for each key the row that it has afterwards, or None.

    `inserts` are in the order of the feed. `conflict` describes the first conflict. With `is_cleared` the relation is
    emptied first: the operations are those after its source was emptied.
    """

    deletes: list[Row] = field(default_factory=list)
    inserts: list[Row] = field(default_factory=list)
    by_key: dict[Row, Row | None] = field(default_factory=dict)
    conflicts: int = 0
    conflict: str = ""
    is_cleared: bool = False


PrimaryKey = Callable[[Row], Any]


def primary_key(relation: Relation, program: RuleProgram) -> PrimaryKey | None:
    """Returns the function from a row to its primary key, if the relation has one."""
    key = relation.key
    if key is None:
        return None

    def of_row(row: Row) -> Any:
        try:
            return key.call(program.row_value(relation, row))
        except ZeroDivisionError:
            return object()  # no key; the write will report it

    return of_row


def resolve_conflicts(
    operations: Iterable[FeedOperation], relation: Relation, on_bad: OnBad, primary: PrimaryKey | None = None
) -> Resolved:
    """Resolves the operations in one pass; calls `on_bad`, which may raise, for contradictory records."""
    resolved = Resolved()
    if relation.kind is not Kind.SET:
        for each in operations:
            if each.verb is Verb.CLEAR:
                resolved = Resolved(is_cleared=True)
                continue
            assert each.row is not None
            (resolved.deletes if each.verb is Verb.DELETE else resolved.inserts).append(each.row)
        return resolved
    latest: dict[tuple[bool, Row], list[FeedOperation]] = {}
    for each in operations:
        if each.verb is Verb.CLEAR:
            latest.clear()
            resolved.is_cleared = True
            continue
        subject = (True, each.key) if each.key is not None else (False, each.row or ())
        found = latest.get(subject)
        if found is None or each.order > found[0].order:
            latest[subject] = [each]
        elif each.order == found[0].order:
            found.append(each)
    coming: list[list[FeedOperation]] = []
    for (is_key, subject), last in sorted(latest.items(), key=lambda item: item[1][0].order):
        verbs = {each.verb is Verb.DELETE for each in last}
        if len(verbs) == 2:
            resolved.conflicts += 1
            resolved.conflict = resolved.conflict or _conflict(subject, is_key, relation, last)
        if not is_key and False not in verbs:
            resolved.deletes.append(subject)
        elif not is_key:
            coming.append(last)
        elif len({each.row for each in last if each.row is not None}) > 1:
            _refuse(subject, last, relation, on_bad)
        elif all(each.row is None for each in last):
            resolved.by_key[subject] = None
        else:
            coming.append(last)
    for last in coming if primary is None else _one_for_each_key(coming, primary, resolved, relation, on_bad):
        row = _row(last)
        if last[0].key is None:
            resolved.inserts.append(row)
        else:
            resolved.by_key[last[0].key] = row
    return resolved


def _one_for_each_key(
    coming: list[list[FeedOperation]], primary: PrimaryKey, resolved: Resolved, relation: Relation, on_bad: OnBad
) -> list[list[FeedOperation]]:
    """Returns the operations whose row has its primary key in the end, in their order."""
    by_key: dict[Any, list[list[FeedOperation]]] = {}
    for last in coming:
        by_key.setdefault(primary(_row(last)), []).append(last)
    kept = []
    for key, found in by_key.items():
        latest = [last for last in found if last[0].order == found[-1][0].order]
        for last in found:
            if last not in latest and last[0].key is not None:
                resolved.by_key[last[0].key] = None  # its row is replaced by a later one
        if len(latest) == 1:
            kept += latest
        else:
            _refuse(key, [each for last in latest for each in last], relation, on_bad)
    return kept


def _row(last: list[FeedOperation]) -> Row:
    """Returns the one row that equally late operations insert."""
    return next(each.row for each in last if each.row is not None)


def _refuse(key: Any, last: list[FeedOperation], relation: Relation, on_bad: OnBad) -> None:
    for each in last:
        if each.verb is not Verb.DELETE:
            error = DataError(
                f"{each.record.place}: the key {quoted(key)} of `{relation.name}` has another row in the same batch,"
                " and the feed does not say which is later",
                code=Code.CONFLICTING_ROWS,
                help=f'add `order = "…"` to `[changes.{relation.name}]`: a time, or a number that grows',
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
