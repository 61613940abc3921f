"""Which values can be kept on disk: all but those whose bytes do not say what they are.

The values of a program's own extern types are whatever Python made of them, and cannot be read back; so an `Any`, which
carries its type beside the value, cannot where a program has such types. A function is read back by its place in the
program, whose code has to be there.
"""

from __future__ import annotations

from tidelog.check import typed
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.ir import Column, Relation, RuleProgram
from tidelog.rules.lower.program import expressions_of
from tidelog.types import NamedType, Type, TypeVariable, parts
from tidelog.values import Definitions


def unstorable_column(program: RuleProgram) -> tuple[Relation, Column] | None:
    """Returns the first column whose values cannot be kept, with its relation; None where all can."""
    definitions = program.functions.definitions
    for relation in program.relations.values():
        for column in relation.columns:
            if not _is_storable(column.type, definitions, set()):
                return relation, column
    return None


def know_functions(program: RuleProgram) -> None:
    """Compiles the expressions of rules that make functions, so that their values can be read.

    An engine compiles an expression when it first plans its rule; functions of the program are compiled already.
    """
    for expression in expressions_of(program.rules):
        if any(isinstance(node, typed.Closure | typed.FunctionValue) for node in typed.walk(expression)):
            compile_scalar(expression, sorted(typed.variables(expression)), program.functions)


def _is_storable(type_: Type, definitions: Definitions, seen: set[Type]) -> bool:
    if type_ in seen:
        return True
    seen.add(type_)
    inside = list(parts(type_))
    match type_:
        case TypeVariable():
            return False
        case NamedType("ddlog_std::Any"):
            return not any(
                each.constructors is None and name not in definitions.externs
                for name, each in definitions.types.items()
            )
        case NamedType():
            if definitions.extern(type_) is None:
                variants = definitions.variants(type_)
                if not variants:
                    return False
                inside += [field for variant in variants for _, field in variant.fields]
        case _:
            pass
    return all(_is_storable(part, definitions, seen) for part in inside)
