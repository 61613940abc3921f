"""A feed that gives changes of rows → the writes of a transaction, and the copies that its relation then has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tidelog.database.transactions.transaction import Transaction
from tidelog.io.rows import Batch
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import SourceRange
from tidelog.pipeline.copies import Copies
from tidelog.pipeline.net_changes import Fitter, NetChanges, Present, net_changes, net_weights, rows_with_copies
from tidelog.pipeline.settings import Table
from tidelog.pipeline.sources.formats import open_source
from tidelog.pipeline.sources.source import RowChanges
from tidelog.rules.ir import Kind, Relation, RuleProgram
from tidelog.rules.schema.arrow import is_plain_relation
from tidelog.values import Definitions

FOLDER = "copies"
"""The folder of copies, beside the log of batches."""


class RowFeed:
    """The feed of one relation in an open database. `last` is the last committed batch."""

    def __init__(self, relation: Relation, definitions: Definitions, folder: Path, last: int | None) -> None:
        self.relation = relation
        self.definitions = definitions
        self.copies = Copies(folder, relation, definitions, last)

    def load(self, tx: Transaction, rows: SourceRange, bad: BadRecords) -> int:
        """Inserts the first rows; returns their number, bad ones included."""
        count, copies = load_content(tx, rows.content(), self.relation, self.definitions, bad)
        self.copies.plan(copies)
        return count

    def take(self, tx: Transaction, changes: SourceRange, present: Present, bad: BadRecords) -> tuple[int, NetChanges]:
        """Writes the changes of a batch; returns the number of rows read, and the net changes."""
        fitter = Fitter(self.relation, self.definitions, partial(bad.add, self.relation.name))
        weights = net_weights(fitter.fit(changes.content()), self.relation, self.definitions)
        return fitter.count, self.apply(tx, weights, present)

    def apply(self, tx: Transaction, weights: Mapping[Row, int], present: Present) -> NetChanges:
        """Writes the changes of the numbers of rows; returns the net changes."""
        name = self.relation.name
        net = net_changes(weights, self.relation, self.copies, present)
        self.copies.plan(net.copies)
        if net.deletes:
            tx.delete(name, net.deletes)
        if net.inserts:
            tx.insert(name, net.inserts)
        return net


def load_content(
    tx: Transaction, content: Iterable[RowChanges], relation: Relation, definitions: Definitions, bad: BadRecords
) -> tuple[int, Mapping[Row, int]]:
    """Inserts the rows of a starting table; returns the number of rows read, and the copies beyond the first."""
    fitter = Fitter(relation, definitions, partial(bad.add, relation.name))
    parts = fitter.fit(content)
    if relation.kind is not Kind.SET or relation.key is not None or not is_plain_relation(relation):
        weights = net_weights(parts, relation, definitions)
        if relation.kind is Kind.SET:
            tx.insert(relation.name, [row for row, weight in weights.items() if weight > 0])
            return fitter.count, {row: weight - 1 for row, weight in weights.items() if weight > 1}
        tx.insert(relation.name, [row for row, weight in weights.items() for _ in range(weight)])
        return fitter.count, {}

    def inserted() -> Iterator[tuple[int, Batch]]:
        for sign, batch in parts:
            tx.insert(relation.name, batch)
            yield sign, batch

    copies = rows_with_copies(inserted(), relation, definitions)
    return fitter.count, copies


def load_place(tx: Transaction, table: Table, program: RuleProgram, bad: BadRecords) -> int:
    """Inserts the rows that a source without a feed has now; returns the number of rows read."""
    relation = program.relations[table.relation]
    with place_rows(table, relation) as rows:
        return load_content(tx, rows.content(), relation, program.functions.definitions, bad)[0]


@contextmanager
def place_rows(table: Table, relation: Relation) -> Iterator[SourceRange]:
    """Opens a source without a feed; yields all rows that it has now."""
    source = open_source(table.place, relation)
    try:
        source.check(None)
        yield SourceRange(source, None, source.start(None))
    finally:
        source.close()
