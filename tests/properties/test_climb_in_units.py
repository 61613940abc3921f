"""Least and greatest dates, times and decimals through recursion: shortest ways that plain Python finds, in every
strategy, under histories with deletes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import tidelog

NODES = 7
DAY = date(2024, 2, 27)
NOON = datetime(1969, 12, 31, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Costs:
    """A type of costs, with the type of what is added to them; `value` and `added` make them from small integers."""

    type: str
    length: str
    sum: str
    value: Callable[[int], Any]
    added: Callable[[int], Any]
    largest: int = 40


COSTS = {
    "decimal": Costs(
        "decimal<10, 2>",
        "decimal<8, 2>",
        "(d + l) as decimal<10, 2>",
        lambda cents: Decimal(cents).scaleb(-2),
        lambda cents: Decimal(cents).scaleb(-2),
    ),
    "decimal of another scale": Costs(
        "decimal<18, 3>",
        "decimal<5, 1>",
        "((d + l) as decimal<18, 3> + 0.000) as decimal<18, 3>",
        lambda tenths: Decimal(tenths).scaleb(-1),
        lambda tenths: Decimal(tenths).scaleb(-1),
    ),
    "wide decimal": Costs("decimal<38, 0>", "u32", "(d + (l as decimal<10, 0>)) as decimal<38, 0>", Decimal, int),
    "duration": Costs("duration", "duration", "d + l", lambda n: timedelta(minutes=n), lambda n: timedelta(minutes=n)),
    "timestamp": Costs(
        "timestamp", "duration", "l + d", lambda n: NOON + timedelta(hours=n), lambda n: timedelta(hours=n)
    ),
    "date": Costs(
        "date",
        "duration",
        "d + l",
        lambda n: DAY + timedelta(days=n),
        lambda n: timedelta(days=n, hours=n % 24),
    ),
}


def _program(costs: Costs, function: str) -> str:
    return f"""
        input relation Edge(x: u8, y: u8, l: {costs.length})
        input relation Start(x: u8, d: {costs.type})
        input relation Limit(d: {costs.type})
        output relation Best(x: u8, d: {costs.type})
        output relation Near(x: u8)
        relation Way(x: u8, d: {costs.type})
        Way(x, d) :- Start(x, d).
        Way(y, {costs.sum}) :- Best(x, d), Edge(x, y, l).
        Best(x, m) :- Way(x, d), var m = d.group_by(x).{function}().
        Near(x) :- Best(x, d), Limit(limit), d {"<" if function == "min" else ">"} limit.
    """


def _best(
    starts: set[tuple[int, int]], edges: set[tuple[int, int, int]], better: Callable[[int, int], bool]
) -> dict[int, int]:
    """The best way to each node; `better` compares two."""
    found: dict[int, int] = {}
    waiting = [*starts]
    while waiting:
        node, cost = waiting.pop()
        if node in found and not better(cost, found[node]):
            continue
        found[node] = cost
        waiting += [(y, cost + length) for x, y, length in edges if x == node]
    return found


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("strategy", ["elastic", "recompute", "counting"])
def test_best_dates_times_and_decimals_are_those_of_plain_python(name: str, function: str, strategy: str) -> None:
    costs, rng = COSTS[name], random.Random(f"{name} {function}")
    program = tidelog.compile(_program(costs, function))
    assert not program.warnings
    for _ in range(3):
        starts: set[tuple[int, int]] = set()
        edges: set[tuple[int, int, int]] = set()
        with program.open(strategy=strategy) as db:
            with db.transaction() as tx:
                tx.insert("Limit", [(costs.value(30),)])
            for _ in range(8):
                new_starts = {(rng.randrange(2), rng.randrange(costs.largest)) for _ in range(rng.choice((0, 1)))}
                new_edges = {
                    # A greatest way exists only if no way comes back.
                    (*(sorted(rng.sample(range(NODES), 2)) if function == "max" else rng.sample(range(NODES), 2)), l)
                    for l in (rng.randrange(costs.largest) for _ in range(rng.choice((1, 3, 9))))
                }
                gone = {*rng.sample(sorted(edges), len(edges) // 3)}
                gone_starts = {*rng.sample(sorted(starts), len(starts) // 3)}
                with db.transaction() as tx:
                    tx.delete("Edge", [(x, y, costs.added(l)) for x, y, l in gone])
                    tx.delete("Start", [(x, costs.value(d)) for x, d in gone_starts])
                    tx.insert("Edge", [(x, y, costs.added(l)) for x, y, l in new_edges])
                    tx.insert("Start", [(x, costs.value(d)) for x, d in new_starts])
                edges = (edges - gone) | new_edges
                starts = (starts - gone_starts) | new_starts
                expected = _best(starts, edges, int.__lt__ if function == "min" else int.__gt__)
                assert dict(db.relation("Best").rows()) == {x: costs.value(d) for x, d in expected.items()}
                near = {x for x, d in expected.items() if (d < 30 if function == "min" else d > 30)}
                assert {x for (x,) in db.relation("Near").rows()} == near
            if strategy == "elastic":
                (used,) = [each.strategy for each in tx.report.strata if "Best" in each.relations]
                assert used == "monotone"


def test_a_sum_that_leaves_its_type_in_a_recursion_is_an_error() -> None:
    text = _program(Costs("decimal<4, 2>", "decimal<4, 2>", "(d + l) as decimal<4, 2>", Decimal, Decimal), "min")
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [(0, Decimal(90))])
            tx.insert("Edge", [(0, 1, Decimal("9.99"))])
        with pytest.raises(tidelog.TidelogError, match="E614.*100.00 does not fit into `decimal<4, 2>`"):
            with db.transaction() as tx:
                tx.insert("Edge", [(0, 2, Decimal(10))])
        assert db.relation("Best").rows() == [(0, Decimal("90.00")), (1, Decimal("99.99"))]
        with db.transaction() as tx:
            tx.insert("Edge", [(0, 2, Decimal("5.00"))])
        assert (2, Decimal("95.00")) in db.relation("Best")


def test_a_time_before_the_first_one_is_an_error_and_negative_steps_are_right() -> None:
    text = _program(COSTS["timestamp"], "min")
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [(0, datetime(1, 1, 2))])
            tx.insert("Edge", [(0, 1, timedelta(hours=-23)), (1, 2, timedelta(hours=3))])
        assert (2, datetime(1, 1, 1, 4, tzinfo=UTC)) in db.relation("Best")
        with pytest.raises(tidelog.TidelogError, match="E614"), db.transaction() as tx:
            tx.insert("Edge", [(0, 2, timedelta(days=-3))])


def test_a_cast_of_an_addend_that_fails_is_an_error_as_in_the_rounds() -> None:
    sums = "(d + (l as decimal<3, 2>)) as decimal<10, 2>"
    text = _program(Costs("decimal<10, 2>", "decimal<8, 2>", sums, Decimal, Decimal), "min")
    with pytest.warns(UserWarning, match="cannot fail"):
        program = tidelog.compile(text)
    with program.open() as db, pytest.raises(tidelog.TidelogError, match="E614"), db.transaction() as tx:
        tx.insert("Start", [(0, Decimal(1))])
        tx.insert("Edge", [(0, 1, Decimal(10))])


def test_days_of_two_durations_are_counted_once() -> None:
    sums = 'd + (l + duration"PT12H")'
    text = _program(Costs("date", "duration", sums, DAY.__add__, timedelta), "min")
    with pytest.warns(UserWarning, match="W301"):
        program = tidelog.compile(text)
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [(0, DAY)])
            tx.insert("Edge", [(0, 1, timedelta(hours=12))])
        assert (1, DAY + timedelta(days=1)) in db.relation("Best")


def test_long_ways_of_few_steps_stay_in_kernels() -> None:
    """Ten thousand roads of up to 1,000.00 would leave `decimal<8, 2>` if one way had all of them."""
    costs = Costs("decimal<8, 2>", "decimal<8, 2>", "(d + l) as decimal<8, 2>", Decimal, Decimal)
    program = tidelog.compile(_program(costs, "min").replace("u8", "u32"))
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [(0, Decimal(0))])
            tx.insert("Edge", [(0, node, Decimal(1000)) for node in range(1, 10_001)])
        (used,) = [each.strategy for each in tx.report.strata if "Best" in each.relations]
        assert used == "monotone"
