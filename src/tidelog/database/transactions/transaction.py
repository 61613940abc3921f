"""A transaction: writes applied in call order to a view of its own, and committed as one epoch.

Each call checks its rows completely before it writes, so a call that raises leaves the transaction as it was. An
exception that leaves the `with` block rolls everything back; so does a commit that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidelog.database.locked_engine import LockedEngine, declared, unknown_relation
from tidelog.database.run_in_thread import run_in_thread
from tidelog.database.transactions.batch_id import BatchId, SkippedWrites
from tidelog.database.transactions.changes import Changes
from tidelog.database.transactions.modify import Fields, modification
from tidelog.database.transactions.progress import log_if_slow, reporting
from tidelog.database.transactions.writes import KeyedWrites, Writes, writes_to
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TransactionError, UsageError
from tidelog.engine.interface import BeforeCommit, EpochReport, NewRules
from tidelog.engine.marks import Marks
from tidelog.io.fit import fitter
from tidelog.io.values import UnfitError, Value, key_misfit
from tidelog.rules.ir import Kind, Relation, Role
from tidelog.rules.rule_changes.rule_set import RuleSet

if TYPE_CHECKING:
    from tidelog.database.transactions.load import LoadReport


class _State(Enum):
    NEW = "not begun"
    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """Options of a commit for a pipeline, not for users.

    `marks` last as long as the writes (`tidelog.engine.marks`). `before_commit` is called just before the commit, with
    the number and the changes of the epoch; an error that it raises rolls the epoch back. It must not use the database,
    which is locked.
    """

    marks: Marks = field(default_factory=dict)
    before_commit: BeforeCommit = None


class Transaction:
    """Made by `db.transaction()`. In a `with` block it commits at the end and rolls back on an exception; outside of
    one, `begin()` is the start and `commit()` or `rollback()` the end.

    >>> with db.transaction() as tx:
    ...     tx.delete("Edge", [("a", "b")])
    ...     tx.insert("Edge", [{"src": "c", "dst": "d"}])
    >>> tx.changes["Reach"].inserted, tx.changes["Reach"].deleted
    ([('b', 'd'), ('c', 'd')], [('a', 'b'), ('a', 'c')])
    """

    def __init__(self, locked: LockedEngine, wait: float | None = None, batch: BatchId | None = None) -> None:
        self._locked = locked
        self._wait = wait
        self._batch = batch
        self._is_skipped = False
        self._state = _State.NEW
        self._writes: dict[str, Writes] = {}
        self._count = 0
        self._rules: RuleSet | None = None  # where a call has changed them
        self._calls: list[tuple[int, str]] = []
        self._changes: Changes | None = None
        self._report: EpochReport | None = None
        self._options = CommitOptions()

    # Writes

    def insert(self, relation: str, rows: Any) -> None:
        """Adds rows to an input relation; rows that are there already stay as they are.

        Rows are tuples, lists, dicts or records such as dataclasses (for a relation of one column also bare values), an
        Arrow table, a pandas or polars DataFrame; on the Spark engine also a DataFrame of Spark or of pandas-on-Spark.
        A polars LazyFrame, an Arrow Dataset and a RecordBatchReader are read batch by batch, and so are tables of
        deltalake and pyiceberg. Files are for `load`.
        A row whose primary key is there already raises TransactionError, even if it is equal. A multiset has the row
        once more, and so has a stream.
        """
        self._write(relation, "insert into").insert(rows)
        self._count += 1

    def load(
        self,
        relation: str,
        path: Any,
        *,
        format: str | None = None,
        header: str = "detect",
        on_bad_row: str = "fail",
        null: str | Iterable[str] = "",
    ) -> LoadReport:
        """Adds the rows of files to an input relation, as `insert` does, and returns a report.

            tx.load("Edge", "edges/*.parquet")
            tx.load("Person", ["people.csv", "more.tsv.gz"])

        `path` is a path, a pattern (`*`, `?`, `**`), or a list of them. The ending of a name tells the format: `.csv`,
        `.tsv`, `.facts`, `.jsonl`, `.parquet` (also a folder), `.arrow`, `.feather`; text also with `.gz` or `.zst`
        behind it. A folder with the log of a Delta table is read at its last version. `format` sets it for other names.
        `header` is for CSV and TSV: `"detect"`, `"name"`, `"position"` or `"none"`; the report says what was found.
        With `"position"`, the columns of Parquet and Arrow files count by position. With `on_bad_row="skip"`, rows that
        do not fit are left out and counted. `null` is the cell of a text file, or the cells, that are null where the
        column is an `Option`: by default an empty one without quotes.

        Raises DataError, with file, line and column, for rows that cannot be read; then the transaction is as it was.
        """
        from tidelog.database.transactions.load import Loading, LoadReport

        self._write(relation, "load into")
        if self._is_skipped:
            return LoadReport(())
        if on_bad_row not in ("fail", "skip"):
            raise UsageError(f"`on_bad_row` is {on_bad_row!r}; it must be 'fail' or 'skip'", code=Code.BAD_PATH)
        declared = self._locked.program.relations[relation]
        skips = on_bad_row == "skip"
        definitions = self._locked.definitions
        loading = Loading(path, declared, definitions, format=format, header=header, skip_bad_rows=skips, null=null)
        self._insert_batches(relation, loading.batches())
        return loading.report

    def _insert_batches(self, relation: str, batches: Iterable[Any]) -> None:
        """Adds batches of rows that fit the relation already, all of them or none."""
        self._write(relation, "load into").insert_batches(batches)
        self._count += 1

    def delete(self, relation: str, rows: Any) -> None:
        """Removes rows from an input relation; takes what `insert` takes.

        Rows that are not there do no harm, except in a relation with a primary key: there a key that is not there, or
        that has another row, raises TransactionError. In a multiset the weight of the row falls by one, also below
        zero. A stream takes no deletes.
        """
        self._write(relation, "delete from", Kind.STREAM).delete(rows)
        self._count += 1

    def delete_key(self, relation: str, key: Any) -> None:
        """Removes the row that has this primary key. Raises TransactionError when there is none."""
        writes, key = self._write_by_key(relation, "delete by key from"), self._key(relation, key)
        writes.delete_key(key)
        self._count += 1

    def upsert(self, relation: str, rows: Any) -> None:
        """Adds rows to a relation with a primary key; each replaces the row that has its key, if there is one."""
        self._write_by_key(relation, "upsert into").upsert(rows)
        self._count += 1

    def modify(self, relation: str, key: Any, fields: Fields) -> None:
        """Changes the row that has this primary key: `fields` has the new values by name, or is a function from the
        old value of the row to the new one.

        The value of a row is the relation's struct (`program.types.Host`); in a `relation R[T]` it is the value of type
        `T`. Raises TransactionError when no row has the key, or when the row would get the key of another.
        """
        writes, key = self._write_by_key(relation, "modify a row of"), self._key(relation, key)
        writes.modify(key, modification(fields, self._locked.program.relations[relation], self._locked.program))
        self._count += 1

    def clear(self, relation: str) -> None:
        """Removes all facts of an input relation; derived rows stay. A stream cannot be cleared."""
        self._write(relation, "clear", Kind.STREAM).clear()
        self._count += 1

    def add_rules(self, text: str) -> None:
        """Adds rules, and the relations, functions and types that the text declares for them.

            >>> with db.transaction() as tx:
            ...     tx.add_rules("Reach(y, x) :- Reach(x, y).")

        A rule that is there already, up to the names of its variables, stays as it is. Relations of the text can be
        written to from the next transaction on. Raises ProgramError, with places in the text, if the text is wrong
        or closes a cycle through a negation; then the transaction is as it was.
        """
        self._change_rules(+1, text)

    def remove_rules(self, text: str) -> None:
        """Removes rules, also those of the program. Rows that they alone derived are deleted; declarations stay.

        Rules are compared up to the names of their variables. Raises ProgramError for one that is not there, with the
        one that was probably meant.
        """
        self._change_rules(-1, text)

    def _commit_with(self, options: CommitOptions) -> None:
        """Sets the options of the commit."""
        self._options = options

    # Begin and end

    def begin(self) -> Self:
        """Opens the transaction, after those that came before it.

        Raises TransactionError when it was opened before, after the seconds of `wait`, and at once when this thread or
        task has another one open, for it would wait for itself.
        """
        self._check_new()
        self._locked.begin(self, self._wait)
        return self._opened()

    def commit(self) -> Changes:
        """Applies all writes as one epoch and returns its changes.

        If it raises, the transaction is rolled back. Only an interrupt from the keyboard that is too late to stop the
        epoch is raised after the commit. Callbacks of `db.on_change` have been called when it returns.
        """
        self._check_open("commit")
        writes, self._writes = self._writes, {}
        self._state = _State.ROLLED_BACK
        try:
            with self._locked.holding_cancellation():
                changes = self._changes = self._apply(writes)
                self._state = _State.COMMITTED
        finally:
            try:
                self._tell()
            finally:
                self._locked.end(self)
        return changes

    def rollback(self) -> None:
        """Forgets all writes; the database stays as it was."""
        self._check_open("roll back")
        self._writes = {}
        self._state = _State.ROLLED_BACK
        self._locked.end(self)

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not _State.OPEN:
            return  # ended inside the block
        if kind is None:
            self.commit()
        else:
            self.rollback()

    # In asyncio

    async def __aenter__(self) -> Self:
        self._check_new()
        await self._locked.begin_async(self, self._wait)
        return self._opened()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not _State.OPEN:
            return  # ended inside the block
        if kind is None:
            await run_in_thread(self.commit, self._locked.cancel_commit)
        else:
            self.rollback()

    # Results

    @property
    def changes(self) -> Changes:
        """The changes of the commit, by output relation. Raises TransactionError before the commit."""
        if self._changes is None:
            raise self._not_committed("changes")
        return self._changes

    @property
    def report(self) -> EpochReport | None:
        """The report of the epoch; None when the writes had no net effect, or the batch was committed before, for then
        there is no epoch.
        """
        if self._state is not _State.COMMITTED:
            raise self._not_committed("report")
        return self._report

    @property
    def skipped(self) -> bool:
        """True if the batch of `db.transaction(batch=…)` was committed before: then writes have no effect, and the
        commit changes nothing. Known from the begin on, so that the rows need not be made.
        """
        return self._is_skipped

    def __repr__(self) -> str:
        writes = f", {self._count} writes" if self._state is _State.OPEN else ""
        return f"<Transaction {self._state.value}{writes}>"

    def _opened(self) -> Self:
        """Opens the transaction, which has its turn now."""
        if self._batch is not None:
            try:
                self._is_skipped = self._batch.is_committed(self._locked.marks())
            except BaseException:
                self._locked.end(self)
                raise
        self._state = _State.OPEN
        return self

    def _change_rules(self, sign: int, text: str) -> None:
        self._check_open("write")
        if self._is_skipped:
            return
        rules = self._rules or self._locked.known_rules()
        self._rules = rules.add(text) if sign > 0 else rules.remove(text)
        self._calls.append((sign, text))
        self._count += 1

    def _new_rules(self) -> NewRules | None:
        """Returns the rules after all calls; None where they are the old ones."""
        if self._rules is None or self._rules.is_same(self._locked.known_rules()):
            return None
        return NewRules(self._rules, tuple(self._calls))

    def _write(self, name: str, verb: str, *refused: Kind) -> Writes:
        self._check_open("write")
        relation = self._input(name, verb)
        if relation.kind in refused:
            raise TransactionError(
                f"cannot {verb} `{name}`: it is a {relation.kind.value}, whose rows are deleted after the commit",
                code=Code.STREAM_WRITE,
            )
        found = self._writes.get(name)
        if found is None:
            make = SkippedWrites if self._is_skipped else writes_to
            found = self._writes[name] = make(self._locked, relation)
        return found

    def _write_by_key(self, name: str, verb: str) -> KeyedWrites:
        writes = self._write(name, verb)
        if not isinstance(writes, KeyedWrites):
            raise TransactionError(
                f"cannot {verb} `{name}`: it has no primary key",
                code=Code.NO_PRIMARY_KEY,
                help=f"declare it as `input relation {name}(...) primary key (row) row.field`",
            )
        return writes

    def _key(self, name: str, key: Any) -> Value:
        relation = self._locked.program.relations[name]
        assert relation.key_type is not None
        try:
            return fitter(relation.key_type, self._locked.definitions)(key)
        except UnfitError as error:
            raise key_misfit(relation, error) from None

    def _check_new(self) -> None:
        if self._state is not _State.NEW:
            raise TransactionError(
                f"the transaction is {self._state.value} and cannot begin again",
                code=Code.TRANSACTION_OVER,
                help="make a new one with `db.transaction()`",
            )

    def _check_open(self, verb: str) -> None:
        if self._state is _State.OPEN:
            return
        if self._state is _State.NEW:
            message, help_ = "the transaction has not begun", "write inside `with db.transaction() as tx:`"
        elif verb == "write":
            message = f"the transaction is {self._state.value}; it takes no more writes"
            help_ = "write inside `with db.transaction() as tx:`"
        else:
            message = f"the transaction is {self._state.value}; it cannot {verb} again"
            help_ = "make a new one with `db.transaction()`"
        raise TransactionError(message, code=Code.TRANSACTION_OVER, help=help_)

    def _input(self, name: str, verb: str) -> Relation:
        relation = self._locked.relations.get(name)
        if relation is None and self._rules is not None and name in declared(self._rules.rules):
            raise TransactionError(
                f"cannot {verb} `{name}`: it is declared by the rules of this same transaction",
                code=Code.WRITE_TO_UNKNOWN_RELATION,
                help="commit, and write to it in the next transaction",
            )
        if relation is None:
            raise unknown_relation(
                name, declared(self._locked.program, Role.INPUT), TransactionError, Code.WRITE_TO_UNKNOWN_RELATION
            )
        if relation.role is not Role.INPUT:
            raise TransactionError(
                f"cannot {verb} `{name}`: it is an {relation.role.value} relation, and its rows are derived",
                code=Code.WRITE_TO_DERIVED_RELATION,
                help=f"its facts are in `{name}.facts`"
                if f"{name}.facts" in self._locked.relations
                else f"declare it as `input relation {name}(...)`, or write to the relations that its rules read",
            )
        return relation

    def _apply(self, writes: Mapping[str, Writes]) -> Changes:
        if self._is_skipped:
            return Changes(self._locked, {})
        operations = [operation for each in writes.values() for operation in each.operations()]
        changed = self._new_rules()
        with self._locked.engine() as engine:
            options = self._options
            marks = options.marks if self._batch is None else {**options.marks, **self._batch.marks}
            rules = self._locked.program if changed is None else changed.rules.rules
            with reporting(engine, len(rules.strata)):
                outcome = engine.commit(operations, options.before_commit, marks=marks, rules=changed)
            if changed is not None:
                self._locked.take_rules(changed.rules)
            if outcome is not None:
                self._locked.report = outcome.report
            for each in writes.values():
                each.committed()
        self._report = outcome.report if outcome else None
        if self._report is not None:
            log_if_slow(self._report)
        return Changes(self._locked, outcome.changes, outcome.report.epoch) if outcome else Changes(self._locked, {})

    def _tell(self) -> None:
        """Calls the callbacks for a commit, also where an interrupt was too late to stop it."""
        if self._changes and self._report is not None and self._locked.listeners:
            self._locked.listeners.tell(self._changes, self._report.epoch)

    def _not_committed(self, what: str) -> TransactionError:
        return TransactionError(
            f"the transaction is {self._state.value}; it has no {what}",
            code=Code.NOT_COMMITTED,
            help=f"read `tx.{what}` after the `with` block" if self._state is _State.OPEN else None,
        )
