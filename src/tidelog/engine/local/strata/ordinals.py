"""A table of ordinals, on words: inserted values take new numbers, deleted ones leave, and no other row is touched.

The rows are those that `OrdinalTable` would make of the last commit and the values of this epoch. The cost is that of
the changed values, and one look at all numbers for the largest.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.materialized import Facts, TransformStratum
from tidelog.library._runtime.ordinal_table import OrdinalTable

_MANY = 1000  # more deleted values than this are found by a look at the whole table


class OrdinalStratum(TransformStratum):
    fixed = "ordinals"

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        (given,) = rule.atoms
        asked = self.catalog.stores[self.numbers[given.relation]]
        table = self.catalog.stores[self.numbers[rule.head.relation]]
        nothing = np.empty((0, 2), dtype=np.int64)
        if self.is_new:
            values = asked.columns_of(asked.present_lines())[:, 0]
            before = table.columns_of(table.lines())
            kept = before[np.isin(before[:, 0], values)]
            new = self._numbered(np.setdiff1d(values, before[:, 0]), before)
            return {table.relation: (np.concatenate([kept, new]), nothing)}
        inserted, deleted = (asked.columns_of(each)[:, 0] for each in (asked.inserted_lines(), asked.deleted_lines()))
        if not len(inserted) and not len(deleted):
            return {}
        new = self._numbered(inserted, table.columns_of(table.lines())) if len(inserted) else nothing
        return {table.relation: (new, _rows_of(deleted, table) if len(deleted) else nothing)}

    def _numbered(self, values: Words, before: Words) -> Words:
        """Returns new values with the numbers behind those of the last commit."""
        (rule,) = self.stratum.rules
        transform = rule.transform
        assert transform is not None
        transformer = transform.transformer
        assert isinstance(transformer, OrdinalTable)
        type_ = self.program.relations[rule.head.relation].columns[0].type
        decoded = self.values.decode(values.copy(), type_)
        order = sorted(range(len(decoded)), key=lambda place: transformer.order(decoded[place]))
        largest = int(before[:, 1].max()) if len(before) else -1
        return np.column_stack([values[order], np.arange(largest + 1, largest + 1 + len(order), dtype=np.int64)])


def _rows_of(values: Words, table: Store) -> Words:
    """Returns the rows of values that are in the table."""
    if len(values) > _MANY:
        rows = table.columns_of(table.lines())
        return rows[np.isin(rows[:, 0], values)]
    found = [table.columns_of(table.bucket((0,), np.array([value]))) for value in values.tolist()]
    return np.concatenate(found)
