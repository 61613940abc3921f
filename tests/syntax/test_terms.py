"""Operands and what stands behind them: calls, structs, collections, closures, control."""

from __future__ import annotations

import pytest

from tests.syntax.reading import NOWHERE, codes, expression, literal, name, of_kind, variable
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression


def test_scoped_names_are_functions_or_constructors_by_their_last_word() -> None:
    assert of_kind("net::f", ast.FunctionName).name == "net::f"
    assert of_kind("Net::a::f(x)", ast.Call).function == ast.FunctionName("Net::a::f", span=NOWHERE)
    struct = of_kind("net::C{}", ast.Struct)
    assert (struct.constructor.module, struct.constructor.last, struct.bare) == ("net", "C", False)
    assert of_kind("net :: C", ast.Struct).bare


def test_calls_methods_and_fields() -> None:
    call = of_kind("x.f(1).net::g(2)(3).h?.0.1", ast.TupleField)
    shown = []
    node: ast.Expression = call
    while not isinstance(node, ast.Variable):
        shown.append(type(node).__name__)
        (node, *_) = ast.children(node)
    assert shown == ["TupleField", "TupleField", "Try", "FieldAccess", "Call", "MethodCall", "MethodCall"]
    assert call.span.text == "x.f(1).net::g(2)(3).h?.0.1"
    assert call.operand.span.text == "x.f(1).net::g(2)(3).h?.0"


def test_a_method_is_the_name_before_the_parentheses() -> None:
    method = of_kind("x.group_by(k)", ast.MethodCall)
    assert (method.receiver, method.function, method.arguments) == (variable("x"), name("group_by"), (variable("k"),))
    stored = of_kind("(x.f)(k)", ast.Call)
    assert isinstance(stored.function, ast.FieldAccess)


def test_dots_may_stand_at_either_end_of_a_line() -> None:
    assert of_kind("x\n  .f()\n  .g()", ast.MethodCall) == of_kind("x.f().g()", ast.MethodCall)
    assert of_kind("(x.\n  f())", ast.MethodCall) == of_kind("x.f()", ast.MethodCall)


def test_structs_by_place_and_by_name() -> None:
    placed, named = of_kind("C{1, x,}", ast.Struct), of_kind("C{.a = 1, .b = x}", ast.Struct)
    assert [argument.name for argument in placed.arguments] == [None, None]
    assert [argument.name for argument in named.arguments] == [name("a"), name("b")]


def test_tuples_vectors_and_maps() -> None:
    assert of_kind("()", ast.Tuple).items == ()
    assert len(of_kind("(1, 2,)", ast.Tuple).items) == 2
    assert expression("(x)") == variable("x")
    assert len(of_kind("[1, 2,]", ast.Vector).items) == 2
    entries = of_kind('["a" -> 1, "b" -> 2,]', ast.MapLiteral).entries
    assert [show_expression(entry.key) for entry in entries] == ['"a"', '"b"']
    assert codes("R([]).") == ["E101@1"]
    assert codes("R([1 -> 2, 3]).") == ["E101@1"]


def test_closures_take_all_that_follows() -> None:
    closure = of_kind("|x, y: mut u8|: u8 x + y", ast.Closure)
    assert closure.bars
    assert [parameter.type is None for parameter in closure.parameters] == [True, False]
    assert isinstance(closure.body, ast.Binary)
    assert of_kind("|| 1", ast.Closure).parameters == ()
    written = of_kind("function(x: u8): u8 { x } + 1", ast.Binary).left
    assert isinstance(written, ast.Closure)
    assert not written.bars
    assert isinstance(written.body, ast.Block)


def test_bindings_and_references() -> None:
    binding = of_kind("b@Book{.author = a}", ast.Binding)
    assert binding.name == name("b")
    assert isinstance(binding.pattern, ast.Struct)
    assert isinstance(of_kind("&x.f", ast.Reference).operand, ast.FieldAccess)
    assert of_kind("a & b", ast.Binary).op == "&"


def test_blocks_keep_their_end() -> None:
    assert of_kind("{}", ast.Block) == ast.Block((), span=NOWHERE)
    assert of_kind("{x}", ast.Block) == ast.Block((variable("x"),), span=NOWHERE)
    assert of_kind("{x; y;}", ast.Block) == ast.Block((variable("x"), variable("y")), True, span=NOWHERE)
    assert codes("R({x;; y}).") == ["E101@1"]


def test_assignments_are_expressions_without_a_chain() -> None:
    assign = of_kind("var x: u8 = y + 1", ast.Assign)
    assert isinstance(assign.target, ast.Annotation)
    assert assign.target.operand == ast.VariableDeclaration(name("x"), span=NOWHERE)
    assert isinstance(of_kind("(var a, C{.f = var b}) = f(x)", ast.Assign).target, ast.Tuple)
    assert isinstance(of_kind("x.f.0 = y", ast.Assign).target, ast.TupleField)
    assert codes("R(x = y = z).") == ["E101@1"]


def test_the_branches_of_if_are_terms() -> None:
    assert of_kind("if (a) b", ast.Conditional).otherwise is None
    assert isinstance(of_kind("if (a) b else c.f()", ast.MethodCall).receiver, ast.Conditional)
    inner = of_kind("if (a) if (b) c else d", ast.Conditional)
    assert inner.otherwise is None
    assert isinstance(of_kind("if (a) return b + 1 else c", ast.Conditional).then, ast.Return)
    assert isinstance(of_kind("if a b else c", ast.Conditional).condition, ast.Variable)
    assert codes("R(if (a) -1 else 2).") == ["E101@1"]


def test_match_and_for_have_patterns() -> None:
    match = of_kind('match (x) { (a, var b) -> 1, C{.f = 3: u8} -> 2, net::D -> 3, "s" -> 4, _ -> 5, }', ast.Match)
    assert [type(arm.pattern) for arm in match.arms] == [ast.Tuple, ast.Struct, ast.Struct, ast.String, ast.Wildcard]
    loop = of_kind("for ((k, _) in m.f()) { g(k) } + 1", ast.Binary).left
    assert isinstance(loop, ast.For)
    assert isinstance(loop.pattern, ast.Tuple)
    assert isinstance(loop.body, ast.Block)


@pytest.mark.parametrize("pattern", ["-1", "a + 1", "f(x)", '"${x}"', "&x", "x@y", "[1]", ""])
def test_a_pattern_is_no_computation(pattern: str) -> None:
    assert codes(f"R(match (x) {{ {pattern} -> 1 }}).") == ["E101@1"]


def test_jumps() -> None:
    assert of_kind("{ break; continue; return }", ast.Block).expressions == (
        ast.Break(span=NOWHERE),
        ast.Continue(span=NOWHERE),
        ast.Return(None, span=NOWHERE),
    )
    assert isinstance(of_kind("f(return x = 1)", ast.Call).arguments[0], ast.Return)


@pytest.mark.parametrize(
    ("text", "value", "width"),
    [("1.5", 1.5, None), ("2e3", 2000.0, None), ("1.5E-2", 0.015, None), ("'f1.5", 1.5, None), ("32'f0.5", 0.5, 32)],
)
def test_floating_point_numbers(text: str, value: float, width: int | None) -> None:
    found = of_kind(text, ast.Float)
    assert (found.value, found.width, found.spelling) == (value, width, (text,))


def test_a_floating_point_number_may_end_a_rule() -> None:
    condition = literal("x == 64'f1.5")
    assert isinstance(condition, ast.Condition)
    assert show_expression(condition.expression) == "x == 64'f1.5"


def test_strings_keep_their_spelling_and_tabs_are_blanks() -> None:
    assert of_kind('"a\\x41" "b"', ast.String) == ast.String("aAb", span=NOWHERE)
    assert of_kind('"a\\x41" "b"', ast.String).spelling == ('"a\\x41"', '"b"')
    assert of_kind('"a\tb"', ast.String).value == "a b"
    assert of_kind("[|a\tb|]", ast.String).value == "a b"
    assert of_kind(r'"\ESC\^A\SOH\DEL"', ast.String).value == "\x1b\x01\x01\x7f"


@pytest.mark.parametrize("text", ['i"a"', "i[|a|]", 'i"a${x}"', "i$[|a${x}|]", 'i"a" "b"'])
def test_interned_strings(text: str) -> None:
    assert isinstance(of_kind(text, ast.Interned).text, ast.String | ast.Interpolation)
