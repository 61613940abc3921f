"""Updates that do not send every value → whole rows.

A source may leave out long values that an update did not change. They are those of the row before: of an earlier
operation of the batch, or of the committed row that has the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord, OnBad
from tidelog.io.values import Row, quoted
from tidelog.pipeline.operations import UNSENT, FeedOperation, Verb

Committed = Callable[[Sequence[Row]], Mapping[Row, list[Row]]]
"""Keys → the committed rows of each key that has any."""


def with_unsent_values(operations: Iterable[FeedOperation], committed: Committed, on_bad: OnBad) -> list[FeedOperation]:
    """Returns the operations, in their order, with whole rows. Calls `on_bad`, which may raise, for an update of a row
    that is not there."""
    given = list(operations)
    if not any(each.base is not None for each in given):
        return given
    wanted = {each.base for each in given if each.base is not None}
    rows: dict[Row, Row | None] = {key: found[0] for key, found in committed(list(wanted)).items() if found}
    whole = []
    for each in given:
        operation = each
        if each.verb is Verb.CLEAR:
            rows.clear()
        elif each.base is not None and each.row is not None:
            before = rows.get(each.base)
            if before is None:
                on_bad(_unknown(each))
                continue
            row = tuple(was if now is UNSENT else now for now, was in zip(each.row, before))
            operation = replace(each, row=row, base=None)
        if operation.key is not None:
            rows[operation.key] = operation.row
        whole.append(operation)
    return whole


def _unknown(operation: FeedOperation) -> BadRecord:
    record = operation.record
    error = DataError(
        f"{record.place}: an update of the key {quoted(operation.base)} leaves values out, and no row was before it",
        code=Code.BAD_OPERATION,
        help="the row was left out as a bad record; update all of its columns, or give the pipeline a new `state`",
    )
    return BadRecord(record.place, record.text, error)
