"""Rows → those that are committed facts of an input relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.database.database import Database
from tidelog.io.values import Row
from tidelog.rules.ir import RuleProgram


class PresentFacts:
    """Looks rows up in an open database; costs the number of rows.

    A relation that rules derive, too, also has rows that are no facts: there all facts are read.
    """

    def __init__(self, database: Database, program: RuleProgram) -> None:
        self._database = database
        self._derived = {rule.head.relation for rule in program.rules}

    def among(self, relation: str, rows: Sequence[Row]) -> Iterable[Row]:
        """Returns those of the rows that are facts."""
        if relation in self._derived:
            with self._database._locked.engine() as engine:
                facts = {row for row, _ in engine.facts(relation)}
            return [row for row in rows if row in facts]
        with self._database.relation(relation)._source.reads() as reads:
            return [row for row in rows if reads.contains(relation, row)]
