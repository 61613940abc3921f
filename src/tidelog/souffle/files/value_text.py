"""Values of Soufflé's kinds ↔ the text of files: numbers, symbols, `[1, nil]`, `$Branch(x, 2)`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from tidelog.souffle.check.type_table import TypeTable
from tidelog.souffle.evaluate.evaluate_terms import Shapes
from tidelog.souffle.text import tree
from tidelog.souffle.text.constants import rounded
from tidelog.values.structs import field_values

_SINGLE_DIGITS, _DOUBLE_DIGITS, _HALF = 9, 17, 32
_WHOLE = re.compile(r"\s*[+-]?[0-9]+")
_REAL = re.compile(
    r"\s*[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.I
)
_NAME = re.compile(r"\s*([\w?.]+)")


class UnreadableError(ValueError):
    """A text that is no value of its kind; the message says why."""


class ValueText:
    """Reads and writes values; `bits` is the size of numbers."""

    def __init__(self, types: TypeTable, shapes: Shapes, bits: int) -> None:
        self._types, self.shapes, self._bits = types, shapes, bits

    # Writing

    def write(self, value: Any, kind: str, *, quoted: bool = False) -> str:
        """Returns the text of a value; with `quoted`, symbols stand between quotes."""
        match kind:
            case "symbol" if quoted:
                return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
            case "symbol":
                return str(value)
            case "number" | "unsigned":
                return str(value)
            case "float":
                return self._float(value)
        if kind in self._types.records:
            if value.__variant__.index == self.shapes.places[kind, "nil"]:
                return "nil"
            return f"[{self._items(value, self._types.records[kind], quoted=quoted)}]"
        branch = self._types.unions[kind][value.__variant__.index]
        if not branch.fields:
            return f"${branch.name}"
        return f"${branch.name}({self._items(value, branch.fields, quoted=quoted)})"

    def _items(self, value: Any, fields: tuple[tree.Attribute, ...], *, quoted: bool) -> str:
        kinds = (self._types.kinds[each.type] for each in fields)
        values = zip(field_values(value), kinds, strict=True)
        return ", ".join(self.write(one, kind, quoted=quoted) for one, kind in values)

    def _float(self, value: float) -> str:
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        digits = _SINGLE_DIGITS if self._bits == _HALF else _DOUBLE_DIGITS
        return f"{value:.{digits}g}"

    # Reading

    def read(self, text: str, kind: str) -> Any:
        """Returns the value of a whole text. Raises UnreadableError."""
        if kind == "symbol":
            return text
        value, end = self.at(text, 0, kind)
        if end != len(text):
            raise UnreadableError(f"`{text[end:]}` is left over")
        return value

    def at(self, text: str, place: int, kind: str, stop: str = "") -> tuple[Any, int]:
        """Returns the value that begins at a place, and the place behind it."""
        match kind:
            case "number" | "unsigned":
                return self._whole(text, place, kind)
            case "float":
                found = _REAL.match(text, place)
                if found is None:
                    raise UnreadableError("a floating-point number is expected")
                return rounded(float(found[0]), self._bits), found.end()
            case "symbol":
                return _symbol(text, place, stop)
        if kind in self._types.records:
            return self._record(text, place, kind)
        return self._branch(text, place, kind)

    def _whole(self, text: str, place: int, kind: str) -> tuple[int, int]:
        for prefix, base in (("0x", 16), ("0b", 2)):
            if kind == "unsigned" and text.startswith(prefix, place):
                found = re.compile(r"0[xb][0-9a-fA-F]+").match(text, place)
                if found is not None:
                    return int(found[0][2:], base), found.end()
        found = _WHOLE.match(text, place)
        if found is None:
            raise UnreadableError("a number is expected")
        value = int(found[0])
        low, high = (0, 1 << self._bits) if kind == "unsigned" else (-(1 << self._bits - 1), 1 << self._bits - 1)
        if kind == "unsigned" and -(1 << self._bits - 1) <= value < 0:
            value += 1 << self._bits
        if not low <= value < high:
            raise UnreadableError(f"{value} does not fit into {self._bits} bits")
        return value, found.end()

    def _record(self, text: str, place: int, kind: str) -> tuple[Any, int]:
        place = _skipped(text, place)
        if text.startswith("nil", place):
            return self.shapes.make(kind, "nil", ()), place + 3
        place = _taken(text, place, "[")
        values, place = self._list(text, place, self._types.records[kind], "]")
        return self.shapes.make(kind, "", tuple(values)), place

    def _branch(self, text: str, place: int, kind: str) -> tuple[Any, int]:
        place = _taken(text, place, "$")
        found = _NAME.match(text, place)
        branches: Mapping[str, Any] = {each.name: each for each in self._types.unions[kind]}
        if found is None or found[1] not in branches:
            raise UnreadableError(f"a branch of `{kind}` is expected")
        fields, place = branches[found[1]].fields, found.end()
        if not fields:
            return self.shapes.make(kind, found[1], ()), place
        place = _taken(text, place, "(")
        values, place = self._list(text, place, fields, ")")
        return self.shapes.make(kind, found[1], tuple(values)), place

    def _list(self, text: str, place: int, fields: tuple[tree.Attribute, ...], closing: str) -> tuple[list[Any], int]:
        values: list[Any] = []
        for number, each in enumerate(fields):
            if number:
                place = _taken(text, place, ",")
            place = _skipped(text, place)
            value, place = self.at(text, place, self._types.kinds[each.type], f",{closing}")
            values.append(value)
        return values, _taken(text, place, closing)


def _symbol(text: str, place: int, stop: str) -> tuple[str, int]:
    if text.startswith('"', place):
        found = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL).match(text, place)
        if found is None:
            raise UnreadableError("a quote does not end")
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), found.end()
    ends = [end for end in (text.find(mark, place) for mark in stop) if end >= 0]
    if not ends:
        raise UnreadableError("the text ends too early")
    return text[place : min(ends)], min(ends)


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _taken(text: str, place: int, mark: str) -> int:
    place = _skipped(text, place)
    if not text.startswith(mark, place):
        raise UnreadableError(f"`{mark}` is expected")
    return place + 1
