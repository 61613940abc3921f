"""`Inspect`: calls its function for each row that an epoch inserts or deletes, with the round that derived the row."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row, Tables
from tidelog.maintain.inspect import show_changes
from tidelog.rules.ir import RuleProgram


class Inspector:
    """Calls the functions of `Inspect` for the changes of an epoch, unless it `is_silent`. `take`, if set, gets the
    rows instead: each with the change of its weight, and its rank.
    """

    def __init__(self, program: RuleProgram, tables: Tables, values: Values) -> None:
        self.is_silent = False
        self.take: Callable[[str, list[tuple[Row, int, int]]], None] | None = None
        self._program = program
        self._tables = {each.relation: tables[each.relation] for each in program.inspections}
        self._decoders = {
            name: [values.decoder(column.type) for column in program.relations[name].columns] for name in self._tables
        }

    def show(self, epoch: int, store_of: Callable[[str], Store]) -> None:
        """Shows all changes of the epoch, in the order of the program, then of the rows."""
        for inspection in () if self.is_silent else self._program.inspections:
            name = inspection.relation
            rounds = {} if self._program.relations[name].weighted else _ranks(store_of(name))
            changes = [(row, weight, rounds.get(row, 0)) for row, weight in self._tables[name].delta.items()]
            if self.take is not None:
                self.take(name, changes)
                continue
            decoders = self._decoders[name]
            decoded = (
                (tuple(decode(word) for decode, word in zip(decoders, row)), weight, rank)
                for row, weight, rank in changes
            )
            show_changes(inspection, decoded, epoch, self._program.functions.definitions)


def _ranks(store: Store) -> dict[Row, int]:
    """Returns the rounds in which the inserted and deleted rows were derived."""
    ranks: dict[Row, int] = {}
    for rows in (store.rows[store.inserted_lines()], store.deleted_numbers()):
        numbers = row_counts.ranks(rows, store.columns)
        ranks.update(zip(map(tuple, rows[:, : store.columns].tolist()), numbers.tolist()))
    return ranks
