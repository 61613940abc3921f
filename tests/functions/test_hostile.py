"""Nothing that a program says reaches Python: names, texts, fields and functions can be anything at all."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import HealthCheck, given, settings

from tests.functions.bodies import HELPER, functions
from tests.functions.program import (
    anything,
    bind,
    block,
    call,
    call_value,
    closure,
    compiled,
    declare,
    exactly,
    field,
    function,
    if_,
    items,
    lit,
    made_by,
    match,
    new,
    op,
    put,
    some,
    text,
    union,
    var,
)
from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.functions.compile_functions import compile_functions
from tidelog.functions.scalar import compile_scalar
from tidelog.functions.vocabulary import vocabulary
from tidelog.types import BIGINT, STRING, U64, NamedType
from tidelog.values import Definitions

EVIL = [
    "__import__",
    "__import__('os').system('true')",
    "x); raise SystemExit #",
    "'",
    '"',
    "\\",
    "'''",
    "\n    import os\n",
    "{0.__class__}",
    "{}",
    "%s",
    "${x}",
    "\0",
    "é\u2028",
    "def",
    "None",
    "scalar",
    "v0",
    "self",
    "__builtins__",
]
NAME = re.compile(r"(v|t|f|k|c|n|e|x|y|z|T|p)\d+|r0|s0|call|scalar|context|error")
ALLOWED = set(vocabulary(str)) - {"__builtins__"}


def check_source(source: str) -> None:
    """Only mangled names, the vocabulary, `call` of function values, and literals."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(name):
                assert NAME.fullmatch(name) or name in ALLOWED
            case ast.Attribute(attr=name):
                assert name == "call"
            case ast.FunctionDef(name=name) | ast.arg(arg=name):
                assert NAME.fullmatch(name)
            case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.Global() | ast.Lambda() | ast.JoinedStr():
                pytest.fail(ast.unparse(node))
            case _:
                pass


@pytest.mark.parametrize("evil", EVIL)
def test_names_and_texts_chosen_to_break_out(evil: str) -> None:
    type_ = NamedType(evil)
    definition = union(evil, (), **{evil: ((evil, STRING), (f"{evil}2", U64)), f"{evil}3": ((evil, STRING),)})
    x = var(evil, type_)
    inner = closure({f"{evil}p": STRING}, op("++", var(f"{evil}p", STRING), lit(evil, STRING)))
    body = block(
        put(x, lit(evil, STRING), evil),
        declare(f"{evil}0", field(x, evil, STRING)),
        match(
            x,
            (made_by(evil, type_, exactly(evil, STRING), bind(f"{evil}n")), text(var(f"{evil}n"))),
            (anything(type_), call_value(inner, var(f"{evil}0", STRING))),
        ),
    )
    outer = function(f"{evil}()", {evil: type_}, body)
    program = compile_functions({outer.id: outer}, Definitions({evil: definition}), {})
    made = program.definitions.class_of(evil)
    assert program.function(outer.id)(made("", 5)) == "5"
    assert program.function(outer.id)(program.definitions.class_of(f"{evil}3")("q")) == evil + evil
    check_source(program.source)
    scalar = compile_scalar(call(outer.id, new(evil, type_, lit(evil, STRING), lit(7)), type_=STRING), (), program)
    assert scalar.call() == "7"
    check_source(scalar.source)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_generated_code_consists_of_known_words(function: Function) -> None:
    program = compiled(HELPER, function)
    program.require(["f"])
    check_source(program.source)


def test_generated_code_has_no_builtins() -> None:
    program = compiled(function("f", {"x": U64}, some(items(var("x")))))
    assert program.function("f").__globals__["__builtins__"] == {}
    assert compile_scalar(call("f", lit(1)), (), program).call.__globals__["__builtins__"] == {}


def test_an_extern_function_is_only_what_was_given() -> None:
    evil = function("__import__", {"x": STRING}, None, U64)
    program = compiled(evil, externs={"__import__": len})
    assert compile_scalar(call("__import__", lit("os", STRING)), (), program).call() == 2


def test_large_numbers_are_no_trouble() -> None:
    number = 7**9000
    assert compile_scalar(lit(number, BIGINT), ()).call() == number
    assert compile_scalar(lit(-number, BIGINT), ()).call() == -number


def test_a_program_without_functions_needs_no_functions() -> None:
    body: typed.Expression = if_(op("<", var("x"), lit(3)), lit("a", STRING), lit("b", STRING))
    assert compile_scalar(body, ("x",)).call(2) == "a"
