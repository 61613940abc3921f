"""The facts of one database → operations that give them to another: so that everything derived is derived anew.

What rules derive, weights included, comes again by itself. What depends on history does not: streams are over, and a
delayed relation sees all facts come in the one epoch that brings them.
"""

from __future__ import annotations

from tidelog.engine.interface import Operation, Row
from tidelog.engine.local.engine import LocalEngine
from tidelog.rules.ir import Kind, Relation, Role, RuleProgram


def carried_relations(program: RuleProgram) -> list[Relation]:
    """The relations whose facts last."""
    relations = program.relations.values()
    return [relation for relation in relations if relation.role is Role.INPUT and relation.kind is not Kind.STREAM]


def carry(engine: LocalEngine) -> list[Operation]:
    """What transactions gave to the database and it still has, as one epoch."""
    operations = []
    for relation in carried_relations(engine.program):
        by_weight: dict[int, list[Row]] = {}
        for row, weight in engine.facts(relation.name):
            by_weight.setdefault(weight, []).append(row)
        operations += [Operation(relation.name, weight, rows) for weight, rows in by_weight.items()]
    return operations
