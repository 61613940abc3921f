"""Subset and union types of one rule: a variable of a head has a type that is part of its attribute's.

.type City <: symbol        .type Town <: symbol
city(x) :- town(x).         refused: a `Town` is no `City`
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.check.normal_form import Rule
from tidelog.souffle.text import tree


def check_types(rule: Rule, declared: Declared, diagnostics: list[Diagnostic]) -> None:
    """Reports variables whose types have nothing in common, or that are no part of what a head wants."""
    types = declared.types
    found: dict[str, list[str]] = {}
    for literal in rule.body:
        if isinstance(literal, tree.Atom):
            _collect(literal, declared, found)
    if rule.better is not None:
        return
    columns = declared.relations[rule.head.name].attributes
    for argument, column in zip(rule.head.arguments, columns, strict=True):
        given = found.get(argument.name, []) if isinstance(argument, tree.Variable) else []
        if not given or not all(name in types.kinds for name in (*given, column.type)):
            continue
        if any(types.kinds[name] != types.kinds[column.type] for name in given):
            continue
        if not any(types.is_part(name, column.type) for name in given):
            shown = " and ".join(f"`{name}`" for name in dict.fromkeys(given))
            diagnostics.append(
                diagnostic(
                    Code.TYPE_MISMATCH,
                    f"`{column.name}` is of type `{column.type}`, and `{argument.span.text}` of type {shown}",
                    argument.span,
                    f"not every {shown} is a `{column.type}`",
                    help=f"`as({argument.span.text}, {column.type})` says that it is one",
                )
            )


def _collect(atom: tree.Atom, declared: Declared, found: dict[str, list[str]]) -> None:
    waiting: list[tuple[tree.Argument, str]] = [
        (argument, column.type)
        for argument, column in zip(atom.arguments, declared.relations[atom.name].attributes, strict=True)
    ]
    while waiting:
        argument, type_ = waiting.pop()
        match argument:
            case tree.Variable(name):
                found.setdefault(name, []).append(type_)
            case tree.Branch(name, arguments) if name in declared.types.branches:
                fields = declared.types.branches[name].fields
                waiting += [(each, field.type) for each, field in zip(arguments, fields, strict=False)]
            case tree.Record(arguments):
                record = declared.types.records.get(declared.types.kinds.get(type_, ""), ())
                waiting += [(each, field.type) for each, field in zip(arguments, record, strict=False)]
            case _:
                pass
