"""A small program's types and functions, and short ways to write typed trees by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from tidelog.check import program, typed
from tidelog.diagnostics.spans import Source, Span
from tidelog.functions.compile_functions import CompiledFunctions, compile_functions
from tidelog.functions.scalar import compile_scalar
from tidelog.types import BOOL, STRING, U8, U64, UNIT, FunctionType, NamedType, TupleType, Type, TypeVariable
from tidelog.values import Definitions

SOURCE = Source("program.dl", "")
SPAN = Span(SOURCE, 0, 0)
A, B = TypeVariable("A"), TypeVariable("B")


def union(
    name: str, parameters: tuple[str, ...], **constructors: tuple[tuple[str, Type], ...]
) -> program.TypeDefinition:
    module = name.rpartition("::")[0]
    return program.TypeDefinition(
        name,
        parameters,
        tuple(
            program.Constructor(
                f"{module}::{each}" if module else each, tuple(program.Field(field, type_) for field, type_ in fields)
            )
            for each, fields in constructors.items()
        ),
        (),
        SPAN,
    )


def option(type_: Type) -> NamedType:
    return NamedType("ddlog_std::Option", (type_,))


def result(type_: Type, error: Type) -> NamedType:
    return NamedType("ddlog_std::Result", (type_, error))


def vec(type_: Type) -> NamedType:
    return NamedType("ddlog_std::Vec", (type_,))


def set_of(type_: Type) -> NamedType:
    return NamedType("ddlog_std::Set", (type_,))


def map_of(key: Type, value: Type) -> NamedType:
    return NamedType("ddlog_std::Map", (key, value))


POINT, SHAPE = NamedType("Point"), NamedType("Shape")
LINE = NamedType("Line")


def chain(type_: Type) -> NamedType:
    return NamedType("Chain", (type_,))


def extern_type(name: str, *parameters: str) -> program.TypeDefinition:
    return program.TypeDefinition(name, parameters, None, (), SPAN)


TYPES = {
    each.name: each
    for each in (
        union("ddlog_std::Option", ("A",), **{"None": (), "Some": (("x", A),)}),
        union("ddlog_std::Result", ("V", "E"), Ok=(("res", TypeVariable("V")),), Err=(("err", TypeVariable("E")),)),
        extern_type("ddlog_std::Vec", "A"),
        extern_type("ddlog_std::Set", "A"),
        extern_type("ddlog_std::Map", "K", "V"),
        extern_type("ddlog_std::Group", "K", "V"),
        extern_type("ddlog_std::Ref", "A"),
        extern_type("internment::Intern", "A"),
        union("Point", (), Point=(("x", U8), ("y", U8))),
        union("Line", (), Line=(("from", POINT), ("to", POINT), ("names", vec(STRING)))),
        union("Shape", (), Dot=(("at", POINT),), Circle=(("radius", U8), ("at", POINT)), Nowhere=(("at", POINT),)),
        union("Chain", ("A",), End=(), Link=(("head", A), ("tail", NamedType("ddlog_std::Ref", (chain(A),))))),
        union("Nothing", (), Nothing=()),
    )
}


def definitions() -> Definitions:
    return Definitions(TYPES)


def var(name: str, type_: Type = U64) -> typed.Var:
    return typed.Var(name, type=type_, span=SPAN)


def lit(value: typed.Value, type_: Type = U64) -> typed.Lit:
    return typed.Lit(value, type=type_, span=SPAN)


def op(op: str, left: typed.Expression, right: typed.Expression, type_: Type | None = None) -> typed.Binary:
    comparison = op in ("==", "!=", "<", "<=", ">", ">=")
    return typed.Binary(op, left, right, type=BOOL if comparison else type_ or left.type, span=SPAN)


def text(operand: typed.Expression) -> typed.Expression:
    return operand if operand.type == STRING else typed.ToString(operand, type=STRING, span=SPAN)


def block(*expressions: typed.Expression) -> typed.Block:
    return typed.Block(expressions, type=expressions[-1].type, span=SPAN)


def unit() -> typed.MakeTuple:
    return typed.MakeTuple((), type=UNIT, span=SPAN)


def pair(*items: typed.Expression) -> typed.MakeTuple:
    return typed.MakeTuple(items, type=TupleType(tuple(item.type for item in items)), span=SPAN)


def new(constructor: str, type_: Type, *arguments: typed.Expression) -> typed.Construct:
    return typed.Construct(constructor, arguments, type=type_, span=SPAN)


def some(value: typed.Expression) -> typed.Construct:
    return new("ddlog_std::Some", option(value.type), value)


def none(type_: Type) -> typed.Construct:
    return new("ddlog_std::None", option(type_))


def items(*values: typed.Expression) -> typed.MakeVec:
    return typed.MakeVec(values, type=vec(values[0].type), span=SPAN)


def declare(name: str, value: typed.Expression) -> typed.Declare:
    return typed.Declare(bind(name, value.type), value, type=UNIT, span=SPAN)


def bind(name: str, type_: Type = U64) -> typed.BindPattern:
    return typed.BindPattern(name, type=type_, span=SPAN)


def anything(type_: Type = U64) -> typed.AnyPattern:
    return typed.AnyPattern(type=type_, span=SPAN)


def exactly(value: typed.Value, type_: Type = U64) -> typed.LiteralPattern:
    return typed.LiteralPattern(value, type=type_, span=SPAN)


def tuple_of(*patterns: typed.Pattern) -> typed.TuplePattern:
    return typed.TuplePattern(patterns, type=TupleType(tuple(each.type for each in patterns)), span=SPAN)


def made_by(constructor: str, type_: Type, *fields: typed.Pattern) -> typed.ConstructPattern:
    return typed.ConstructPattern(constructor, fields, type=type_, span=SPAN)


def put(variable: typed.Var, value: typed.Expression, *steps: str | int) -> typed.SetPlace:
    return typed.SetPlace(typed.Place(variable, steps), value, type=UNIT, span=SPAN)


def if_(condition: typed.Expression, then: typed.Expression, otherwise: typed.Expression | None = None) -> typed.IfElse:
    return typed.IfElse(condition, then, otherwise or unit(), type=then.type, span=SPAN)


def for_(pattern: typed.Pattern, iterable: typed.Expression, body: typed.Expression) -> typed.For:
    return typed.For(pattern, iterable, body, type=UNIT, span=SPAN)


def match(subject: typed.Expression, *arms: tuple[typed.Pattern, typed.Expression]) -> typed.Match:
    return typed.Match(subject, tuple(typed.Arm(*arm) for arm in arms), type=arms[0][1].type, span=SPAN)


def return_(value: typed.Expression, type_: Type = U64) -> typed.Return:
    return typed.Return(value, type=type_, span=SPAN)


def break_() -> typed.Break:
    return typed.Break(type=UNIT, span=SPAN)


def continue_() -> typed.Continue:
    return typed.Continue(type=UNIT, span=SPAN)


def field(operand: typed.Expression, name: str, type_: Type) -> typed.Field:
    return typed.Field(operand, name, type=type_, span=SPAN)


def item(operand: typed.Expression, index: int) -> typed.TupleItem:
    assert isinstance(operand.type, TupleType)
    return typed.TupleItem(operand, index, type=operand.type.items[index], span=SPAN)


def call(id_: str, *arguments: typed.Expression, type_: Type = U64, types: tuple[Type, ...] = ()) -> typed.Call:
    return typed.Call(id_, types, arguments, type=type_, span=SPAN)


def call_value(function: typed.Expression, *arguments: typed.Expression) -> typed.CallValue:
    assert isinstance(function.type, FunctionType)
    return typed.CallValue(function, arguments, type=function.type.result, span=SPAN)


_places = count(1)


def closure(
    parameters: Mapping[str, Type],
    body: typed.Expression,
    captured: tuple[typed.Var, ...] = (),
    mutable: tuple[str, ...] = (),
    result: Type | None = None,
) -> typed.Closure:
    start = next(_places)
    return typed.Closure(
        tuple(typed.ClosureParameter(name, type_, name in mutable) for name, type_ in parameters.items()),
        body,
        captured,
        type=FunctionType(tuple((type_, name in mutable) for name, type_ in parameters.items()), result or body.type),
        span=Span(SOURCE, start, start + 1),
    )


def function(
    name: str,
    parameters: Mapping[str, Type],
    body: typed.Expression | None,
    result: Type | None = None,
    mutable: tuple[str, ...] = (),
    types: tuple[str, ...] = (),
    attributes: tuple[str, ...] = (),
) -> program.Function:
    """A function; an extern one if it has no body."""
    return program.Function(
        name,
        name,
        types,
        tuple(program.Parameter(each, type_, each in mutable) for each, type_ in parameters.items()),
        result or (body.type if body is not None else UNIT),
        body,
        tuple(program.Attribute(each, None, SPAN) for each in attributes),
        SPAN,
    )


def _push(vec: Any, item: Any) -> tuple[tuple[()], Any]:
    return (), vec.push(item)


PUSH = function("push", {"v": vec(A), "x": A}, None, UNIT, mutable=("v",), types=("A",))
LEN = function("len", {"v": vec(A)}, None, U64, types=("A",))
EXTERNS: dict[str, Callable[..., Any]] = {"push": _push, "len": len}


def compiled(
    *functions: program.Function, externs: Mapping[str, Callable[..., Any]] | None = None
) -> CompiledFunctions:
    """The functions, beside `push` and `len` of vectors."""
    table = {each.id: each for each in (PUSH, LEN, *functions)}
    return compile_functions(table, definitions(), {**EXTERNS, **(externs or {})})


def run(expression: typed.Expression, *functions: program.Function, **arguments: Any) -> Any:
    """The value of an expression, with variables for its arguments."""
    return compile_scalar(expression, tuple(arguments), compiled(*functions)).call(*arguments.values())


def run_function(body: typed.Expression, result: Type, **arguments: tuple[Any, Type]) -> Any:
    """What a function with this body returns."""
    function_ = function("f", {name: type_ for name, (_, type_) in arguments.items()}, body, result)
    return compiled(function_).function("f")(*(value for value, _ in arguments.values()))
