"""A directory → a database: made, reopened, or read beside its writer.

new directory              the program's texts are stored; the database has only the program's own facts
directory of a database    the given program must mean what the stored one means (`same_program`)
... of the Spark engine    is converted to the local engine first (`convert`)
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path

from tidelog.database.database import Database
from tidelog.database.program.program import Opening, Program
from tidelog.database.storage.active_format import FORM_FILE, LOCAL, SPARK, active_engine, finish_conversion
from tidelog.database.storage.durable_engine import DurableEngine
from tidelog.database.storage.journal import DURABILITIES, Journal, is_database
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.migrate import migrate as migrate_database
from tidelog.database.storage.same_program import bind_program, is_same_program
from tidelog.database.storage.stored_program import StoredProgram, extern_versions, read_stored_program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest
from tidelog.engine.storage_errors import not_a_database, not_storable, not_usable, other_engine
from tidelog.maintain.options import Maintenance
from tidelog.rules.schema.storable import unstorable_column


def open_durable(program: Program, directory: Path, maintenance: Maintenance, how: Opening) -> Database:
    """Opens a database in a directory; see `Program.open`."""
    check_durability(how.durability)
    column = unstorable_column(program.stages.rules)
    if column is not None:
        raise not_storable(*column)
    if how.read_only:
        if active_engine(directory) == SPARK:
            raise other_engine(directory, SPARK)
        return _open(program, directory, maintenance, how, None)
    _make(directory)
    try:
        lock = WriterLock(directory)
    except OSError as error:
        what = f"it cannot be written to: {error.strerror}"
        raise (not_usable if is_database(directory) else not_a_database)(directory, what) from error
    try:
        if active_engine(directory) == SPARK:
            _convert_to_local(program, directory, how)
        finish_conversion(directory, LOCAL)
        return _open(program, directory, maintenance, how, lock)
    except BaseException:
        lock.release()
        raise


def local_directory(path: str | os.PathLike[str]) -> Path:
    """Returns the path for the local engine. Raises UsageError for an address that is not on a disk."""
    address = os.fspath(path)
    check_address(address)
    if ":/" not in address:
        return Path(path)
    from tidelog.engine.spark.storage.directory import StateDirectory

    if not address.lower().startswith("file:"):
        raise UsageError(
            f"the local engine keeps a database on a disk, not at {address}",
            code=Code.UNUSABLE_DIRECTORY,
            help="copy it to a disk, or open it with `engine='spark'`",
        )
    return StateDirectory(address).local_path


def check_address(address: str) -> None:
    """Raises UsageError for a path that no file system has."""
    if "\0" in address:
        raise UsageError(f"the path {address!r} has a NUL character in it", code=Code.UNUSABLE_DIRECTORY)


def check_durability(durability: str) -> None:
    """Raises UsageError for an unknown durability."""
    if durability not in DURABILITIES:
        meant = suggest(durability, DURABILITIES)
        raise UsageError(
            f"there is no durability {durability!r}",
            code=Code.UNKNOWN_ENGINE,
            help=f"did you mean {meant!r}?" if meant else "it is 'disk' or 'os'",
        )


def read_program(directory: Path) -> StoredProgram:
    """Reads the program of a database, of either engine. Raises UsageError where there is none."""
    if active_engine(directory) == SPARK:
        from tidelog.database.storage.open_spark import read_program_on_spark

        stored = read_program_on_spark(str(directory))
        assert stored is not None
        return stored
    with closing(Journal(directory, read_only=True)) as journal:
        return read_stored_program(journal)


def _open(
    program: Program, directory: Path, maintenance: Maintenance, how: Opening, lock: WriterLock | None
) -> Database:
    stored = StoredProgram.of(program)
    plan = None
    if lock is None or is_database(directory):
        stored = read_program(directory)
        if how.migrate is not None and lock is not None and not is_same_program(stored, program):
            migrated = migrate_database(directory, stored, program, how.migrate, lock)
            stored, plan = migrated.stored, migrated.plan
        program, bound = bind_program(stored, program, directory)
        if bound != stored and lock is not None:
            with closing(Journal(directory)) as journal:
                journal.put({"program": bound.document()})
        stored = bound
    versions = extern_versions(program._options.externs)
    rules = program._rule_set
    engine = DurableEngine(
        directory,
        rules,
        stored,
        versions,
        maintenance,
        durability=how.durability,
        lock=lock,
        keep_changes=how.keep_changes,
    )
    return Database(rules.rules, engine, rules, plan)


def _convert_to_local(program: Program, directory: Path, how: Opening) -> None:
    """Converts the database of the Spark engine. Raises UsageError for another program, unless it is to be migrated."""
    from tidelog.database.storage.convert import to_local

    stored = read_program(directory)
    if how.migrate is None:
        bind_program(stored, program, directory)
    to_local(directory, stored, program._options.externs)


def _make(directory: Path) -> None:
    """Makes the directory of a new database. Raises UsageError where something else is in it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in directory.iterdir())
    except OSError as error:
        raise not_a_database(directory, f"the directory cannot be made or read: {error.strerror}") from error
    # SQLite has files of its own beside a journal that was being made.
    own = re.compile(rf"lock|journal\.sqlite\.partial.*|{re.escape(FORM_FILE)}")
    if active_engine(directory) is None and (foreign := [name for name in others if not own.fullmatch(name)]):
        raise not_a_database(
            directory, f"there is no journal in it, but `{foreign[0]}`", "give a new or an empty directory"
        )
