"""Ways through a tree: to the expressions below an expression, and to all nodes below a node.

Nothing here recurses: a tree may be of any height.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from tidelog.syntax.ast import expressions as e
from tidelog.syntax.ast.nodes import Node

_Below = tuple[e.Expression, ...]


def children(expression: e.Expression) -> _Below:
    """Returns the direct sub-expressions, in the order of the text."""
    below = _CHILDREN.get(type(expression))
    return below(expression) if below else ()


def walk(expression: e.Expression) -> Iterator[e.Expression]:
    """Yields the expression and everything below it, in the order of the text."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def height(expression: e.Expression) -> int:
    """Returns the number of nodes on the longest way down, as later passes see it: a slice becomes two nodes."""
    highest, stack = 0, [(expression, 1)]
    while stack:
        node, level = stack.pop()
        highest = max(highest, level)
        below = level + (2 if isinstance(node, e.Slice) else 1)
        stack.extend((child, below) for child in children(node))
    return highest


def below(node: Node) -> list[Node]:
    """Returns the nodes directly below a node, whatever they are, in the order of its fields."""
    found: list[Node] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(each for each in value if isinstance(each, Node))
    return found


def nodes(root: Node) -> Iterator[Node]:
    """Yields the node and all nodes below it."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(below(node)))


_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def _fields(kind: type[Node]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(each.name for each in fields(kind) if each.name not in ("span", "spelling"))
    return _FIELDS[kind]


def _operand(
    node: e.Unary | e.Reference | e.Cast | e.Annotation | e.Slice | e.Try | e.FieldAccess | e.TupleField,
) -> _Below:
    return (node.operand,)


def _items(node: e.Tuple | e.Vector) -> _Below:
    return node.items


def _conditional(node: e.Conditional) -> _Below:
    both = (node.condition, node.then)
    return both if node.otherwise is None else (*both, node.otherwise)


def _match(node: e.Match) -> _Below:
    return (node.subject, *(side for arm in node.arms for side in (arm.pattern, arm.value)))


_CHILDREN: dict[type[Node], Callable[..., _Below]] = {
    e.Interpolation: lambda node: tuple(part for part in node.parts if not isinstance(part, str)),
    e.Interned: lambda node: (node.text,),
    e.Unary: _operand,
    e.Binary: lambda node: (node.left, node.right),
    e.Reference: _operand,
    e.Cast: _operand,
    e.Annotation: _operand,
    e.Slice: _operand,
    e.Try: _operand,
    e.FieldAccess: _operand,
    e.TupleField: _operand,
    e.Call: lambda node: (node.function, *node.arguments),
    e.MethodCall: lambda node: (node.receiver, *node.arguments),
    e.Tuple: _items,
    e.Struct: lambda node: tuple(argument.value for argument in node.arguments),
    e.Vector: _items,
    e.MapLiteral: lambda node: tuple(side for entry in node.entries for side in (entry.key, entry.value)),
    e.Closure: lambda node: (node.body,),
    e.Binding: lambda node: (node.pattern,),
    e.Assign: lambda node: (node.target, node.value),
    e.Block: lambda node: node.expressions,
    e.Conditional: _conditional,
    e.Match: _match,
    e.For: lambda node: (node.pattern, node.iterable, node.body),
    e.Return: lambda node: () if node.value is None else (node.value,),
}
