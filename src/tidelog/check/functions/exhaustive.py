"""Patterns of a `match` → a value that none of them fits, and the patterns that can never be reached.

The question is always the same: does a row of patterns fit a value that no earlier row fits? It is answered column by
column: the constructors of the first column split the matrix, a wildcard stands for all of them (Maranget, "Warnings
for pattern matching", 2007). Numbers and texts have more values than any list of constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.check import typed
from tidelog.check.inference.drafts import short_name
from tidelog.check.inference.state import BrokenDraftError
from tidelog.check.names.resolve_type import substitute
from tidelog.check.names.scope import Environment
from tidelog.check.show_expression import show_value
from tidelog.types import BOOL, BoolType, NamedType, TupleType, Type

_MOST_STEPS = 1_000_000  # rows looked at, for one question about one `match`: a second or two

_TUPLE = "()"

_Row = tuple[typed.Pattern, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One way to make a value of a type: a constructor, a tuple, or a constant; with the types of its parts."""

    key: object
    parts: tuple[Type, ...]


class _Rows:
    """Rows by what their first pattern asks for: `keyed`, and the `open` ones that fit everything there."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.keyed: dict[object, list[_Row]] = {}
        self.open: list[_Row] = []
        for row in rows:
            self.add((_plain(row[0]), *row[1:]))

    def add(self, row: _Row) -> None:
        """Adds a row whose first pattern is plain."""
        key = _key(row[0])
        if key is None:
            self.open.append(row)
        else:
            self.keyed.setdefault(key, []).append(row)

    def beside(self, pattern: typed.Pattern) -> list[_Row]:
        """Returns the rows that may fit a value which the pattern fits."""
        key = _key(pattern)
        if key is None:
            return [row for rows in self.keyed.values() for row in rows] + self.open
        return self.keyed.get(key, []) + self.open

    def specialized(self, case: _Case) -> list[_Row]:
        """Returns the rows that a value of this case may fit, with a column for each of its parts."""
        keyed = [(*_parts(row[0]), *row[1:]) for row in self.keyed.get(case.key, ())]
        return keyed + [_open(case, row[0], row[1:]) for row in self.open]


class Coverage:
    """Which values the patterns of one type cover."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._steps = 0
        self._known: dict[Type, dict[object, _Case] | None] = {}

    def missing(self, patterns: Sequence[typed.Pattern], type_: Type) -> str | None:
        """Returns a value that fits none of the patterns, as it could be written in a pattern; None when there is
        none."""
        rows: list[_Row] = [(pattern,) for pattern in patterns]
        self._steps = 0
        witness = self._witness(rows, (type_,))
        return None if witness is None else witness[0]

    def unreachable(self, patterns: Sequence[typed.Pattern], type_: Type) -> list[int]:
        """Returns the places of the patterns that fit only what earlier ones fit."""
        self._steps = 0
        before = _Rows([])
        found = []
        for place, pattern in enumerate(patterns):
            row = (_plain(pattern),)
            # Behind a pattern that fits everything, nothing is reached.
            if before.open or not self._is_useful(before.beside(row[0]), row, (type_,)):
                found.append(place)
            before.add(row)
        return found

    def fields(self, constructor: str, type_: Type) -> tuple[Type, ...]:
        """Returns the types of a constructor's fields in a value of the type."""
        return (self._cases(type_) or {})[constructor].parts

    def is_reference(self, type_: Type) -> bool:
        """True if values of the type are seen through."""
        return self._behind(type_) is not type_

    def _witness(self, rows: list[_Row], types: tuple[Type, ...]) -> list[str] | None:
        """Texts of values, one for each type, that together fit none of the rows."""
        if not types:
            return None if rows else []
        if self._is_infinite(rows):
            return None
        first, rest = self._behind(types[0]), types[1:]
        by_key = _Rows(rows)
        cases = self._cases(first)
        if cases is None or not by_key.keyed:
            # Where nothing looks at the column, `_` says enough.
            below = self._witness([row[1:] for row in by_key.open], rest)
            return None if below is None else ["_", *below]
        for case in cases.values():
            found = self._witness(by_key.specialized(case), (*case.parts, *rest))
            if found is not None:
                count = len(case.parts)
                return [self._shown(case, first, found[:count]), *found[count:]]
        return None

    def _is_useful(self, rows: list[_Row], row: _Row, types: tuple[Type, ...]) -> bool:
        """True if the row fits values that none of the rows fits."""
        if not types:
            return not rows
        if self._is_infinite(rows):
            return True
        rest = types[1:]
        pattern = _plain(row[0])
        by_key = _Rows(rows)
        cases = self._cases(self._behind(types[0]))
        key = _key(pattern)
        if key is not None:
            case = (cases or {}).get(key) or _Case(key, ())
            return self._is_useful(by_key.specialized(case), (*_parts(pattern), *row[1:]), (*case.parts, *rest))
        if cases is None or len(by_key.keyed) < len(cases):
            return self._is_useful([each[1:] for each in by_key.open], row[1:], rest)
        return any(
            self._is_useful(by_key.specialized(case), _open(case, pattern, row[1:]), (*case.parts, *rest))
            for case in cases.values()
        )

    def _is_infinite(self, rows: Sequence[_Row]) -> bool:
        """True if the search takes too long: it may be exponential. Then nothing is reported."""
        self._steps += 1 + len(rows)
        return self._steps > _MOST_STEPS

    def _behind(self, type_: Type) -> Type:
        """Returns the type without its references, which patterns do not show."""
        while isinstance(type_, NamedType):
            definition = self._environment.definition(type_.name)
            if definition is None or all(each.name != "shared_ref" for each in definition.attributes):
                break
            type_ = type_.arguments[0]
        return type_

    def _cases(self, type_: Type) -> dict[object, _Case] | None:
        """Returns all ways to make a value by their keys, or None where they are too many to list."""
        if type_ not in self._known:
            cases = self._listed(type_)
            self._known[type_] = None if cases is None else {case.key: case for case in cases}
        return self._known[type_]

    def _listed(self, type_: Type) -> list[_Case] | None:
        match type_:
            case BoolType():
                return [_Case(False, ()), _Case(True, ())]
            case TupleType(items):
                return [_Case(_TUPLE, items)]
            case NamedType(name, arguments):
                definition = self._environment.definition(name)
                if definition is None:
                    raise BrokenDraftError
                if definition.constructors is None:
                    return None
                meaning = dict(zip(definition.parameters, arguments))
                return [
                    _Case(each.name, tuple(substitute(field.type, meaning) for field in each.fields))
                    for each in definition.constructors
                ]
            case _:
                return None

    def _shown(self, case: _Case, type_: Type, parts: list[str]) -> str:
        if type_ == BOOL:
            return show_value(case.key is True)
        if isinstance(type_, TupleType):
            return f"({', '.join(parts)})"
        name = short_name(str(case.key))
        return f"{name}{{{', '.join(parts)}}}" if any(part != "_" for part in parts) else f"{name}{{}}"


def _plain(pattern: typed.Pattern) -> typed.Pattern:
    """Returns the pattern without the names of its whole."""
    while isinstance(pattern, typed.AsPattern):
        pattern = pattern.pattern
    return pattern


def _key(pattern: typed.Pattern) -> object | None:
    """Returns the key of the values that a pattern fits; None for one that fits everything. An expression gets a key of
    its own."""
    match pattern:
        case typed.LiteralPattern(value, type=BoolType()):
            return value
        case typed.LiteralPattern(value):
            return ("constant", value)
        case typed.TuplePattern():
            return _TUPLE
        case typed.ConstructPattern(constructor):
            return constructor
        case typed.EqualPattern():
            return pattern
        case _:
            return None


def _parts(pattern: typed.Pattern) -> _Row:
    """Returns the patterns inside one that asks for something."""
    match pattern:
        case typed.TuplePattern(items):
            return items
        case typed.ConstructPattern(fields=fields):
            return fields
        case _:
            return ()


def _open(case: _Case, pattern: typed.Pattern, rest: _Row) -> _Row:
    return (*(typed.AnyPattern(type=part, span=pattern.span) for part in case.parts), *rest)
