"""A call of a small function → the body of that function.

    function mean(g: Group<'K, u64>): u64 { g.sum_of(|x| x) / (g.count_distinct() as u64) }

    m.group_by(k).mean()    →    m.group_by(k).sum_of(|x| x) / (m.group_by(k).count_distinct() as u64)

The pass `aggregates` so sees which aggregates of a group a function reads. A function is small if its body is one
expression without statements and its arguments are variables, literals and functions: no evaluation is repeated that
could be noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.diagnostics.spans import Span
from tidelog.functions.callees import Callees
from tidelog.types import Type
from tidelog.values import substitute

_SIMPLE = (typed.Var, typed.Lit, typed.Closure, typed.FunctionValue)
_STATEMENTS = (
    typed.Declare,
    typed.SetPlace,
    typed.For,
    typed.Break,
    typed.Continue,
    typed.Return,
    typed.Try,
    typed.Match,
    typed.Block,
)


def inline(call: typed.Call, callees: Callees) -> typed.Expression | None:
    """Returns the body of the function with the arguments in the place of its parameters; None where it is not a small
    one."""
    id_, type_arguments = callees.resolve(call.function, call.type_arguments)
    function = callees.function(id_)
    body = function.body
    while isinstance(body, typed.Block) and len(body.expressions) == 1:
        (body,) = body.expressions
    if body is None or not _is_small(function, body, call):
        return None
    meaning = dict(zip(function.type_parameters, type_arguments))
    arguments = {parameter.name: given for parameter, given in zip(function.parameters, call.arguments)}
    found = cast(typed.Expression, _rewritten(body, meaning, arguments))
    return replace(found, span=call.span)


def _is_small(function: Function, body: typed.Expression, call: typed.Call) -> bool:
    if any(parameter.mutable for parameter in function.parameters) or function.attributes:
        return False
    if not all(isinstance(given, _SIMPLE) for given in call.arguments):
        return False
    # The body of a closure is left as it is, whatever is in it.
    pending = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, _STATEMENTS):
            return False
        pending += () if isinstance(node, typed.Closure) else typed.children(node)
    given = {name for each in call.arguments for name in typed.variables(each)}
    return not given & typed.declared(body)


def _rewritten(node: Any, meaning: Mapping[str, Type], arguments: Mapping[str, typed.Expression]) -> Any:
    """Returns a node with its type variables and some of its variables replaced."""
    if isinstance(node, typed.Var) and node.name in arguments:
        return arguments[node.name]
    if isinstance(node, Type):
        return substitute(node, meaning)
    if isinstance(node, tuple):
        return tuple(_rewritten(each, meaning, arguments) for each in node)
    if not is_dataclass(node) or isinstance(node, type | Span):
        return node
    left_out = ("captured",) if isinstance(node, typed.Closure) else ()
    changes = {
        each.name: _rewritten(getattr(node, each.name), meaning, arguments)
        for each in fields(node)
        if each.name not in left_out
    }
    made = replace(node, **changes)
    if isinstance(made, typed.Closure):
        return replace(made, captured=typed.captured(made.parameters, made.body))
    return made
