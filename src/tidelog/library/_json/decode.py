"""A tree of JSON → a value of a type.

Errors have the words of serde. An error without a position gets that of the innermost object or array around it that
was read from the text; nodes that were read ahead (a union with a tag, flattened fields) have none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any, NoReturn, TypeVar

from tidelog import types
from tidelog.library._json.forms import FieldForm, TypeForm, VariantForm, form
from tidelog.library._json.scalars import integer_name, native, parse_scalar
from tidelog.library._json.text import Entry, JsonError, Node
from tidelog.library._json.values import json_value
from tidelog.library._runtime.extern import ExternContext
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.values.default import default_value
from tidelog.values.externs import ExternKind
from tidelog.values.floats import double, float_text, single
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.quote import quote
from tidelog.values.sets import Set, SizedSet
from tidelog.values.structs import Struct

Part = TypeVar("Part")

_SEQUENCES = {"ddlog_std::Set": Set, "hashset::HashSet": SizedSet, "tinyset::Set64": SizedSet}
_INTEGER = re.compile("-?[0-9]+")


class Decoder:
    """Makes values of any type of one program."""

    def __init__(self, context: ExternContext) -> None:
        self._context = context

    def value(self, type_: types.Type, node: Node) -> Any:
        """Returns the value; raises JsonError."""
        match type_:
            case types.BoolType():
                return node.value if node.kind == "bool" else _wrong_kind(node, "a boolean")
            case types.BitType() | types.SignedType():
                held = native(type_)
                return types.wrap(_integer(held, node) if held else _digits(node), type_)
            case types.BigIntType():
                return _digits(node)
            case types.FloatType(width):
                return _float(width, node)
            case types.StringType():
                return node.value if node.kind == "string" else _wrong_kind(node, "a string")
            case types.DecimalType() if node.kind == "int":
                return parse_scalar(type_, str(node.value))
            case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
                return parse_scalar(type_, node.value) if node.kind == "string" else _wrong_kind(node, "a string")
            case types.TupleType(items):
                return self._tuple(items, node)
            case types.NamedType():
                return self._named(type_, node)
            case _:
                raise JsonError("Deserialization of closures is not implemented.", None)

    def _named(self, type_: types.NamedType, node: Node) -> Any:
        name, arguments = type_.name, type_.arguments
        if name == "ddlog_std::Option":
            return NONE if node.kind == "null" else Some(self.value(arguments[0], node))
        if name == "json::JsonValue":
            return json_value(node)
        if name == "json::JsonWrapper":
            (variant,) = self._context.definitions.variants(type_)
            return variant.cls(self.value(arguments[0], node))
        if name == "ddlog_std::Map":
            return self._map(arguments[0], arguments[1], node)
        if name == "ddlog_std::Group":
            pairs = types.NamedType("ddlog_std::Vec", (types.TupleType((arguments[1], types.S64)),))
            return Group(*self._fields((FieldForm("key", arguments[0]), FieldForm("vals", pairs)), "DDlogGroup", node))
        extern = self._context.definitions.extern(type_)
        if extern is None:
            return self._declared(form(self._context, type_), node)
        inner = extern.inner(*arguments)
        if extern.kind is ExternKind.SEQUENCE:
            return _SEQUENCES.get(name, extern.make)(self._items(inner, node))
        try:
            return extern.make(self.value(inner, node))
        except ValueError as error:
            raise JsonError(str(error), None) from None

    # Sequences and maps

    def _items(self, type_: types.Type, node: Node) -> list[Any]:
        if node.kind != "array":
            _wrong_kind(node, "a sequence")
        return _each(self.value, repeat(type_), node)

    def _tuple(self, items: Sequence[types.Type], node: Node) -> tuple[Any, ...]:
        expected = f"tuple struct tuple{len(items)}"
        if not items:
            return () if node.kind == "null" else _wrong_kind(node, "unit struct tuple0")
        if node.kind != "array":
            _wrong_kind(node, expected)
        _check_length(node, len(items), f"{expected} with {len(items)} elements")
        return tuple(_each(self.value, items, node))

    def _map(self, key_type: types.Type, type_: types.Type, node: Node) -> Map:
        if node.kind != "object":
            _wrong_kind(node, "a map")
        pairs = []
        for entry in node.value:
            with _placed(entry.after):
                pairs.append((self._key(key_type, entry), self.value(type_, entry.node)))
        return Map(pairs)

    def _key(self, type_: types.Type, entry: Entry) -> Any:
        """Returns a key of a map, which JSON writes as a string; a number may be one."""
        match type_:
            case types.NamedType("ddlog_std::Ref" | "internment::Intern" | "intern::IObj", (inner,)):
                return self._key(inner, entry)
            case types.BitType() | types.SignedType() if _INTEGER.fullmatch(entry.key):
                return self.value(type_, Node("int", int(entry.key[:64]), entry.key_end, entry.key_end))
            case _:
                return self.value(type_, Node("string", entry.key, entry.key_end, entry.key_end))

    # Structs and unions

    def _declared(self, shape: TypeForm, node: Node) -> Struct:
        if shape.is_struct:
            variant = shape.variants[0]
            return variant.cls(*self._fields(variant.fields, f"struct {shape.name}", node))
        if shape.tag is not None:
            return self._tagged(shape, shape.tag, node)
        return self._union(shape, node)

    def _union(self, shape: TypeForm, node: Node) -> Struct:
        """`"Constructor"`, or `{"Constructor": {fields}}`."""
        if node.kind == "string":
            variant = _variant(shape, node.value, node.end)
            if variant.fields:
                raise JsonError("invalid type: unit variant, expected struct variant", node.end)
            return variant.cls()
        if node.kind != "object":
            if node.start is None:
                _wrong_kind(node, "string or map")
            raise JsonError("expected value", node.start + 1)
        if len(node.value) != 1:
            if node.start is None:
                raise JsonError("invalid value: map, expected map with a single key", None)
            raise JsonError("expected value", node.value[0].after if node.value else node.start + 1)
        (entry,) = node.value
        variant = _variant(shape, entry.key, entry.key_end)
        if not variant.fields:
            return variant.cls() if entry.node.kind == "null" else _wrong_kind(entry.node, "unit")
        return variant.cls(*self._fields(variant.fields, f"struct variant {shape.name}::{variant.name}", entry.node))

    def _tagged(self, shape: TypeForm, tag: str, node: Node) -> Struct:
        """`{"tag": "Constructor", fields}`"""
        if node.kind != "object":
            _wrong_kind(node, f"internally tagged enum {shape.name}")
        tags = [entry for entry in node.value if entry.key == tag]
        if len(tags) != 1:
            problem = "duplicate field" if tags else "missing field"
            raise JsonError(f"{problem} `{tag}`", tags[1].colon if tags else node.end)
        named = tags[0].node
        if named.kind != "string":
            _wrong_kind(named, "variant identifier")
        variant = _variant(shape, named.value, named.end)
        others = [entry for entry in node.value if entry is not tags[0]]
        with _forgotten():
            name = f"struct variant {shape.name}::{variant.name}"
            return variant.cls(*self._fields(variant.fields, name, Node("object", others)))

    def _fields(self, fields: Sequence[FieldForm], name: str, node: Node) -> list[Any]:
        """Returns the values of the fields of a struct, from an object or, without flattened fields, from an array."""
        if node.kind == "array" and not any(field.flatten for field in fields):
            count = len(fields)
            _check_length(node, count, f"{name} with {count} element{'' if count == 1 else 's'}")
            return _each(self._field, fields, node)
        if node.kind != "object":
            _wrong_kind(node, name)
        found, others = self._read_fields(fields, node)
        with _placed(node.end):
            for index, field in enumerate(fields):
                if index not in found:
                    found[index] = self._flattened(field, others) if field.flatten else self._missing(field)
        return [found[index] for index in range(len(fields))]

    def _read_fields(self, fields: Sequence[FieldForm], node: Node) -> tuple[dict[int, Any], list[Entry]]:
        """Returns the fields that the object has by name, and its other entries."""
        places = {
            name: index
            for index, field in enumerate(fields)
            if not field.flatten
            for name in (field.name, *field.aliases)
        }
        found: dict[int, Any] = {}
        others = []
        for entry in node.value:
            index = places.get(entry.key)
            if index is None:
                others.append(entry)
            elif index in found:
                raise JsonError(f"duplicate field `{fields[index].name}`", entry.colon)
            else:
                with _placed(entry.after):
                    found[index] = self._field(fields[index], entry.node)
        return found, others

    def _field(self, field: FieldForm, node: Node) -> Any:
        if field.as_string:
            if node.kind != "string":
                _wrong_kind(node, "a string")
            return parse_scalar(field.type, node.value)
        if field.key is not None and isinstance(field.type, types.NamedType):
            item_type = field.type.arguments[1]
            key = self._context.function(field.key, (item_type,))
            return Map((key(item), item) for item in self._items(item_type, node))
        return self.value(field.type, node)

    def _missing(self, field: FieldForm) -> Any:
        if field.has_default:
            return default_value(field.type, self._context.definitions)
        if not field.as_string and field.key is None and _may_be_missing(field.type):
            return self.value(field.type, Node("null", None))
        raise JsonError(f"missing field `{field.name}`", None)

    def _flattened(self, field: FieldForm, others: list[Entry]) -> Any:
        """Returns a field whose own fields are among the other entries of the object, and takes those."""
        type_ = field.type
        with _forgotten():
            if isinstance(type_, types.NamedType) and type_.name == "ddlog_std::Option":
                try:
                    return Some(self._flattened(FieldForm(field.name, type_.arguments[0], flatten=True), others))
                except JsonError:
                    return NONE
            rest = Node("object", list(others))
            if not isinstance(type_, types.NamedType) or self._context.definitions.extern(type_) is not None:
                return self.value(type_, rest)
            if type_.name.startswith("json::"):
                return self.value(type_, rest)
            shape = form(self._context, type_)
            if not shape.is_struct and shape.tag is None:
                names = {variant.name for variant in shape.variants}
                chosen = [entry for entry in others if entry.key in names][:1]
                if not chosen:
                    raise JsonError(f"no variant of enum {shape.name} found in flattened data", None)
                others.remove(chosen[0])
                return self._union(shape, Node("object", chosen))
            if shape.is_struct:
                known = {name for own in shape.variants[0].fields for name in (own.name, *own.aliases)}
                if not any(own.flatten for own in shape.variants[0].fields):
                    others[:] = [entry for entry in others if entry.key not in known]
            return self._declared(shape, rest)


# Numbers and errors


def _integer(type_: types.BitType | types.SignedType, node: Node) -> int:
    """Returns a number in the range of a machine type."""
    if node.kind != "int":
        _wrong_kind(node, integer_name(type_))
    low, high = types.integer_range(type_)
    number: int = node.value
    if not low <= number <= high:
        raise JsonError(f"invalid value: integer `{number}`, expected {integer_name(type_)}", node.end)
    return number


def _digits(node: Node) -> int:
    """Returns a number of any size, which is a string in JSON."""
    if node.kind != "string":
        _wrong_kind(node, "a string")
    try:
        number: int = parse_scalar(types.BIGINT, node.value)
    except JsonError:
        raise JsonError(f"invalid integer value: {node.value}", None) from None
    return number


def _float(width: int, node: Node) -> float:
    if node.kind not in ("int", "float"):
        _wrong_kind(node, f"f{width}")
    return single(float(node.value)) if width == 32 else double(float(node.value))


def _wrong_kind(node: Node, expected: str) -> NoReturn:
    """Raises the error for a node of the wrong kind; its position is after the node, but before an object or array."""
    match node.kind:
        case "null":
            found = "null"
        case "bool":
            found = f"boolean `{'true' if node.value else 'false'}`"
        case "int":
            found = f"integer `{node.value}`"
        case "float":
            found = f"floating point `{float_text(node.value, 64)}`"
        case "string":
            found = f"string {quote(node.value)}"
        case "array":
            found = "sequence"
        case _:
            found = "map"
    place = node.start if node.kind in ("array", "object") else node.end
    raise JsonError(f"invalid type: {found}, expected {expected}", place)


def _check_length(node: Node, count: int, expected: str) -> None:
    if len(node.value) < count:
        raise JsonError(f"invalid length {len(node.value)}, expected {expected}", node.end)
    if len(node.value) > count:
        if node.start is None:
            raise JsonError(f"invalid length {len(node.value)}, expected fewer elements in array", None)
        raise JsonError("trailing characters", node.value[count].node.start + 1)


def _variant(shape: TypeForm, name: str, place: int | None) -> VariantForm:
    for variant in shape.variants:
        if variant.name == name:
            return variant
    quoted = [f"`{variant.name}`" for variant in shape.variants]
    expected = " or ".join(quoted) if len(quoted) == 2 else f"one of {', '.join(quoted)}"
    raise JsonError(f"unknown variant `{name}`, expected {expected}", place)


def _may_be_missing(type_: types.Type) -> bool:
    """True for an Option, and for types with the JSON form of an Option."""
    match type_:
        case types.NamedType("ddlog_std::Option"):
            return True
        case types.NamedType("ddlog_std::Ref" | "internment::Intern" | "json::JsonWrapper", (inner,)):
            return _may_be_missing(inner)
        case _:
            return False


def _each(read: Callable[[Part, Node], Any], parts: Iterable[Part], node: Node) -> list[Any]:
    """Returns the values of an array, each item read as its part."""
    found = []
    for part, item in zip(parts, node.value):
        with _placed(item.after):
            found.append(read(part, item.node))
    return found


@contextmanager
def _placed(place: int | None) -> Iterator[None]:
    """Adds a position to an error that has none."""
    try:
        yield
    except JsonError as error:
        if error.place is None:
            error.place = place
        raise


@contextmanager
def _forgotten() -> Iterator[None]:
    """Removes the position of an error: nodes that were read ahead have none."""
    try:
        yield
    except JsonError as error:
        error.place = None
        raise
