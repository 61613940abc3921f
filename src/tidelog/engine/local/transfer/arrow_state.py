"""The state of an engine ↔ Arrow tables, for callers that store it elsewhere (Spark).

A relation's table has its stored columns (`rules.schema.stored`), its three numbers, and whether the row is an input
fact. Of a weighted relation `_total` is the weight, which may be negative, and the other numbers mean nothing. Rows
that kernels have not derived are stored like facts, so their numbers are known without a table.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Row, bag_to_words
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.weighted import WeightedStratum
from tidelog.rules.analysis.copies import Copies, Copy
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.schema.arrow_numbers import arrow_numbers
from tidelog.rules.schema.stored import stored_schema

STATE_FIELDS = (
    pa.field("_rank", pa.int64(), nullable=False),
    pa.field("_count", pa.int64(), nullable=False),
    pa.field("_total", pa.int64(), nullable=False),
    pa.field("_input", pa.bool_(), nullable=False),
)

_DERIVED_RANK = 1


def state_schema(relation: Relation) -> pa.Schema:
    """Returns the schema of a relation's state."""
    return pa.schema([*stored_schema(relation), *STATE_FIELDS])


class StateTables:
    """The state of an engine as tables; `inspected` is what `Inspect` has to show of the last epoch."""

    def __init__(
        self,
        program: RuleProgram,
        catalog: Catalog,
        numbers: Mapping[str, int],
        values: Values,
        weighted: Mapping[str, WeightedStratum],
        copies: Copies,
    ) -> None:
        self._program = program
        self._catalog = catalog
        self._numbers = numbers
        self._values = values
        self._weighted = weighted
        self._copies = copies
        self._names = {number: name for name, number in numbers.items()}
        self._changes: dict[str, pa.Table] = {}
        self._replaced: dict[str, tuple[Store, Words]] = {}
        self._weight_changes: dict[str, pa.Table] = {}
        self.inspected: dict[str, pa.Table] = {}

    def table(self, name: str) -> pa.Table:
        """Returns all rows of a relation; of a weighted one, all that have a weight."""
        if name in self._weighted:
            return self._weights_table(name, self._weighted[name].table.weights)
        if name in self._copies.places:
            return self._copied_table(name, self._copies.places[name])
        store = self._catalog.stores[self._numbers[name]]
        lines, used = store.lines(), int(store.line[k.USED])
        # Without a free line there is no need of a copy, which would be as large as the relation.
        table = self._state_table(name, store, store.rows[:used] if len(lines) == used else store.rows[lines])
        if name in self._copies.grouping:
            # Its own rule derives it from the groups.
            return self._numbered(name, table.columns[: store.columns], len(table), is_fact=False)
        return table

    def _copied_table(self, name: str, copy: Copy) -> pa.Table:
        """Returns the rows of a relation that is not stored, with the numbers that they would have."""
        store = self._catalog.stores[self._numbers[copy.of]]
        words = store.columns_of(store.lines())[:, list(copy.columns)]
        columns = self._values.words_to_table(words, self._program.relations[name]).columns
        return self._numbered(name, columns, len(words), is_fact=copy.of in self._copies.grouping)

    def _numbered(self, name: str, columns: Sequence[pa.ChunkedArray], count: int, *, is_fact: bool) -> pa.Table:
        """Returns so many rows as if they were facts, or each had been derived once from lower strata."""
        one = pa.repeat(pa.scalar(1, pa.int64()), count)
        rank = pa.repeat(pa.scalar(0 if is_fact else _DERIVED_RANK, pa.int64()), count)
        schema = state_schema(self._program.relations[name])
        return pa.Table.from_arrays([*columns, rank, one, one, pa.repeat(pa.scalar(is_fact), count)], schema=schema)

    def changes(self, name: str) -> pa.Table:
        """Returns the rows whose numbers the epoch changed, with the new numbers."""
        if name in self._replaced:
            store, deleted = self._replaced.pop(name)
            # Deleted rows that were in this store are no longer there after the commit.
            deleted = row_counts.in_width(deleted, store.columns, store.width)
            rows = np.concatenate([store.rows[store.present_lines()], deleted])
            self._changes[name] = self._state_table(name, store, rows)
        known = self._changes.get(name)
        return state_schema(self._program.relations[name]).empty_table() if known is None else known

    def weight_changes(self, name: str) -> pa.Table:
        """Returns the weights that the epoch added."""
        known = self._weight_changes.get(name)
        return self.bag_table(name, {}) if known is None else known

    def begin(self) -> None:
        """Forgets the changes of the last epoch."""
        self._changes, self._replaced, self._weight_changes, self.inspected = {}, {}, {}, {}

    def collect(self, strata: Iterable[LocalStratum]) -> None:
        """Notes the changes that an epoch, which visited these strata, is about to commit.

        The rows that a Bootstrap replaced are all of the relation: their table is made when it is asked for.
        """
        for stratum in strata:
            if isinstance(stratum, WeightedStratum):
                self._collect_weights(stratum)
                continue
            for store in stratum.stores():
                name = self._names[store.relation]
                if store.relation in stratum.replaced:
                    # After a Bootstrap there is no log: every row has new numbers.
                    self._replaced[name] = (store, store.deleted_with_no_total())
                    continue
                rows = store.rows[store.touched_lines()]
                if len(rows):
                    self._changes[name] = self._state_table(name, store, rows)

    def take_inspected(self, name: str, changes: list[tuple[Row, int, int]]) -> None:
        """Notes the rows that an `Inspect` has to show: rows, changes of their weights, their ranks."""
        if changes:
            table = self.bag_table(name, {row: weight for row, weight, _ in changes})
            self.inspected[name] = table.append_column("_rank", pa.array([rank for *_, rank in changes], pa.int64()))

    def load(self, states: Mapping[str, pa.Table], held: Container[int]) -> dict[str, Bag]:
        """Fills the empty stores; returns the weights. `held` are relations whose rows kernels do not count."""
        weights: dict[str, Bag] = {}
        for name, table in states.items():
            store = self._catalog.stores[self._numbers[name]]
            words = self._values.table_to_words(table, self._program.relations[name])
            rank, count, total, given = (table.column(field.name).to_numpy() for field in STATE_FIELDS)
            if name in self._weighted:
                weights[name] = dict(zip(map(tuple, words.tolist()), total.tolist()))
                words = words[total > 0]
            if store.relation in held:
                rank, count, total, given = (np.full(len(words), number, np.int64) for number in (0, 1, 1, 1))
            store.make_row_room(len(words))
            store.line[k.USED] = store.line[k.LIVE] = len(words)
            rows = store.rows[: len(words)]
            rows[:, : store.columns] = words
            rows[:, store.columns + k.META] = (rank << k.RANK_SHIFT) | given.astype(np.int64)
            store.set_numbers(slice(len(words)), total, count)
            store.line[k.TOP] = int(rank.max()) if len(words) else 0
            entry_points.reindex(self._catalog.S, store.relation)
        return weights

    def _collect_weights(self, stratum: WeightedStratum) -> None:
        (name,), table = stratum.relations, stratum.table
        if table.delta:
            self._weight_changes[name] = self.bag_table(name, table.delta)
            if not table.is_stream:
                new = {row: table.weight(row, new=True) for row in table.delta}
                self._changes[name] = self._weights_table(name, new)

    def bag_table(self, name: str, bag: Bag) -> pa.Table:
        """Returns the rows of a bag, with the weight of each as `_total`."""
        relation = self._program.relations[name]
        words = bag_to_words(bag, len(relation.columns))
        columns = self._values.words_to_table(words[:, :-1], relation).columns
        fields = [*stored_schema(relation), STATE_FIELDS[2]]
        return pa.Table.from_arrays([*columns, arrow_numbers(words[:, -1])], schema=pa.schema(fields))

    def _weights_table(self, name: str, bag: Bag) -> pa.Table:
        """Returns the rows of a bag in the form of `state_schema`."""
        weighted = self.bag_table(name, bag)
        rank, count = (pa.repeat(pa.scalar(number, pa.int64()), len(bag)) for number in (0, 1))
        numbers = [rank, count, weighted.column("_total"), pa.repeat(pa.scalar(True), len(bag))]
        schema = state_schema(self._program.relations[name])
        return pa.Table.from_arrays([*weighted.columns[:-1], *numbers], schema=schema)

    def _state_table(self, name: str, store: Store, rows: Words) -> pa.Table:
        relation = self._program.relations[name]
        table = self._values.words_to_table(rows[:, : store.columns], relation)
        meta = row_counts.metas(rows, store.columns)
        ranks = meta >> k.RANK_SHIFT
        ranks &= k.RANK_MASK
        numbers = [
            arrow_numbers(ranks),
            arrow_numbers(row_counts.counts(rows, store.columns)),
            arrow_numbers(row_counts.totals(rows, store.columns)),
            arrow_numbers(meta & k.INPUT_BIT != 0),
        ]
        return pa.Table.from_arrays([*table.columns, *numbers], schema=state_schema(relation))
