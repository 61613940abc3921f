"""A query → its distinct rows, matched against the committed state.

A cyclic body is joined by leapfrog, in the join kernel (`leapfrog_step`); everything else row by row.

Relations of the query itself are never stored: a negated literal on a hidden relation checks whether its rule has an
instance, and groups are made when the query reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.leapfrog_step import LeapfrogPlanner
from tidelog.engine.local.queries.match_rule import Matcher, unify
from tidelog.engine.local.storage.weighted_table import Bag, Row
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.maintain.limits import paced
from tidelog.rules.ir import Rule
from tidelog.rules.lower.query import Query

# The estimated size of a relation that is made as the query runs.
_UNKNOWN_SIZE = 1000


def evaluate(
    query: Query, committed: CommittedView, limit: int | None = None, deadline: float | None = None
) -> list[tuple[Any, ...]]:
    """Returns the distinct rows of a query, with a `limit` the first that are found.

    Raises EvaluationError when an expression of the query fails, or after `deadline` seconds.
    """
    look = _nothing if deadline is None else _until(deadline)
    rows = _QueryRows(query, committed, look)
    found: set[Row] = set()
    try:
        look()
        for head, _ in rows.heads(query.rule) if limit != 0 else ():
            found.add(head)
            if len(found) == limit:
                break
            look()
    except ZeroDivisionError:
        raise EvaluationError(
            f"division by zero in the query `{query.rule.text}`",
            code=Code.DIVISION_BY_ZERO,
            help="guard it with a condition before it, for example `y != 0, var q = x / y`",
        ) from None
    decoders = [committed.values.decoder(column.type) for column in query.answer.columns]
    return [tuple(decode(word) for decode, word in zip(decoders, row)) for row in found]


def _nothing() -> None:
    pass


def _until(deadline: float) -> Callable[[], None]:
    """Returns a function that raises once the seconds have passed; it is cheap enough to call at every row."""
    started = perf_counter()

    def look() -> None:
        if perf_counter() - started > deadline:
            raise EvaluationError(
                f"the query took longer than its deadline of {max(deadline, 0):g} s",
                code=Code.DEADLINE_PASSED,
                help="give more columns of its relations a value, or raise the deadline",
            )

    look_now_and_then = paced(look)

    def look_first() -> None:
        if deadline <= 0:
            look()
        look_now_and_then()

    return look_first


class _QueryRows:
    """The committed rows, and those of the relations that only the query has; see `match_rule.Rows`."""

    def __init__(self, query: Query, committed: CommittedView, look: Callable[[], None] = _nothing) -> None:
        """`look` is called again and again while the query runs; it may raise."""
        self._query = query
        self._look = look
        self._committed = committed
        self._groups: dict[str, list[Row]] = {}
        self._matchers: dict[str, Matcher] = {}
        self.leapfrog = LeapfrogPlanner(committed, query.hidden, query.functions, look)

    def heads(self, rule: Rule) -> Iterator[tuple[Row, int]]:
        """Yields the head of each instance of a rule of the query, with its weight."""
        return self._matcher(rule, ()).heads({})

    def size(self, relation: str) -> int:
        return _UNKNOWN_SIZE if relation in self._query.hidden else self._committed.size(relation)

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        rule = self._query.hidden.get(relation)
        self._look()
        if rule is None:
            found = self._committed.find(relation, columns, key)
            return found if self._look is _nothing else self._watched(found)
        made = self._made(rule)
        return ((row, 1) for row in made if all(row[column] == word for column, word in zip(columns, key)))

    def _watched(self, rows: Iterator[tuple[Row, int]]) -> Iterator[tuple[Row, int]]:
        for each in rows:
            self._look()
            yield each

    def weight(self, relation: str, row: Row) -> int:
        rule = self._query.hidden.get(relation)
        self._look()
        if rule is None:
            return self._committed.weight(relation, row)
        words = unify(rule.head, row, self._committed.values)
        if words is None:
            return 0
        if relation not in self._matchers:
            self._matchers[relation] = self._matcher(rule, words)
        return 0 if next(self._matchers[relation].heads(words), None) is None else 1

    def _matcher(self, rule: Rule, known: Iterable[str]) -> Matcher:
        values, functions = self._committed.values, self._query.functions
        return Matcher(rule, known, self, values, functions, leapfrog=self.leapfrog)

    def _made(self, rule: Rule) -> list[Row]:
        """Returns the groups of a rule that groups, made once."""
        name = rule.head.relation
        if name not in self._groups:
            assert rule.group is not None, "only groups are looked up as rows"
            members = self._query.hidden[rule.group.atom.relation]
            bag: Bag = {}
            for row, weight in self.heads(members):
                bag[row] = bag.get(row, 0) + weight
            self._groups[name] = Grouping(rule.group, self._query.relations, self._committed.values).rows(bag)
        return self._groups[name]
