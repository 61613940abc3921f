"""Commands → changes of a database, and printed output.

Updates wait until one ends with `;` or another command follows, and are then written to the transaction in order. An
update that is no row of its relation is refused at once, with all waiting ones; the transaction is unchanged.

The engine takes most of the start-up time, so the database is opened by the first command that needs it; at the start
only for a program with facts of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any, TextIO

from tidelog.database.program.program import Program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TidelogError, TransactionError
from tidelog.library.log import set_default_callback
from tidelog.maintain.options import Maintenance
from tidelog.rules.ir import Kind, Relation, Role
from tidelog.shell import commands
from tidelog.shell.commands import Command, Plain, Update, Verb, Word
from tidelog.shell.place import Place, error_at
from tidelog.shell.records import Record
from tidelog.shell.rows import Row, Rows

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.transactions.changes import Changes
    from tidelog.database.transactions.transaction import Transaction

HELP = """\
start;                                  begin a transaction
insert R(1, "a"), insert R[value];      add rows; also insert_or_update
delete R(1, "a");  delete_key R 1;      remove rows
modify R 1 <- R{.field = 2};            change fields of the row with this primary key
clear R;                                remove all rows of an input relation
commit;  commit dump_changes;           end the transaction, and print what it changed
rollback;                               end it and undo it
dump;  dump R;                          print output relations
query_index I(1);  dump_index I;        print rows by an index
query R(x, 1), not S(x);                print the variables of a query on the last commit
explain R(1, "a");                      print why a row is there; also explain R(1, "a") shortest;
why_not R(1, "b");                      print what is missing for a row
add_rule R(x) :- S(x);                  add a rule, with what it declares; also remove_rule
rules;                                  print the rules of the last commit
profile;  stats;                        print what epochs cost, and what relations take
echo text;  timestamp;  log_level n;  mssleep n;  help;  exit;
"""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A waiting update, with its row (or key) as values."""

    verb: Verb
    relation: Relation
    row: Any
    change: Record | None
    place: Place


class Shell:
    """A database controlled by commands; closes it at the end of a `with` block.

    Without `store`, `dump` prints nothing; without `delta`, neither does `dump_changes`. `opening` are options of
    `Program.open`; an invalid one is an error at once. `path` is the folder of a durable database, `engine` its engine.
    """

    def __init__(
        self,
        program: Program,
        out: TextIO,
        *,
        store: bool = True,
        delta: bool = True,
        opening: Mapping[str, Any] | None = None,
        path: Path | None = None,
        engine: str = "local",
    ) -> None:
        self.rows = Rows(program)
        self._program = program
        self._out = out
        self._store = store
        self._delta = delta
        self._opening = dict(opening or {})
        self._path = path
        self._engine = engine
        Maintenance.checked(**self._opening)
        self._began = perf_counter_ns()
        self._opened: Database | None = None
        self._in_progress = False
        self._transaction: Transaction | None = None
        self._pending: list[_Pending] = []
        self._seen: set[str] = set()
        self._streamed: defaultdict[str, Counter[Row]] = defaultdict(Counter)
        if path is not None or any(not rule.positives and rule.group is None for rule in program.stages.rules.rules):
            self._database()

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        set_default_callback(None, 0)
        if self._opened is not None:
            self._opened.close()

    def show_initial(self) -> None:
        """Prints the rows that follow from the facts in the program's text."""
        if self._opened is not None:
            self._show_changes(self._opened.initial)

    def run(self, command: Command) -> bool:
        """Runs the command; False if it is the last. Raises TidelogError if it fails."""
        if isinstance(command, Update):
            self._update(command)
            return True
        self._apply()
        match command:
            case Plain(Word.START, place):
                if self._in_progress:
                    raise TransactionError(f"{place}: a transaction is already in progress", code=Code.TRANSACTION_OPEN)
                self._in_progress = True
            case commands.Commit(show, place):
                self._commit(show, place)
            case Plain(Word.ROLLBACK, place):
                transaction = self._end(place)
                if transaction is not None:
                    transaction.rollback()
            case commands.ChangeRules(adds, text, place):
                self._check_in_progress(place)
                writer = self._writer()
                if self._program.stages.souffle is not None and not text.endswith("."):
                    text += "."
                (writer.add_rules if adds else writer.remove_rules)(text)
            case commands.Clear(name, place):
                self._check_in_progress(place)
                relation = self.rows.input(name, place)
                with error_at(place):
                    self._writer().clear(relation.name)
            case commands.Dump(None):
                self._dump_all()
            case commands.Dump(str() as name, place):
                self._dump(self.rows.output(name, place))
            case commands.QueryIndex() | commands.DumpIndex():
                self._index(command)
            case commands.LogLevel(level):
                set_default_callback(self._log, level)
            case commands.Sleep(milliseconds):
                sleep(milliseconds / 1000)
            case Plain(Word.EXIT):
                return False
            case _:
                self._out.write(self._answer(command))
        return True

    # Transactions

    def _database(self) -> Database:
        if self._opened is None:
            self._opened = self._program.open(self._engine, **self._opening, path=self._path)
            self._take_rules(self._opened)
            self._note(self._opened.initial)
            if self._path is not None:
                outputs = [name for name, relation in self.rows.relations.items() if relation.role is Role.OUTPUT]
                self._seen.update(name for name in outputs if self._store and len(self._opened.relation(name)))
        return self._opened

    def _take_rules(self, database: Database) -> None:
        """Takes the current rules of the database, which may have added relations."""
        rules = database._locked.known_rules()
        self.rows.take(rules.typed, rules.rules)

    def _check_in_progress(self, place: Place) -> None:
        if not self._in_progress:
            raise TransactionError(
                f"{place}: no transaction is in progress", code=Code.NO_TRANSACTION, help="begin one with `start;`"
            )

    def _writer(self) -> Transaction:
        if self._transaction is None:
            self._transaction = self._database().transaction()
            self._transaction.begin()
        return self._transaction

    def _end(self, place: Place) -> Transaction | None:
        """Returns the transaction for the caller to end, and forgets it; None if nothing was written."""
        self._check_in_progress(place)
        transaction, self._transaction, self._in_progress = self._transaction, None, False
        return transaction

    def _commit(self, show: bool, place: Place) -> None:
        transaction = self._end(place)
        if transaction is None:
            return
        with error_at(place):
            transaction.commit()
        self._take_rules(self._database())
        self._note(transaction.changes)
        if show and self._delta:
            self._show_changes(transaction.changes)

    # Updates

    def _update(self, update: Update) -> None:
        try:
            self._check_in_progress(update.place)
            relation = self.rows.input(update.relation, update.place)
            by_key = update.verb in (Verb.DELETE_KEY, Verb.MODIFY)
            row = self.rows.key(relation, update.record) if by_key else self.rows.row(relation, update.record)
        except TidelogError:
            self._pending.clear()
            raise
        self._pending.append(_Pending(update.verb, relation, row, update.change, update.place))
        if update.last:
            self._apply()

    def _apply(self) -> None:
        """Writes the waiting updates to the transaction. Those after one that fails are dropped."""
        pending, self._pending = self._pending, []
        for (verb, name), group in groupby(pending, key=lambda each: (each.verb, each.relation.name)):
            updates = list(group)
            relation = updates[0].relation
            if verb is Verb.INSERT and relation.key is None:
                self._writer().insert(name, [each.row for each in updates])
            elif verb is Verb.DELETE and relation.key is None and relation.kind is not Kind.STREAM:
                self._writer().delete(name, [each.row for each in updates])
            else:
                # Only these can fail: one by one, those before the one that fails stay, and the error has its place.
                for each in updates:
                    self._apply_one(self._writer(), each)

    def _apply_one(self, transaction: Transaction, update: _Pending) -> None:
        name = update.relation.name
        with error_at(update.place):
            match update.verb:
                case Verb.INSERT:
                    transaction.insert(name, [update.row])
                case Verb.INSERT_OR_UPDATE:
                    transaction.upsert(name, [update.row])
                case Verb.DELETE:
                    transaction.delete(name, [update.row])
                case Verb.DELETE_KEY:
                    transaction.delete_key(name, update.row)
                case Verb.MODIFY:
                    assert update.change is not None
                    change = partial(self.rows.change, update.relation, record=update.change)
                    transaction.modify(name, update.row, change)

    # Output

    def _note(self, changes: Changes) -> None:
        """Keeps data for `dump` that the database does not have: which relations changed, the rows of streams."""
        if not self._store:
            return
        for name in changes:
            self._seen.add(name)
            if self.rows.relations[name].kind is Kind.STREAM:
                for row, weight in changes[name]._canonical_weights():
                    self._streamed[name][row] += weight

    def _show_changes(self, changes: Changes) -> None:
        for name in sorted(changes):
            relation, weights = self.rows.relations[name], changes[name]._canonical_weights()
            lines = [f"{self.rows.text(relation, row)}: {weight:+}\n" for row, weight in weights]
            self._out.write(f"{name}:\n{''.join(lines)}")

    def _dump_all(self) -> None:
        for name in sorted(self._seen):
            self._out.write(f"{name}:\n")
            self._print_rows(self.rows.relations[name])
            self._out.write("\n")

    def _dump(self, relation: Relation) -> None:
        if self._store:
            self._seen.add(relation.name)
            self._print_rows(relation)

    def _print_rows(self, relation: Relation) -> None:
        if relation.kind is Kind.STREAM:
            weights = sorted(self._streamed[relation.name].items())
        elif self._opened is not None:
            weights = self._opened.relation(relation.name)._canonical_weights()
        else:
            weights = []
        for row, weight in weights:
            text = self.rows.text(relation, row)
            self._out.write(f"{text}\n" if weight == 1 else f"{text} {weight:+}\n")

    def _index(self, command: commands.QueryIndex | commands.DumpIndex) -> None:
        index = self.rows.index(command.index, command.place)
        found: Sequence[Row]
        if isinstance(command, commands.QueryIndex):
            key = self.rows.index_key(index, command.arguments, command.place)
            found = self._database()._canonical_index(index.name, key)
        else:
            found = self._database()._canonical_index(index.name)
        relation = self.rows.relations[index.target]
        self._out.writelines(f"{self.rows.text(relation, row)}\n" for row in found)

    def _query(self, text: str) -> str:
        """Returns a line for each row, with its columns in the form of a record's fields."""
        answer = self._database().query(text)
        if not answer.columns:
            return f"{answer}\n"
        return "".join(f"{{{line}}}\n" for line in answer.record_lines())

    def _log(self, level: int, message: str) -> None:
        self._out.write(f"LOG ({level}): {message}\n")

    def _answer(self, command: Command) -> str:
        match command:
            case commands.Echo(text):
                return f"{text}\n"
            case Plain(Word.TIMESTAMP):
                return f"Timestamp: {perf_counter_ns() - self._began}\n"
            case commands.Profile(None):
                return f"{self._database().profile()}\n"
            case Plain(Word.STATS):
                return f"{self._database().profile().sizes_text()}\n"
            case commands.Query(text):
                return self._query(text)
            case Plain(Word.RULES):
                return "".join(f"{' '.join(text.split())}\n" for text in self._database().rules())
            case commands.Explain(name, record, shortest, place):
                relation = self.rows.any(name, place)
                row = self.rows.row(relation, record)
                with error_at(place):
                    return f"{self._database().explain(relation.name, row, shortest=shortest)}\n"
            case commands.WhyNot(name, record, place):
                relation = self.rows.any(name, place)
                row = self.rows.row(relation, record)
                with error_at(place):
                    return f"{self._database().why_not(relation.name, row)}\n"
            case commands.Profile():
                return ""
            case _:
                return HELP
