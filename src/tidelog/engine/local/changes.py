"""What an epoch changed in one relation of the local engine: words, decoded when somebody looks.

As long as the changes are held, `reclaim` keeps the values of their words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.local.values import Values, Words
from tidelog.rules.ir import Relation


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LocalChanges:
    """The rows of one relation that came and went, as words; they become Arrow when somebody looks."""

    relation: Relation
    values: Values
    came: Words
    left: Words
    came_weights: Words
    left_weights: Words

    def inserted(self) -> pa.Table:
        return self.values.words_to_table(self.came, self.relation)

    def deleted(self) -> pa.Table:
        return self.values.words_to_table(self.left, self.relation)

    def weights(self) -> list[tuple[Row, int]]:
        left = zip(self.values.words_to_rows(self.left, self.relation), self.left_weights.tolist())
        return [*left, *zip(self.values.words_to_rows(self.came, self.relation), self.came_weights.tolist())]

    def inserted_count(self) -> int:
        return len(self.came)

    def deleted_count(self) -> int:
        return len(self.left)

    def inserted_frame(self) -> Any:
        raise no_session()

    def deleted_frame(self) -> Any:
        raise no_session()


def no_session() -> UsageError:
    """What asks for a Spark DataFrame gets this."""
    return UsageError(
        "the local engine has no Spark session",
        code="E803",
        help='use to_arrow() or to_pandas(), or open the database with engine="spark"',
    )
