"""`JsonValue` in Python: trees of JSON ↔ values of the library's own type for them."""

from __future__ import annotations

from math import isfinite
from typing import Any

from tidelog.library._json.text import Entry, Item, Node
from tidelog.values.maps import Map
from tidelog.values.structs import Shape, Struct, classes
from tidelog.values.vec import Vec

JsonInt, JsonFloat = classes(Shape("json::JsonNum", (("json::JsonInt", ("i",)), ("json::JsonFloat", ("d",))), False))
JsonNull, JsonBool, JsonNumber, JsonString, JsonArray, JsonObject = classes(
    Shape(
        "json::JsonValue",
        (
            ("json::JsonNull", ()),
            ("json::JsonBool", ("b",)),
            ("json::JsonNumber", ("n",)),
            ("json::JsonString", ("s",)),
            ("json::JsonArray", ("a",)),
            ("json::JsonObject", ("o",)),
        ),
        recursive=True,
    )
)

SMALLEST_INTEGER, LARGEST_INTEGER = -(1 << 63), (1 << 64) - 1


def json_value(node: Node) -> Struct:
    """Returns the value of a tree; of two equal keys the later one counts."""
    match node.kind:
        case "null":
            return JsonNull()
        case "bool":
            return JsonBool(node.value)
        case "int" if SMALLEST_INTEGER <= node.value <= LARGEST_INTEGER:
            return JsonNumber(JsonInt(node.value))
        case "int" | "float" | "float32" | "float64":
            return JsonNumber(JsonFloat(float(node.value))) if isfinite(node.value) else JsonNull()
        case "string":
            return JsonString(node.value)
        case "array":
            return JsonArray(Vec(json_value(item.node) for item in node.value))
        case _:
            return JsonObject(Map((entry.key, json_value(entry.node)) for entry in node.value))


def json_tree(value: Any) -> Node:
    """Returns the tree of a value, without positions; numbers that are not finite are null, too large ones are cut."""
    kind: type[Struct] = type(value)
    if kind is JsonBool:
        return Node("bool", value.b)
    if kind is JsonNumber:
        return _number(value.n)
    if kind is JsonString:
        return Node("string", value.s)
    if kind is JsonArray:
        return Node("array", [Item(json_tree(each)) for each in value.a])
    if kind is JsonObject:
        return Node("object", [Entry(key, json_tree(each)) for key, each in value.o])
    return Node("null", None)


def _number(number: Any) -> Node:
    kind: type[Struct] = type(number)
    if kind is JsonFloat:
        return Node("float", number.d) if isfinite(number.d) else Node("null", None)
    low = number.i & LARGEST_INTEGER
    return Node("int", low if number.i >= 0 or low < 1 << 63 else low - (1 << 64))
