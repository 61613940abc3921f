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
from tidelog.functions.runtime_errors import without_result
from tidelog.long_calls import Looking
from tidelog.maintain.limits import paced
from tidelog.rules.ir import Rule
from tidelog.rules.lower.query import Query

# The estimated size of a relation that is made as the query runs.
_UNKNOWN_SIZE = 1000


def evaluate(
    query: Query,
    committed: CommittedView,
    limit: int | None = None,
    deadline: float | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> list[tuple[Any, ...]]:
    """Returns the distinct rows of a query, with a `limit` the first that are found.

    Raises EvaluationError when an expression of the query fails, after `deadline` seconds, and once it is cancelled.
    """
    look = _nothing if deadline is None and is_cancelled is None else _watch(deadline, is_cancelled)
    rows = _QueryRows(query, committed, look)
    found: set[Row] = set()
    try:
        look()
        with committed.private.watched(look), Looking(look):
            for head, _ in rows.heads(query.rule) if limit != 0 else ():
                found.add(head)
                if len(found) == limit:
                    break
                look()
    except ZeroDivisionError as error:
        raise without_result(f"in the query `{query.rule.text}`", error) from None
    decoders = [committed.values.decoder(column.type) for column in query.answer.columns]
    decoded = []
    for row in found:
        look()
        decoded.append(tuple(decode(word) for decode, word in zip(decoders, row)))
    return decoded


def _nothing() -> None:
    pass


def _head(instance: tuple[Row, int]) -> Row:
    return instance[0]


def _watch(deadline: float | None, is_cancelled: Callable[[], bool] | None) -> Callable[[], None]:
    """Returns a function that raises once the seconds have passed, or the query is cancelled; it is cheap enough to
    call at every row.
    """
    started = perf_counter()

    def look() -> None:
        if is_cancelled is not None and is_cancelled():
            raise EvaluationError("the query was cancelled", code=Code.CANCELLED)
        if deadline is not None and perf_counter() - started > deadline:
            raise EvaluationError(
                f"the query took longer than its deadline of {max(deadline, 0):g} s",
                code=Code.DEADLINE_PASSED,
                help="give more columns of its relations a value, or raise the deadline",
            )

    look_now_and_then = paced(look)

    def look_first() -> None:
        if deadline is not None and deadline <= 0:
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
        self._rows: dict[str, list[Row]] = {}
        self._matchers: dict[tuple[str, int], Matcher] = {}
        self.leapfrog = LeapfrogPlanner(committed, query.hidden, query.functions, look)

    def heads(self, rule: Rule) -> Iterator[tuple[Row, int]]:
        """Yields the head of each instance of a rule of the query, with its weight."""
        return self._matcher(rule, ()).heads({})

    def size(self, relation: str) -> int:
        return _UNKNOWN_SIZE if relation in self._query.hidden else self._committed.size(relation)

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        rules = self._query.hidden.get(relation)
        self._look()
        if rules is None:
            found = self._committed.find(relation, columns, key)
            return found if self._look is _nothing else self._watched(found)
        made = self._made(relation, rules)
        return ((row, 1) for row in made if all(row[column] == word for column, word in zip(columns, key)))

    def _watched(self, rows: Iterator[tuple[Row, int]]) -> Iterator[tuple[Row, int]]:
        for each in rows:
            self._look()
            yield each

    def weight(self, relation: str, row: Row) -> int:
        rules = self._query.hidden.get(relation)
        self._look()
        if rules is None:
            return self._committed.weight(relation, row)
        for place, rule in enumerate(rules):
            words = unify(rule.head, row, self._committed.values)
            if words is None:
                continue
            if (relation, place) not in self._matchers:
                self._matchers[relation, place] = self._matcher(rule, words)
            if next(self._matchers[relation, place].heads(words), None) is not None:
                return 1
        return 0

    def _matcher(self, rule: Rule, known: Iterable[str]) -> Matcher:
        values, functions = self._committed.values, self._query.functions
        return Matcher(rule, known, self, values, functions, leapfrog=self.leapfrog)

    def _made(self, name: str, rules: tuple[Rule, ...]) -> list[Row]:
        """Returns the rows of a relation that only the query has, made once."""
        if name not in self._rows:
            found: dict[Row, None] = {}
            for rule in rules:
                found |= dict.fromkeys(self._grouped(rule) if rule.group is not None else map(_head, self.heads(rule)))
            self._rows[name] = [*found]
        return self._rows[name]

    def _grouped(self, rule: Rule) -> list[Row]:
        """Returns the groups of a rule that groups."""
        assert rule.group is not None
        bag: Bag = {}
        for members in self._query.hidden[rule.group.atom.relation]:
            for row, weight in self.heads(members):
                bag[row] = bag.get(row, 0) + weight
        return Grouping(rule.group, self._query.relations, self._committed.values).rows(bag)
