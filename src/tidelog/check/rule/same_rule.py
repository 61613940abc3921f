"""A typed rule → what it is up to the names of its variables: two rules with equal keys are the same rule.

    Reach(x, z) :- Reach(x, y), Edge(y, z).        Reach(a, c) :- Reach(a, b), Edge(b, c).

Names of columns, of modules and of types are resolved by now, so it does not matter how they were written either. The
order of the body does: it says what runs before an expression that may fail. Attributes do not: they say how a rule is
run, not what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from tidelog import types
from tidelog.check import program, typed

RuleKey = tuple[Any, ...]

_NAMES = {
    (typed.Var, "name"),
    (typed.BindPattern, "name"),
    (typed.AsPattern, "name"),
    (typed.ClosureParameter, "name"),
    (program.Assign, "variable"),
    (program.GroupBy, "variable"),
    (program.RowAggregate, "variable"),
}
# What these stand for is not for the rule to say.
_GIVEN = ("ddlog_weight", "ddlog_timestamp")


def rule_key(rule: program.Rule) -> RuleKey:
    """Returns the key of a rule, in time linear in its size. Variables are numbered in the order of their first
    mention."""
    numbers: dict[str, int] = {}
    return _key(rule.heads, numbers), _key(rule.body, numbers)


def structure_key(node: Any, variables: Sequence[str] = ()) -> RuleKey:
    """Returns the key of an expression, or of anything made of some; these variables come first, whatever their
    names."""
    return (_key(node, {name: place for place, name in enumerate(variables)}),)


def _key(node: Any, numbers: dict[str, int]) -> Any:
    if isinstance(node, tuple):
        return tuple([_key(each, numbers) for each in node])
    if isinstance(node, float):
        return repr(node)  # NaN is equal to itself here
    kind: type = type(node)
    parts = _parts(kind)
    if parts is None:
        return node
    key: list[Any] = [type(node).__name__]
    for name, is_variable in parts:
        value = getattr(node, name)
        key.append(_number(value, numbers) if is_variable else _key(value, numbers))
    return tuple(key)


def _number(name: str, numbers: dict[str, int]) -> int | str:
    return name if name.partition("#")[0] in _GIVEN else numbers.setdefault(name, len(numbers))


@cache
def _parts(kind: type) -> tuple[tuple[str, bool], ...] | None:
    """Returns the fields of a node that count, each with whether it is the name of a variable; None for what is no
    node."""
    if not is_dataclass(kind) or kind.__module__ == types.__name__:
        return None
    return tuple((each.name, _is_variable(kind, each.name)) for each in fields(kind) if each.name != "span")


def _is_variable(kind: type, field: str) -> bool:
    # Flat rules, which are made of these, have nodes of their own for variables.
    return (kind, field) in _NAMES or (kind.__name__, field) == ("Variable", "name")
