"""Where a reader finds rows: a database, at its last commit, or a snapshot, at the commit that it is pinned to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from tidelog.database.locked_engine import RunningQuery
from tidelog.engine.interface import Reads
from tidelog.rules.ir import Relation
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.values import Definitions


class Source(Protocol):
    """The state that a reader sees. Raises UsageError where it is closed."""

    def reads(self) -> AbstractContextManager[Reads]:
        """Pins the state for a block: all reads in it are of one epoch."""

    def rules_of(self, reads: Reads) -> RuleSet:
        """Returns the rules of a state."""

    def running(self) -> AbstractContextManager[RunningQuery]:
        """Begins a query that can be cancelled."""

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The declared relations of the program, by name."""

    @property
    def definitions(self) -> Definitions:
        """The types of the program."""
