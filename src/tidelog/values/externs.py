"""How values of extern types are held: each is described by another type whose values it can be turned into.

    Ref<'A>       the value inside, itself
    Vec<'A>       a `Vec`; its text and bytes are written item by item
    uuid::Uuid    whatever class the library has; it says what a value turns into, and back

What is written here serves all of text, bytes and default values, so a library adds an extern type by one
`ExternType`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tidelog.types import S64, NamedType, TupleType, Type
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set, SizedSet
from tidelog.values.vec import Vec


class ExternKind(Enum):
    """The representation of an extern type.

    TRANSPARENT: a value is a value of the inner type. SEQUENCE: it iterates as values of the inner type, in order, and
    is made again from those. OTHER: it is converted to one value of the inner type, and back.
    """

    TRANSPARENT = "transparent"
    SEQUENCE = "sequence"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ExternType:
    """An extern type. Everything in it must be picklable: functions are module-level functions and classes.

    `inner` gives the inner type from the type's arguments. `make` makes a value from the inner one (from an iterable of
    inner ones, for a sequence); `take` gives the inner value (only asked of OTHER). `default` is the type's default
    value, if it is not made from the default of the inner type (an empty sequence). `record_text` and `debug_text`
    write a value where that is not done as for the inner one; `debug_brackets` are what debug text puts around and
    between the items of a sequence. `typed` is for a type whose values have a `type` and a `value` of it: it makes one
    of those, and of the definitions that they belong to.
    """

    kind: ExternKind
    inner: Callable[..., Type]
    make: Callable[[Any], Any]
    take: Callable[[Any], Any] | None = None
    default: Any = None
    record_text: Callable[[Any], str] | None = None
    debug_text: Callable[[Any], str] | None = None
    debug_brackets: tuple[str, str, str] = ("[", ", ", "]")
    typed: Callable[[Type, Any, Any], Any] | None = None


def itself(value: Any) -> Any:
    """Returns the value: what is held as its inner value needs no conversion."""
    return value


def _argument(argument: Type) -> Type:
    return argument


def _pair(key: Type, value: Type) -> Type:
    return TupleType((key, value))


def _group_as_struct(key: Type, value: Type) -> Type:
    return TupleType((key, NamedType("ddlog_std::Vec", (TupleType((value, S64)),))))


def _group_apart(group: Group) -> tuple[Any, Vec]:
    return group.key, Vec(group.items)


def _group_together(parts: tuple[Any, Iterable[Any]]) -> Group:
    return Group(*parts)


BUILT_IN = {
    "ddlog_std::Ref": ExternType(ExternKind.TRANSPARENT, _argument, itself),
    "internment::Intern": ExternType(ExternKind.TRANSPARENT, _argument, itself),
    "intern::IObj": ExternType(ExternKind.TRANSPARENT, _argument, itself),
    "ddlog_std::Vec": ExternType(ExternKind.SEQUENCE, _argument, Vec),
    "ddlog_std::Set": ExternType(ExternKind.SEQUENCE, _argument, Set.of_sorted, debug_brackets=("{", ", ", "}")),
    "ddlog_std::Map": ExternType(ExternKind.SEQUENCE, _pair, Map.of_sorted, debug_brackets=("{", ", ", "}")),
    "hashset::HashSet": ExternType(ExternKind.SEQUENCE, _argument, SizedSet.of_sorted, debug_brackets=("{", ", ", "}")),
    "tinyset::Set64": ExternType(ExternKind.SEQUENCE, _argument, SizedSet.of_sorted, debug_brackets=("[", ",", "]")),
    "ddlog_std::Group": ExternType(ExternKind.OTHER, _group_as_struct, _group_together, _group_apart),
}
