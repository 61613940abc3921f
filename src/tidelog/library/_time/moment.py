"""A moment: a day, a time of day, an offset, as far as known; and the texts that represent values of those types.

    Time          10:11:12.103104105
    Date          2001-07-08
    TzDateTime    2001-07-08T10:11:12.103104105+02:00        with the seconds of the offset, if it has any

Texts of one type have the order of their moments, within the years 0 to 9999 (and one offset).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidelog.library._time.calendar import date_of, days_of

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{9})")
_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_ZONED = re.compile(r"(.+)T(\d\d:\d\d:\d\d)(?:\.(\d{3}|\d{6}|\d{9}))?([+-])(\d\d):(\d\d)(?::(\d\d))?")


@dataclass(frozen=True, slots=True)
class Moment:
    """`days` since 1970, `nanoseconds` since midnight, `offset` to the east in seconds; None for an unknown part."""

    days: int | None = None
    nanoseconds: int | None = None
    offset: int | None = None

    def shifted(self, seconds: int) -> Moment:
        """Returns the date and time so many seconds later."""
        assert self.days is not None
        assert self.nanoseconds is not None
        more, nanoseconds = divmod(self.nanoseconds + seconds * _SECOND, _DAY)
        return Moment(self.days + more, nanoseconds, self.offset)

    @property
    def clock(self) -> tuple[int, int, int, int]:
        """Hour, minute, second, nanosecond."""
        assert self.nanoseconds is not None
        seconds, nanosecond = divmod(self.nanoseconds, _SECOND)
        return seconds // 3600, seconds // 60 % 60, seconds % 60, nanosecond


def nanoseconds_of(hour: int, minute: int, second: int, nanosecond: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * _SECOND + nanosecond


def time_text(moment: Moment) -> str:
    hour, minute, second, nanosecond = moment.clock
    return f"{hour:02}:{minute:02}:{second:02}.{nanosecond:09}"


def year_text(year: int) -> str:
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def date_text(moment: Moment) -> str:
    assert moment.days is not None
    year, month, day = date_of(moment.days)
    return f"{year_text(year)}-{month:02}-{day:02}"


def fraction_text(nanosecond: int) -> str:
    """Returns a point and 3, 6 or 9 digits; an empty text without a fraction."""
    if nanosecond % 1_000_000 == 0:
        return f".{nanosecond // 1_000_000:03}" if nanosecond else ""
    return f".{nanosecond // 1_000:06}" if nanosecond % 1_000 == 0 else f".{nanosecond:09}"


def offset_text(seconds: int, colon: str = ":") -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}{colon}{minutes:02}"


def zoned_text(moment: Moment) -> str:
    """Returns the value for date, time and offset."""
    assert moment.offset is not None
    seconds = abs(moment.offset) % 60
    return rfc3339_text(moment) + (f":{seconds:02}" if seconds else "")


def rfc3339_text(moment: Moment) -> str:
    """Returns date, time and offset in RFC 3339, without the seconds of the offset."""
    assert moment.offset is not None
    hour, minute, second, nanosecond = moment.clock
    clock = f"{hour:02}:{minute:02}:{second:02}{fraction_text(nanosecond)}"
    return f"{date_text(moment)}T{clock}{offset_text(moment.offset)}"


def read_time(text: str) -> Moment:
    """Returns the time of day of a value; raises ValueError for another text."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time")
    hour, minute, second, nanosecond = map(int, found.groups())
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a time")
    return Moment(nanoseconds=nanoseconds_of(hour, minute, second, nanosecond))


def read_date(text: str) -> Moment:
    """Returns the day of a value; raises ValueError for another text."""
    found = _DATE.fullmatch(text)
    if found is not None:
        year, month, day = map(int, found.groups())
        moment = Moment(days_of(year, month, day)) if 1 <= month <= 12 else Moment()
        if moment.days is not None and date_of(moment.days) == (year, month, day):
            return moment
    raise ValueError(f"{text!r} is not a date")


def read_zoned(text: str) -> Moment:
    """Returns the date, time and offset of a value; raises ValueError for another text."""
    found = _ZONED.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a date and time with an offset")
    date, clock, fraction, sign, hours, minutes, seconds = found.groups(default="")
    offset = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    time = read_time(f"{clock}.{fraction:0<9}")
    return Moment(read_date(date).days, time.nanoseconds, -offset if sign == "-" else offset)
