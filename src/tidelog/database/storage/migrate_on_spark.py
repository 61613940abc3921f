"""A state of another program → one of this program with the same facts, on Spark; see `migrate`.

The files of a relation that has plain columns and stays as it is are kept. Rows of other relations are read and written
again: their columns change, or their values may be encoded differently under the new program. One manifest publishes
all of it, so the old state stays until the new one is there.

Delayed relations (`R-1`) have changes still to come, which kept files do not have: such programs are migrated by the
local engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.database.program.program import Program
from tidelog.database.storage.active_format import LOCAL, SPARK, finish_conversion
from tidelog.database.storage.convert import to_local, to_spark
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.migrate import migrate as migrate_local
from tidelog.database.storage.migrate import plan_of
from tidelog.database.storage.migration.carry import carry
from tidelog.database.storage.migration.instructions import Instructions
from tidelog.database.storage.migration.plan import CarriedRelation, MigrationPlan
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Operation
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.rules.ir import RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.arrow import is_plain_relation

if TYPE_CHECKING:
    from tidelog.engine.spark.engine import SparkEngine


def migrate(
    engine: SparkEngine, before: RuleSet, stored: StoredProgram, program: Program, said: Instructions
) -> MigrationPlan:
    """Migrates the facts of the old program into the engine, made for the new program, as an epoch of their own.

    Raises UsageError where the caller must say more, EvaluationError where a rule fails on the facts, DataError where a
    value no longer fits; then the database is unchanged.
    """
    old = engine.reader_of(before.rules)
    rules = program.stages.rules
    plan = plan_of(before, stored, program, said, lambda name: count_facts(old, name))
    plan.check(engine.address)
    kept, operations = {}, []
    for carried in plan.carried:
        found = old.facts_stored(carried.old.name)
        if found is not None and is_kept(carried):
            kept[engine.written(carried.new.name)] = found
            continue
        for each in carry(old.facts(carried.old.name), carried, rules):
            operations.append(Operation(each.relation, each.sign, engine.stage(each.relation, each.rows)))
    engine.migrate(kept, operations)
    return plan


def migrate_locally(
    directory: StateDirectory, stored: StoredProgram, program: Program, said: Instructions, lock: WriterLock | None
) -> MigrationPlan:
    """Converts a database of the Spark engine to the local one, migrates it there, and converts it back.

    Raises as `migrate` does, then the database still has the old program; UsageError for one on another machine.
    """
    if not directory.is_local or lock is None:
        raise UsageError(
            f"the program has delayed relations, and the database {directory.address} is not on this machine",
            code=Code.NOT_YET,
            help="copy it to a disk, migrate it there, and copy it back",
        )
    path, externs = directory.local_path, program._options.externs
    to_local(path, stored, externs)
    finish_conversion(path, LOCAL)
    migrated = None
    try:
        migrated = migrate_local(path, stored, program, said, lock)
    finally:
        to_spark(path, stored if migrated is None else migrated.stored, externs, lock)
        finish_conversion(path, SPARK)
    return migrated.plan


def count_facts(engine: SparkEngine, relation: str) -> int:
    """Returns the number of facts that transactions gave to an input relation."""
    stored = engine.facts_stored(relation)
    return 0 if stored is None else stored.rows


def is_kept(carried: CarriedRelation) -> bool:
    """True if the files of a relation serve the new program as they are."""
    keys = [None if each.key is None else each.key.source for each in (carried.old, carried.new)]
    return carried.is_same and is_plain_relation(carried.new) and keys[0] == keys[1]


def has_delays(program: RuleProgram) -> bool:
    """True if the program reads relations as they were some epochs ago."""
    return any(not feed.latest for feed in program.feeds)
