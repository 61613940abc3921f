"""What values need to know about declared types: their classes, their fields, and how extern types are held.

`Definitions` is the program's table of types. Whatever is derived from a type (classes, writers of text, encoders) is
made once and kept in it; pickled, it is only the table, without spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tidelog.check.program import Attribute, Constructor, TypeDefinition
from tidelog.diagnostics.spans import Source, Span
from tidelog.types import FunctionType, NamedType, TupleType, Type, TypeVariable, parts
from tidelog.values.externs import BUILT_IN, ExternType
from tidelog.values.function_value import FunctionCode, Key
from tidelog.values.structs import Shape, Struct, classes

T = TypeVar("T")

_NOWHERE = Span(Source("", ""), 0, 0)


@dataclass(frozen=True, slots=True)
class Variant:
    """A constructor of a type whose arguments are known: its class, and the types of its fields.

    `start` is the position of the first field in a value.
    """

    name: str
    cls: type[Struct]
    start: int
    fields: tuple[tuple[str, Type], ...]


class Definitions:
    """The declared types of a program, by their qualified names.

    `externs` says how the extern types of libraries are held, beyond those that are built in. `function_codes` is
    filled by the compiler of functions.
    """

    def __init__(
        self, types: Mapping[str, TypeDefinition] | None = None, externs: Mapping[str, ExternType] | None = None
    ) -> None:
        self.types: dict[str, TypeDefinition] = dict(types or {})
        self.externs: dict[str, ExternType] = {**BUILT_IN, **(externs or {})}
        self.function_codes: dict[Key, FunctionCode] = {}
        self._constructors = {
            constructor.name: (definition.name, index)
            for definition in self.types.values()
            for index, constructor in enumerate(definition.constructors or ())
        }
        self._classes: dict[str, tuple[type[Struct], ...]] = {}
        self._kept: dict[tuple[Callable[..., Any], Type], Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        own = {name: extern for name, extern in self.externs.items() if BUILT_IN.get(name) is not extern}
        return Definitions, ({name: _without_spans(each) for name, each in self.types.items()}, own)

    def extended(self, types: Mapping[str, TypeDefinition]) -> Definitions:
        """Returns the same with more types. The classes of those that are here already stay: values of them are
        around."""
        more = Definitions({**self.types, **types}, self.externs)
        more.function_codes = dict(self.function_codes)
        more._classes = dict(self._classes)
        return more

    def constructor(self, name: str) -> tuple[str, int]:
        """Returns the type that a constructor belongs to, and its number there."""
        return self._constructors[name]

    def constructors_of(self, type_name: str) -> tuple[Constructor, ...]:
        """Returns the constructors of a struct or union; none of an extern type."""
        return self.types[type_name].constructors or ()

    def constructor_classes(self) -> dict[str, type[Struct]]:
        """Returns the classes of all constructors by their qualified names."""
        return {name: self.class_of(name) for name in self._constructors}

    def classes_of(self, type_name: str) -> tuple[type[Struct], ...]:
        """Returns the classes of a struct or union, in the order of its constructors."""
        found = self._classes.get(type_name)
        if found is None:
            constructors = self.constructors_of(type_name)
            names = tuple((each.name, tuple(field.name for field in each.fields)) for each in constructors)
            found = self._classes[type_name] = classes(Shape(type_name, names, self._is_recursive(type_name)))
        return found

    def class_of(self, constructor: str) -> type[Struct]:
        """Returns the class of a constructor by its qualified name."""
        type_name, index = self._constructors[constructor]
        return self.classes_of(type_name)[index]

    def variants(self, type_: NamedType) -> tuple[Variant, ...]:
        """Returns the constructors of a struct or union with the arguments of the type put into their fields."""
        definition = self.types[type_.name]
        arguments = dict(zip(definition.parameters, type_.arguments))
        constructors = definition.constructors or ()
        return tuple(
            Variant(
                each.name,
                cls,
                int(len(constructors) > 1),
                tuple((field.name, substitute(field.type, arguments)) for field in each.fields),
            )
            for each, cls in zip(constructors, self.classes_of(type_.name))
        )

    def extern(self, type_: NamedType) -> ExternType | None:
        """Returns the description of an extern type; None for structs and unions."""
        return self.externs.get(type_.name)

    def keep(self, make: Callable[[Definitions, Type], T], type_: Type) -> T:
        """`make(self, type_)`, made once."""
        found = self._kept.get((make, type_))
        if found is None:
            found = self._kept[make, type_] = make(self, type_)
        kept: T = found
        return kept

    def _is_recursive(self, type_name: str) -> bool:
        """True where a value of the type can hold another of the same type, however deep inside."""
        seen: set[str] = set()
        pending = [field.type for each in self.constructors_of(type_name) for field in each.fields]
        while pending:
            type_ = pending.pop()
            pending.extend(parts(type_))
            if not isinstance(type_, NamedType) or type_.name in seen:
                continue
            if type_.name == type_name:
                return True
            seen.add(type_.name)
            if type_.name in self.types:
                pending.extend(field.type for each in self.constructors_of(type_.name) for field in each.fields)
        return False


def substitute(type_: Type, arguments: Mapping[str, Type]) -> Type:
    """Returns the type with its type variables replaced; those without an argument stay."""
    match type_:
        case TypeVariable(name):
            return arguments.get(name, type_)
        case TupleType(items):
            return TupleType(tuple(substitute(item, arguments) for item in items))
        case NamedType(name, inner):
            return NamedType(name, tuple(substitute(item, arguments) for item in inner)) if inner else type_
        case FunctionType(parameters, result):
            replaced = tuple((substitute(parameter, arguments), mutable) for parameter, mutable in parameters)
            return FunctionType(replaced, substitute(result, arguments))
        case _:
            return type_


def _without_spans(definition: TypeDefinition) -> TypeDefinition:
    def bare(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        return tuple(replace(attribute, span=_NOWHERE) for attribute in attributes)

    constructors = definition.constructors
    if constructors is not None:
        constructors = tuple(
            replace(
                each,
                fields=tuple(replace(field, attributes=bare(field.attributes)) for field in each.fields),
                attributes=bare(each.attributes),
            )
            for each in constructors
        )
    attributes = bare(definition.attributes)
    return replace(definition, constructors=constructors, attributes=attributes, span=_NOWHERE)
