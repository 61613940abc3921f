"""Histories: what a user does to a database, one transaction after the other.

A transaction is a list of writes in call order. Its net effect follows the language's rule: writes apply to the
transaction's own view, inserting a present row and deleting an absent one do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.program import Relations, Row


@dataclass(frozen=True, slots=True)
class Write:
    """One call: `sign` is +1 for insert, -1 for delete."""

    sign: int
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Transaction:
    """Writes in call order. If `fails`, the user's code raises after the last one, and nothing happens."""

    writes: tuple[Write, ...]
    fails: bool = False


History = tuple[Transaction, ...]


def apply(facts: Relations, transaction: Transaction) -> Relations:
    """The input facts after the transaction."""
    if transaction.fails:
        return facts
    after = {name: set(rows) for name, rows in facts.items()}
    for write in transaction.writes:
        rows = after.setdefault(write.relation, set())
        if write.sign > 0:
            rows.update(write.rows)
        else:
            rows.difference_update(write.rows)
    return {name: frozenset(rows) for name, rows in after.items()}


def difference(before: Relations, after: Relations) -> Iterator[Write]:
    """The writes that lead from one set of facts to the other: per relation the deletes, then the inserts."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, frozenset()), after.get(name, frozenset())
        if old - new:
            yield Write(-1, name, tuple(sorted(old - new)))
        if new - old:
            yield Write(+1, name, tuple(sorted(new - old)))
