"""A warning where an `if` without parentheses is an operand and its last branch seems to go on.

    R(if (x == 0) 0 else 1 + y) :- L(x, y).       W303: this is `(if (x == 0) 0 else 1) + y`

The branches of `if` are terms (`syntax/terms.py`), so what follows them is done with the result of the whole. Most
other languages take it into the last branch. Parentheses around the branch or around the `if` say which is meant; a
branch in braces visibly ends where they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.expressions import COMPARISON, PRIORITY

_LONGEST = 60  # characters of a text in the help
_ELSE = re.compile(r"\belse\b")
_WRITTEN = re.compile(r"if\b.*\belse\b", re.DOTALL)  # not made of another language
_Follower = ast.Binary | ast.MethodCall  # what may follow an operand


def open_else(tree: ast.Program) -> Iterator[Diagnostic]:
    """Yields a warning for each such `if` of a program."""
    if not _ELSE.search(tree.span.source.text):
        return
    for item in tree.items:
        if not _ELSE.search(item.span.text):
            continue
        around: dict[int, _Follower] = {}  # an operand without parentheses → what it is an operand of
        for node in ast.nodes(item):
            if not isinstance(node, ast.Binary | ast.MethodCall):
                continue
            first = node.left if isinstance(node, ast.Binary) else node.receiver
            if isinstance(node, ast.Binary) and node.right.span.end == node.span.end:
                around[id(node.right)] = node
            if first.span.start != node.span.start:
                continue
            around[id(first)] = node
            found = _at_the_end(first)
            if found is not None:
                yield _warning(found, node, _end(node, around))


def _at_the_end(node: ast.Expression) -> ast.Conditional | None:
    """Returns the `if` that an operand ends with, unless parentheses or braces show where that ends."""
    while True:
        match node:
            case ast.Binary(_, _, last) | ast.Unary(_, last):
                ends = last.span.end == node.span.end
            case ast.Cast(last, _) | ast.Annotation(last, _):
                ends = last.span.start == node.span.start
            case ast.Conditional(_, _, otherwise) if otherwise is not None:
                is_open = not isinstance(_last_branch(node), ast.Block)
                return node if is_open and _WRITTEN.match(node.span.text) else None
            case _:
                return None
        if not ends:
            return None
        node = last


def _last_branch(node: ast.Conditional) -> ast.Expression:
    branch: ast.Expression = node
    while isinstance(branch, ast.Conditional) and branch.otherwise is not None:
        branch = branch.otherwise
    return branch


def _end(node: _Follower, around: dict[int, _Follower]) -> int:
    """Returns where the last branch would end: a sum goes on with a product, not with a comparison."""
    least = _kind(node)
    while (outer := around.get(id(node))) is not None and _kind(outer) >= least:
        node = outer
    return node.span.end


def _kind(node: _Follower) -> int:
    level = PRIORITY[node.op] if isinstance(node, ast.Binary) else COMPARISON + 1
    return 0 if level < COMPARISON else 1 if level == COMPARISON else 2


def _warning(found: ast.Conditional, follower: _Follower, end: int) -> Diagnostic:
    source = found.span.source
    operator = follower.op if isinstance(follower, ast.Binary) else f".{follower.function.text}"
    last = _last_branch(found)
    start = source.text.rindex("else", found.span.start, last.span.start) + len("else")
    branch = _on_one_line(Span(source, start, end))
    whole = _on_one_line(found.span)
    rest = _on_one_line(Span(source, found.span.end, end))
    gap = "" if rest.startswith(".") else " "
    return diagnostic(
        Code.OPEN_ELSE,
        f"`{operator}` takes the result of the whole `if`, not of its last branch",
        found.span,
        f"this is the left operand of `{operator}`",
        help=f"`else ({branch})` takes it into the branch; `({whole}){gap}{rest}` is what it means now",
    )


def _on_one_line(span: Span) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= _LONGEST and "//" not in text and "/*" not in text else "…"
