"""A database that was made with another program → one of this program, with the same facts.

The facts that transactions gave go on; everything else is derived anew, as an epoch of its own. Rules that came or went
at run time are over: the rules are those of the program that was given. The snapshot is written first. Then one
transaction of the journal replaces the program and drops the old entries: until then the database is the old one, and
from then on the new one.
"""

from __future__ import annotations

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
    """Makes the database one of this program, and returns it as it is stored now.

    Raises UsageError where facts have no place in the new program, EvaluationError where a rule fails on them,
    DataError where a value does not fit any more; the database is the old one then.
    """
    given = StoredProgram.of(program)
    externs = program._compilation.externs
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
    journal = Journal(directory)
    try:
        journal.restart(new.epoch, {"program": given.document()})
    finally:
        journal.close()
    for epoch, path in checkpoints(directory).items():
        if epoch != new.epoch:
            path.unlink(missing_ok=True)
    return given


def check_place(old: Engine, program: RuleProgram, directory: Place) -> None:
    """Raises UsageError where a relation that has facts is not an input relation with the same columns any more."""
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
    """Whether the facts of a relation have a place in another program."""
    if old is None or new is None or not old.role is new.role is Role.INPUT:
        return False
    return (old.kind, _shape(old)) == (new.kind, _shape(new))


def _shape(relation: Relation) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in relation.columns]


def _fitted(operation: Operation, program: RuleProgram) -> Operation:
    """With values of the new program's types; a struct may have other fields there."""
    relation = program.relations[operation.relation]
    return Operation(relation.name, operation.sign, to_rows(operation.rows, relation, program.functions.definitions))
