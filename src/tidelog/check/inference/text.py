"""`++` and `${}`: values that must have a text.

Values of built-in types and functions have one; for any other type there must be a function `to_string` that takes it
and gives a `string`: one that is visible, or else one of the module that declares the type, however that is imported.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.check.inference.calls import choose, fitting_functions
from tidelog.check.inference.drafts import FUNCTION, TUPLE, Draft, Kind, Unknown, current, describe, shape, written
from tidelog.check.inference.state import Inference
from tidelog.check.names.scope import FunctionEntry
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import STRING, TypeVariable

TO_STRING = "to_string"


def require_text(at: Inference, node: ast.Expression) -> None:
    """Sees to it that the node's value, which has a draft, can be turned into text; chooses its `to_string`."""
    draft = at.drafts[id(node)]

    def attempt() -> bool:
        found = current(draft)
        if isinstance(found, Unknown):
            return found.kind is not Kind.ANY
        whole = shape(found)
        if isinstance(found, TypeVariable) or (whole is not None and whole.head is not FUNCTION):
            _choose(at, node, found)
        return True

    at.defer(attempt, lambda: [draft], lambda: at.report_unknown("a value that is turned into text", node))


def text_choice(node: ast.Expression) -> int:
    """Returns the key of the choice of a `to_string` for the node, which may have a choice of its own."""
    return -id(node)


def _choose(at: Inference, node: ast.Expression, found: Draft) -> None:
    fitting = fitting_functions(at.module.find_functions(TO_STRING), [found], STRING)
    if len(fitting) != 1:
        fitting = fitting_functions(_beside_the_type(at, found), [found], STRING) or fitting
    if len(fitting) == 1:
        choice = at.choices[text_choice(node)] = choose(at, fitting[0])
        at.agree(node, found, choice.parameter(0))
        return
    at.report(
        Code.NO_TEXT,
        f"{describe(found)} has no text",
        node.span,
        "there is no `to_string` for it" if not fitting else f"{len(fitting)} functions `to_string` take it",
        help=None if fitting else _remedy(node, found),
    )


def _remedy(node: ast.Expression, found: Draft) -> str:
    whole = shape(found)
    if whole is None or whole.head is TUPLE:
        return f"`to_string_debug({show_expression(node)})` is a text of any value"
    return f"`function to_string(x: {written(found)}): string {{ to_string_debug(x) }}`"


def _beside_the_type(at: Inference, found: Draft) -> Sequence[FunctionEntry]:
    """Returns the functions of the module that declares the type."""
    whole = shape(found)
    if whole is None or whole.head in (TUPLE, FUNCTION):
        return ()
    return at.environment.type(whole.head).module.functions.get(TO_STRING, ())
