"""The stored program of a database and a given one → the program to run, if both mean the same.

    equal texts                   the given program, or the stored one under its own names of files
    equal meanings                the given texts replace the stored ones, if the state fits them as it is
    ... but another state         the stored program: rules in another order, say, number hidden relations differently
    different meanings            an error with the difference (or a migration)

A state has the digest of the program that it was derived under; a replaced text keeps that digest as its `identity`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.check.rule.same_rule import structure_key
from tidelog.database.program.meaning import has_closures, meaning
from tidelog.database.program.program import Program
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.storage_errors import Place
from tidelog.rules.ir import RuleProgram


def is_same_program(stored: StoredProgram, program: Program) -> bool:
    """True if the given program means what the stored one means."""
    return _bound(stored, program) is not None


def bind_program(stored: StoredProgram, program: Program, directory: Place) -> tuple[Program, StoredProgram]:
    """Returns the program to run, and the program that the database should store from now on.

    Raises UsageError, with the difference, where the given program means something else.
    """
    bound = _bound(stored, program)
    if bound is None:
        raise different_program(stored, StoredProgram.of(program), directory)
    return bound


def different_program(stored: StoredProgram, given: StoredProgram, directory: Place) -> UsageError:
    """Makes the error for a program that means something else than the stored one."""
    difference = "".join(stored.difference(given)).rstrip("\n")
    return UsageError(
        f"the program differs from the one that the database {directory} was made with:\n{difference}",
        code=Code.DIFFERENT_PROGRAM,
        help="`tidelog.open(path)` opens the database with the stored program; "
        "`program.open(path=path, migrate=True)` keeps its facts and derives everything else from scratch, as does "
        "`tidelog migrate`",
    )


def _bound(stored: StoredProgram, program: Program) -> tuple[Program, StoredProgram] | None:
    given = StoredProgram.of(program)
    externs = program._options.externs
    if stored.text_digest == given.text_digest:
        return (program if stored.compiled_alike(given) else stored.compile(externs)), stored
    if stored.changed_options(given):
        return None
    try:
        before = stored.compile(externs)
    except UsageError:  # it needs a function that the given one does not have
        return None
    if not meaning(before.stages.typed).is_same(meaning(program.stages.typed)):
        return None
    rebound = replace(given, layout=stored.layout, identity=stored.digest)
    after = program if given.layout == stored.layout else rebound.compile(externs)
    return (after, rebound) if _fits(before, after) else (before, stored)


def _fits(before: Program, after: Program) -> bool:
    """True if a state of one program is a state of the other, with the same meaning, as it lies on the disk."""
    if has_closures(before.stages.typed, before.stages.rules):
        return False
    if before.stages.typed.trees.keys != after.stages.typed.trees.keys:
        return False
    return bool(deeply(_shape, before.stages.rules) == deeply(_shape, after.stages.rules))


def _shape(program: RuleProgram) -> Any:
    """Returns what the layout of a state depends on: relations, rules in their order, and strata."""
    return (
        [
            (each.name, each.columns, each.role, each.kind, each.explicit, each.weighted, each.functional)
            for each in program.relations.values()
        ],
        [structure_key((each.head, each.body)) for each in program.rules],
        [each.relations for each in program.strata],
        [(each.name, each.relation, each.keys, each.row) for each in program.indexes.values()],
        [(each.relation, each.source, each.delay, each.latest) for each in program.feeds],
    )
