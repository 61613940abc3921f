"""A database that was made with another program → one of this program, with the same facts.

The facts of transactions are kept, as the plan says (`migration.plan`); everything else is derived from scratch, as an
epoch of its own. Rules that were added or removed at run time are dropped: the new program has the rules.

The old state stays until the new one is committed. The checkpoint of the new program is written first, under the number
of the next epoch; for the old program it is a file of another program, and ignored. Then one transaction of the journal
replaces the program and deletes the old entries. That transaction is the whole step: before it the database is the old
one, after it the new one. The old checkpoints are removed last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from tidelog.database.program.meaning import meaning
from tidelog.database.program.program import Program
from tidelog.database.storage.checkpoint import ProgramVersion, checkpoints, write_checkpoint
from tidelog.database.storage.durable_engine import DurableEngine
from tidelog.database.storage.journal import Journal
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.migration.carry import carry
from tidelog.database.storage.migration.instructions import Instructions
from tidelog.database.storage.migration.plan import MigrationPlan, plan_migration
from tidelog.database.storage.refill import lasting_inputs
from tidelog.database.storage.stored_program import StoredProgram, extern_versions
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.storage_errors import not_written
from tidelog.maintain.options import Maintenance
from tidelog.rules.rule_changes.rule_set import RuleSet


@dataclass(frozen=True, slots=True)
class Migrated:
    """A database after its migration: the program as it is stored now, and what was done."""

    stored: StoredProgram
    plan: MigrationPlan


def migrate(directory: Path, stored: StoredProgram, program: Program, said: Instructions, lock: WriterLock) -> Migrated:
    """Migrates the database to this program.

    Raises UsageError where the caller must say more, EvaluationError where a rule fails on the facts, DataError where a
    value no longer fits, TransactionError where the state cannot be written; then the database is unchanged.
    """
    given = StoredProgram.of(program)
    with _derived(directory, stored, program, said, lock) as (plan, new):
        version = ProgramVersion(given.digest, extern_versions(program._options.externs))
        try:
            write_checkpoint(directory, new.capture(), version, program._rule_set, Lock())
        except OSError as error:
            raise not_written(directory, error, "migration", "the database is unchanged") from error
        with closing(Journal(directory)) as journal:
            journal.restart(new.epoch, {"program": given.document()})
        for epoch, path in checkpoints(directory).items():
            if epoch != new.epoch:
                path.unlink(missing_ok=True)
    return Migrated(given, plan)


def preview(directory: Path, stored: StoredProgram, program: Program, said: Instructions) -> MigrationPlan:
    """Plans a migration, and writes nothing; another process may have the database open.

    Raises UsageError for an instruction that does not fit the programs.
    """
    with _opened(directory, stored, program, None) as old:
        return plan_of(old.stored_rules(), stored, program, said, lambda name: len(old.facts(name)))


def plan_of(
    before: RuleSet, stored: StoredProgram, program: Program, said: Instructions, count: Callable[[str], int]
) -> MigrationPlan:
    """Plans the migration of a state with the rules `before`, of the stored program, to this program."""
    options = stored.changed_options(StoredProgram.of(program))
    return plan_migration(before, program.stages.rules, meaning(program.stages.typed), said, count, options)


@contextmanager
def _opened(
    directory: Path, stored: StoredProgram, program: Program, lock: WriterLock | None
) -> Iterator[DurableEngine]:
    externs = program._options.externs
    rules = stored.compile(externs)._rule_set
    engine = DurableEngine(directory, rules, stored, extern_versions(externs), Maintenance(), lock=lock)
    try:
        engine.open()
        yield engine
    finally:
        engine.abandon()


@contextmanager
def _derived(
    directory: Path, stored: StoredProgram, program: Program, said: Instructions, lock: WriterLock
) -> Iterator[tuple[MigrationPlan, LocalEngine]]:
    """Yields the plan, and an engine with the state of the new program, in memory."""
    rules = program.stages.rules
    with _opened(directory, stored, program, lock) as old:
        facts = {each.name: old.facts(each.name) for each in lasting_inputs(old.program)}
        plan = plan_of(old.stored_rules(), stored, program, said, lambda name: len(facts[name]))
        plan.check(directory)
        operations: list[Operation] = []
        for carried in plan.carried:
            operations += carry(facts[carried.old.name], carried, rules)
        epoch = old.local.epoch + 1
    new = LocalEngine(rules)
    try:
        with new.replaying():
            new.open()
        new.replay(operations, epoch)
        yield plan, new
    finally:
        new.close()
