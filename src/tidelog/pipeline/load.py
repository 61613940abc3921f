"""Records of a starting table → the first rows of a relation, on either engine.

A starting table is a feed of inserts. So records have the same forms in both, and of rows that share a primary key
none can be taken.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from tidelog.database.transactions.transaction import Transaction
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Records
from tidelog.pipeline.operations import OperationReader
from tidelog.pipeline.resolve_conflicts import primary_key, resolve_conflicts
from tidelog.pipeline.settings import Feed
from tidelog.rules.ir import RuleProgram

_ROWS_AT_ONCE = 1_000_000


def load_records(tx: Transaction, records: Records, feed: Feed, program: RuleProgram, bad: BadRecords) -> int:
    """Inserts the rows of the records, adds bad records to `bad`, and returns the number of records."""
    relation = program.relations[feed.relation]
    reader = OperationReader(feed, relation, program.functions.definitions)
    on_bad = partial(bad.add, relation.name)
    operations = reader.read_all(records, on_bad)
    if relation.key is not None:
        resolved = resolve_conflicts(operations, relation, on_bad, primary_key(relation, program))
        tx.insert(relation.name, resolved.inserts)
        return reader.count
    rows = (operation.row for operation in operations)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        tx.insert(relation.name, some)
    return reader.count
