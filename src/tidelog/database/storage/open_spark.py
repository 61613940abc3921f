"""A program and a Spark session → a database: in a temporary directory, or in a durable one.

The conditions and errors are those of `open_local`: the program must be the stored one, there is one writer, and
readers see the last commit. The engine owns the files (`engine.spark.storage.publish`). A database of the local engine
is converted first (`convert`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tidelog.database.database import Database
from tidelog.database.program.program import Opening, Program
from tidelog.database.storage.active_format import LOCAL, SPARK, active_engine, finish_conversion
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.open_local import check_durability, read_program
from tidelog.database.storage.same_program import bind_program, is_same_program
from tidelog.database.storage.stored_program import StoredProgram, extern_versions
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.storage_errors import not_a_database, not_storable, other_engine
from tidelog.maintain.options import Maintenance
from tidelog.maintain.strategies import STRATEGIES
from tidelog.rules.rule_changes.rule_set import Layer
from tidelog.rules.schema.storable import unstorable_column

LOCAL_STRATEGIES = ("counting", "elastic-paper")
"""Strategies that tasks of Spark cannot run."""


def open_on_spark(
    program: Program, spark: Any, address: str | None, maintenance: Maintenance, how: Opening, *, auto: bool = False
) -> Database:
    """Opens a database on Spark; see `Program.open`. `address` is a path or an address such as `s3a://bucket/state`."""
    from tidelog.engine.spark.engine import SparkEngine
    from tidelog.engine.spark.session import require_pyspark
    from tidelog.engine.spark.storage.directory import StateDirectory

    _refuse(maintenance)
    check_durability(how.durability)
    _check_keep_epochs(how.keep_epochs)
    if address is None:
        engine = SparkEngine(
            program.stages.rules,
            spark=spark,
            plans=how.plans,
            maintenance=maintenance,
            base=program._rule_set,
            auto=auto,
        )
        return Database(program.stages.rules, engine, program._rule_set)
    if not auto:
        require_pyspark()
    column = unstorable_column(program.stages.rules)
    if column is not None:
        raise not_storable(*column)
    directory = StateDirectory(address)
    lock = None if how.read_only else _writer_lock(directory)
    try:
        if directory.is_local:
            _convert_to_spark(program, directory.local_path, how, lock)
        return _open(program, spark, directory, maintenance, how, lock, auto)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def read_program_on_spark(address: str) -> StoredProgram | None:
    """Reads the program of the database in a directory of the Spark engine; None where there is none."""
    from tidelog.engine.spark.storage.directory import StateDirectory
    from tidelog.engine.spark.storage.publish import stored_basis

    basis = stored_basis(StateDirectory(address))
    return None if basis is None else StoredProgram.of_document(dict(basis.program))


def stored_layer(directory: Any) -> Layer:
    """Returns the stored changes to the rules of the program."""
    from tidelog.engine.spark.storage.publish import stored_basis

    basis = stored_basis(directory)
    return Layer.of_document(basis.layer) if basis is not None and basis.layer else Layer()


def _open(
    program: Program,
    spark: Any,
    directory: Any,
    maintenance: Maintenance,
    how: Opening,
    lock: WriterLock | None,
    auto: bool,
) -> Database:
    from tidelog.database.storage.migrate_on_spark import has_delays, migrate, migrate_locally
    from tidelog.engine.spark.engine import Access, SparkEngine
    from tidelog.engine.spark.storage.manifest import Basis

    stored = StoredProgram.of(program)
    found = read_program_on_spark(directory.address)
    is_migrating = (
        found is not None and how.migrate is not None and not how.read_only and not is_same_program(found, program)
    )
    plan = None
    if found is not None and is_migrating and how.migrate is not None and has_delays(program.stages.rules):
        plan = migrate_locally(directory, found, program, how.migrate, lock)
        found, is_migrating = read_program_on_spark(directory.address), False
    if found is not None and not is_migrating:
        program, stored = bind_program(found, program, directory.address)
    elif found is None and how.read_only:
        raise not_a_database(directory.address, "there is no manifest in it")
    layer = Layer() if is_migrating else stored_layer(directory)
    versions = extern_versions(program._options.externs)
    basis = Basis(stored.document(), stored.digest, versions, layer.document())
    access = Access(
        how.read_only,
        lock.release if lock else None,
        how.durability == "disk",
        how.keep_epochs,
        how.keep_changes,
        partial(_check_format, directory),
    )
    base = program._rule_set
    rules = base.with_layer(layer)
    engine = SparkEngine(
        rules.rules,
        spark,
        directory.address,
        how.plans,
        basis=basis,
        access=access,
        maintenance=maintenance,
        base=base,
        rules=rules,
        auto=auto,
    )
    if found is not None and is_migrating and how.migrate is not None:
        before = found.compile(program._options.externs)._rule_set
        plan = migrate(engine, before.with_layer(stored_layer(directory)), found, program, how.migrate)
    return Database(rules.rules, engine, rules, plan)


def _convert_to_spark(program: Program, path: Path, how: Opening, lock: WriterLock | None) -> None:
    """Converts a database of the local engine, if it is one. Raises UsageError where it may only be read."""
    engine = active_engine(path)
    if engine == LOCAL:
        if lock is None:
            raise other_engine(path, LOCAL)
        from tidelog.database.storage.convert import to_spark

        stored = read_program(path)
        if how.migrate is None:
            bind_program(stored, program, path)
        to_spark(path, stored, program._options.externs, lock)
    if engine is not None and lock is not None:
        finish_conversion(path, SPARK)


def _check_format(directory: Any) -> None:
    """Raises UsageError where the database was converted to the local engine."""
    if directory.is_local and active_engine(directory.local_path) == LOCAL:
        raise other_engine(directory.local_path, LOCAL)


def _writer_lock(directory: Any) -> WriterLock | None:
    """Takes the lock of a directory on this machine; None elsewhere. Raises UsageError for an unusable directory."""
    if not directory.is_local:
        return None
    path = directory.local_path
    try:
        path.mkdir(parents=True, exist_ok=True)
        foreign = directory.foreign_names()
        if foreign and active_engine(path) is None:
            what = f"there is no manifest in it, but `{foreign[0]}`"
            raise not_a_database(path, what, "give a new or an empty directory")
        return WriterLock(path)
    except OSError as error:
        raise not_a_database(path, f"it cannot be made or written to: {error.strerror}") from error


def _check_keep_epochs(number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise UsageError(f"`keep_epochs` is {number!r}; it must be a whole number", code=Code.BAD_LIMIT)


def _refuse(maintenance: Maintenance) -> None:
    if maintenance.threads is not None:
        raise UsageError(
            "the Spark engine takes no `threads`: a task of Spark has one thread",
            code=Code.NOT_YET,
            help="set the number of concurrent tasks in the session, for example with the master `local[4]`",
        )
    if maintenance.strategy in LOCAL_STRATEGIES:
        raise UsageError(
            f"the strategy {maintenance.strategy!r} is for comparison, on the local engine only",
            code=Code.NOT_YET,
            help=f"on Spark there are {', '.join(repr(each) for each in STRATEGIES if each not in LOCAL_STRATEGIES)}",
        )
