"""Values of Soufflé's kinds ↔ JSON: records are lists or objects, `nil` is `null`, branches are text."""

from __future__ import annotations

import json
from typing import Any

from tidelog.souffle.check.type_table import TypeTable
from tidelog.souffle.files.value_text import UnreadableError, ValueText
from tidelog.values.structs import field_values


class JsonValues:
    def __init__(self, types: TypeTable, texts: ValueText) -> None:
        self._types, self._texts = types, texts

    def read(self, value: Any, kind: str) -> Any:
        """Returns a value from JSON. Raises UnreadableError."""
        if kind == "symbol":
            if not isinstance(value, str):
                raise UnreadableError(f"{value!r} is no symbol")
            return value
        if kind in ("number", "unsigned", "float"):
            return self._texts.read(str(value), kind)
        shapes = self._texts.shapes
        if kind in self._types.records:
            if value is None:
                return shapes.make(kind, "nil", ())
            fields = self._types.records[kind]
            items = [value.get(each.name) for each in fields] if isinstance(value, dict) else value
            if not isinstance(items, list) or len(items) != len(fields):
                raise UnreadableError(f"{value!r} is no `{kind}`")
            made = (self.read(one, self._types.kinds[each.type]) for one, each in zip(items, fields, strict=True))
            return shapes.make(kind, "", tuple(made))
        return self._texts.read(str(value), kind)

    def write(self, value: Any, kind: str, *, named: bool = False) -> Any:
        """Returns a value as JSON has it."""
        if kind in ("symbol", "number", "unsigned", "float"):
            return value
        if kind in self._types.records:
            if value.__variant__.index == self._texts.shapes.places[kind, "nil"]:
                return None
            fields = self._types.records[kind]
            made = [
                self.write(one, self._types.kinds[each.type], named=named)
                for one, each in zip(field_values(value), fields, strict=True)
            ]
            return {each.name: one for each, one in zip(fields, made, strict=True)} if named else made
        return self._texts.write(value, kind)

    def text(self, value: Any) -> str:
        """Returns the text of JSON. A number has the six digits that Soufflé writes, or more if it needs more."""
        match value:
            case dict():
                return "{" + ", ".join(f"{json.dumps(name)}: {self.text(each)}" for name, each in value.items()) + "}"
            case list():
                return f"[{', '.join(map(self.text, value))}]"
            case float():
                short = f"{value:g}"
                return short if self._texts.read(short, "float") == value else self._texts.write(value, "float")
            case _:
                return json.dumps(value, ensure_ascii=False)
