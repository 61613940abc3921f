"""Ways through a tree: to the expressions below an expression, and to all nodes below a node.

Nothing here recurses over expressions: a tree may be of any height.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from tidelog.syntax.ast.expressions import Argument, Expression, MapEntry, MatchArm, Slice
from tidelog.syntax.ast.nodes import Node

_EXPRESSIONS = frozenset(get_args(Expression))
_AROUND = frozenset((Argument, MapEntry, MatchArm))  # nodes of an expression that are none, and hold some
_NO_NODES = ("span", "spelling")
_PLAIN = ("bool", "float", "int", "int | None", "str")


def children(node: Node) -> list[Expression]:
    """Returns the nearest expressions below a node, in the order of the text."""
    found: list[Any] = []
    kind: type = type(node)
    for name in _fields(kind):
        value = getattr(node, name)
        for each in value if type(value) is tuple else (value,):
            if type(each) in _EXPRESSIONS:
                found.append(each)
            elif type(each) in _AROUND:
                found += children(each)
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
        if isinstance(value, tuple):
            found += [each for each in value if isinstance(each, Node)]
        elif isinstance(value, Node):
            found.append(value)
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
    """Returns the fields of a kind of nodes that may hold nodes."""
    return tuple(each.name for each in fields(kind) if each.name not in _NO_NODES and each.type not in _PLAIN)
