"""An expression whose types are inferred → the typed expression.

The sugar goes: interpolation becomes a chain of `++` on strings, a slice becomes a shift and a cast, an annotation its
operand, a minus before a literal a negative literal, and whatever `++` needs as text is wrapped in `ToString`.
"""

from __future__ import annotations

from tidelog.check import typed
from tidelog.check.infer import Inference
from tidelog.check.types import STRING, U32, StringType
from tidelog.syntax import ast


def elaborate(node: ast.Expression, inference: Inference) -> typed.Expression:
    """The typed form of a node; only when its rule has no errors."""
    span = node.span
    match node:
        case ast.Variable(name):
            return typed.Var(name, inference.type(node), span)
        case ast.Boolean(value) | ast.String(value) | ast.Integer(value):
            return typed.Lit(value, inference.type(node), span)
        case ast.Unary("-", ast.Integer(value, None)):
            return typed.Lit(-value, inference.type(node), span)
        case ast.Unary(op, operand):
            return typed.Unary(op, elaborate(operand, inference), inference.type(node), span)
        case ast.Binary(op, left, right):
            first, second = elaborate(left, inference), elaborate(right, inference)
            type_ = inference.type(node)
            if op == "++" and isinstance(type_, StringType):
                second = _as_text(second)
            return typed.Binary(op, first, second, type_, span)
        case ast.Interpolation(parts):
            return _chain(node, [part if isinstance(part, str) else elaborate(part, inference) for part in parts])
        case ast.Cast(operand):
            return typed.Cast(elaborate(operand, inference), inference.type(node), span)
        case ast.Annotation(operand):
            return elaborate(operand, inference)
        case ast.Slice(operand, _, low):
            whole = elaborate(operand, inference)
            shifted = typed.Binary(">>", whole, typed.Lit(low, U32, span), whole.type, span) if low else whole
            return typed.Cast(shifted, inference.type(node), span)
        case ast.Conditional(condition, then, otherwise):
            branches = (elaborate(then, inference), elaborate(otherwise, inference))
            return typed.IfElse(elaborate(condition, inference), *branches, inference.type(node), span)
        case ast.Wildcard():
            raise AssertionError("a wildcard has no value, and that was reported")


def _chain(node: ast.Interpolation, parts: list[str | typed.Expression]) -> typed.Expression:
    """All parts joined, as a balanced tree: a long text must not become a deep one."""
    texts: list[typed.Expression] = [
        typed.Lit(part, STRING, node.span) if isinstance(part, str) else _as_text(part) for part in parts
    ]
    while len(texts) > 1:
        odd = texts[len(texts) // 2 * 2 :]
        pairs = zip(texts[0::2], texts[1::2])
        texts = [typed.Binary("++", left, right, STRING, node.span) for left, right in pairs]
        texts += odd
    return texts[0]


def _as_text(expression: typed.Expression) -> typed.Expression:
    if isinstance(expression.type, StringType):
        return expression
    return typed.ToString(expression, STRING, expression.span)
