"""The extern functions of `time`. Values are the texts of `_time/moment.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import Err, Ok
from tidelog.library._time import calendar as calendar
from tidelog.library._time.format import WEEKDAYS, BadFormatError, format_moment
from tidelog.library._time.moment import (
    Moment,
    date_text,
    nanoseconds_of,
    read_date,
    read_time,
    read_zoned,
    rfc3339_text,
    time_text,
    zoned_text,
)
from tidelog.library._time.parse import BadTextError, parse_moment, parse_rfc2822, parse_rfc3339
from tidelog.values.externs import itself
from tidelog.values.structs import Shape, Struct, classes

(DateTime,) = classes(Shape("time::DateTime", (("time::DateTime", ("date", "time")),), False))
Weekdays = classes(Shape("time::Weekday", tuple((f"time::{name}", ()) for name in WEEKDAYS), False))

# The Julian day that 1 January 1970 begins in.
_FIRST_JULIAN_DAY = 2_440_588


# Times


@extern
def try_from_hms_nano(hours: int, minutes: int, seconds: int, nanoseconds: int) -> Struct:
    if hours > 23 or minutes > 59 or seconds > 59 or nanoseconds > 999_999_999:
        return Err("illegal time value")
    return Ok(time_text(Moment(nanoseconds=nanoseconds_of(hours, minutes, seconds, nanoseconds))))


@extern
def hour(time: str) -> int:
    return read_time(time).clock[0]


@extern
def minute(time: str) -> int:
    return read_time(time).clock[1]


@extern
def second(time: str) -> int:
    return read_time(time).clock[2]


@extern
def nanosecond(time: str) -> int:
    return read_time(time).clock[3]


@extern
def time_parse(text: str, format: str) -> Struct:
    return _parsed(lambda: time_text(parse_moment(text, format, date=False, time=True)))


@extern
def time_format(time: str, format: str) -> Struct:
    return _formatted(read_time(time), format)


# Dates


@extern
def try_from_ymd(year: int, month: int, day: int) -> Struct:
    return _date(calendar.days_of(year, month, day) if calendar.is_date(year, month, day) else None)


@extern
def try_from_yo(year: int, ordinal: int) -> Struct:
    if not calendar.is_date(year, 1, 1):
        return _date(None)
    days = calendar.days_of(year, 1, 1) + ordinal - 1
    return _date(days if ordinal and calendar.date_of(days)[0] == year else None)


@extern
def try_from_iso_ywd(year: int, week: int, weekday: Struct) -> Struct:
    if not calendar.is_date(year, 1, 1):
        return _date(None)
    return _date(calendar.from_iso_week(year, week, weekday.__variant__.index))


@extern
def year(date: str) -> int:
    return calendar.date_of(_days(date))[0]


@extern
def month(date: str) -> int:
    return calendar.date_of(_days(date))[1]


@extern
def day(date: str) -> int:
    return calendar.date_of(_days(date))[2]


@extern
def ordinal(date: str) -> int:
    return calendar.ordinal_of(_days(date))


@extern
def week(date: str) -> int:
    return calendar.iso_week_of(_days(date))[1]


@extern
def weekday(date: str) -> Struct:
    return Weekdays[calendar.weekday_of(_days(date))]()


@extern
def julian_day(date: str) -> int:
    return _days(date) + _FIRST_JULIAN_DAY


@extern
def from_julian_day(number: int) -> str:
    return date_text(Moment(_known(number - _FIRST_JULIAN_DAY)))


@extern
def date_parse(text: str, format: str) -> Struct:
    return _parsed(lambda: date_text(parse_moment(text, format, date=True, time=False)))


@extern
def date_format(date: str, format: str) -> Struct:
    return _formatted(read_date(date), format)


# Dates with times


@extern
def datetime_parse(text: str, format: str) -> Struct:
    return _parsed(lambda: _date_time(parse_moment(text, format, date=True, time=True)))


@extern
def datetime_format(moment: Struct, format: str) -> Struct:
    return _formatted(_moment(moment), format)


@extern
def datetime_from_unix_timestamp(seconds: int) -> Struct:
    _known(seconds // 86_400)
    return _date_time(Moment(0, 0).shifted(seconds))


@extern
def offset_timezone(moment: Struct, offset: int) -> str:
    if abs(offset) >= 86_400:
        raise ValueError(f"{offset} seconds are not the offset of a time zone")
    local = _moment(moment).shifted(offset)
    return zoned_text(Moment(local.days, local.nanoseconds, offset))


@extern
def utc_datetime(moment: str) -> Struct:
    local = read_zoned(moment)
    return _date_time(local.shifted(-(local.offset or 0)))


@extern
def time(moment: str) -> str:
    return time_text(read_zoned(moment))


@extern
def tz_datetime_parse(text: str, format: str) -> Struct:
    return _parsed(lambda: zoned_text(parse_moment(text, format, date=True, time=True, offset=True)))


@extern
def tz_datetime_format(moment: str, format: str) -> Struct:
    return _formatted(read_zoned(moment), format)


@extern
def tz_datetime_parse_from_rfc2822(text: str) -> Struct:
    return _parsed(lambda: zoned_text(parse_rfc2822(text)))


@extern
def tz_datetime_parse_from_rfc3339(text: str) -> Struct:
    return _parsed(lambda: zoned_text(parse_rfc3339(text)))


@extern
def to_rfc3339(moment: str) -> str:
    return rfc3339_text(read_zoned(moment))


def _parsed(parse: Callable[[], Any]) -> Struct:
    try:
        return Ok(parse())
    except BadTextError as error:
        return Err(str(error))


def _formatted(moment: Moment, format: str) -> Struct:
    try:
        return Ok(format_moment(moment, format))
    except BadFormatError:
        return Err(f"Error in format string '{format}'")


def _date(days: int | None) -> Struct:
    return Err("Invalid date") if days is None else Ok(date_text(Moment(days)))


def _days(date: str) -> int:
    days = read_date(date).days
    assert days is not None
    return days


def _known(days: int) -> int:
    """Returns a day that is in a year that dates may have."""
    if not calendar.FIRST_YEAR <= calendar.date_of(days)[0] <= calendar.LAST_YEAR:
        raise ValueError(f"there is no date {days} days from 1970")
    return days


def _date_time(moment: Moment) -> Struct:
    return DateTime(date_text(moment), time_text(moment))


def _moment(value: Any) -> Moment:
    return Moment(read_date(value.date).days, read_time(value.time).nanoseconds)


EXTERNS: Externs = {"time2string": itself, "date2string": itself}
