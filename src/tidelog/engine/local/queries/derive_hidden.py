"""Hidden relations that epochs leave empty → the rows that an explanation asks for, derived by their rules.

Members and groups of a recursion through `min` and `max` in kernels are such relations (`strata.monotone.in_kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.match_rule import Matcher, Words
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.rules.ir import Constant, Rule, Variable


class HiddenRows:
    """The rows of hidden relations over the rows of one commit."""

    def __init__(self, committed: CommittedView) -> None:
        self._committed = committed
        self._rules: dict[str, list[Rule]] = {}
        for rule in committed.program.rules:
            self._rules.setdefault(rule.head.relation, []).append(rule)

    def find(self, relation: str, columns: tuple[int, ...], key: Row) -> Iterator[Row]:
        """Yields the distinct rows with these words in these columns."""
        wanted = dict(zip(columns, key))
        seen: set[Row] = set()
        for rule in self._rules.get(relation, ()):
            for row in self._grouped(rule, wanted) if rule.group is not None else self._heads(rule, wanted):
                if row not in seen and all(row[column] == word for column, word in wanted.items()):
                    seen.add(row)
                    yield row

    def _heads(self, rule: Rule, wanted: dict[int, int]) -> Iterator[Row]:
        """Yields the heads of a rule; all that have the wanted words are among them."""
        committed = self._committed
        words: Words = {}
        for column, word in wanted.items():
            term = rule.head.terms[column]
            if isinstance(term, Variable):
                if words.setdefault(term.name, word) != word:
                    return
            elif isinstance(term, Constant) and committed.values.temporary_word(term.value, term.type) != word:
                return
        matcher = Matcher(rule, words, committed, committed.values, committed.program.functions)
        for head, _ in matcher.heads(words):
            yield head

    def _grouped(self, rule: Rule, wanted: dict[int, int]) -> Iterator[Row]:
        """Yields the groups of a rule; those of all wanted keys are among them."""
        committed, group = self._committed, rule.group
        assert group is not None
        grouping = Grouping(group, committed.program.relations, committed.values)
        known = tuple(column for column in grouping.keys if column in wanted)
        members = committed.find(group.atom.relation, known, tuple(wanted[column] for column in known))
        yield from grouping.rows(dict(members))
