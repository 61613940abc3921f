"""Dates, timestamps and durations ↔ text in ISO 8601; decimals ↔ digits.

date         2024-01-31
timestamp    2024-01-31T13:45:00Z, 2024-01-31T13:45:00.250000Z     read also with an offset, a blank, no zone (UTC)
duration     PT5M, P1DT2H, -PT0.5S                                 read with W, D, H, M and S; years and months
                                                                   have no length and are not read
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tidelog.scaled_values import decimal_text, exact_decimal, parse_decimal, unit_range
from tidelog.types import DURATION, DateType, DecimalType, DurationType, ScaledType, TimestampType

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_DURATION = re.compile(
    r"([+-])?P(?=\d|T\d)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?", re.ASCII
)


def parse_date(text: str) -> date | None:
    """Returns the date; None for text that is none."""
    form = _DATE.fullmatch(text)
    if form is None:
        return None
    try:
        return date(*map(int, form.groups()))
    except ValueError:
        return None


def parse_timestamp(text: str) -> datetime | None:
    """Returns the moment in UTC; None for text that is none, and for parts of a microsecond."""
    form = _TIMESTAMP.fullmatch(text)
    if form is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = form.groups()
    microsecond = _microseconds(fraction)
    if microsecond is None:
        return None
    try:
        found = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), microsecond, tzinfo=UTC
        )
        return found - _offset(zone)
    except (ValueError, OverflowError):
        return None


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in ("Z", "z", "UTC"):
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    if hours > 23 or minutes > 59:
        raise ValueError
    found = timedelta(hours=hours, minutes=minutes)
    return -found if zone[0] == "-" else found


def _microseconds(fraction: str | None) -> int | None:
    """Returns the microseconds of the digits behind a point; None if there are parts of one."""
    digits = (fraction or "").ljust(9, "0")
    return None if digits[6:].strip("0") else int(digits[:6])


def parse_duration(text: str) -> timedelta | None:
    """Returns the duration; None for text that is none, and for what does not fit."""
    form = _DURATION.fullmatch(text)
    if form is None:
        return None
    sign, *given, fraction = form.groups()
    microsecond = _microseconds(fraction)
    if microsecond is None or any(len(each or "") > 20 for each in given):
        return None
    weeks, days, hours, minutes, seconds = (int(each or 0) for each in given)
    total = ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + microsecond
    low, high = unit_range(DURATION)
    total = -total if sign == "-" else total
    return timedelta(microseconds=total) if low <= total <= high else None


def date_text(value: date) -> str:
    """Returns `2024-01-31`."""
    return value.isoformat()


def timestamp_text(value: datetime) -> str:
    """Returns `2024-01-31T13:45:00Z`, with six digits of a fraction if there is one."""
    return f"{value.replace(tzinfo=None).isoformat()}Z"


def duration_text(value: timedelta) -> str:
    """Returns `PT5M`, `-P1DT2.5S`: days, hours, minutes and seconds that are not zero; `PT0S`."""
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    hours, rest = divmod(value.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    time = f"{hours}H" if hours else ""
    time += f"{minutes}M" if minutes else ""
    time += f"{seconds}{fraction}S" if seconds or fraction else ""
    days = f"{value.days}D" if value.days else ""
    if not days and not time:
        return "PT0S"
    return f"{sign}P{days}{'T' if time else ''}{time}"


def value_of_text(text: str, type_: ScaledType) -> Any | None:
    """Returns the value that a text has in ISO form, or in digits; None for other text, and for what does not fit."""
    match type_:
        case DateType():
            return parse_date(text)
        case TimestampType():
            return parse_timestamp(text)
        case DurationType():
            return parse_duration(text)
        case DecimalType():
            number = parse_decimal(text)
            return None if number is None else exact_decimal(number, type_)


def value_text(value: Any) -> str:
    """Returns the text of a date, a timestamp, a duration, a decimal or another number."""
    match value:
        case datetime():
            return timestamp_text(value)
        case date():
            return date_text(value)
        case timedelta():
            return duration_text(value)
        case Decimal():
            return decimal_text(value)
        case _:
            return str(value)
