"""A program and the directory of a database → the plan of a migration; nothing is written, whatever the engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tidelog.database.program.program import Program
from tidelog.database.storage.active_format import SPARK, active_engine
from tidelog.database.storage.migration.instructions import Instructions
from tidelog.database.storage.migration.plan import MigrationPlan
from tidelog.database.storage.open import on_this_disk, read_stored
from tidelog.database.storage.open_local import check_address

if TYPE_CHECKING:
    from tidelog.database.storage.stored_program import StoredProgram


def preview_migration(program: Program, path: str | os.PathLike[str], said: Instructions | None) -> MigrationPlan:
    """Plans the migration of the database at a path to this program; see `Program.migration`."""
    from tidelog.database.storage.migrate import preview
    from tidelog.database.storage.same_program import is_same_program

    address = os.fspath(path)
    check_address(address)
    where = on_this_disk(address)
    stored = read_stored(address, where)
    if is_same_program(stored, program):
        return MigrationPlan({}, ())
    said = said or Instructions()
    if where is not None and active_engine(where) != SPARK:
        return preview(where, stored, program, said)
    return _preview_on_spark(address, stored, program, said)


def _preview_on_spark(address: str, stored: StoredProgram, program: Program, said: Instructions) -> MigrationPlan:
    from tidelog.database.storage.migrate import plan_of
    from tidelog.database.storage.migrate_on_spark import count_facts
    from tidelog.database.storage.open_spark import stored_layer
    from tidelog.engine.spark.engine import Access, SparkEngine
    from tidelog.engine.spark.storage.directory import StateDirectory

    layer = stored_layer(StateDirectory(address))
    before = stored.compile(program._options.externs)._rule_set.with_layer(layer)
    engine = SparkEngine(before.rules, path=address, access=Access(is_read_only=True), auto=True)
    try:
        return plan_of(before, stored, program, said, lambda name: count_facts(engine, name))
    finally:
        engine.close()
