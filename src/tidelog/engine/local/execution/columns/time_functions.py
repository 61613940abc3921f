"""The parts of dates and timestamps, and their truncation, on columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.column import Column, NeedsPythonError
from tidelog.engine.local.execution.columns.scaled import fitted
from tidelog.scaled_values import MICROSECONDS_OF_DAY
from tidelog.types import DURATION, TIMESTAMP

_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
_THURSDAY = 3  # 1970-01-01, where Monday is 0


def _days(words: Words) -> Any:
    return words.astype("datetime64[D]")


def _number(dates: Any) -> Words:
    found: Words = dates.astype(np.int64)
    return found


def _year(days: Words) -> Words:
    return _number(_days(days).astype("datetime64[Y]")) + 1970


def _month(days: Words) -> Words:
    return _number(_days(days).astype("datetime64[M]")) % 12 + 1


def _day(days: Words) -> Words:
    return days - _start(days, "M") + 1


def _weekday(days: Words) -> Words:
    return (days + _THURSDAY) % 7 + 1


def _day_of_year(days: Words) -> Words:
    return days - _start(days, "Y") + 1


def _start(days: Words, unit: str) -> Words:
    """Returns the first day of the same month or year."""
    return _number(_days(days).astype(f"datetime64[{unit}]").astype("datetime64[D]"))


def _week(days: Words) -> Words:
    found = days - (days + _THURSDAY) % 7
    if len(found) and int(found.min()) < _FIRST:
        raise NeedsPythonError
    return found


_FIRST = int(np.datetime64("0001-01-01").astype(np.int64))


def _of_date(part: Any) -> ColumnFunction:
    return lambda batch, arguments: part(arguments[0])


def _of_day(part: Any) -> ColumnFunction:
    return lambda batch, arguments: part(arguments[0] // MICROSECONDS_OF_DAY)


def _of_time(unit: int, count: int) -> ColumnFunction:
    return lambda batch, arguments: arguments[0] // unit % count


def _truncate_days(start: Any) -> ColumnFunction:
    return lambda batch, arguments: start(arguments[0] // MICROSECONDS_OF_DAY) * MICROSECONDS_OF_DAY


def _truncate(unit: int) -> ColumnFunction:
    return lambda batch, arguments: arguments[0] // unit * unit


def _itself(batch: Batch, arguments: list[Column]) -> Column:
    return arguments[0]


def _first_of(unit: str) -> Any:
    return lambda days: _start(days, unit)


# A library function → the function of columns that does the same, or raises NeedsPythonError.
TIME_FUNCTIONS: dict[str, ColumnFunction] = {
    **{
        name: make(part)
        for prefix, make in (("date", _of_date), ("timestamp", _of_day))
        for name, part in (
            (f"ddlog_std::{prefix}_year", _year),
            (f"ddlog_std::{prefix}_month", _month),
            (f"ddlog_std::{prefix}_day", _day),
            (f"ddlog_std::{prefix}_weekday", _weekday),
            (f"ddlog_std::{prefix}_day_of_year", _day_of_year),
        )
    },
    **{
        name: make(part)
        for prefix, make in (("date", _of_date), ("timestamp", _truncate_days))
        for name, part in (
            (f"ddlog_std::{prefix}_truncate_to_year", _first_of("Y")),
            (f"ddlog_std::{prefix}_truncate_to_month", _first_of("M")),
            (f"ddlog_std::{prefix}_truncate_to_week", _week),
        )
    },
    "ddlog_std::timestamp_hour": _of_time(_HOUR, 24),
    "ddlog_std::timestamp_minute": _of_time(_MINUTE, 60),
    "ddlog_std::timestamp_second": _of_time(_SECOND, 60),
    "ddlog_std::timestamp_microsecond": _of_time(1, _SECOND),
    "ddlog_std::timestamp_truncate_to_day": _truncate(MICROSECONDS_OF_DAY),
    "ddlog_std::timestamp_truncate_to_hour": _truncate(_HOUR),
    "ddlog_std::timestamp_truncate_to_minute": _truncate(_MINUTE),
    "ddlog_std::timestamp_truncate_to_second": _truncate(_SECOND),
    "ddlog_std::timestamp_to_date": lambda batch, arguments: arguments[0] // MICROSECONDS_OF_DAY,
    "ddlog_std::date_to_timestamp": lambda batch, arguments: arguments[0] * MICROSECONDS_OF_DAY,
    "ddlog_std::timestamp_to_micros": _itself,
    "ddlog_std::duration_to_micros": _itself,
    "ddlog_std::timestamp_from_micros": lambda batch, arguments: fitted(arguments[0], TIMESTAMP),
    "ddlog_std::duration_from_micros": lambda batch, arguments: fitted(arguments[0], DURATION),
}
