"""Struct and union values: one class per constructor, made at run time from the names in a type's definition.

A value is a tuple of its fields, behind the number of its constructor if the type has several:

    Point{1, 2}     of  typedef Point = Point{x: u8, y: u8}          (1, 2)
    Some{7}         of  typedef Option<'A> = None | Some{x: 'A}      (1, 7)

So equality, hashes and the order of the language (constructors as declared, then the fields) are those of tuples, at
the speed of C. The values of a recursive type keep their hash as one more item at the end: a chain of them is hashed
link by link as it grows, and never all the way down. Values of different types are never compared.

Classes are found by their `Shape`, so two programs that declare the same type share its classes, and a value is pickled
as its shape and its fields.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar


@dataclass(frozen=True, slots=True)
class Shape:
    """What the classes of a type are made from: for each constructor its qualified name and the names of its fields."""

    type_name: str
    constructors: tuple[tuple[str, tuple[str, ...]], ...]
    recursive: bool

    @property
    def tagged(self) -> bool:
        """True where values carry the number of their constructor."""
        return len(self.constructors) > 1


@dataclass(frozen=True, slots=True)
class Variant:
    """One constructor of a shape: the number of its constructor and where its fields lie in a value."""

    shape: Shape
    index: int

    @property
    def name(self) -> str:
        return self.shape.constructors[self.index][0]

    @property
    def field_names(self) -> tuple[str, ...]:
        return self.shape.constructors[self.index][1]

    @property
    def head(self) -> tuple[int, ...]:
        """What stands before the fields of a value."""
        return (self.index,) if self.shape.tagged else ()


DEEPEST_PRINTED = 100
"""`repr` prints so many structs inside one another, and `…` for those below; `values.text` has the whole text."""


class _Printing(threading.local):
    depth = 0


_printing = _Printing()


def _printed(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python prints no integers of some thousands of digits
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}>"


class Struct(tuple[Any, ...]):
    """A value of a declared type; called with its fields, in order or by name. All names but `__variant__` are fields'.

    A field can be read as an attribute unless its name begins with two underscores; `field_values` reads all of them.
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __variant__: ClassVar[Variant]

    if TYPE_CHECKING:

        def __new__(cls, *fields: Any, **named: Any) -> Struct: ...

    def __repr__(self) -> str:
        variant = self.__variant__
        if _printing.depth >= DEEPEST_PRINTED:
            return f"{variant.name}{{…}}"
        _printing.depth += 1
        try:
            fields = [f".{name} = {_printed(value)}" for name, value in zip(variant.field_names, field_values(self))]
        finally:
            _printing.depth -= 1
        return f"{variant.name}{{{', '.join(fields)}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.__variant__, field_values(self))


class _RecursiveStruct(Struct):
    """A value of a recursive type; its last item is the hash of those before."""

    __slots__ = ()

    def __hash__(self) -> int:
        found: int = self[-1]
        return found


def classes(shape: Shape) -> tuple[type[Struct], ...]:
    """Returns the classes of a type, one per constructor in their order."""
    return tuple(_class(Variant(shape, index)) for index in range(len(shape.constructors)))


@cache
def _class(variant: Variant) -> type[Struct]:
    fields = variant.field_names
    attributes: dict[str, Any] = {
        name: property(itemgetter(index))
        for index, name in enumerate(fields, len(variant.head))
        if not name.startswith("__")
    }
    attributes |= {
        "__slots__": (),
        "__new__": _maker(variant),
        "__match_args__": tuple(name for name in fields if name in attributes),
        "__variant__": variant,
        "__doc__": f"Values of {variant.name}.",
    }
    base = _RecursiveStruct if variant.shape.recursive else Struct
    local = variant.name.rpartition("::")[2]
    return type(local if local.isidentifier() else "Struct", (base,), attributes)


def _maker(variant: Variant) -> Callable[..., Struct]:
    """Returns the `__new__` of a class: it takes the fields in their order, or by name."""
    names, head, recursive = variant.field_names, variant.head, variant.shape.recursive
    count, plain = len(names), tuple.__new__

    def make(cls: type[Struct], *fields: Any, **named: Any) -> Struct:
        if named:
            fields += _by_name(variant, names[len(fields) :], named)
        if len(fields) != count:
            raise TypeError(f"{variant.name} has {count} fields, not {len(fields)}")
        items = head + fields
        return plain(cls, (*items, hash(items)) if recursive else items)

    return make


def _by_name(variant: Variant, missing: tuple[str, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    unknown = sorted(named.keys() - set(missing))
    if unknown:
        raise TypeError(f"{variant.name} has no field {unknown[0]!r} to be set by name")
    return tuple(named[name] for name in missing if name in named)


def construct(cls: type[Struct], items: tuple[Any, ...]) -> Struct:
    """Returns a value from what it is made of: the number of the constructor if the type is tagged, then the fields."""
    if cls.__variant__.shape.recursive:
        return tuple.__new__(cls, (*items, hash(items)))
    return tuple.__new__(cls, items)


def with_item(value: Struct, position: int, item: Any) -> Struct:
    """Returns the value with another item at a position in the tuple."""
    items = (*value[:position], item, *value[position + 1 :])
    return construct(type(value), items[:-1] if value.__variant__.shape.recursive else items)


def field_values(value: Struct) -> tuple[Any, ...]:
    """Returns the fields of a value in their order."""
    start = len(value.__variant__.head)
    return value[start : start + len(value.__variant__.field_names)]


def _restore(variant: Variant, fields: tuple[Any, ...]) -> Struct:
    return construct(_class(variant), (*variant.head, *fields))
