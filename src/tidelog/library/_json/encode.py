"""A value of a type → JSON text, or a tree of JSON.

Structs keep the order of their fields, maps that of their keys. A map whose keys have no text form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tidelog import types
from tidelog.iso_texts import value_text
from tidelog.library._json.forms import FieldForm, TypeForm, form
from tidelog.library._json.scalars import float_json
from tidelog.library._json.text import Entry, Item, JsonError, Node
from tidelog.library._json.values import json_tree
from tidelog.library._runtime.extern import ExternContext
from tidelog.library._runtime.option_result import NONE
from tidelog.values.default import default_value
from tidelog.values.externs import ExternKind
from tidelog.values.structs import field_values
from tidelog.values.text import debug_text, integer_text, plain_text


class Encoder:
    """Turns values of any type of one program into trees."""

    def __init__(self, context: ExternContext) -> None:
        self._context = context

    def tree(self, type_: types.Type, value: Any) -> Node:
        """Returns the tree of a value, without positions; raises JsonError for a map whose keys have no text form."""
        match type_:
            case types.BoolType():
                return Node("bool", value)
            case types.BitType(width) | types.SignedType(width):
                return Node("int", value) if width <= 128 else Node("string", integer_text(value))
            case types.BigIntType():
                return Node("string", integer_text(value))
            case types.FloatType(width):
                return Node(f"float{width}", value)
            case types.StringType():
                return Node("string", value)
            case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
                return Node("string", value_text(value))
            case types.TupleType(items):
                parts = [Item(self.tree(item, each)) for item, each in zip(items, value)]
                return Node("array", parts) if items else Node("null", None)
            case types.NamedType():
                return self._named(type_, value)
            case _:
                return Node("string", debug_text(value, type_, self._context.definitions))

    def _named(self, type_: types.NamedType, value: Any) -> Node:
        name, arguments = type_.name, type_.arguments
        if name == "ddlog_std::Option":
            return Node("null", None) if value == NONE else self.tree(arguments[0], value.x)
        if name == "json::JsonValue":
            return json_tree(value)
        if name == "json::JsonWrapper":
            return self.tree(arguments[0], value.x)
        if name == "ddlog_std::Map":
            return Node("object", [Entry(self._key(arguments[0], key), self.tree(arguments[1], v)) for key, v in value])
        if name == "ddlog_std::Any":
            return self.tree(value.type, value.value)
        if name == "ddlog_std::Group":
            pairs = types.NamedType("ddlog_std::Vec", (types.TupleType((arguments[1], types.S64)),))
            parts = Entry("key", self.tree(arguments[0], value.key)), Entry("vals", self.tree(pairs, value.items))
            return Node("object", list(parts))
        extern = self._context.definitions.extern(type_)
        if extern is None:
            return self._declared(form(self._context, type_), value)
        inner = extern.inner(*arguments)
        if extern.kind is ExternKind.SEQUENCE:
            return Node("array", [Item(self.tree(inner, each)) for each in value])
        return self.tree(inner, extern.take(value) if extern.take else value)

    def _key(self, type_: types.Type, key: Any) -> str:
        match type_:
            case types.StringType() | types.BigIntType():
                return plain_text(key, type_, self._context.definitions)
            case types.BitType() | types.SignedType():
                return str(key)
            case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
                return value_text(key)
            case types.NamedType("ddlog_std::Ref" | "internment::Intern" | "intern::IObj", (inner,)):
                return self._key(inner, key)
            case types.NamedType() if self._context.definitions.extern(type_) is None:
                node = self._named(type_, key)
                if node.kind == "string":
                    return str(node.value)
        raise JsonError("key must be a string", None)

    def _declared(self, shape: TypeForm, value: Any) -> Node:
        if shape.is_struct:
            return Node("object", list(self._fields(shape.variants[0].fields, field_values(value))))
        variant = shape.variants[value.__variant__.index]
        fields = self._fields(variant.fields, field_values(value))
        if shape.tag is not None:
            return Node("object", [Entry(shape.tag, Node("string", variant.name)), *fields])
        if not variant.fields:
            return Node("string", variant.name)
        return Node("object", [Entry(variant.name, Node("object", list(fields)))])

    def _fields(self, fields: Sequence[FieldForm], values: Sequence[Any]) -> Iterator[Entry]:
        for field, value in zip(fields, values):
            if field.skip_empty and value == default_value(field.type, self._context.definitions):
                continue
            if field.as_string:
                yield Entry(field.name, Node("string", plain_text(value, field.type, self._context.definitions)))
            elif field.key is not None and isinstance(field.type, types.NamedType):
                items = [Item(self.tree(field.type.arguments[1], each)) for each in value.values]
                yield Entry(field.name, Node("array", items))
            elif field.flatten:
                yield from self._flattened(self.tree(field.type, value))
            else:
                yield Entry(field.name, self.tree(field.type, value))

    def _flattened(self, node: Node) -> Sequence[Entry]:
        match node.kind:
            case "object":
                entries: Sequence[Entry] = node.value
                return entries
            case "null":
                return ()
            case _:
                raise JsonError(f"can only flatten structs and maps (got {_KINDS.get(node.kind, node.kind)})", None)


_KINDS = {
    "bool": "a boolean",
    "int": "an integer",
    "float": "a float",
    "float32": "a float",
    "float64": "a float",
    "string": "a string",
    "array": "a sequence",
}


def json_string(node: Node) -> str:
    """Returns the text of a tree, without blanks."""
    match node.kind:
        case "null":
            return "null"
        case "bool":
            return "true" if node.value else "false"
        case "int":
            return str(node.value)
        case "float" | "float64":
            return float_json(node.value, 64)
        case "float32":
            return float_json(node.value, 32)
        case "string":
            return json.dumps(node.value, ensure_ascii=False)
        case "array":
            return f"[{','.join(json_string(item.node) for item in node.value)}]"
        case _:
            texts = (f"{json.dumps(entry.key, ensure_ascii=False)}:{json_string(entry.node)}" for entry in node.value)
            return f"{{{','.join(texts)}}}"
