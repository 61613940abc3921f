"""Aggregates of a whole group: its sorted values → the value of each aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tidelog.rules.ir import Aggregate, AggregateKind
from tidelog.types import BitType, FloatType, SignedType, Type, wrap
from tidelog.values.exact_sum import ExactSum

Read = Callable[[Any], Any]


def reader(aggregate: Aggregate, key: Sequence[Any]) -> Read | None:
    """Returns the function by which an aggregate reads the values of this key's group; None for the value itself."""
    if aggregate.read is None:
        return None
    call = aggregate.read.call
    if len(aggregate.parameters) > 1:
        return partial(_call_with_parts, call, tuple(key))
    return partial(_call_with, call, tuple(key)) if key else call


def _call_with(call: Callable[..., Any], key: tuple[Any, ...], value: Any) -> Any:
    return call(value, *key)


def _call_with_parts(call: Callable[..., Any], key: tuple[Any, ...], value: tuple[Any, ...]) -> Any:
    return call(*value, *key)


def aggregate_whole(aggregate: Aggregate, key: Sequence[Any], values: Sequence[Any]) -> Any:
    """Returns the value of an aggregate, of at least one value."""
    read = reader(aggregate, key)
    match aggregate.kind:
        case AggregateKind.COUNT:
            return len(values)
        case AggregateKind.COUNT_IF:
            return sum(map(bool, values if read is None else map(read, values)))
        case AggregateKind.SUM:
            return sum_of(values if read is None else [read(each) for each in values], aggregate.variable.type)
        case AggregateKind.MIN:
            return min(values if read is None else map(read, values))
        case AggregateKind.MAX:
            return max(values if read is None else map(read, values))
        case AggregateKind.ARG_MIN:
            return min(values, key=read)
        case AggregateKind.ARG_MAX:
            return max(values, key=read)
        case AggregateKind.JOIN:
            return aggregate.separator.join(values if read is None else map(read, values))


def sum_of(numbers: Sequence[Any], type_: Type) -> Any:
    """Returns the sum of numbers of a type, as `group::sum_of` has it."""
    if isinstance(type_, FloatType):
        return ExactSum(numbers).rounded(type_.width)
    return wrapped(sum(numbers), type_)


def wrapped(total: int, type_: Type) -> int:
    """Returns a sum in the range of its type."""
    return wrap(total, type_) if isinstance(type_, BitType | SignedType) else total
