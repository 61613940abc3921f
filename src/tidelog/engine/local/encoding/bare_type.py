"""Types without `Ref` and `Intern`, whose values are those inside."""

from __future__ import annotations

from tidelog.types import NamedType, TupleType, Type

_TRANSPARENT = ("ddlog_std::Ref", "internment::Intern")


def bare_type(type_: Type) -> Type:
    """Returns the type without `Ref` and `Intern`."""
    match type_:
        case NamedType(name, (inner,)) if name in _TRANSPARENT:
            return bare_type(inner)
        case NamedType(name, arguments):
            return NamedType(name, tuple(map(bare_type, arguments)))
        case TupleType(items):
            return TupleType(tuple(map(bare_type, items)))
        case _:
            return type_
