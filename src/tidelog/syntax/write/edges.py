"""Where an expression ends and begins, for the few places where that changes what the text means.

All answers are about the text without the parentheses that the writer may still put; they err towards more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.syntax import ast
from tidelog.syntax.types import PLAIN
from tidelog.syntax.write import types


def takes_else(node: ast.Expression) -> bool:
    """True if an `else` behind the expression would belong to an `if` inside it."""
    return any(isinstance(each, ast.Conditional) and each.otherwise is None for each in _right_edge(node))


def takes_value(node: ast.Expression) -> bool:
    """True if an expression behind this one would belong to a `return` inside it."""
    return any(isinstance(each, ast.Return) and each.value is None for each in _right_edge(node))


def takes_angle(node: ast.Expression) -> bool:
    """True if a `<` behind the expression could open the arguments of a type."""
    for each in _right_edge(node):
        if isinstance(each, ast.Cast | ast.Annotation):
            last = types.right_edge(each.type)
            return isinstance(last, ast.NamedType) and not last.arguments and last.name not in PLAIN
    return False


def takes_colon(node: ast.Expression) -> bool:
    """True if a `:` behind the expression would give the result of a function type."""
    if not isinstance(node, ast.Cast | ast.Annotation):
        return False
    return isinstance(types.right_edge(node.type), ast.FunctionType)


def looks_like_atom(node: ast.Expression) -> bool:
    """True if the expression begins with `R -`, as a delayed relation does."""
    while True:
        match node:
            case ast.Binary("-", ast.Struct(bare=True)):
                return True
            case ast.Binary(left=left):
                node = left
            case ast.Unary("not", operand) | ast.Reference(operand):
                node = operand
            case _:
                return False


def _right_edge(node: ast.Expression) -> Iterator[ast.Expression]:
    """Yields the expression, the one that its text ends with, the one that that one's text ends with, and so on."""
    following: ast.Expression | None = node
    while following is not None:
        node = following
        yield node
        match node:
            case ast.Binary(right=last) | ast.Assign(value=last) | ast.For(body=last) | ast.Binding(pattern=last):
                following = last
            case ast.Unary(operand=last) | ast.Reference(operand=last) | ast.Closure(body=last, bars=True):
                following = last
            case ast.Conditional(then=then, otherwise=otherwise):
                following = otherwise or then
            case ast.Return(value):
                following = value
            case _:
                following = None
