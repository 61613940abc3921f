"""Planned clauses ↔ text: how the clauses of a stratum that is recomputed are rows of a relation.

    s(a, b) :- l(a, b).      ["Planned", "s", [["Var", "v0", "number"], ["Var", "v1", "number"]], …

Variables are numbered by their first mention, and places in the source are left out: two clauses that differ only there
have the same text.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.plan import terms

_CLASSES: dict[str, type] = {
    each.__name__: each
    for each in (
        terms.Var,
        terms.Const,
        terms.Op,
        terms.Make,
        terms.Count,
        terms.Scan,
        terms.Absent,
        terms.Bind,
        terms.Test,
        terms.Truth,
        terms.Unpack,
        terms.Each,
        terms.Fold,
        terms.Planned,
    )
}
_NOWHERE = Span(Source("<clause>", ""), 0, 0)


def clause_text(rule: terms.Planned) -> str:
    """Returns the text of a clause."""
    return numbered_text(rule, {})


def numbered_text(part: object, numbers: dict[str, str]) -> str:
    """Returns the text of steps and terms; names of variables that have none are added to the `numbers`."""

    def written(part: Any) -> Any:
        if isinstance(part, tuple):
            return ["", *map(written, part)]
        if not is_dataclass(part):
            return part
        inside = [getattr(part, each.name) for each in fields(part) if each.name != "span"]
        if isinstance(part, terms.Var):
            inside[0] = numbers.setdefault(part.name, f"v{len(numbers)}")
        return [type(part).__name__, *map(written, inside)]

    return json.dumps(written(part), ensure_ascii=False)


def clause_row(table: str, rule: terms.Planned) -> terms.Planned:
    """Returns the fact that a clause counts."""
    return terms.Planned(table, (terms.Const(clause_text(rule), "symbol"),), (), rule.span)


@lru_cache(maxsize=4096)
def clause_of(text: str) -> terms.Planned:
    """Returns the clause that a text is of."""

    def read(part: Any) -> Any:
        if not isinstance(part, list):
            return part
        name, *inside = part
        values = [read(each) for each in inside]
        if not name:
            return tuple(values)
        kind = _CLASSES[name]
        given = iter(values)
        return kind(**{each.name: _NOWHERE if each.name == "span" else next(given) for each in fields(kind)})

    found = read(json.loads(text))
    assert isinstance(found, terms.Planned)
    return found
