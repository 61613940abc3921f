"""Conversion: a database of one engine → the same database for the other engine, in the same directory.

The rows with their counts, the facts, the rows that delays hold, the marks, the rules and the number of the last epoch
are transferred (`engine.spark.transfer.export`); nothing is committed. Kept changes are not: the setting stays, and the
changes are kept from here on. The new files are written beside the old ones
and become active atomically (`active_format`): a process that is killed on the way leaves one of the two, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from tidelog.database.storage.active_format import LOCAL, SPARK, activate, prepare_conversion, remove_files
from tidelog.database.storage.change_log import SETTING
from tidelog.database.storage.checkpoint import ProgramVersion, write_checkpoint
from tidelog.database.storage.durable_engine import MARKS, DurableEngine
from tidelog.database.storage.journal import Journal
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.stored_program import StoredProgram, extern_versions
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.manifest import Basis
from tidelog.engine.spark.storage.publish import last_manifest
from tidelog.engine.spark.transfer.export import read_state, write_state
from tidelog.engine.storage_errors import not_a_database, not_written
from tidelog.maintain.options import Maintenance
from tidelog.rules.rule_changes.rule_set import Layer
from tidelog.rules.schema.storable import know_functions

Externs = Mapping[str, Callable[..., Any]]


def to_spark(directory: Path, stored: StoredProgram, externs: Externs, lock: WriterLock) -> None:
    """Converts the local database in a directory to the Spark engine. `stored` is its program.

    Raises the errors of opening it, and TransactionError where the files cannot be written; then it is still local.
    """
    versions = extern_versions(externs)
    engine = DurableEngine(directory, stored.compile(externs)._rule_set, stored, versions, Maintenance(), lock=lock)
    try:
        engine.open()
        rules, state, marks = engine.stored_rules(), engine.local.export_state(), engine.marks
        retention = engine.retention
    finally:
        engine.abandon()
    place = StateDirectory(str(directory))
    basis = Basis(stored.document(), stored.digest, versions, rules.layer.document())
    try:
        prepare_conversion(directory, LOCAL)
        manifest = replace(write_state(state, rules.rules, place), basis=basis, marks=marks)
        if retention:
            manifest = replace(manifest, kept={"retention": retention.document, "since": manifest.epoch})
        place.sync(manifest.files)
        place.publish(manifest.version, manifest.to_json(), reaches_disk=True)
        activate(directory, SPARK)
        remove_files(directory, LOCAL)
    except OSError as error:
        raise not_written(directory, error.strerror or error) from error


def to_local(directory: Path, stored: StoredProgram, externs: Externs) -> None:
    """Converts the database of the Spark engine in a directory to the local engine. `stored` is its program; the caller
    has the writer's lock. Raises as `to_spark` does; then it is still of the Spark engine.
    """
    place = StateDirectory(str(directory))
    manifest = last_manifest(place)
    if manifest is None:
        raise not_a_database(directory, "there is no manifest in it")
    layer = Layer.of_document(manifest.basis.layer) if manifest.basis.layer else Layer()
    rules = stored.compile(externs)._rule_set.with_layer(layer)
    know_functions(rules.rules)
    engine = LocalEngine(rules.rules)
    try:
        engine.import_state(*read_state(manifest, rules.rules, place))
        prepare_conversion(directory, SPARK)
        version = ProgramVersion(stored.digest, manifest.basis.externs)
        write_checkpoint(directory, engine.capture(), version, rules, Lock())
        setting = dict(manifest.kept.get("retention", {}))
        Journal.create(directory, {"program": stored.document(), MARKS: dict(manifest.marks), SETTING: setting})
        with closing(Journal(directory)) as journal:
            journal.restart(manifest.epoch, {})
        activate(directory, LOCAL)
        remove_files(directory, SPARK)
    except OSError as error:
        raise not_written(directory, error.strerror or error) from error
    finally:
        engine.close()
