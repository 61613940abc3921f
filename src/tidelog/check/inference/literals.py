"""Literals, names and text."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from tidelog.check.inference.calls import function_value
from tidelog.check.inference.drafts import BROKEN, Draft, named
from tidelog.check.inference.state import Inference, Reasons
from tidelog.check.inference.text import require_text
from tidelog.diagnostics.codes import Code
from tidelog.scaled_values import EXACT, decimal_of_text
from tidelog.syntax import ast
from tidelog.types import BOOL, DATE, DURATION, STRING, TIMESTAMP, BitType, FloatType, SignedType, Type

INTERN = "internment::Intern"


def variable(at: Inference, node: ast.Variable, wanted: Draft | None, reasons: Reasons) -> Draft:
    """Returns a variable, or else the function of that name."""
    local = at.local(node.name)
    if local is not None:
        at.locals[id(node)] = local
        return local.draft
    if at.module.find_functions(node.name):
        return function_value(at, node, node.name, wanted)
    guess = at.names.suggested(node.name, at.visible())
    help = f"did you mean `{guess}`?" if guess else None
    at.declare(node.name, BROKEN, node.span, "var")
    return at.report(
        Code.UNKNOWN_VARIABLE, f"unknown variable `{node.name}`", node.span, "not declared here", help=help
    )


def function_name(at: Inference, node: ast.FunctionName, wanted: Draft | None, reasons: Reasons) -> Draft:
    return function_value(at, node, node.name, wanted)


def misplaced_declaration(
    at: Inference, node: ast.VariableDeclaration, wanted: Draft | None, reasons: Reasons
) -> Draft:
    name = node.name.text
    at.declare(name, BROKEN, node.span, "var")
    return at.report(
        Code.MISPLACED_CONTROL,
        f"`var {name}` stands where a value is needed",
        node.span,
        "a variable is declared on the left of a `=`",
        help=f"`var {name} = …`",
    )


def wildcard(at: Inference, node: ast.Wildcard, wanted: Draft | None, reasons: Reasons) -> Draft:
    message = "`_` stands where a value is needed"
    return at.report(Code.MISPLACED_WILDCARD, message, node.span, "a wildcard has no value")


def boolean(at: Inference, node: ast.Boolean, wanted: Draft | None, reasons: Reasons) -> Draft:
    return BOOL


def string(at: Inference, node: ast.String, wanted: Draft | None, reasons: Reasons) -> Draft:
    return STRING


def integer(at: Inference, node: ast.Integer, wanted: Draft | None, reasons: Reasons) -> Draft:
    if node.width is None:
        return at.literal(node, node.value)
    return SignedType(node.width) if node.signed else BitType(node.width)


def floating(at: Inference, node: ast.Float, wanted: Draft | None, reasons: Reasons) -> Draft:
    return at.fraction(node, decimal_of_text(node.digits)) if node.digits else FloatType(node.width or 64)


def temporal(at: Inference, node: ast.Temporal, wanted: Draft | None, reasons: Reasons) -> Draft:
    types: dict[str, Type] = {"date": DATE, "timestamp": TIMESTAMP, "duration": DURATION}
    return types[node.family]


def interpolation(at: Inference, node: ast.Interpolation, wanted: Draft | None, reasons: Reasons) -> Draft:
    for part in node.parts:
        if not isinstance(part, str):
            at.infer(part)
            require_text(at, part)
    return STRING


def interned(at: Inference, node: ast.Interned, wanted: Draft | None, reasons: Reasons) -> Draft:
    at.infer(node.text)
    if not at.environment.knows_type(INTERN):
        message = "an interned string needs the library `internment`"
        return at.report(Code.UNKNOWN_TYPE, message, node.span, "the library is not there")
    return named(INTERN, STRING)


def is_constant(node: ast.Expression) -> bool:
    """True if the node is a literal that a pattern may compare with."""
    match node:
        case ast.Boolean() | ast.Integer() | ast.Float() | ast.String() | ast.Temporal():
            return True
        case ast.Unary("-", ast.Integer() | ast.Float()) | ast.Interned(ast.String()):
            return True
        case _:
            return False


def is_number_literal(node: ast.Expression) -> bool:
    """True for a number as it stands, perhaps with a minus, that has no width."""
    if isinstance(node, ast.Unary) and node.op == "-":
        node = node.operand
    return isinstance(node, ast.Integer | ast.Float) and node.width is None


def decimal_value(node: ast.Expression) -> Decimal:
    """Returns the number of a literal, exactly."""
    match node:
        case ast.Unary("-", operand):
            return EXACT.minus(decimal_value(operand))
        case ast.Float(_, _, digits):
            return decimal_of_text(digits)
        case ast.Integer(value):
            return Decimal(value)
        case _:
            raise AssertionError("not a number")


def literal_value(node: ast.Expression) -> bool | int | float | str | date | timedelta:
    """Returns the value of a constant."""
    match node:
        case ast.Boolean(value) | ast.Integer(value) | ast.Float(value) | ast.String(value) | ast.Temporal(_, value):
            return value
        case ast.Unary("-", ast.Integer(value) | ast.Float(value)):
            return -value
        case ast.Interned(ast.String(value)):
            return value
        case _:
            raise AssertionError("not a constant")
