"""`ast.Program` → text that parses to the same tree, without comments and in one standard spelling.

`show` breaks long lines; the others, which serve messages, write on one line. `format` is what users want for files.
"""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.write.constants import escaped
from tidelog.syntax.write.expressions import ExpressionWriter
from tidelog.syntax.write.items import ItemWriter
from tidelog.syntax.write.layout import flat, render
from tidelog.syntax.write.page import Page
from tidelog.syntax.write.rules import RuleWriter
from tidelog.syntax.write.types import write_type as show_type

__all__ = ["WIDTH", "escaped", "show", "show_atom", "show_expression", "show_rule", "show_type"]

WIDTH = 100


def show(program: ast.Program) -> str:
    """Returns the program's text."""
    text = render(ItemWriter(Page()).program(program), WIDTH)
    return f"{text}\n" if text else ""


def show_rule(rule: ast.Rule) -> str:
    """Returns the text of a rule, on one line."""
    return flat(RuleWriter(Page()).rule(rule))


def show_atom(atom: ast.Atom) -> str:
    """Returns the text of an atom, on one line."""
    return flat(RuleWriter(Page()).atom(atom))


def show_expression(expression: ast.Expression) -> str:
    """Returns the text of an expression, on one line."""
    return flat(ExpressionWriter(Page()).expression(expression))
