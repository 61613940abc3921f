"""A database that was made with another program → one of this program, with the same facts.

The facts of transactions are kept; everything else is derived from scratch, as an epoch of its own. Rules that were
added or removed at run time are dropped: the new program has the rules. The checkpoint is written first. Then one
transaction of the journal replaces the program and deletes the old entries, which makes the database the new one.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Lock

from tidelog.database.program.program import Program
from tidelog.database.storage.checkpoint import ProgramVersion, checkpoints, write_checkpoint
from tidelog.database.storage.durable_engine import DurableEngine
from tidelog.database.storage.journal import Journal
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.refill import lasting_inputs, refill
from tidelog.database.storage.stored_program import StoredProgram, extern_versions
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Engine, Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.storage_errors import Place
from tidelog.io.rows import to_rows
from tidelog.maintain.options import Maintenance
from tidelog.rules.ir import Relation, Role, RuleProgram


def migrate(directory: Path, stored: StoredProgram, program: Program, lock: WriterLock) -> StoredProgram:
    """Migrates the database to this program, and returns the program as stored now.

    Raises UsageError where facts have no place in the new program, EvaluationError where a rule fails on them,
    DataError where a value no longer fits; then the database is unchanged.
    """
    given = StoredProgram.of(program)
    externs = program._options.externs
    old = DurableEngine(
        directory, stored.compile(externs)._rule_set, stored, extern_versions(externs), Maintenance(), lock=lock
    )
    new = LocalEngine(program.stages.rules)
    try:
        old.open()
        check_place(old, program.stages.rules, directory)
        operations = [_fitted(operation, program.stages.rules) for operation in refill(old)]
        with new.replaying():
            new.open()
        new.replay(operations, old.local.epoch + 1)
    finally:
        old.abandon()
    version = ProgramVersion(given.digest, extern_versions(externs))
    write_checkpoint(directory, new.capture(), version, program._rule_set, Lock())
    with closing(Journal(directory)) as journal:
        journal.restart(new.epoch, {"program": given.document()})
    for epoch, path in checkpoints(directory).items():
        if epoch != new.epoch:
            path.unlink(missing_ok=True)
    return given


def check_place(old: Engine, program: RuleProgram, directory: Place) -> None:
    """Raises UsageError where a relation that has facts is no longer an input relation with the same columns."""
    lost = [
        relation.name
        for relation in lasting_inputs(old.program)
        if not is_same(relation, program.relations.get(relation.name)) and old.facts(relation.name)
    ]
    if lost:
        names = ", ".join(f"`{name}`" for name in lost)
        raise UsageError(
            f"the facts of {names} in the database {directory} have no place in the program: there is no such input"
            " relation with the same columns",
            code=Code.DIFFERENT_PROGRAM,
            help="open it with `tidelog.open(path)`, and clear them or write them to files first",
        )


def is_same(old: Relation | None, new: Relation | None) -> bool:
    """True if the facts of the old relation fit the new one."""
    if old is None or new is None or not old.role is new.role is Role.INPUT:
        return False
    return (old.kind, _shape(old)) == (new.kind, _shape(new))


def _shape(relation: Relation) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in relation.columns]


def _fitted(operation: Operation, program: RuleProgram) -> Operation:
    """Converts values to the new program's types; a struct may have other fields there."""
    relation = program.relations[operation.relation]
    return Operation(relation.name, operation.sign, to_rows(operation.rows, relation, program.functions.definitions))
