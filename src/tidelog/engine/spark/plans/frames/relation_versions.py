"""Versions of a relation below a stratum in an epoch: its rows before and after, kept, inserted and deleted.

    before = kept + deleted     after = kept + inserted     either = kept + deleted + inserted

Frames are in the encoding of frames, are read from the state files, and are made only when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.storage.scan import encoded, scan_changes, scan_rows
from tidelog.engine.spark.storage.state_files import Changed, Stored, value_names
from tidelog.rules.ir import Relation


@dataclass
class RelationVersions:
    """`changed` is None if this epoch did not change the relation. `arranged`: the rows after, read once in advance."""

    attempt: Attempt
    relation: Relation
    old: Stored | None
    new: Stored | None
    changed: Changed | None
    arranged: Any = None

    @cached_property
    def before(self) -> Any:
        return self._scan(self.old)

    @cached_property
    def after(self) -> Any:
        return self._scan(self.new) if self.arranged is None else self.arranged

    @cached_property
    def inserted(self) -> Any:
        return self._changes(inserted=True)

    @cached_property
    def deleted(self) -> Any:
        return self._changes(inserted=False)

    @cached_property
    def kept(self) -> Any:
        if not self.deleted_count:
            return self.before
        if not self.inserted_count:
            return self.after
        return self._without(self.after, self.inserted)

    @cached_property
    def either(self) -> Any:
        return self.before.unionByName(self.inserted) if self.inserted_count else self.before

    @property
    def inserted_count(self) -> int:
        return self.changed.inserted if self.changed is not None else 0

    @property
    def deleted_count(self) -> int:
        return self.changed.deleted if self.changed is not None else 0

    @property
    def old_rows(self) -> int:
        return self.old.rows if self.old is not None else 0

    @property
    def new_rows(self) -> int:
        return self.new.rows if self.new is not None else 0

    def _scan(self, stored: Stored | None) -> Any:
        frame = scan_rows(self.attempt.spark, self.attempt.directory, self.relation, stored)
        return encoded(frame, self.relation)

    def _changes(self, inserted: bool) -> Any:
        assert self.changed is not None
        frame = scan_changes(self.attempt.spark, self.attempt.directory, self.relation, self.changed, inserted)
        return encoded(frame, self.relation)

    def _without(self, rows: Any, others: Any) -> Any:
        values = value_names(self.relation)
        # The one row of a relation without columns cannot be both inserted and deleted.
        return rows.join(others, values, "left_anti") if values else rows
