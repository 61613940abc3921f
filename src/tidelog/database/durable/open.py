"""A directory → a database: made, reopened, or read beside its writer.

new directory           the program's texts are stored, and the database is empty but for the program's own facts
directory of a database the program that was given must be the stored one, up to the names of its files
"""

from __future__ import annotations

from pathlib import Path

from tidelog.database.database import Database
from tidelog.database.durable.engine import DurableEngine
from tidelog.database.durable.journal import DURABILITIES, Journal, is_database
from tidelog.database.durable.lock import WriterLock
from tidelog.database.durable.migrate import migrate as migrate_database
from tidelog.database.durable.stored_program import StoredProgram, extern_versions
from tidelog.database.program import Opening, Program, compilation_of, rules_of
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest
from tidelog.engine.failures import not_a_database, not_storable, other_engine
from tidelog.maintain.options import Maintenance
from tidelog.rules.storable import unstorable_column


def open_durable(program: Program, directory: Path, asked: Maintenance, how: Opening) -> Database:
    """See `Program.open`."""
    check_durability(how.durability)
    if has_spark_state(directory):
        raise other_engine(directory, "spark")
    column = unstorable_column(program.stages.rules)
    if column is not None:
        raise not_storable(*column)
    if how.read_only:
        return _open(program, directory, asked, how, None)
    _make(directory)
    try:
        lock = WriterLock(directory)
    except OSError as error:
        raise not_a_database(directory, f"it cannot be written to: {error.strerror}") from error
    try:
        return _open(program, directory, asked, how, lock)
    except BaseException:
        lock.release()
        raise


def check_durability(durability: str) -> None:
    """Raises UsageError for one that does not exist."""
    if durability not in DURABILITIES:
        meant = suggest(durability, DURABILITIES)
        raise UsageError(
            f"there is no durability {durability!r}",
            code=Code.UNKNOWN_ENGINE,
            help=f"did you mean {meant!r}?" if meant else "it is 'disk' or 'os'",
        )


def has_spark_state(directory: Path) -> bool:
    """Whether the Spark engine keeps a database here."""
    return any(directory.glob("manifest-*.json"))


def read_program(directory: Path) -> StoredProgram:
    """The program that a database was made with. Raises UsageError where there is no database."""
    journal = Journal(directory, read_only=True)
    try:
        return StoredProgram.of_document(journal.document("program"))
    finally:
        journal.close()


def _open(program: Program, directory: Path, asked: Maintenance, how: Opening, lock: WriterLock | None) -> Database:
    given = StoredProgram.of(program)
    if lock is None or is_database(directory):
        stored = read_program(directory)
        if how.migrate and lock is not None and stored.digest != given.digest:
            stored = migrate_database(directory, stored, program, lock)
        stored.check_same(given, directory)
        if stored.names != given.names:
            program = stored.compile(compilation_of(program).externs)
    else:
        stored = given
    versions = extern_versions(compilation_of(program).externs)
    rules = rules_of(program)
    engine = DurableEngine(directory, rules, stored, versions, asked, durability=how.durability, lock=lock)
    return Database(rules.rules, engine, rules)


def _make(directory: Path) -> None:
    """Makes the directory of a new database. Raises UsageError where something else is in it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in directory.iterdir())
    except OSError as error:
        raise not_a_database(directory, f"the directory cannot be made or read: {error.strerror}") from error
    own = ("lock", "journal.sqlite.partial")
    if not is_database(directory) and (foreign := [name for name in others if name not in own]):
        raise not_a_database(
            directory, f"there is no journal in it, but `{foreign[0]}`", "give a new or an empty directory"
        )
