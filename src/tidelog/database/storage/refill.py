"""The facts of one database → operations that insert them into another, which derives everything else again.

Weights are derived again, too. History is lost: streams are over, and a delayed relation sees all facts inserted in
one epoch.
"""

from __future__ import annotations

from tidelog.engine.interface import Engine, Operation, Row
from tidelog.rules.ir import Kind, Relation, Role, RuleProgram


def lasting_inputs(program: RuleProgram) -> list[Relation]:
    """Returns the input relations whose facts last longer than an epoch."""
    relations = program.relations.values()
    return [relation for relation in relations if relation.role is Role.INPUT and relation.kind is not Kind.STREAM]


def refill(engine: Engine) -> list[Operation]:
    """Returns the operations of one epoch that inserts all facts of a database."""
    operations = []
    for relation in lasting_inputs(engine.program):
        by_weight: dict[int, list[Row]] = {}
        for row, weight in engine.facts(relation.name):
            by_weight.setdefault(weight, []).append(row)
        operations += [Operation(relation.name, weight, rows) for weight, rows in by_weight.items()]
    return operations
