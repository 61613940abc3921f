"""Labels of interned values: they have the order of the values, whatever the order in which values are met."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.strata.monotone import value_order
from tidelog.engine.local.strata.monotone.value_order import ValueOrder, key_of
from tidelog.rules.analysis.expression_direction import FALLS, RISES, Order
from tidelog.types import BIGINT, DOUBLE, STRING, U32, TupleType, Type
from tidelog.values import NAN

INFINITY = float("inf")


def require_sorted(order: ValueOrder, values: Values, type_: Type, met: list[Any], key: Any = None) -> None:
    ids = values.encode(met, type_)
    known = order.labels[ids].tolist()
    assert [each for _, each in sorted(zip(known, met), key=lambda pair: pair[0])] == sorted(met, key=key)
    assert len({*known}) == len(met)


@pytest.mark.parametrize("gap", [2, 1 << 32])
@pytest.mark.parametrize(
    ("type_", "make"),
    [
        (BIGINT, lambda rng: rng.choice((1, 10**30)) * rng.randint(-900, 900)),
        (STRING, lambda rng: "".join(rng.choices("ab\u00e9\U0001f600", k=rng.randrange(9)))),
        (DOUBLE, lambda rng: rng.choice((0.5, 1e300)) * rng.randint(-900, 900)),
        (TupleType((U32, STRING)), lambda rng: (rng.randrange(30), rng.choice("abcd"))),
    ],
)
def test_labels_have_the_order_of_values(type_: Type, make: Any, gap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_order, "GAP", gap)
    rng = random.Random(3)
    values = Values()
    order = ValueOrder(type_, values.pool(type_))
    met: list[Any] = []
    for size in (1, 3, 40, 1, 1, 2, 1, 30, 1, 1, 5, 1, 1, 1, 1):
        new = sorted({make(rng) for _ in range(size)} - {*met})
        if new:
            order.add(np.unique(values.encode(new, type_)))
        met += new
        require_sorted(order, values, type_, met)


def test_floats_at_the_ends() -> None:
    values = Values()
    order = ValueOrder(DOUBLE, values.pool(DOUBLE))
    met = [NAN, 0.0, -INFINITY, INFINITY, -5e-324, 5e-324, -1.0, 1.0]
    order.add(values.encode(met, DOUBLE))
    require_sorted(order, values, DOUBLE, met)


@pytest.mark.parametrize("first", [FALLS, RISES])
def test_tuples_by_another_part_and_backwards(first: int) -> None:
    type_ = TupleType((U32, STRING))
    own: Order = ((1, first), (0, FALLS))
    values = Values()
    order = ValueOrder(type_, values.pool(type_), own)
    met = [(number, text) for text in ("b", "", "ab") for number in (3, 1, 2)]
    for each in met:
        order.add(values.encode([each], type_))
    require_sorted(order, values, type_, met, key_of(own))
    chosen = sorted(met, key=key_of(own))[0]
    assert chosen == ((1, "") if first == FALLS else (1, "b"))


def test_rising_and_falling_values_need_few_labels_again(monkeypatch: pytest.MonkeyPatch) -> None:
    values = Values()
    order = ValueOrder(BIGINT, values.pool(BIGINT))
    again = 0
    for number in range(1000):
        again += order.add(values.encode([number], BIGINT))
        again += order.add(values.encode([-1 - number], BIGINT))
    assert again < 40
    require_sorted(order, values, BIGINT, [*range(-1000, 1000)])
