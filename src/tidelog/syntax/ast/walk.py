"""Ways through a tree: to the expressions below an expression, and to all nodes below a node.

Nothing here recurses over expressions: a tree may be of any height.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from tidelog.syntax.ast.expressions import Expression, Slice
from tidelog.syntax.ast.nodes import Node

_EXPRESSIONS = frozenset(get_args(Expression))


def children(node: Node) -> list[Expression]:
    """Returns the nearest expressions below a node, in the order of the text."""
    found: list[Any] = []
    for each in below(node):
        found += (each,) if type(each) in _EXPRESSIONS else children(each)
    return found


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields the expression and everything below it, in the order of the text."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def height(expression: Expression) -> int:
    """Returns the number of nodes on the longest way down, as later passes see it: a slice becomes two nodes."""
    highest, stack = 0, [(expression, 1)]
    while stack:
        node, level = stack.pop()
        highest = max(highest, level)
        below = level + (2 if isinstance(node, Slice) else 1)
        stack.extend((child, below) for child in children(node))
    return highest


def below(node: Node) -> list[Node]:
    """Returns the nodes directly below a node, whatever they are, in the order of its fields."""
    found: list[Node] = []
    kind: type = type(node)
    for name in _fields(kind):
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


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name not in ("span", "spelling"))
