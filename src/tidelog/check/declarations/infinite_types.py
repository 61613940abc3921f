"""Types without values: every value of such a type would contain another one, without end.

typedef Chain = Chain{next: Ref<Chain>}            has no value
typedef List = Nil | Cons{head: u8, tail: List}    has: `Nil`
"""

from __future__ import annotations

from tidelog.check.names.scope import Module, TypeEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.types import NamedType, TupleType, Type


def report_infinite_types(modules: list[Module], diagnostics: list[Diagnostic]) -> None:
    """Reports the structs and unions that can never be built. What other modules declare is right already."""
    open_ = {entry.name: entry for module in modules for entry in module.types.values() if _has_constructors(entry)}
    references = {
        entry.name
        for module in {each for module in modules for each in (module, *(other for other, _ in module.imports))}
        for entry in module.types.values()
        if entry.definition and any(each.name == "shared_ref" for each in entry.definition.attributes)
    }
    found = True
    while found:
        buildable = [name for name, entry in open_.items() if _can_be_built(entry, open_, references)]
        for name in buildable:
            del open_[name]
        found = bool(buildable)
    for entry in open_.values():
        message = f"type `{entry.name}` has no values"
        label = "each would contain another one"
        help = "an `Option` or a constructor without it ends the chain"
        diagnostics.append(diagnostic(Code.INFINITE_TYPE, message, entry.span, label, help=help))


def _has_constructors(entry: TypeEntry) -> bool:
    return entry.definition is not None and entry.definition.constructors is not None


def _can_be_built(entry: TypeEntry, open_: dict[str, TypeEntry], references: set[str]) -> bool:
    assert entry.definition is not None
    assert entry.definition.constructors is not None
    return any(
        all(_has_values(field.type, open_, references) for field in constructor.fields)
        for constructor in entry.definition.constructors
    )


def _has_values(type_: Type, open_: dict[str, TypeEntry], references: set[str]) -> bool:
    match type_:
        case TupleType(items):
            return all(_has_values(item, open_, references) for item in items)
        case NamedType(name, arguments) if name in references:
            return _has_values(arguments[0], open_, references)
        case NamedType(name):
            return name not in open_
        case _:
            return True
