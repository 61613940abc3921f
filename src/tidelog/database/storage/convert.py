"""A database that the other engine made → the same database for this one, in the same directory.

Its rows with their numbers, its facts, what delayed relations wait for, its marks, its rules and the number of its last
epoch go over (`engine.spark.exchange`); nothing is committed. The new form is written beside the old one and counts
from one step on (`durable.form`): a process that is killed on the way leaves the one or the other, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from tidelog.database.storage.active_format import LOCAL, SPARK, activate, prepare_conversion, remove_files
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
    """Makes the local database in a directory one of the Spark engine. `stored` is its program.

    Raises what opening it raises, TransactionError where the files cannot be written; it is a local one then.
    """
    versions = extern_versions(externs)
    engine = DurableEngine(directory, stored.compile(externs)._rule_set, stored, versions, Maintenance(), lock=lock)
    try:
        engine.open()
        rules, state, marks = engine.stored_rules(), engine.local.export_state(), engine.marks
    finally:
        engine.abandon()
    place = StateDirectory(str(directory))
    basis = Basis(stored.document(), stored.digest, versions, rules.layer.document())
    try:
        prepare_conversion(directory, LOCAL)
        manifest = replace(write_state(state, rules.rules, place), basis=basis, marks=marks)
        place.sync(manifest.files)
        place.publish(manifest.version, manifest.to_json(), reaches_disk=True)
        activate(directory, SPARK)
        remove_files(directory, LOCAL)
    except OSError as error:
        raise not_written(directory, error.strerror or error) from error


def to_local(directory: Path, stored: StoredProgram, externs: Externs) -> None:
    """Makes the database of the Spark engine in a directory a local one. `stored` is its program; the caller has the
    writer's lock. Raises as `to_spark` does; it is one of the Spark engine then."""
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
        Journal.create(directory, {"program": stored.document(), MARKS: dict(manifest.marks)})
        journal = Journal(directory)
        try:
            journal.restart(manifest.epoch, {})
        finally:
            journal.close()
        activate(directory, LOCAL)
        remove_files(directory, SPARK)
    except OSError as error:
        raise not_written(directory, error.strerror or error) from error
    finally:
        engine.close()
