"""The extern functions of `debug`, and the listener for their events. There is none by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import Type
from tidelog.values.group import Group
from tidelog.values.text import plain_text, record_text
from tidelog.values.vec import Vec

_listener: Callable[[str], None] | None = None


def on_event(listener: Callable[[str], None] | None) -> None:
    """Calls the listener with a line for each event from now on."""
    global _listener
    _listener = listener


@extern(needs_types=True)
def debug_event(
    context: ExternContext,
    time_type: Type,
    input_type: Type,
    out_type: Type,
    operator: tuple[int, int, int],
    weight: int,
    time: Any,
    kind: str,
    before: Any,
    after: Any,
) -> tuple[()]:
    return _tell(context, operator, weight, (time_type, time), kind, (input_type, before), (out_type, after))


@extern(needs_types=True)
def debug_event_join(
    context: ExternContext,
    time_type: Type,
    left_type: Type,
    right_type: Type,
    out_type: Type,
    operator: tuple[int, int, int],
    weight: int,
    time: Any,
    left: Any,
    right: Any,
    after: Any,
) -> tuple[()]:
    values = (left_type, left), (right_type, right), (out_type, after)
    return _tell(context, operator, weight, (time_type, time), "Join", *values)


@extern
def debug_split_group(g: Group) -> tuple[Vec, Group]:
    inputs = Vec(before for (before, _), _ in g)
    return inputs, Group(g.key, ((after, weight) for (_, after), weight in g))


def _tell(
    context: ExternContext,
    operator: tuple[int, int, int],
    weight: int,
    time: tuple[Type, Any],
    kind: str,
    *values: tuple[Type, Any],
) -> tuple[()]:
    if _listener is not None:
        texts = [record_text(value, type_, context.definitions) for type_, value in values]
        moment = plain_text(time[1], time[0], context.definitions)
        _listener(", ".join((f"({','.join(map(str, operator))})", str(weight), moment, kind, *texts)))
    return ()
