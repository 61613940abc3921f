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
from tidelog.check.resolve_type import substitute
from tidelog.check.scope import Environment
from tidelog.check.show_expression import show_value
from tidelog.check.types import BOOL, BoolType, NamedType, TupleType, Type

_MOST_STEPS = 200_000

_Row = tuple[typed.Pattern, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One way to make a value of a type: a constructor, a tuple, or a constant; with the types of its parts."""

    key: object
    parts: tuple[Type, ...]


class Coverage:
    """Which values the patterns of one type cover."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._steps = 0

    def missing(self, patterns: Sequence[typed.Pattern], type_: Type) -> str | None:
        """A value that fits none of the patterns, as it could be written in a pattern; None when there is none."""
        rows: list[_Row] = [(pattern,) for pattern in patterns]
        self._steps = 0
        witness = self._witness(rows, (type_,))
        return None if witness is None else witness[0]

    def unreachable(self, patterns: Sequence[typed.Pattern], type_: Type) -> list[int]:
        """The places of the patterns that fit only what earlier ones fit."""
        self._steps = 0
        return [
            place
            for place, pattern in enumerate(patterns)
            if not self._is_useful([(each,) for each in patterns[:place]], (pattern,), (type_,))
        ]

    def fields(self, constructor: str, type_: Type) -> tuple[Type, ...]:
        """The types of a constructor's fields in a value of the type."""
        return next(case.parts for case in self._cases(type_) or () if case.key == constructor)

    def is_reference(self, type_: Type) -> bool:
        """Whether values of the type are seen through."""
        return self._behind(type_) is not type_

    def _witness(self, rows: list[_Row], types: tuple[Type, ...]) -> list[str] | None:
        """Texts of values, one for each type, that together fit none of the rows."""
        if not types:
            return None if rows else []
        if self._is_endless():
            return None
        first, rest = self._behind(types[0]), types[1:]
        rows = [(_plain(row[0]), *row[1:]) for row in rows]
        cases = self._cases(first)
        used = {key for row in rows if (key := _key(row[0])) is not None}
        if cases is None or not used:
            # Where nothing looks at the column, `_` says enough.
            below = self._witness([row[1:] for row in rows if _is_open(row[0])], rest)
            return None if below is None else ["_", *below]
        for case in cases:
            found = self._witness(_specialize(rows, case), (*case.parts, *rest))
            if found is not None:
                count = len(case.parts)
                return [self._shown(case, first, found[:count]), *found[count:]]
        return None

    def _is_useful(self, rows: list[_Row], row: _Row, types: tuple[Type, ...]) -> bool:
        """Whether the row fits values that none of the rows fits."""
        if not types:
            return not rows
        if self._is_endless():
            return True
        rest = types[1:]
        pattern = _plain(row[0])
        rows = [(_plain(each[0]), *each[1:]) for each in rows]
        first = self._behind(types[0])
        cases = self._cases(first)
        key = _key(pattern)
        if key is not None:
            case = next((each for each in cases or () if each.key == key), _Case(key, ()))
            (special,) = _specialize([(pattern, *row[1:])], case)
            return self._is_useful(_specialize(rows, case), special, (*case.parts, *rest))
        used = {found for each in rows if (found := _key(each[0])) is not None}
        if cases is None or len(used) < len(cases):
            return self._is_useful([each[1:] for each in rows if _is_open(each[0])], row[1:], rest)
        return any(
            self._is_useful(_specialize(rows, case), _open(case, pattern, row[1:]), (*case.parts, *rest))
            for case in cases
        )

    def _is_endless(self) -> bool:
        """Whether the search takes too long: it may be exponential. Then nothing is reported."""
        self._steps += 1
        return self._steps > _MOST_STEPS

    def _behind(self, type_: Type) -> Type:
        """The type without its references, which patterns do not show."""
        while isinstance(type_, NamedType):
            definition = self._environment.definition(type_.name)
            if definition is None or all(each.name != "shared_ref" for each in definition.attributes):
                break
            type_ = type_.arguments[0]
        return type_

    def _cases(self, type_: Type) -> list[_Case] | None:
        """All ways to make a value, or None where they are too many to list."""
        match type_:
            case BoolType():
                return [_Case(False, ()), _Case(True, ())]
            case TupleType(items):
                return [_Case("()", items)]
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
    """The pattern without the names of its whole."""
    while isinstance(pattern, typed.AsPattern):
        pattern = pattern.pattern
    return pattern


def _is_open(pattern: typed.Pattern) -> bool:
    return isinstance(pattern, typed.AnyPattern | typed.BindPattern)


def _key(pattern: typed.Pattern) -> object | None:
    """What a pattern asks for; None for one that fits everything. An expression fits nothing for certain."""
    match pattern:
        case typed.LiteralPattern(value, BoolType()):
            return value
        case typed.LiteralPattern(value):
            return ("constant", value)
        case typed.TuplePattern():
            return "()"
        case typed.ConstructPattern(constructor):
            return constructor
        case typed.EqualPattern():
            return pattern
        case _:
            return None


def _specialize(rows: list[_Row], case: _Case) -> list[_Row]:
    """The rows that a value of this case may fit, with a column for each of its parts."""
    found = []
    for row in rows:
        pattern, rest = _plain(row[0]), row[1:]
        if _is_open(pattern):
            found.append(_open(case, pattern, rest))
        elif _key(pattern) == case.key:
            parts: _Row = ()
            if isinstance(pattern, typed.TuplePattern):
                parts = pattern.items
            elif isinstance(pattern, typed.ConstructPattern):
                parts = pattern.fields
            found.append((*parts, *rest))
    return found


def _open(case: _Case, pattern: typed.Pattern, rest: _Row) -> _Row:
    return (*(typed.AnyPattern(part, pattern.span) for part in case.parts), *rest)
