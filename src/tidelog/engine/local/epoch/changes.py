"""The changes of an epoch in one relation of the local engine: words, decoded on first use.

The inserted rows are still where the epoch put them, and rows that a Bootstrap deleted where they were. They are copied
when somebody reads them or the next epoch begins, because they may be the whole relation. As long as the changes are
held, `reclaim_values` does not free the values of their words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.epoch.net_operations import split_by_sign
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.changed_rows import ChangedRows
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag
from tidelog.rules.ir import Relation


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LocalChanges:
    """The inserted and deleted rows of one relation, as words; they become Arrow on first use.

    In a set there are no weights: an insertion is +1 and a deletion -1.
    """

    relation: Relation
    values: Values
    inserted_rows: ChangedRows
    deleted_rows: ChangedRows
    inserted_weights: Words | None = None
    deleted_weights: Words | None = None

    @property
    def inserted_words(self) -> Words:
        return self.inserted_rows.words()

    @property
    def deleted_words(self) -> Words:
        return self.deleted_rows.words()

    def inserted(self) -> pa.Table:
        return self.values.words_to_table(self.inserted_words, self.relation)

    def deleted(self) -> pa.Table:
        return self.values.words_to_table(self.deleted_words, self.relation)

    def weights(self) -> list[tuple[Row, int]]:
        deleted = repeat(-1) if self.deleted_weights is None else self.deleted_weights.tolist()
        inserted = repeat(1) if self.inserted_weights is None else self.inserted_weights.tolist()
        rows = zip(self.values.words_to_rows(self.deleted_words, self.relation), deleted)
        return [*rows, *zip(self.values.words_to_rows(self.inserted_words, self.relation), inserted)]

    def inserted_count(self) -> int:
        return len(self.inserted_rows)

    def deleted_count(self) -> int:
        return len(self.deleted_rows)

    def inserted_frame(self) -> Any:
        raise no_session()

    def deleted_frame(self) -> Any:
        raise no_session()


def row_changes(relation: Relation, values: Values, store: Store) -> LocalChanges | None:
    """Returns the rows that the epoch inserts into and deletes from a store, if any."""
    if not store.line[k.INSERTED_COUNT] and not store.line[k.DELETED_COUNT]:
        return None
    return LocalChanges(relation, values, store.inserted_rows(), store.deleted_rows())


def weight_changes(relation: Relation, values: Values, delta: Bag) -> LocalChanges | None:
    """Returns the weights that the epoch adds to a relation, if any."""
    if not delta:
        return None
    inserted, deleted = split_by_sign(delta, relation)
    weights = np.array(list(delta.values()), dtype=np.int64)
    return LocalChanges(
        relation, values, ChangedRows.of(inserted), ChangedRows.of(deleted), weights[weights > 0], weights[weights < 0]
    )


def no_session() -> UsageError:
    """Makes the error for a request of a Spark DataFrame."""
    return UsageError(
        "the local engine has no Spark session",
        code="E803",
        help='use to_arrow() or to_pandas(), or open the database with engine="spark"',
    )
