"""A relation of groups or members that is not stored, because another relation has its rows (`rules/analysis/copies`).

Explanations find the rows there (`queries/committed_view`), as does the transfer to another engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.materialized import Facts, MaterializedStratum


class CopiedStratum(MaterializedStratum):
    """A stratum without rows. It runs once, if the rules have changed: the relation may have been stored before."""

    fixed = "copy"
    why = "another relation has the rows"

    @property
    def reads(self) -> Sequence[int]:
        return ()

    def is_touched(self) -> bool:
        return self.is_new

    def derive(self) -> Facts:
        return {}

    def resume(self, given: Mapping[str, dict[tuple[int, ...], int]]) -> None:
        """Drops the rows that an earlier version of Tidelog, or another engine, has stored."""
        for number in self.relation_numbers:
            if len(self.catalog.stores[number]):
                self.catalog.stores[number] = Store(self.catalog, number, self.catalog.stores[number].columns)
        self.instances = 0
        super().resume(given)
