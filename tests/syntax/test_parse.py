"""Text → tree: what the forms of the language mean."""

from __future__ import annotations

import pytest

from tests.syntax.reading import codes, expression, program, rule
from tidelog.syntax import ast
from tidelog.syntax.show import show, show_expression


def grouped(node: ast.Expression) -> str:
    """The expression with every pair of parentheses."""
    match node:
        case ast.Unary(op, operand):
            return f"({op} {grouped(operand)})"
        case ast.Binary(op, left, right):
            return f"({grouped(left)} {op} {grouped(right)})"
        case ast.Cast(operand, ast.NamedType(name)):
            return f"({grouped(operand)} as {name})"
        case ast.Annotation(operand, ast.NamedType(name)):
            return f"({grouped(operand)}: {name})"
        case ast.Slice(operand, high, low):
            return f"({grouped(operand)}[{high}:{low}])"
        case ast.Block((inner,)):
            return f"{{{grouped(inner)}}}"
        case ast.Conditional(condition, then, otherwise) if otherwise is not None:
            return f"(if {grouped(condition)} {grouped(then)} else {grouped(otherwise)})"
        case _:
            return show_expression(node)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a * b / c % d", "(((a * b) / c) % d)"),
        ("a + b << c - d", "((a + b) << (c - d))"),
        ("a ++ b << c", "(a ++ (b << c))"),
        ("a ++ b == c", "((a ++ b) == c)"),
        ("a & b == c", "(a & (b == c))"),
        ("a | b ^ c & d", "(a | (b ^ (c & d)))"),
        ("a < b and c > d or e", "(((a < b) and (c > d)) or e)"),
        ("a or b => c => d", "(((a or b) => c) => d)"),
        ("not a == b", "((not a) == b)"),
        ("-a * b", "((- a) * b)"),
        ("~-a", "(~ (- a))"),
        ("-a as u8", "(- (a as u8))"),
        ("a + b as u8", "(a + (b as u8))"),
        ("a as u8 as u16", "((a as u8) as u16)"),
        ("a: u8 + 1", "((a: u8) + 1)"),
        ("a as u8 < b", "((a as u8) < b)"),
        ("a[7:0] ++ b", "((a[7:0]) ++ b)"),
        ("a == b == c", "((a == b) == c)"),
        ("a != b == c", "((a != b) == c)"),
        ("if (a) b else c + d", "((if a b else c) + d)"),
        ("if (a) b else if (c) d else e", "(if a b else (if c d else e))"),
        ("if (a + b == c) { d + e } else { f }", "(if ((a + b) == c) {(d + e)} else {f})"),
        ("(a + b) * c", "((a + b) * c)"),
    ],
)
def test_operators_bind_as_in_the_reference(text: str, meaning: str) -> None:
    assert grouped(expression(text)) == meaning


@pytest.mark.parametrize(
    ("text", "value", "width", "signed"),
    [
        ("10", 10, None, False),
        ("1_000", 1000, None, False),
        ("'hff", 255, None, False),
        ("8'hff", 255, 8, False),
        ("8'sh7f", 127, 8, True),
        ("8'shff", -1, 8, True),
        ("8'sd128", -128, 8, True),
        ("8'b1010_1010", 170, 8, False),
        ("'o17", 15, None, False),
    ],
)
def test_integers_are_read_in_every_base(text: str, value: int, width: int | None, signed: bool) -> None:
    node = expression(text)
    assert isinstance(node, ast.Integer)
    assert (node.value, node.width, node.signed) == (value, width, signed)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"plain"', "plain"),
        (r'"\n\t\r\\\"\a\0\x41\u{e9}\65\o101"', '\n\t\r\\"\a\0Aé' + "AA"),
        (r'"a\&b"', "ab"),
        ('"one\\\n   \\two"', "onetwo"),
        ('"one" "two"', "onetwo"),
        (r"[|raw \n ${x}|]", r"raw \n ${x}"),
        ("$[|raw|]", "raw"),
        ('"a$b"', "a$b"),
        ('""', ""),
    ],
)
def test_strings_say_what_they_are(text: str, value: str) -> None:
    assert expression(text) == ast.String(value, span=expression(text).span)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('"a${x}b"', ["a", "x", "b"]),
        ('"${x}${y}"', ["x", "y"]),
        ('"${x + 1} of ${if (b) { 1 } else 2}"', ["x + 1", " of ", "if (b) { 1 } else 2"]),
        (r'"${f ++ \"}\"}"', ['f ++ "}"']),
        ("$[|a${x}|]", ["a", "x"]),
        ('"a" "${x}"', ["a", "x"]),
    ],
)
def test_interpolation_holds_texts_and_expressions(text: str, parts: list[str]) -> None:
    node = expression(text)
    assert isinstance(node, ast.Interpolation)
    assert [part if isinstance(part, str) else show_expression(part) for part in node.parts] == parts


def test_an_expression_inside_a_string_knows_its_place_in_the_source() -> None:
    node = expression(r'"tab\t ${name ++ \"x\"}"')
    assert isinstance(node, ast.Interpolation)
    inner = node.parts[1]
    assert isinstance(inner, ast.Binary)
    assert inner.left.span.text == "name"
    assert inner.right.span.text == r"\"x\""


def test_declarations() -> None:
    declared = program(
        "input relation A(x: u8, y: bit<12>,) output relation B(s: signed<7>)\nrelation C() relation D(t: string)"
    ).items
    assert [(item.role, item.name.text) for item in declared if isinstance(item, ast.RelationDeclaration)] == [
        ("input", "A"),
        ("output", "B"),
        ("", "C"),
        ("", "D"),
    ]


def test_the_literals_of_a_body() -> None:
    body = rule("R(x) :- A(x, _), not B(x), x > 1, var y: u8 = x, var z = y, C(.a = x, .b = z,),.").body
    kinds = [ast.Positive, ast.Negative, ast.Condition, ast.Assignment, ast.Assignment, ast.Positive]
    assert [type(literal) for literal in body] == kinds


def test_a_rule_may_have_several_heads() -> None:
    assert [head.relation.text for head in rule("A(x), B(x) :- C(x).").heads] == ["A", "B"]


def test_a_negated_condition_is_an_expression() -> None:
    (literal,) = rule("R() :- not x.").body
    assert isinstance(literal, ast.Condition)


def test_rules_need_no_blank_between_them() -> None:
    assert len(program("A(1).B(2).C(x):-A(x).").items) == 3


def test_spans_cover_what_they_name() -> None:
    found = rule("Reach(x, z) :-\n  Edge(x, y), // step\n  not Edge(y, z), x != z.")
    assert found.span.text.startswith("Reach(x, z) :-")
    assert found.span.text.endswith("x != z.")
    assert [literal.span.text for literal in found.body] == ["Edge(x, y)", "not Edge(y, z)", "x != z"]


def test_all_mistakes_are_reported_at_once() -> None:
    text = "A(x) :- B(x.\nA(+).\ninput relation R(a)\nC(x) :- D(x).\ntypedef T u8\nE(1.5).\nE(1.5 5).\n"
    assert codes(text) == ["E101@1", "E101@2", "E101@3", "E101@5", "E101@7"]


def test_a_missing_dot_is_reported_where_it_is_missing_and_spoils_nothing_else() -> None:
    assert codes("A(x) :- B(x)\nA(x) :- C(x).\nA(,).\n") == ["E101@1", "E101@3"]


def test_a_wrong_character_does_not_make_a_second_error() -> None:
    assert codes("A(x) :- B(x) § C(x).\nA(1 § 2).\n") == ["E102@1", "E102@2"]


NESTS: dict[str, tuple[str, str, str, str]] = {
    "parentheses": ("R(", "(", ")", "1"),
    "blocks": ("R(", "{", "}", "1"),
    "minus": ("R(", "-", "", "1"),
    "not": ("R(", "not ", "", "1"),
    "if": ("R(", "if (true) ", " else 2", "1"),
    "else": ("R(", "if (true) 1 else ", "", "1"),
    "vectors": ("R(", "[", "]", "1"),
    "maps": ("R(", "[1 -> ", "]", "1"),
    "structs": ("R(", "C{.x = ", "}", "1"),
    "calls": ("R(", "x.f(", ")", "1"),
    "closures": ("R(", "|x| ", "", "1"),
    "match": ("R(", "match (x) { _ -> ", "}", "1"),
    "for": ("R(", "for (x in y) ", "", "1"),
    "return": ("R(", "return ", "", "1"),
    "bindings": ("R(", "x@", "", "1"),
    "types": ("relation R(x: ", "Vec<", ">", "u8"),
    "tuple types": ("relation R(x: ", "(u8, ", ")", "u8"),
    "function types": ("relation R(x: ", "function(): ", "", "u8"),
    "statements": ("for (a in R) ", "if (x) ", "", "skip"),
    "statement blocks": ("for (a in R) ", "{", "}", "skip"),
}


@pytest.mark.parametrize("name", NESTS)
def test_deep_nesting_is_refused_and_never_overflows(name: str) -> None:
    before, open, close, core = NESTS[name]
    after = {"R": ").", "r": ")", "f": ""}[before[0]]

    def nested(depth: int) -> str:
        return before + open * depth + core + close * depth + after

    tree = program(nested(90))
    assert program(show(tree)) == tree
    assert codes(nested(150)) == ["E109@1"]
    assert codes(nested(10_000)) == ["E109@1"]
    assert codes(before + open * 10_000) == ["E109@1"]


def test_a_caller_deep_in_its_own_stack_gets_an_error_too() -> None:
    def called(frames: int) -> list[str]:
        return codes("R(" + "[" * 95 + "1" + "]" * 95 + ").\nR(,).") if frames == 0 else called(frames - 1)

    assert called(500) == ["E109@1", "E101@2"]


@pytest.mark.parametrize("operator", ["+", "++", "or", "as u8 +"])
def test_long_chains_are_taken_up_to_the_limit(operator: str) -> None:
    program(f"R({f' {operator} '.join(['x'] * 90)}).")
    assert codes(f"R({f' {operator} '.join(['x'] * 20_000)}).") == ["E109@1"]


def test_strings_inside_strings_count_as_levels() -> None:
    inner = " ++ ".join(["x"] * 120)
    program(f'R("${{{inner}}}").')
    assert codes(f'R("${{{inner} ++ \\"${{{inner}}}\\"}}" ++ {inner}).') == ["E109@1"]
