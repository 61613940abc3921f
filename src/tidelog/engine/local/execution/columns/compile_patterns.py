"""Typed patterns → functions of columns: which values fit, and the parts of those that do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.check import typed
from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.execution.columns.branches import Code
from tidelog.engine.local.execution.columns.column import Column, as_struct, take
from tidelog.engine.local.execution.columns.equality import equal_columns
from tidelog.engine.local.execution.columns.frame import Frame, Key
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.types import Type
from tidelog.values.definitions import substitute

Fits = npt.NDArray[np.bool_] | None  # which values fit; None for all
Test = Callable[[Frame, Column], Fits]
Bind = Callable[[Frame, Column], None]


class NotColumnsError(Exception):
    """Says that an expression has a part that is evaluated in Python; the message names the part."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a rule or of a function, the types of its type variables, and the type of its result."""

    names: dict[str, Key] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)
    result: Type | None = None


class PatternCompiler(ABC):
    """Compiles patterns; expressions in them are compiled by `_code`."""

    def __init__(self, functions: CompiledFunctions) -> None:
        self._functions = functions
        self._definitions = functions.definitions
        self._keys = count()

    @abstractmethod
    def _code(self, node: typed.Expression, scope: Scope) -> Code: ...

    @abstractmethod
    def _literal(self, value: typed.Value, type_: Type) -> Code: ...

    def _type(self, node: typed.Expression | typed.Pattern, scope: Scope) -> Type:
        return self._bare(node.type, scope)

    def _bare(self, type_: Type, scope: Scope) -> Type:
        return bare_type(substitute(type_, scope.types) if scope.types else type_)

    def _test(self, pattern: typed.Pattern, scope: Scope) -> Test:
        """Returns the function that says which values fit a pattern."""
        match pattern:
            case typed.AnyPattern() | typed.BindPattern():
                return lambda frame, column: None
            case typed.AsPattern(_, inner):
                return self._test(inner, scope)
            case typed.LiteralPattern(value):
                own = self._type(pattern, scope)
                literal = self._literal(value, own)
                return lambda frame, column: equal_columns(column, literal(frame), own, frame.values)
            case typed.EqualPattern(expression):
                code, same = self._code(expression, scope), self._type(expression, scope)
                return lambda frame, column: equal_columns(column, code(frame), same, frame.values)
            case typed.TuplePattern(items):
                return self._test_fields(0, 1, items, self._type(pattern, scope), scope)
            case typed.ConstructPattern(constructor, fields):
                type_name, index = self._definitions.constructor(constructor)
                of = len(self._definitions.constructors_of(type_name))
                return self._test_fields(index, of, fields, self._type(pattern, scope), scope)

    def _test_fields(self, index: int, of: int, fields: Sequence[typed.Pattern], type_: Type, scope: Scope) -> Test:
        tests = [self._test(each, scope) for each in fields]
        trivial = [isinstance(each, typed.AnyPattern | typed.BindPattern) for each in fields]

        def run(frame: Frame, column: Column) -> Fits:
            struct = as_struct(column, type_, frame.values)
            fits: npt.NDArray[Any] = struct.tags == index if of > 1 else np.ones(frame.count, dtype=np.bool_)
            own = struct.fields[index]
            for place, test in enumerate(tests):
                if trivial[place] or own is None:
                    continue
                rows = np.flatnonzero(fits)
                if not len(rows):
                    break
                inner = frame if len(rows) == frame.count else frame.some(rows)
                found = test(inner, take(own[place], rows))
                if found is not None:
                    fits[rows[~found]] = False
            return fits

        return run

    def _binding(self, pattern: typed.Pattern, scope: Scope) -> Bind:
        """Declares the variables of a pattern; returns the function that binds them to the parts of values that fit."""
        match pattern:
            case typed.BindPattern(name):
                key = scope.names[name] = next(self._keys)
                return lambda frame, column: frame.bind(key, column)
            case typed.AsPattern(name, inner):
                key = scope.names[name] = next(self._keys)
                rest = self._binding(inner, scope)

                def bind(frame: Frame, column: Column) -> None:
                    frame.bind(key, column)
                    rest(frame, column)

                return bind
            case typed.TuplePattern(items):
                return self._binding_fields(0, items, self._type(pattern, scope), scope)
            case typed.ConstructPattern(constructor, fields):
                _, index = self._definitions.constructor(constructor)
                return self._binding_fields(index, fields, self._type(pattern, scope), scope)
            case _:
                return lambda frame, column: None

    def _binding_fields(self, index: int, fields: Sequence[typed.Pattern], type_: Type, scope: Scope) -> Bind:
        bound = [(place, self._binding(each, scope)) for place, each in enumerate(fields) if typed.bindings(each)]

        def run(frame: Frame, column: Column) -> None:
            if not bound:
                return
            own = as_struct(column, type_, frame.values).fields[index]
            assert own is not None
            for place, bind in bound:
                bind(frame, own[place])

        return run
