"""Resolved operations of a batch → the inserts and deletes of a transaction.

A row that takes a key is compared with the present rows of the key: they are deleted, except an equal one. A feed into
a relation with a primary key replaces rows, too: a present row of the key, or a delete of an absent row, is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TransactionError
from tidelog.io.values import Row
from tidelog.pipeline.resolve_conflicts import Resolved
from tidelog.pipeline.settings import Feed
from tidelog.rules.ir import Relation

OldRows = Callable[[str, Sequence[str], Sequence[Row]], Mapping[Row, list[Row]]]
"""A relation, some of its columns, and keys for them → the committed rows of each key that has any."""

_NOT_THERE = (Code.KEY_NOT_FOUND, Code.DIFFERENT_ROW)


def apply(tx: Transaction, resolved: Resolved, feed: Feed, relation: Relation, old_rows: OldRows) -> None:
    """Writes the operations of one feed of a batch. Costs the size of the batch, and a lookup per key."""
    deletes, inserts = list(resolved.deletes), list(resolved.inserts)
    if resolved.is_cleared:
        tx.clear(relation.name)
    if resolved.by_key:
        keys = list(resolved.by_key)
        present = {} if resolved.is_cleared else old_rows(relation.name, feed.key, keys)
        for key, row in resolved.by_key.items():
            rows = present.get(key, [])
            deletes += [old for old in rows if old != row]
            if row is not None and row not in rows:
                inserts.append(row)
    if relation.key is not None:
        _replace(tx, relation.name, deletes, inserts)
        return
    if deletes:
        tx.delete(relation.name, deletes)
    if inserts:
        tx.insert(relation.name, inserts)


def _replace(tx: Transaction, relation: str, deletes: Sequence[Row], inserts: Sequence[Row]) -> None:
    for row in deletes:
        try:
            tx.delete(relation, [row])
        except TransactionError as error:
            if error.code not in _NOT_THERE:
                raise
    if inserts:
        tx.upsert(relation, list(inserts))
