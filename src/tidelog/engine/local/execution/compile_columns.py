"""Typed expressions → functions of columns: what `compile_scalar` evaluates value by value, evaluated batch by batch.

    x ++ "/" ++ substr(y, 0, 3)      three columns of places and lengths, joined by one kernel, interned once

`if`, `match`, `and` and `or` evaluate each branch on the rows that take it, so an operation in a branch that no row
takes never fails. Functions of the program are inlined. Where a value is beyond the kernels, and where evaluation
fails, the batch is given up (`NeedsPythonError`) and Python evaluates it: so there is one definition of every error.

Not compiled: floats, integers of more than 64 bits, collections, closures, loops, assignments, `return`, `?`, recursive
functions, extern functions other than those of `string_functions`, and functions with side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.words import bare_type
from tidelog.engine.local.execution import string_functions as strings
from tidelog.engine.local.execution.column_branches import Code, choice, lazy
from tidelog.engine.local.execution.columns import (
    Column,
    Frame,
    Key,
    NeedsPythonError,
    Places,
    StructColumn,
    as_struct,
    as_text,
    merge,
)
from tidelog.engine.local.execution.equal_columns import equal_columns
from tidelog.engine.local.execution.word_columns import arithmetic, compared, ordered, wrapped
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.types import BitType, BoolType, NamedType, SignedType, StringType, TupleType, Type, is_word
from tidelog.values.definitions import substitute

_DEEPEST_INLINED = 12
_MOST_NODES = 2_000


class NotColumnsError(Exception):
    """Says that an expression has a part that is evaluated in Python; the message names the part."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a rule or of an inlined function, and the types of its type variables."""

    names: dict[str, Key] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)


class ColumnCompiler:
    """Compiles the expressions of one step."""

    def __init__(self, functions: CompiledFunctions) -> None:
        self._functions = functions
        self._definitions = functions.definitions
        self._keys = count()
        self._inlined: list[str] = []
        self._nodes = 0

    def compile(self, expression: typed.Expression) -> Code:
        """Returns the function of the rule's variables; raises NotColumnsError."""
        self._functions.require_for(expression)
        if self._functions.has_side_effects(expression):
            raise NotColumnsError("a function with side effects")
        names: dict[str, Key] = {name: name for name in typed.variables(expression)}
        return self._code(expression, Scope(names))

    def split_call(self, expression: typed.Expression) -> tuple[Code, Code] | None:
        """Returns the text and the separator of a call of `split`; None for any other expression."""
        if not isinstance(expression, typed.Call):
            return None
        callees = self._functions.callees
        id_, _ = callees.resolve(expression.function, expression.type_arguments)
        called = callees.function(id_)
        if called.name != strings.SPLIT or not strings.is_of_library(called.name, callees.extern(called)):
            return None
        text, separator = (self.compile(argument) for argument in expression.arguments)
        return text, separator

    # Expressions

    def _code(self, node: typed.Expression, scope: Scope) -> Code:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise NotColumnsError("an expression of many parts")
        match node:
            case typed.Var(name):
                return _variable(scope.names[name])
            case typed.Lit(value, type=type_):
                return self._literal(value, type_)
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self._code(operand, scope)
            case typed.Unary(op, operand):
                return self._unary(op, self._code(operand, scope), self._type(node, scope))
            case typed.Binary():
                return self._binary(node, scope)
            case typed.Cast(operand):
                return self._cast(node, operand, scope)
            case typed.ToString(operand):
                return self._text(self._code(operand, scope), self._type(operand, scope))
            case typed.IfElse(condition, then, otherwise):
                codes = self._code(condition, scope), self._code(then, scope), self._code(otherwise, scope)
                return choice(*codes, self._type(node, scope))
            case typed.Match():
                return self._match(node, scope)
            case typed.Block(expressions):
                return self._block(expressions, scope)
            case typed.MakeTuple(items):
                return _construct(0, 1, [self._code(item, scope) for item in items])
            case typed.Construct(constructor, arguments):
                type_name, index = self._definitions.constructor(constructor)
                of = len(self._definitions.constructors_of(type_name))
                return _construct(index, of, [self._code(argument, scope) for argument in arguments])
            case typed.TupleItem(operand, index):
                return self._item(self._code(operand, scope), self._type(operand, scope), index)
            case typed.Field(operand, name):
                return self._field(self._code(operand, scope), self._type(operand, scope), name)
            case typed.Call(function, type_arguments, arguments):
                return self._call(function, type_arguments, arguments, scope)
            case _:
                raise NotColumnsError(_described(node))

    def _type(self, node: typed.Expression, scope: Scope) -> Type:
        return bare_type(substitute(node.type, scope.types) if scope.types else node.type)

    def _literal(self, value: typed.Value, type_: Type) -> Code:
        if isinstance(value, str):
            encoded = value.encode("utf-8", "surrogatepass")
            data, length = np.frombuffer(encoded or b"\0", np.uint8), len(encoded)
            return lambda frame: strings.constant_bytes(data, length, frame.count)
        if isinstance(value, bool):
            return lambda frame: np.full(frame.count, value, np.bool_)
        if isinstance(value, int) and is_word(type_):
            word = value - (1 << 64) if value >= 1 << 63 else value
            return lambda frame: np.full(frame.count, word, np.int64)
        raise NotColumnsError(f"a literal of type {type_}")

    def _unary(self, op: str, operand: Code, type_: Type) -> Code:
        if op == "not":
            return lambda frame: ~operand(frame)
        _require_word(type_)
        if op == "-":
            return lambda frame: wrapped(-operand(frame), type_)
        return lambda frame: wrapped(~operand(frame), type_)

    def _cast(self, node: typed.Cast, operand: typed.Expression, scope: Scope) -> Code:
        source, target = self._type(operand, scope), self._type(node, scope)
        _require_word(source)
        _require_word(target)
        code = self._code(operand, scope)
        return lambda frame: wrapped(code(frame), target)

    def _text(self, operand: Code, type_: Type) -> Code:
        if not isinstance(type_, StringType | BoolType):
            _require_word(type_)

        def run(frame: Frame) -> Column:
            return strings.text_of(operand(frame), type_, frame.values)

        return run

    def _binary(self, node: typed.Binary, scope: Scope) -> Code:
        op, type_, sides = node.op, self._type(node, scope), self._type(node.left, scope)
        if op == "++" and isinstance(type_, StringType):
            return self._concatenation(node, scope)
        left, right = self._code(node.left, scope), self._code(node.right, scope)
        if op in ("and", "or", "=>"):
            return lazy(op, left, right)
        if op in ("==", "!="):
            return lambda frame: equal_columns(left(frame), right(frame), sides, frame.values) ^ (op == "!=")
        if op in ("<", "<=", ">", ">="):
            return _order(op, left, right, sides)
        _require_word(type_)
        _require_word(sides)
        if op == "++":
            right_type = self._type(node.right, scope)
            assert isinstance(right_type, BitType)
            width = right_type.width
            return lambda frame: (left(frame) << width) | right(frame)
        return lambda frame: arithmetic(op, left(frame), right(frame), type_)

    def _concatenation(self, node: typed.Expression, scope: Scope) -> Code:
        parts: list[Code] = []
        pending = [node]
        while pending:
            each = pending.pop()
            if isinstance(each, typed.Binary) and each.op == "++":
                pending += (each.right, each.left)
            else:
                parts.append(self._code(each, scope))
        return lambda frame: strings.concatenated([as_text(part(frame), frame.values) for part in parts])

    # Structs and tuples

    def _item(self, operand: Code, type_: Type, index: int) -> Code:
        if not isinstance(type_, TupleType):
            raise NotColumnsError(f"an item of a {type_}")

        def run(frame: Frame) -> Column:
            fields = as_struct(operand(frame), type_, frame.values).fields[0]
            assert fields is not None
            return fields[index]

        return run

    def _field(self, operand: Code, type_: Type, name: str) -> Code:
        if not isinstance(type_, NamedType) or self._definitions.extern(type_) is not None:
            raise NotColumnsError(f"a field of a {type_}")
        places = [
            next((place for place, (own, _) in enumerate(variant.fields) if own == name), None)
            for variant in self._definitions.variants(type_)
        ]

        def run(frame: Frame) -> Column:
            struct = as_struct(operand(frame), type_, frame.values)
            parts: list[tuple[Places, Column]] = []
            for number, place in enumerate(places):
                own = struct.fields[number]
                if own is None or place is None:
                    continue
                rows = np.flatnonzero(struct.tags == number)
                if len(rows) == frame.count:
                    return own[place]
                if len(rows):
                    parts.append((rows, _taken(own[place], rows)))
            if sum(len(rows) for rows, _ in parts) < frame.count:
                raise NeedsPythonError
            return merge(frame.count, parts, frame.values)

        return run

    # Control

    def _block(self, expressions: Sequence[typed.Expression], scope: Scope) -> Code:
        steps: list[Callable[[Frame], object]] = []
        for node in expressions[:-1]:
            if not isinstance(node, typed.Declare):
                raise NotColumnsError(_described(node))
            value = self._code(node.value, scope)
            bind = self._binding(node.pattern, scope)
            steps.append(_declaring(value, bind))
        last = self._code(expressions[-1], scope)

        def run(frame: Frame) -> Column:
            for step in steps:
                step(frame)
            return last(frame)

        return run

    def _match(self, node: typed.Match, scope: Scope) -> Code:
        subject, type_ = self._code(node.subject, scope), self._type(node, scope)
        arms = []
        for arm in node.arms:
            test = self.test(arm.pattern, scope)
            bind = self._binding(arm.pattern, scope)
            arms.append((test, bind, self._code(arm.body, scope)))

        def run(frame: Frame) -> Column:
            matched = subject(frame)
            rest: Places = np.arange(frame.count)
            parts: list[tuple[Places, Column]] = []
            for number, (test, bind, body) in enumerate(arms):
                own = frame if len(rest) == frame.count else frame.some(rest)
                fits = None if number == len(arms) - 1 else test(own, _taken(matched, rest))
                places = rest if fits is None else rest[fits]
                if fits is not None:
                    rest = rest[~fits]
                if not len(places):
                    continue
                inner = frame.some(places)
                bind(inner, _taken(matched, places))
                parts.append((places, body(inner)))
                if fits is None or not len(rest):
                    break
            return merge(frame.count, parts, frame.values, type_)

        return run

    # Patterns

    def test(self, pattern: typed.Pattern, scope: Scope) -> Callable[[Frame, Column], np.ndarray | None]:
        """Returns the function that says which values fit a pattern; None for all."""
        match pattern:
            case typed.AnyPattern() | typed.BindPattern():
                return lambda frame, column: None
            case typed.AsPattern(_, inner):
                return self.test(inner, scope)
            case typed.LiteralPattern(value, type=type_):
                own = bare_type(type_)
                literal = self._literal(value, own)
                return lambda frame, column: equal_columns(column, literal(frame), own, frame.values)
            case typed.EqualPattern(expression):
                code, same = self._code(expression, scope), self._type(expression, scope)
                return lambda frame, column: equal_columns(column, code(frame), same, frame.values)
            case typed.TuplePattern(items, type=type_):
                return self._test_fields(0, 1, items, bare_type(substitute(type_, scope.types)), scope)
            case typed.ConstructPattern(constructor, fields, type=type_):
                type_name, index = self._definitions.constructor(constructor)
                of = len(self._definitions.constructors_of(type_name))
                return self._test_fields(index, of, fields, bare_type(substitute(type_, scope.types)), scope)

    def _test_fields(
        self, index: int, of: int, fields: Sequence[typed.Pattern], type_: Type, scope: Scope
    ) -> Callable[[Frame, Column], np.ndarray | None]:
        tests = [self.test(each, scope) for each in fields]
        trivial = [isinstance(each, typed.AnyPattern | typed.BindPattern) for each in fields]

        def run(frame: Frame, column: Column) -> np.ndarray | None:
            struct = as_struct(column, type_, frame.values)
            fits = struct.tags == index if of > 1 else np.ones(frame.count, dtype=np.bool_)
            own = struct.fields[index]
            for place, test in enumerate(tests):
                if trivial[place] or own is None:
                    continue
                rows = np.flatnonzero(fits)
                if not len(rows):
                    break
                inner = frame if len(rows) == frame.count else frame.some(rows)
                found = test(inner, _taken(own[place], rows))
                if found is not None:
                    fits[rows[~found]] = False
            return fits

        return run

    def _binding(self, pattern: typed.Pattern, scope: Scope) -> Callable[[Frame, Column], None]:
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
            case typed.TuplePattern(items, type=type_):
                return self._binding_fields(0, items, bare_type(substitute(type_, scope.types)), scope)
            case typed.ConstructPattern(constructor, fields, type=type_):
                _, index = self._definitions.constructor(constructor)
                return self._binding_fields(index, fields, bare_type(substitute(type_, scope.types)), scope)
            case _:
                return lambda frame, column: None

    def _binding_fields(
        self, index: int, fields: Sequence[typed.Pattern], type_: Type, scope: Scope
    ) -> Callable[[Frame, Column], None]:
        bound = [(place, self._binding(each, scope)) for place, each in enumerate(fields) if typed.bindings(each)]

        def run(frame: Frame, column: Column) -> None:
            if not bound:
                return
            own = as_struct(column, type_, frame.values).fields[index]
            assert own is not None
            for place, bind in bound:
                bind(frame, own[place])

        return run

    def unfold(
        self, pattern: typed.Pattern, expression: typed.Expression
    ) -> Callable[[Frame], tuple[Places | None, list[Column]]]:
        """Returns the function from a frame to the rows whose value fits the pattern (None: all), and the columns of
        the pattern's variables in those rows."""
        code = self.compile(expression)
        scope = Scope({name: name for each in _expressions(pattern) for name in typed.variables(each)})
        test, bind = self.test(pattern, scope), self._binding(pattern, scope)
        keys = [scope.names[each.name] for each in typed.bindings(pattern)]

        def run(frame: Frame) -> tuple[Places | None, list[Column]]:
            column = code(frame)
            fits = test(frame, column)
            places: Places | None = None
            if fits is not None and not fits.all():
                places = np.flatnonzero(fits)
                frame, column = frame.some(places), _taken(column, places)
            if not frame.count:
                raise NeedsPythonError  # there is no value to take apart; Python says so, quickly
            bind(frame, column)
            return places, [frame.get(key) for key in keys]

        return run

    # Functions

    def _call(
        self, function: str, type_arguments: tuple[Type, ...], arguments: Sequence[typed.Expression], scope: Scope
    ) -> Code:
        callees = self._functions.callees
        given = tuple(substitute(each, scope.types) for each in type_arguments)
        id_, given = callees.resolve(function, given)
        if callees.is_identity(id_):
            return self._code(arguments[0], scope)
        called = callees.function(id_)
        if called.is_extern:
            return self._extern(id_, given, arguments, scope)
        if id_ in self._inlined or len(self._inlined) >= _DEEPEST_INLINED:
            raise NotColumnsError(f"the recursive function `{called.name}`")
        if callees.mutable_places(id_):
            raise NotColumnsError(f"the function `{called.name}`, which changes its arguments")
        codes = [self._code(argument, scope) for argument in arguments]
        inner = Scope({}, dict(zip(called.type_parameters, given)))
        keys = []
        for parameter in called.parameters:
            key = inner.names[parameter.name] = next(self._keys)
            keys.append(key)
        assert called.body is not None
        self._inlined.append(id_)
        body = self._code(called.body, inner)
        self._inlined.pop()

        def run(frame: Frame) -> Column:
            for key, code in zip(keys, codes):
                frame.bind(key, code(frame))
            return body(frame)

        return run

    def _extern(
        self, id_: str, type_arguments: tuple[Type, ...], arguments: Sequence[typed.Expression], scope: Scope
    ) -> Code:
        callees = self._functions.callees
        called = callees.function(id_)
        python = callees.extern(called)
        codes = [self._code(argument, scope) for argument in arguments]
        if called.name == strings.TO_STRING and strings.is_of_library(called.name, python):
            return self._text(codes[0], bare_type(type_arguments[0]))
        known = strings.column_function(called.name, python)
        if known is None:
            raise NotColumnsError(f"the function `{called.name}`")
        return lambda frame: known(frame.values, [code(frame) for code in codes])


def _variable(key: Key) -> Code:
    return lambda frame: frame.get(key)


def _taken(column: Column, places: Places) -> Column:
    return column[places] if isinstance(column, np.ndarray) else column.take(places)


def _declaring(value: Code, bind: Callable[[Frame, Column], None]) -> Callable[[Frame], object]:
    return lambda frame: bind(frame, value(frame))


def _construct(index: int, of: int, codes: Sequence[Code]) -> Code:
    def run(frame: Frame) -> Column:
        fields: list[tuple[Column, ...] | None] = [None] * of
        fields[index] = tuple(code(frame) for code in codes)
        return StructColumn(np.full(frame.count, index, np.int64), tuple(fields))

    return run


def _order(op: str, left: Code, right: Code, type_: Type) -> Code:
    if isinstance(type_, StringType):

        def run(frame: Frame) -> Column:
            sides = as_text(left(frame), frame.values), as_text(right(frame), frame.values)
            return compared(op, strings.compare(*sides, equal=False), np.zeros(frame.count, dtype=np.int64))

        return run
    if not isinstance(type_, BoolType):
        _require_word(type_)
    return lambda frame: compared(op, ordered(left(frame), type_), ordered(right(frame), type_))


def _require_word(type_: Type) -> None:
    if not (isinstance(type_, BitType | SignedType) and type_.width <= 64):
        raise NotColumnsError(f"an operation on {type_}")


def _expressions(pattern: typed.Pattern) -> list[typed.Expression]:
    return [each.expression for each in typed.subpatterns(pattern) if isinstance(each, typed.EqualPattern)]


def _described(node: typed.Expression) -> str:
    return _NAMES.get(type(node), "an expression")


_NAMES: dict[type, str] = {
    typed.MakeVec: "a vector",
    typed.MakeMap: "a map",
    typed.Closure: "a closure",
    typed.FunctionValue: "a function as a value",
    typed.CallValue: "a call of a function value",
    typed.For: "a loop",
    typed.SetPlace: "an assignment",
    typed.Return: "`return`",
    typed.Try: "`?`",
}
