"""Dates, timestamps, durations and decimals: literals, operators, functions, aggregates, names and errors."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tidelog
from tidelog.engine.local.execution import python_step

CALENDAR = """
input relation In(d: date, t: timestamp, u: duration, p: decimal<12, 2>, q: decimal<30, 4>, n: s32)
output relation Parts(t: timestamp, y: s32, mo: u8, da: u8, w: u8, o: u16, h: u8, mi: u8, s: u8, us: u32)
Parts(t, year(t), month(t), day(t), weekday(t), day_of_year(t), hour(t), minute(t), second(t), microsecond(t)) :-
    In(_, t, _, _, _, _).
output relation DateParts(d: date, y: s32, mo: u8, da: u8, w: u8, o: u16)
DateParts(d, year(d), month(d), day(d), weekday(d), day_of_year(d)) :- In(d, _, _, _, _, _).
output relation Cut(t: timestamp, y: timestamp, mo: timestamp, w: timestamp, d: timestamp, h: timestamp, s: timestamp)
Cut(t, truncate_to_year(t), truncate_to_month(t), truncate_to_week(t), truncate_to_day(t), truncate_to_hour(t),
    truncate_to_second(t)) :- In(_, t, _, _, _, _).
output relation CutDate(d: date, y: date, mo: date, w: date, x: date, m: timestamp)
CutDate(d, truncate_to_year(d), truncate_to_month(d), truncate_to_week(d), to_date(t), to_timestamp(d)) :-
    In(d, t, _, _, _, _).
output relation Times(a: timestamp, b: timestamp, c: duration, d: date, e: date, f: duration, g: duration, h: duration)
Times(t + u, t - u, t - to_timestamp(d), d + u, d - u, u * n, u / 7, -u) :- In(d, t, u, _, _, n).
output relation Numbers(a: decimal<13, 2>, b: decimal<25, 4>, c: decimal<17, 6>, d: decimal<3, 2>, e: decimal<31, 4>)
Numbers(p + p, p * p, p / 3.5, p % 7.25, q - p) :- In(_, _, _, p, q, _).
output relation Casts(a: decimal<12, 1>, b: double, c: s64, d: decimal<20, 3>, e: bigint, f: decimal<38, 6>)
Casts(p as decimal<12, 1>, p as double, p as s64, n as decimal<20, 3>, q as bigint, q as decimal<38, 6>) :-
    In(_, _, _, p, q, n).
output relation Text(a: string, b: string, c: string, d: string, e: string)
Text("${d}", "${t}", "${u}", "${p}", "${q}") :- In(d, t, u, p, q, _).
output relation Order(d: date, t: timestamp)
Order(d, t) :- In(d, t, u, p, q, _), t >= to_timestamp(d), p < 100, u > duration"PT0S", q != 0.0.
output relation Stats(w: u8, s: decimal<22, 2>, a: decimal<16, 6>, lo: timestamp, hi: decimal<30, 4>, n: u64,
                      us: duration, ua: duration, qs: decimal<38, 4>)
Stats(w, s, a, lo, hi, n, us, ua, qs) :- In(d, t, u, p, q, _), var w = weekday(d),
    (var s, var a, var lo, var hi, var n, var us, var ua, var qs) =
    (sum(p), avg(p), min(t), max(q), count(), sum(u), avg(u), sum(q)) by (w).
"""
OUTPUTS = ["Parts", "DateParts", "Cut", "CutDate", "Times", "Numbers", "Casts", "Text", "Order", "Stats"]
EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


def some_rows(random: Random, count: int) -> list[tuple[Any, ...]]:
    def row() -> tuple[Any, ...]:
        return (
            date.fromordinal(random.randrange(date(2, 1, 1).toordinal(), date(9998, 1, 1).toordinal())),
            datetime(2, 1, 1, tzinfo=UTC) + timedelta(microseconds=random.randrange(9990 * 365 * 86_400_000_000)),
            timedelta(microseconds=random.randrange(-(10**13), 10**13)),
            Decimal(random.randrange(-(10**11), 10**11)).scaleb(-2, EXACT),
            Decimal(random.randrange(-(10**29), 10**29)).scaleb(-4, EXACT),
            random.randrange(-100, 100),
        )

    return [row() for _ in range(count)]


def contents(db: tidelog.Database) -> dict[str, list[Any]]:
    return {name: sorted(db.relation(name)) for name in OUTPUTS}


@pytest.fixture(scope="module")
def calendar() -> tidelog.Program:
    return tidelog.compile(CALENDAR)


def test_columns_and_python_agree(calendar: tidelog.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(Random(7), 60)
    with calendar.open() as whole, whole.transaction() as tx:
        tx.insert("In", rows)
    monkeypatch.setattr(python_step, "FEWEST_ROWS", 1_000_000)
    with calendar.open() as single:
        for start in range(0, len(rows), 7):
            with single.transaction() as tx:
                tx.insert("In", rows[start : start + 7])
        again = contents(single)
    with calendar.open() as whole:
        monkeypatch.undo()
        with whole.transaction() as tx:
            tx.insert("In", rows)
        assert contents(whole) == again
        with whole.transaction() as tx:
            tx.delete("In", rows[::2])
        with calendar.open() as fresh, fresh.transaction() as tx:
            tx.insert("In", rows[1::2])
        with calendar.open() as fresh:
            with fresh.transaction() as tx:
                tx.insert("In", rows[1::2])
            assert contents(whole) == contents(fresh)


def test_results_are_those_of_python(calendar: tidelog.Program) -> None:
    rows = some_rows(Random(3), 40)
    with calendar.open() as db:
        with db.transaction() as tx:
            tx.insert("In", rows)
        assert sorted(db.relation("Parts")) == sorted(
            (
                t,
                t.year,
                t.month,
                t.day,
                t.isoweekday(),
                t.timetuple().tm_yday,
                t.hour,
                t.minute,
                t.second,
                t.microsecond,
            )
            for _, t, *_ in rows
        )
        assert {row[:3] for row in db.relation("Times")} == {
            (t + u, t - u, t - datetime(d.year, d.month, d.day, tzinfo=UTC)) for d, t, u, *_ in rows
        }
        cent, tenth = Decimal("0.01"), Decimal("0.1")
        assert {row[:3] for row in db.relation("Numbers")} == {
            (p + p, EXACT.multiply(p, p), EXACT.quantize(EXACT.divide(p, Decimal("3.5")), Decimal("1e-6")))
            for _, _, _, p, *_ in rows
        }
        assert {(row[0], row[2]) for row in db.relation("Casts")} == {
            (p.quantize(tenth, ROUND_HALF_UP), int(p)) for _, _, _, p, *_ in rows
        }
        for weekday, total, mean, *_, count, _, _, _ in db.relation("Stats"):
            prices = [p for d, _, _, p, *_ in rows if d.isoweekday() == weekday]
            assert (total, count) == (sum(prices).quantize(cent), len(prices))
            assert mean == (sum(prices) / len(prices)).quantize(Decimal("1e-6"), ROUND_HALF_UP)


def test_a_durable_database_keeps_them(calendar: tidelog.Program, tmp_path: Any) -> None:
    rows = some_rows(Random(5), 30)
    with calendar.open(path=tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.insert("In", rows)
        before = contents(db)
    with calendar.open(path=tmp_path / "db") as db:
        assert contents(db) == before
        with db.transaction() as tx:
            tx.delete("In", rows[:10])
    with calendar.open(path=tmp_path / "db") as db:
        assert len(db.relation("In")) == 20


@pytest.mark.spark
def test_spark_agrees(calendar: tidelog.Program, spark: Any) -> None:
    rows = some_rows(Random(11), 30)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    with calendar.open() as local, calendar.open(engine="spark", spark=spark) as db:
        for each in (local, db):
            with each.transaction() as tx:
                tx.insert("In", rows)
            with each.transaction() as tx:
                tx.delete("In", rows[:5])
        assert contents(db) == contents(local)
        frame = db.relation("In").to_spark()
        types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        assert types == {
            "d": "date",
            "t": "timestamp",
            "u": "interval day to second",
            "p": "decimal(12,2)",
            "q": "decimal(30,4)",
            "n": "int",
        }
        with calendar.open(engine="spark", spark=spark) as other:
            with other.transaction() as tx:
                tx.insert("In", frame)
            assert sorted(other.relation("In")) == sorted(rows[5:])
        naive = spark.sql("select timestamp_ntz'2024-07-01 12:00:00' as t")
        moments = tidelog.compile("input relation A(t: timestamp)\noutput relation B(t: timestamp) B(t) :- A(t).")
        with moments.open(engine="spark", spark=spark) as other:
            with other.transaction() as tx:
                tx.insert("A", naive)
            assert list(other.relation("B")) == [(datetime(2024, 7, 1, 12, tzinfo=UTC),)]


MOMENTS = tidelog.compile("input relation A(t: timestamp)\noutput relation B(t: timestamp)\nB(t) :- A(t).")


@pytest.mark.parametrize(
    "value",
    [
        datetime(2024, 7, 1, 12),
        datetime(2024, 7, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        np.datetime64("2024-07-01T12:00:00"),
        pd.Timestamp("2024-07-01 12:00"),
        pd.Timestamp("2024-07-01 14:00", tz="Europe/Berlin"),
    ],
)
def test_a_moment_is_the_same_in_every_zone_and_naive_ones_are_utc(value: Any) -> None:
    with MOMENTS.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(value,)])
        assert list(db.relation("B")) == [(datetime(2024, 7, 1, 12, tzinfo=UTC),)]
        frame = pd.DataFrame({"t": [value]})
        with db.transaction() as tx:
            tx.delete("A", frame)
        assert len(db.relation("B")) == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_timestamps_of_every_unit_and_zone_are_taken(unit: str, zone: str | None) -> None:
    table = pa.table({"t": pa.array([0, 1], pa.timestamp(unit, zone))})
    with MOMENTS.open() as db:
        if unit == "ns":
            with pytest.raises(tidelog.DataError, match="timestamp"), db.transaction() as tx:
                tx.insert("A", table)
            return
        with db.transaction() as tx:
            tx.insert("A", table)
        assert min(db.relation("B")) == (datetime(1970, 1, 1, tzinfo=UTC),)


def failure(program: str, *rows: Any) -> str:
    with tidelog.compile(program).open() as db:
        with pytest.raises(tidelog.EvaluationError) as caught, db.transaction() as tx:
            tx.insert("A", list(rows))
        assert len(db.relation("A")) == 0
        return str(caught.value)


def test_what_does_not_fit_is_an_error_that_names_the_rule() -> None:
    shop = "input relation A(p: decimal<4, 2>)\noutput relation B(p: decimal<4, 2>)\n"
    said = failure(f"{shop}B((p * 2) as decimal<4, 2>) :- A(p).", (Decimal("99.99"),))
    assert "E614" in said
    assert "199.98" in said
    assert "B((p * 2) as decimal<4, 2>) :- A(p)." in said
    days = "input relation A(d: date)\noutput relation B(d: date)\n"
    said = failure(f'{days}B(d + duration"P1D") :- A(d).', (date.max,))
    assert "9999-12-31 + P1D does not fit into `date`" in said
    many = [(date.fromordinal(n),) for n in range(1, 40)] + [(date.max,)]
    assert "9999-12-31 + P1D" in failure(f'{days}B(d + duration"P1D") :- A(d).', *many)
    assert "E601" in failure(f"{shop}B((p / 0.0) as decimal<4, 2>) :- A(p).", (Decimal("1.00"),))


def test_a_sum_that_has_too_many_digits_is_an_error() -> None:
    program = tidelog.compile(
        "input relation A(n: u8, p: decimal<38, 0>)\noutput relation B(p: decimal<38, 0>)\n"
        "B(s) :- A(_, p), var s = sum(p) by ()."
    )
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(1, Decimal("9" * 38))])
        assert list(db.relation("B")) == [(Decimal("9" * 38),)]
        with pytest.raises(tidelog.EvaluationError, match="does not fit"), db.transaction() as tx:
            tx.insert("A", [(2, Decimal(1))])
        assert list(db.relation("B")) == [(Decimal("9" * 38),)]


def test_the_sum_of_a_group_is_checked_too() -> None:
    text = "import group input relation A(k: u8, p: decimal<4, 2>) output relation B(k: u8, s: decimal<4, 2>)\n"
    program = tidelog.compile(f"{text}B(k, s) :- A(k, p), var s = p.group_by(k).sum_of(|x| x).")
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(1, Decimal("1.50")), (1, Decimal("2.50")), (2, Decimal("99.99"))])
        assert set(db.relation("B")) == {(1, Decimal("4.00")), (2, Decimal("99.99"))}
        with pytest.raises(tidelog.EvaluationError, match="does not fit"), db.transaction() as tx:
            tx.insert("A", [(2, Decimal("0.01"))])
        assert len(db.relation("A")) == 3


def test_names_of_types_are_not_reserved() -> None:
    program = tidelog.compile(
        """
        typedef date = Day{n: u8}
        typedef timestamp = u64
        input relation A(d: date, t: timestamp)
        output relation B(n: u8, t: u64, date: u8)
        function duration(x: u8): u8 { x + 1 }
        B(date, timestamp, duration(date)) :- A(Day{var date}, timestamp).
        """
    )
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [({"n": 3}, 5)])
        assert list(db.relation("B")) == [(3, 5, 4)]


def test_literals_in_patterns_and_facts() -> None:
    program = tidelog.compile(
        """
        relation Price(d: date, p: decimal<6, 2>)
        Price(date"2024-01-31", 1.5). Price(date"2024-02-01", 20). Price(date"2024-02-02", -0.25).
        output relation Named(d: date, name: string)
        Named(d, match (d) { date"2024-01-31" -> "last", _ -> "other" }) :- Price(d, _).
        output relation Cheap(d: date)
        Cheap(d) :- Price(d, 1.50).
        output relation Neg(t: timestamp)
        Neg(to_timestamp(d) + duration"PT1H30M") :- Price(d, p), p < 0.
        """
    )
    with program.open() as db:
        assert set(db.relation("Named")) == {
            (date(2024, 1, 31), "last"),
            (date(2024, 2, 1), "other"),
            (date(2024, 2, 2), "other"),
        }
        assert list(db.relation("Cheap")) == [(date(2024, 1, 31),)]
        assert list(db.relation("Neg")) == [(datetime(2024, 2, 2, 1, 30, tzinfo=UTC),)]
        assert (date(2024, 1, 31),) in db.relation("Cheap")
        assert list(db.query('Price(d, p), p >= 1.50, d > date"2024-01-31"')) == [(date(2024, 2, 1), Decimal("20.00"))]


def test_least_values_through_recursion() -> None:
    program = tidelog.compile(
        """
        input relation Leg(a: u8, b: u8, leaves: timestamp, arrives: timestamp)
        output relation Earliest(at: u8, when: timestamp)
        relation Reach(at: u8, when: timestamp)
        Reach(0, timestamp"2024-01-01T00:00:00Z").
        Reach(b, arrives) :- Earliest(a, when), Leg(a, b, leaves, arrives), leaves >= when.
        Earliest(at, when) :- Reach(at, t), var when = min(t) by (at).
        """
    )
    start = datetime(2024, 1, 1, tzinfo=UTC)
    legs = [
        (0, 1, start + timedelta(hours=2), start + timedelta(hours=3)),
        (0, 1, start + timedelta(hours=1), start + timedelta(hours=2)),
        (1, 2, start + timedelta(hours=2), start + timedelta(hours=4)),
        (2, 0, start + timedelta(hours=5), start + timedelta(hours=6)),
    ]
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Leg", legs)
        assert dict(db.relation("Earliest")) == {0: start, 1: legs[1][3], 2: legs[2][3]}
        with db.transaction() as tx:
            tx.delete("Leg", legs[1:2])
        assert dict(db.relation("Earliest")) == {0: start, 1: legs[0][3]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('B(d) :- A(d, _, _, _), d == "2024-01-01".', "expected `date`"),
        ("B(d + 1) :- A(d, _, _, _).", 'duration"P1D"'),
        ("B(d) :- A(d, t, _, _), t > d.", "expected `timestamp`"),
        ("B(d) :- A(d, _, p, q), p == q.", "as decimal<13, 3>"),
        ("B(d) :- A(d, _, p, _), p > 1.005.", "does not fit into `decimal<12, 2>`"),
        ('B(date"2024-02-30").', "is not a date"),
        ("B(d) :- A(d, t, _, _), var x = t + t.", "there is no `timestamp` + `timestamp`"),
        ("relation C(x: decimal<39, 2>)", "1 to 38"),
        ("relation C(x: decimal)", "decimal<10, 2>"),
        ("relation C(x: numeric)", "`decimal<P, S>`"),
        ("relation C(x: interval)", "`duration`"),
    ],
)
def test_mistakes_are_said(text: str, said: str) -> None:
    declared = (
        "input relation A(d: date, t: timestamp, p: decimal<12, 2>, q: decimal<5, 3>)\noutput relation B(d: date)\n"
    )
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile(declared + text)
    assert said in str(caught.value)


def test_values_that_do_not_fit_are_refused_by_name() -> None:
    program = tidelog.compile(
        "input relation A(d: date, p: decimal<5, 2>)\noutput relation B(d: date) B(d) :- A(d, _)."
    )
    with program.open() as db:
        for row, said in (
            ((datetime(2024, 1, 1), Decimal(1)), "x.date()"),
            (("2024-01-01", Decimal(1)), "datetime.date(2024, 1, 1)"),
            ((date(2024, 1, 1), 1.5), "not exact"),
            ((date(2024, 1, 1), Decimal("1.234")), "round(x, 2)"),
            ((date(2024, 1, 1), Decimal("1000.00")), "5 digits"),
        ):
            with pytest.raises(tidelog.DataError) as caught, db.transaction() as tx:
                tx.insert("A", [row])
            assert said in str(caught.value)
