"""Times and dates: the calendar, the formats, and errors as the chrono crate words them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.library.language import compiled, value
from tidelog.library import time
from tidelog.library._runtime.option_result import Err, Ok
from tidelog.library._runtime.representations import LIBRARY_TYPES
from tidelog.library._time import calendar

TIME, DATE = "10:11:12.103104105", "2001-07-08"
MOMENT = time.DateTime(DATE, TIME)
ZONED = "2001-07-08T00:34:59.026490+09:30"


@given(st.integers(-1_000_000, 1_000_000))
def test_every_day_has_one_date(days: int) -> None:
    year, month, day = calendar.date_of(days)
    assert calendar.days_of(year, month, day) == days
    assert calendar.is_date(year, month, day)


@given(st.dates())
def test_the_calendar_agrees_with_pythons(date: datetime.date) -> None:
    text = date.isoformat()
    assert (time.year(text), time.month(text), time.day(text)) == (date.year, date.month, date.day)
    assert time.ordinal(text) == date.timetuple().tm_yday
    assert time.week(text) == date.isocalendar().week
    assert time.weekday(text).__variant__.index == date.weekday()
    assert time.julian_day(text) == date.toordinal() + 1_721_425
    assert time.from_julian_day(time.julian_day(text)) == text
    for specifier in "YymdjUWVGuaAbB":
        own = date.strftime(f"%{specifier}").zfill(4 if specifier in "YG" else 0)
        assert time.date_format(text, f"%{specifier}") == Ok(own)


@pytest.mark.parametrize(
    ("made", "date"),
    [
        (time.try_from_ymd(2020, 2, 29), Ok("2020-02-29")),
        (time.try_from_ymd(2021, 2, 29), Err("Invalid date")),
        (time.try_from_ymd(2020, 13, 1), Err("Invalid date")),
        (time.try_from_ymd(0, 1, 1), Ok("0000-01-01")),
        (time.try_from_ymd(-1, 1, 1), Ok("-0001-01-01")),
        (time.try_from_ymd(300_000, 1, 1), Err("Invalid date")),
        (time.try_from_yo(2020, 366), Ok("2020-12-31")),
        (time.try_from_yo(2021, 366), Err("Invalid date")),
        (time.try_from_yo(2021, 0), Err("Invalid date")),
        (time.try_from_iso_ywd(2020, 4, time.Weekdays[0]()), Ok("2020-01-20")),
        (time.try_from_iso_ywd(2021, 53, time.Weekdays[0]()), Err("Invalid date")),
    ],
)
def test_making_dates(made: Any, date: Any) -> None:
    assert made == date


def test_making_times() -> None:
    assert time.try_from_hms_nano(23, 59, 59, 999_999_999) == Ok("23:59:59.999999999")
    assert time.try_from_hms_nano(24, 0, 0, 0) == Err("illegal time value")
    assert (time.hour(TIME), time.minute(TIME), time.second(TIME), time.nanosecond(TIME)) == (10, 11, 12, 103104105)


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("%Y %C %y %G %g", "2001 20 01 2001 01"),
        ("%m %b %B %h", "07 Jul July Jul"),
        ("%d %e %j %-d %_d %0e %-j", "08  8 189 8  8 08 189"),
        ("%a %A %w %u", "Sun Sunday 0 7"),
        ("%U %W %V", "27 27 27"),
        ("%D %x %F %v", "07/08/01 07/08/01 2001-07-08  8-Jul-2001"),
        ("%H %k %I %l %P %p", "00  0 12 12 am AM"),
        ("%M %S %f %.f %3f %.6f %9f", "34 59 026490000 .026490 026 .026490 026490000"),
        ("%R %T %X %r", "00:34 00:34:59 00:34:59 12:34:59 AM"),
        ("%z %:z", "+0930 +09:30"),
        ("%c|%+", "Sun Jul  8 00:34:59 2001|2001-07-08T00:34:59.026490+09:30"),
        ("%s", "994518299"),
        ("%%%t%n", "%\t\n"),
    ],
)
def test_formats(format_: str, text: str) -> None:
    assert time.tz_datetime_format(ZONED, format_) == Ok(text)


@pytest.mark.parametrize("format_", ["%incorrect", "%", "%-b", "%#z"])
def test_bad_formats(format_: str) -> None:
    assert time.tz_datetime_format(ZONED, format_) == Err(f"Error in format string '{format_}'")
    if format_ != "%#z":
        assert time.date_parse("2001", format_) == Err("bad or unsupported format string")


def test_a_format_with_a_part_that_is_not_known() -> None:
    assert time.date_format(DATE, "%H") == Err("Error in format string '%H'")
    assert time.time_format(TIME, "%Y") == Err("Error in format string '%Y'")
    assert time.datetime_format(MOMENT, "%z") == Err("Error in format string '%z'")


@pytest.mark.parametrize(
    ("text", "format_", "answer"),
    [
        ("2001-07-08T10:11:12", "%Y-%m-%dT%T", Ok(time.DateTime(DATE, "10:11:12.000000000"))),
        ("8 Jul 01, 10:11 AM", "%d %b %y, %I:%M %p", Ok(time.DateTime(DATE, "10:11:00.000000000"))),
        ("Sunday 2001/189 22:00:01.5", "%A %Y/%j %H:%M:%S%.f", Ok(time.DateTime(DATE, "22:00:01.500000000"))),
        ("2001 W27 7 10:11", "%G W%V %u %R", Ok(time.DateTime(DATE, "10:11:00.000000000"))),
        ("2001 27 0 10:11", "%Y %U %w %R", Ok(time.DateTime(DATE, "10:11:00.000000000"))),
        ("994588272", "%s", Ok(time.DateTime(DATE, "10:31:12.000000000"))),
        ("Wed Mar 05 07:45:30 MST 2025", "%a %b %d %T %Z %Y", Ok(time.DateTime("2025-03-05", "07:45:30.000000000"))),
        ("2001-07-08", "%F %T", Err("premature end of input")),
        ("2001/07/08", "%F", Err("input contains invalid characters")),
        ("2001-07-08 10:11:12x", "%F %T", Err("trailing input")),
        ("2001-13-08 10:11", "%F %R", Err("input is out of range")),
        ("2001-02-30 10:11", "%F %R", Err("input is out of range")),
        ("Mon 2001-07-08 10:11", "%a %F %R", Err("no possible date and time matching input")),
        ("2001-07 10:11", "%Y-%m %R", Err("input is not enough for unique date and time")),
        ("2001-07-08 10", "%F %H", Err("input is not enough for unique date and time")),
        ("2001-07-08 13 AM 10", "%F %H %p %M", Err("no possible date and time matching input")),
    ],
)
def test_reading_with_a_format(text: str, format_: str, answer: Any) -> None:
    assert time.datetime_parse(text, format_) == answer


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (time.tz_datetime_parse("2001-07-08 10:11:12 +02:00", "%F %T %z"), Ok("2001-07-08T10:11:12+02:00")),
        (time.tz_datetime_parse("2001-07-08 10:11:12", "%F %T"), Err("input is not enough for unique date and time")),
        (time.tz_datetime_parse_from_rfc3339("2001-07-08T10:11:12.5Z"), Ok("2001-07-08T10:11:12.500+00:00")),
        (time.tz_datetime_parse_from_rfc3339("2001-07-08"), Err("input contains invalid characters")),
        (time.tz_datetime_parse_from_rfc3339("2001-07-32T10:11:12Z"), Err("input is out of range")),
        (time.tz_datetime_parse_from_rfc2822("Sun, 8 Jul 2001 10:11:12 +0200"), Ok("2001-07-08T10:11:12+02:00")),
        (time.tz_datetime_parse_from_rfc2822("8 Jul 01 10:11 EST"), Ok("2001-07-08T10:11:00-05:00")),
        (
            time.tz_datetime_parse_from_rfc2822("Mon, 8 Jul 2001 10:11:12 GMT"),
            Err("no possible date and time matching input"),
        ),
        (time.tz_datetime_parse_from_rfc2822(""), Err("premature end of input")),
    ],
)
def test_reading_with_an_offset(made: Any, answer: Any) -> None:
    assert made == answer


def test_offsets() -> None:
    east = time.offset_timezone(MOMENT, 7200)
    assert east == "2001-07-08T12:11:12.103104105+02:00"
    assert time.utc_datetime(east) == MOMENT
    assert time.time(east) == "12:11:12.103104105"
    odd = time.offset_timezone(MOMENT, -1000)
    assert time.utc_datetime(odd) == MOMENT
    assert time.to_rfc3339(odd) == "2001-07-08T09:54:32.103104105-00:16"
    with pytest.raises(ValueError, match="not the offset"):
        time.offset_timezone(MOMENT, 90_000)


def test_seconds_since_1970() -> None:
    assert time.datetime_from_unix_timestamp(10_000_000) == time.DateTime("1970-04-26", "17:46:40.000000000")
    assert time.datetime_from_unix_timestamp(-1) == time.DateTime("1969-12-31", "23:59:59.000000000")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("time::Time", "10:11:12.000000000", "10:11:12.000000000"),
        ("time::Date", "2001-07-08", "2001-07-08"),
        ("time::TzDateTime", "2001-07-08T10:11:12Z", "2001-07-08T10:11:12+00:00"),
        ("url::Url", "HTTP://a", "http://a/"),
        ("regex::Regex", "a+", "a+"),
    ],
)
def test_texts_that_become_values(name: str, text: str, value: str) -> None:
    assert LIBRARY_TYPES[name].make(text) == value


@pytest.mark.parametrize("name", ["time::Time", "time::Date", "time::TzDateTime", "url::Url", "regex::Regex"])
def test_texts_that_cannot_be_values(name: str) -> None:
    with pytest.raises(ValueError, match=r"not a|error|base|input"):
        LIBRARY_TYPES[name].make("[25:00:00")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("try_from_hms_milli(10, 10, 10, 10).unwrap_or_default()", "10:10:10.010000000"),
        ("try_from_hms_micro(10, 10, 10, 10).unwrap_or_default()", "10:10:10.000010000"),
        ("try_from_hms_milli(10, 10, 10, 1000).unwrap_or_default()", "00:00:00.000000000"),
        ("microsecond(try_from_hms_nano(1, 2, 3, 103104105).unwrap_or_default())", "103104"),
        ("next_day(try_from_ymd(2020, 2, 28).unwrap_or_default())", "2020-02-29"),
        ("previous_day(try_from_ymd(2000, 1, 1).unwrap_or_default())", "1999-12-31"),
        ('"2001-07-08T10:11:12".to_datetime().unwrap_or_default()', "2001-07-08T10:11:12"),
        (
            '"2001-07-08T10:11:12".to_datetime().unwrap_or_default().utc_timezone().change_offset(3600).to_rfc2822()',
            "Sun, 08 Jul 2001 11:11:12 +0100",
        ),
        ("(default(): TzDateTime)", "0000-01-01T00:00:00+00:00"),
    ],
)
def test_in_the_language(expression: str, text: str) -> None:
    escaped = expression.replace('"', r"\"")
    assert value(f'"${{{escaped}}}"', "string", "time") == text


def test_values_have_the_classes_of_the_program() -> None:
    definitions = compiled("import time\nfunction f(w: Weekday, d: DateTime): u8 { 1 }\n").definitions
    assert definitions.class_of("time::DateTime") is time.DateTime
    assert definitions.classes_of("time::Weekday") == time.Weekdays
