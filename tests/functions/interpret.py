"""What typed functions mean: a direct interpreter that walks the tree, and shares nothing with the compiler.

Variables live in a dictionary; leaving is an exception; a place is set by taking the value apart and putting it
together again. It knows the few operators that `bodies.py` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.functions.program import TYPES
from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.types import BitType, FunctionType, StringType
from tidelog.values import Map, Vec

Scope = dict[str, Any]


class _BreakSignal(Exception):  # noqa: N818 (it never leaves the interpreter)
    pass


class _ContinueSignal(Exception):  # noqa: N818 (it never leaves the interpreter)
    pass


class _ReturnSignal(Exception):  # noqa: N818 (it never leaves the interpreter)
    def __init__(self, value: Any) -> None:
        self.value = value


class Made(tuple[Any, ...]):
    """A struct value: the constructor's number in its type, its name, then its fields."""


class Applied:
    """A closure and the scope that it was made in."""

    def __init__(self, node: typed.Closure, scope: Scope) -> None:
        self.node = node
        self.scope = dict(scope)


class Interpreter:
    def __init__(self, functions: Mapping[str, Function], budget: int = 20_000) -> None:
        self._functions = functions
        self._budget = budget

    def call(self, id_: str, arguments: list[Any]) -> tuple[Any, list[Any]]:
        """The result, and the new values of `mut` parameters."""
        if id_ == "push":
            return (), [Vec([*arguments[0], arguments[1]])]
        if id_ == "len":
            return len(arguments[0]), []
        function = self._functions[id_]
        assert function.body is not None
        scope = {parameter.name: value for parameter, value in zip(function.parameters, arguments)}
        value = self._leaving(function.body, scope)
        return value, [scope[parameter.name] for parameter in function.parameters if parameter.mutable]

    def _leaving(self, body: typed.Expression, scope: Scope) -> Any:
        try:
            return self.value(body, scope)
        except _ReturnSignal as left:
            return left.value

    def value(self, node: typed.Expression, scope: Scope) -> Any:
        self._budget -= 1
        if self._budget < 0:
            raise TimeoutError
        match node:
            case typed.Var(name):
                return scope[name]
            case typed.Lit(value):
                return value
            case typed.MakeTuple(items):
                return tuple([self.value(item, scope) for item in items])
            case typed.MakeVec(items):
                return Vec([self.value(item, scope) for item in items])
            case typed.MakeMap(entries):
                return Map([(self.value(key, scope), self.value(value, scope)) for key, value in entries])
            case typed.Construct(constructor, arguments):
                return Made((*_constructor(constructor), *(self.value(each, scope) for each in arguments)))
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self.value(operand, scope)
            case typed.Field(operand, name):
                return _part(self.value(operand, scope), name)
            case typed.TupleItem(operand, index):
                return _part(self.value(operand, scope), index)
            case typed.ToString(operand):
                return str(self.value(operand, scope))
            case typed.Unary("not", operand):
                return not self.value(operand, scope)
            case typed.Binary(op, left, right):
                return self._binary(op, left, right, node, scope)
            case typed.IfElse(condition, then, otherwise):
                return self.value(then if self.value(condition, scope) else otherwise, scope)
            case typed.Match(subject, arms):
                value = self.value(subject, scope)
                arm = next(arm for arm in arms if _fit(arm.pattern, value, scope))
                return self.value(arm.body, scope)
            case typed.Block(expressions):
                values = [self.value(each, scope) for each in expressions]
                return values[-1]
            case typed.Declare(pattern, value):
                assert _fit(pattern, self.value(value, scope), scope)
                return ()
            case typed.SetPlace(place, value):
                _set(place, self.value(value, scope), scope)
                return ()
            case typed.For(pattern, iterable, body):
                self._loop(pattern, self.value(iterable, scope), body, scope)
                return ()
            case typed.Break():
                raise _BreakSignal
            case typed.Continue():
                raise _ContinueSignal
            case typed.Return(value):
                raise _ReturnSignal(self.value(value, scope))
            case typed.Try(operand):
                value = self.value(operand, scope)
                if value[1] in ("ddlog_std::None", "ddlog_std::Err"):
                    raise _ReturnSignal(value)
                return value[2]
            case typed.Closure():
                return Applied(node, scope)
            case typed.Call(function, _, arguments):
                values = [self.value(each, scope) for each in arguments]
                result, changed = self.call(function, values)
                mutable = [0] if function == "push" else _mutable(self._functions.get(function))
                self._put_back([arguments[place] for place in mutable], changed, scope)
                return result
            case typed.CallValue(function, arguments):
                return self._apply(self.value(function, scope), function.type, arguments, scope)
        raise AssertionError(node)

    def _binary(
        self, op: str, left: typed.Expression, right: typed.Expression, node: typed.Binary, scope: Scope
    ) -> Any:
        first = self.value(left, scope)
        if (op == "and" and not first) or (op == "or" and first):
            return first
        if op == "=>" and not first:
            return True
        second = self.value(right, scope)
        match op:
            case "and" | "or" | "=>":
                return second
            case "==":
                return first == second
            case "<":
                return first < second
            case "++" if isinstance(node.type, StringType):
                return first + second
        assert isinstance(node.type, BitType)
        if op == "/":
            return first // second
        return {"+": first + second, "-": first - second, "*": first * second}[op] % 2**node.type.width

    def _loop(self, pattern: typed.Pattern, values: Any, body: typed.Expression, scope: Scope) -> None:
        for value in values:
            assert _fit(pattern, value, scope)
            try:
                self.value(body, scope)
            except _BreakSignal:
                break
            except _ContinueSignal:
                continue

    def _apply(self, function: Applied, type_: Any, arguments: tuple[typed.Expression, ...], scope: Scope) -> Any:
        assert isinstance(type_, FunctionType)
        values = [self.value(each, scope) for each in arguments]
        parameters = function.node.parameters
        inner = {**function.scope, **{parameter.name: value for parameter, value in zip(parameters, values)}}
        result = self._leaving(function.node.body, inner)
        places = [index for index, parameter in enumerate(parameters) if parameter.mutable]
        self._put_back([arguments[index] for index in places], [inner[parameters[i].name] for i in places], scope)
        return result

    def _put_back(self, arguments: list[typed.Expression], values: list[Any], scope: Scope) -> None:
        for argument, value in zip(arguments, values):
            place = typed.place(argument)
            assert place is not None
            _set(place, value, scope)


def _mutable(function: Function | None) -> list[int]:
    return [index for index, each in enumerate(function.parameters) if each.mutable] if function else []


def _constructor(name: str) -> tuple[int, str]:
    for definition in TYPES.values():
        for index, constructor in enumerate(definition.constructors or ()):
            if constructor.name == name:
                return index, name
    raise AssertionError(name)


def _position(value: Any, step: str | int) -> int:
    if isinstance(step, int):
        return step
    constructors = (each for definition in TYPES.values() for each in definition.constructors or ())
    fields = next(each.fields for each in constructors if each.name == value[1])
    return 2 + [field.name for field in fields].index(step)


def _part(value: Any, step: str | int) -> Any:
    return value[_position(value, step)]


def _set(place: typed.Place, value: Any, scope: Scope) -> None:
    name = place.variable.name
    scope[name] = _with(scope[name], place.steps, value) if place.steps else value


def _with(whole: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    if not steps:
        return value
    at = _position(whole, steps[0])
    items = list(whole)
    items[at] = _with(items[at], steps[1:], value)
    return type(whole)(items)


def _fit(pattern: typed.Pattern, value: Any, scope: Scope) -> bool:
    match pattern:
        case typed.AnyPattern():
            return True
        case typed.BindPattern(name):
            scope[name] = value
            return True
        case typed.LiteralPattern(wanted):
            return bool(value == wanted)
        case typed.TuplePattern(items):
            return all(_fit(item, part, scope) for item, part in zip(items, value))
        case typed.ConstructPattern(constructor, fields):
            return value[1] == constructor and all(_fit(each, part, scope) for each, part in zip(fields, value[2:]))
        case typed.AsPattern(name, inner):
            scope[name] = value
            return _fit(inner, value, scope)
    raise AssertionError(pattern)
