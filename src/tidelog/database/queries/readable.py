"""What can be read: relations, indexes, queries, explanations. A database and a snapshot have the same surface.

Each call reads one epoch: the last committed one of a database, that of a snapshot. No call waits for a commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tidelog.database.locked_engine import RunningQuery, declared, unknown_relation
from tidelog.database.queries.relation import RelationView
from tidelog.database.queries.source import Source
from tidelog.database.run_in_thread import run_in_thread
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.engine.interface import Reads
from tidelog.io.rows import to_row
from tidelog.io.sort import sort_rows
from tidelog.io.user_values import user_rows
from tidelog.io.values import Row
from tidelog.maintain.limits import positive, positive_whole
from tidelog.rules.ir import Index, Relation, Role

if TYPE_CHECKING:
    from tidelog.database.program.relations import Relations
    from tidelog.database.queries.explain import Explanation
    from tidelog.database.queries.query import Answer
    from tidelog.database.queries.why_not import WhyNot


class Readable:
    """The reading surface of a `Database` and of a `Snapshot`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def relation(self, name: str) -> RelationView:
        """Returns a view of any declared relation after the last committed epoch.

        >>> reach = db.relation("Reach")
        >>> len(reach), ("a", "c") in reach, reach.lookup(src="a")
        (3, True, [('a', 'b'), ('a', 'c')])
        """
        return RelationView(self._source, self._relation(name))

    @property
    def relations(self) -> Relations:
        """The declared relations by name, with columns, types, role, kind, and the rows after the last commit.

        >>> db.relations["Reach"].rows
        3
        """
        from tidelog.database.program.relations import Relations

        with self._source.reads() as reads:
            relations = declared(reads.program)
            return Relations(relations, {name: reads.count(name) for name in relations})

    def query_index(self, name: str, key: Any) -> list[Row]:
        """Returns the rows that an index has for a key: distinct rows of its relation, in value order.

        The key is a tuple (or a list, or a dict by name) with a value for each argument of the index; for one argument
        a bare value will do. Raises UsageError for an unknown index, DataError for a key that does not fit.
        """
        return self._given(name, self._canonical_index(name, key))

    def dump_index(self, name: str) -> list[Row]:
        """Returns all rows of an index, whatever their keys: distinct, in value order."""
        return self._given(name, self._canonical_index(name))

    def _canonical_index(self, name: str, *key: Any) -> list[Row]:
        """Returns the rows of an index, for one key or for all, with the values of the language: an `Option` is
        `Some{…}` or `None{}`."""
        with self._source.reads() as reads:
            index = _index(reads, name)
            if not key:
                found = [row for row, _ in reads.rows(index.relation)]
            else:
                arguments = Relation(index.name, index.columns, Role.HIDDEN, index.span)
                values = to_row(key[0], arguments, self._source.definitions)
                found = reads.lookup(index.relation, index.keys, values)
        return _distinct_rows(found, index)

    def _given(self, name: str, rows: list[Row]) -> list[Row]:
        with self._source.reads() as reads:
            relation = reads.program.relations[_index(reads, name).target]
        return user_rows(rows, relation, self._source.definitions)

    def explain(self, relation: str, row: Any, *, shortest: bool = False) -> Explanation:
        """Explains why a row is there: a proof from facts, read from the committed state.

        With `shortest` it is a proof of least height, otherwise the first that is found. Raises UsageError for a row
        that is not there, DataError for one that does not fit the relation.
        """
        from tidelog.database.queries.explain import explanation, row_not_there

        with self._source.reads() as reads:
            name, values = self._row_of(relation, row)
            proof = reads.queries().explain(name, values, shortest=shortest)
            program = reads.program
        if proof is None:
            raise row_not_there(program, name, values)
        return explanation(proof, program)

    def why_not(self, relation: str, row: Any, *, max_depth: int = 5) -> WhyNot:
        """Explains why a row is not there: for each rule that could derive it, the first literal without a match.

        If rules could derive a row for that literal, the answer goes on with why there is none, down to this depth. A
        row that is there is no error: the answer says so. Raises DataError for one that does not fit the relation.
        """
        from tidelog.database.queries.why_not import why_not

        depth = positive_whole("max_depth", max_depth)
        with self._source.reads() as reads:
            name, values = self._row_of(relation, row)
            attempts = reads.queries().why_not(name, values, depth=depth)
            program = reads.program
        return why_not(name, values, attempts, program)

    def query(
        self,
        text: str,
        *,
        params: Mapping[str, Any] | None = None,
        limit: int | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """Returns the rows of a one-off query: the body of a rule, whose variables are the columns of the answer.

            >>> db.query('Reach("a", x), not Edge(x, _)').rows
            [('c',)]
            >>> db.query("Reach($from, x), not Edge(x, _)", params={"from": "a"}).rows
            [('c',)]

        A parameter `$name` stands for a value: its place in the query gives its type, and `params` gives the value,
        which is never part of the text. With a `limit`, the search ends when so many rows are found, whichever they
        are (`answer.is_cut`). After `deadline` seconds it is given up.

        The query is checked against the program and sees the last committed epoch; nothing changes. Raises
        ProgramError, with places in the query's text, for a query that is wrong or lacks a value, UsageError for a
        value that no parameter takes, DataError for one that does not fit, and EvaluationError for a query that fails.
        """
        with self._source.running() as running:
            return self._query(running, text, params, limit, deadline)

    async def aquery(
        self,
        text: str,
        *,
        params: Mapping[str, Any] | None = None,
        limit: int | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """Does what `query` does, in another thread: the event loop goes on. Cancelling the task ends the query."""
        with self._source.running() as running:
            return await run_in_thread(lambda: self._query(running, text, params, limit, deadline), running.cancel)

    def _query(
        self,
        running: RunningQuery,
        text: str,
        params: Mapping[str, Any] | None,
        limit: int | None,
        deadline: float | None,
    ) -> Answer:
        from tidelog.database.queries.query import answer, compile_query

        limit = None if limit is None else positive_whole("limit", limit)
        deadline = None if deadline is None else positive("deadline", deadline)
        with self._source.reads() as reads:
            rules = self._source.rules_of(reads)
            query = compile_query(text, rules.typed, rules.rules, params, rules.read_query)
            found = reads.queries().evaluate(query, limit=limit, deadline=deadline, is_cancelled=running.is_cancelled)
        return answer(query, found, limit)

    def rules(self) -> list[str]:
        """Returns the rules of the last commit as they were written: those of the program, then those added since.

        >>> db.rules()[0]
        'Reach(x, y) :- Edge(x, y).'
        """
        with self._source.reads() as reads:
            return self._source.rules_of(reads).texts()

    def _relation(self, name: str) -> Relation:
        relations = self._source.relations
        if name not in relations:
            raise unknown_relation(name, relations, UsageError, Code.UNKNOWN_RELATION_NAME)
        return relations[name]

    def _row_of(self, name: str, row: Any) -> tuple[str, Row]:
        relation = self._relation(name)
        return relation.name, to_row(row, relation, self._source.definitions)


def _index(reads: Reads, name: str) -> Index:
    indexes = reads.program.indexes
    if name not in indexes:
        help = did_you_mean(name, indexes, f"the indexes are {listed(indexes)}")
        raise UsageError(f"there is no index `{name}`", code=Code.UNKNOWN_INDEX, help=help)
    return indexes[name]


def _distinct_rows(found: Iterable[Row], index: Index) -> list[Row]:
    """Turns rows found by an index into distinct rows of the relation that it is on."""
    return sort_rows(list({tuple(row[place] for place in index.row) for row in found}))
