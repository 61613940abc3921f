"""Aggregates of a whole group: its sorted values → the value of each aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import mul
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


class SumOverflowError(ArithmeticError):
    """A sum does not fit into its type; `key` has the values of the group's keys."""

    def __init__(self, type_: Type, key: Sequence[Any]) -> None:
        super().__init__()
        self.type = type_
        self.key = tuple(key)


def aggregate_whole(
    aggregate: Aggregate, key: Sequence[Any], values: Sequence[Any], weights: Sequence[int] | None = None
) -> Any:
    """Returns the value of an aggregate, of at least one value; with `weights`, each counts so often.

    Raises SumOverflowError if an exact sum does not fit.
    """
    read = reader(aggregate, key)
    match aggregate.kind:
        case AggregateKind.COUNT:
            return len(values) if weights is None else sum(weights)
        case AggregateKind.COUNT_IF:
            found = map(bool, values if read is None else map(read, values))
            return sum(found) if weights is None else sum(weight for each, weight in zip(found, weights) if each)
        case AggregateKind.SUM if weights is None:
            return sum_of(values if read is None else [read(each) for each in values], aggregate.variable.type)
        case AggregateKind.SUM | AggregateKind.TOTAL:
            numbers = values if read is None else [read(each) for each in values]
            if isinstance(aggregate.variable.type, FloatType):
                total = ExactSum()
                for number, weight in zip(numbers, weights or ()):
                    total.add(number, weight)
                return total.rounded(aggregate.variable.type.width)
            made = sum(numbers) if weights is None else sum(map(mul, numbers, weights))
            if aggregate.kind is AggregateKind.SUM:
                return wrapped(made, aggregate.variable.type)
            return fitting(made, aggregate.variable.type, key)
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


def fitting(total: int, type_: Type, key: Sequence[Any]) -> int:
    """Returns a sum. Raises SumOverflowError if it is not in the range of its type."""
    if wrapped(total, type_) != total:
        raise SumOverflowError(type_, key)
    return total


def wrapped(total: int, type_: Type) -> int:
    """Returns a sum in the range of its type."""
    return wrap(total, type_) if isinstance(type_, BitType | SignedType) else total
