"""The extern functions of `ddlog_std` on dates, timestamps, durations and decimals."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from tidelog import iso_texts
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.scaled_values import exact_decimal, to_units, within
from tidelog.scaled_values import parse_decimal as decimal_of_text
from tidelog.types import DURATION, TIMESTAMP, DecimalType, Type
from tidelog.values.structs import Struct


def _option(value: Any) -> Struct:
    return NONE if value is None else Some(value)


@extern
def parse_date(s: str) -> Struct:
    return _option(iso_texts.parse_date(s))


@extern
def parse_timestamp(s: str) -> Struct:
    return _option(iso_texts.parse_timestamp(s))


@extern
def parse_duration(s: str) -> Struct:
    return _option(iso_texts.parse_duration(s))


@extern(needs_types=True)
def parse_decimal(context: ExternContext, type_: Type, s: str) -> Struct:
    if not isinstance(type_, DecimalType):
        raise ValueError(f"parse_decimal() gives a decimal, not a value of type {type_}")
    number = decimal_of_text(s)
    return NONE if number is None else _option(exact_decimal(number, type_))


@extern
def date_from_ymd(year: int, month: int, day: int) -> Struct:
    try:
        return Some(date(year, month, day))
    except ValueError:
        return NONE


@extern
def timestamp_from_micros(n: int) -> datetime:
    moment: datetime = within(n, TIMESTAMP, f"{n} microseconds")
    return moment


@extern
def duration_from_micros(n: int) -> timedelta:
    length: timedelta = within(n, DURATION, f"{n} microseconds")
    return length


@extern
def timestamp_to_micros(t: datetime) -> int:
    return to_units(t, TIMESTAMP)


@extern
def duration_to_micros(d: timedelta) -> int:
    return to_units(d, DURATION)


@extern
def timestamp_to_date(t: datetime) -> date:
    return t.date()


@extern
def date_to_timestamp(d: date) -> datetime:
    return datetime(d.year, d.month, d.day, tzinfo=UTC)


@extern
def date_truncate_to_week(d: date) -> date:
    return d - timedelta(days=d.weekday())


@extern
def timestamp_truncate_to_week(t: datetime) -> datetime:
    return date_to_timestamp(date_truncate_to_week(t.date()))


@extern
def date_year(d: date) -> int:
    return d.year


@extern
def date_month(d: date) -> int:
    return d.month


@extern
def date_day(d: date) -> int:
    return d.day


@extern
def date_weekday(d: date) -> int:
    return d.isoweekday()


@extern
def date_day_of_year(d: date) -> int:
    return d.timetuple().tm_yday


@extern
def timestamp_year(t: datetime) -> int:
    return t.year


@extern
def timestamp_month(t: datetime) -> int:
    return t.month


@extern
def timestamp_day(t: datetime) -> int:
    return t.day


@extern
def timestamp_weekday(t: datetime) -> int:
    return t.isoweekday()


@extern
def timestamp_day_of_year(t: datetime) -> int:
    return t.timetuple().tm_yday


@extern
def date_truncate_to_year(d: date) -> date:
    return d.replace(month=1, day=1)


@extern
def date_truncate_to_month(d: date) -> date:
    return d.replace(day=1)


@extern
def timestamp_hour(t: datetime) -> int:
    return t.hour


@extern
def timestamp_minute(t: datetime) -> int:
    return t.minute


@extern
def timestamp_second(t: datetime) -> int:
    return t.second


@extern
def timestamp_microsecond(t: datetime) -> int:
    return t.microsecond


@extern
def timestamp_truncate_to_year(t: datetime) -> datetime:
    return timestamp_truncate_to_day(t).replace(month=1, day=1)


@extern
def timestamp_truncate_to_month(t: datetime) -> datetime:
    return timestamp_truncate_to_day(t).replace(day=1)


@extern
def timestamp_truncate_to_day(t: datetime) -> datetime:
    return t.replace(hour=0, minute=0, second=0, microsecond=0)


@extern
def timestamp_truncate_to_hour(t: datetime) -> datetime:
    return t.replace(minute=0, second=0, microsecond=0)


@extern
def timestamp_truncate_to_minute(t: datetime) -> datetime:
    return t.replace(second=0, microsecond=0)


@extern
def timestamp_truncate_to_second(t: datetime) -> datetime:
    return t.replace(microsecond=0)
