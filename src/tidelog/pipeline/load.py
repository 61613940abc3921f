"""Records of a starting table → the first rows of a relation, on either engine.

A starting table is a feed of inserts. So records have the same forms in both, and of rows that share a primary key
none can be taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.errors import DataError
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Records
from tidelog.pipeline.operations import FeedOperation, OperationReader
from tidelog.pipeline.records import BadRecord
from tidelog.pipeline.resolve_conflicts import primary_key, resolve_conflicts
from tidelog.pipeline.settings import Feed
from tidelog.rules.ir import RuleProgram

_ROWS_AT_ONCE = 1_000_000


def load_records(tx: Transaction, records: Records, feed: Feed, program: RuleProgram, bad: BadRecords) -> int:
    """Inserts the rows of the records, adds bad records to `bad`, and returns the number of records."""
    relation = program.relations[feed.relation]
    reader = OperationReader(feed, relation, program.functions.definitions)
    count = 0

    def operations() -> Iterator[FeedOperation]:
        nonlocal count
        for record in records:
            count += 1
            if isinstance(record, BadRecord):
                bad.add(relation.name, record)
                continue
            try:
                operation = reader.read(record)
            except DataError as error:
                bad.add(relation.name, BadRecord(record.place, record.text, error))
            else:
                yield operation

    if relation.key is not None:
        primary = primary_key(relation, program)
        resolved = resolve_conflicts(operations(), relation, lambda each: bad.add(relation.name, each), primary)
        tx.insert(relation.name, resolved.inserts)
        return count
    rows: list[Row] = []
    for operation in operations():
        assert operation.row is not None
        rows.append(operation.row)
        if len(rows) == _ROWS_AT_ONCE:
            tx.insert(relation.name, rows)
            rows = []
    if rows:
        tx.insert(relation.name, rows)
    return count
