"""`group_by` and `Aggregate`: where the variables of a rule end, and a group begins.

    y.group_by(x).min() < 5

The value is read with the variables before it; behind it only the variables of the key are left, and the rest of the
expression is read with those, the `group_by` itself standing for the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.check import program, typed
from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.inference import Local
from tidelog.check.inference.calls import GROUP_BY
from tidelog.check.inference.drafts import BROKEN
from tidelog.check.inference.values import library_type
from tidelog.check.rule.state import RuleState
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression

GROUP = "ddlog_std::Group"

GroupNode = ast.Call | ast.MethodCall


def find_groups(expression: ast.Expression) -> list[GroupNode]:
    """Returns the `group_by`s in an expression, in the order of the text."""
    return [node for node in ast.walk(expression) if isinstance(node, GroupNode) and _is_group(node)]


def _is_group(node: GroupNode) -> bool:
    if isinstance(node, ast.MethodCall):
        return node.function.text == GROUP_BY
    return isinstance(node.function, ast.Variable) and node.function.name == GROUP_BY


def read_group(
    state: RuleState, node: GroupNode, literal: ast.Literal, name: str
) -> Callable[[Elaborator], list[program.Literal]] | None:
    """Reads a `group_by`: groups, and ends the variables. The group is a variable of that name; None after an error."""
    given = node.arguments if isinstance(node, ast.Call) else (node.receiver, *node.arguments)
    if len(given) != 2:
        state.at.report(
            Code.BAD_GROUP,
            f"`group_by` takes a value and a key, {len(given)} arguments given",
            node.span,
            "expected 2",
            help=_as_tuple(given),
        )
        return None
    local = group(state, given[0], given[1], node.span, literal, name)
    if local is None:
        return None
    state.at.groups[id(node)] = local
    return lambda make: [typed_group(make, local, given[0], given[1], node.span)]


def group(
    state: RuleState, value: ast.Expression, key: ast.Expression, span: Span, literal: ast.Literal, name: str
) -> Local | None:
    """Infers the value and the key, then leaves only the variables of the key and the group."""
    at = state.at
    state.require_before(value, literal)
    state.require_before(key, literal)
    values = at.infer(value)
    keys = at.infer(key)
    names = _key_variables(state, key)
    if names is None:
        state.keep_only(set(state.scope), span)
        return None
    state.keep_only(names, span)
    draft = library_type(at, GROUP, span, keys, values)
    return None if draft is BROKEN else at.declare(name, draft, span, "rule")


def _as_tuple(given: Sequence[ast.Expression]) -> str:
    """Returns an example of a `group_by` with so many arguments."""
    if len(given) < 2:
        return "`x.group_by(())` makes one group of all"
    value, *keys = map(show_expression, given)
    return f"several variables make a tuple: `{value}.group_by(({', '.join(keys)}))`"


def _key_variables(state: RuleState, key: ast.Expression) -> set[str] | None:
    """Returns the variables of a key, or None when it is made of anything else."""
    plain = _plain(key)
    parts = [_plain(item) for item in plain.items] if isinstance(plain, ast.Tuple) else [plain]
    for part in parts:
        if not isinstance(part, ast.Variable):
            state.at.report(
                Code.BAD_GROUP,
                "the key of a `group_by` is a variable or a tuple of variables",
                part.span,
                "this is neither",
                help=f"bind it before: `var key = {show_expression(part)}`",
            )
            return None
    return {part.name for part in parts if isinstance(part, ast.Variable)}


def _plain(node: ast.Expression) -> ast.Expression:
    while isinstance(node, ast.Annotation):
        node = node.operand
    return node


def typed_group(
    make: Elaborator, local: Local, value: ast.Expression, key: ast.Expression, span: Span
) -> program.GroupBy:
    """Returns the typed literal of a group."""
    typed_key = make.expression(key)
    parts = typed_key.items if isinstance(typed_key, typed.MakeTuple) else (typed_key,)
    keys = {part.name: part for part in parts if isinstance(part, typed.Var)}
    return program.GroupBy(
        local.unique,
        make.at.solved(local.draft, span),
        make.expression(value),
        typed_key,
        tuple(keys.values()),
        span,
    )
