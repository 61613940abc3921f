"""Text with a format → a moment.

Items are read one after the other into fields; then the fields must determine one moment without contradictions. Errors
have the words of the chrono crate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.library._time import calendar as calendar
from tidelog.library._time.format import MONTHS, NUMBERS, WEEKDAYS, BadFormatError, Item, items_of
from tidelog.library._time.moment import Moment, nanoseconds_of

TOO_SHORT = "premature end of input"
TOO_LONG = "trailing input"
INVALID = "input contains invalid characters"
OUT_OF_RANGE = "input is out of range"
IMPOSSIBLE = "no possible date and time matching input"
NOT_ENOUGH = "input is not enough for unique date and time"
BAD_FORMAT = "bad or unsupported format string"

_SIGNED = frozenset("YGs")
_LIMITS = {
    "m": (1, 12), "d": (1, 31), "e": (1, 31), "j": (1, 366), "w": (0, 6), "u": (1, 7), "U": (0, 53), "W": (0, 53),
    "V": (1, 53), "H": (0, 23), "k": (0, 23), "I": (1, 12), "l": (1, 12), "M": (0, 59), "S": (0, 60),
}  # fmt: skip
_SAME = {"e": "d", "k": "H", "l": "I"}
_ZONES = {
    "ut": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip
_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_RFC_2822 = re.compile(
    r"\s*(?:([A-Za-z]{3})\s*,)?\s*(\d{1,2})\s+([A-Za-z]{3})\s+(\d{2,})\s+"
    r"(\d\d)\s*:\s*(\d\d)(?:\s*:\s*(\d\d))?\s+(?:([+-])(\d\d)(\d\d)|([A-Za-z]+))\s*",
    re.ASCII,
)


class BadTextError(Exception):
    """The reason why a text is no moment."""


def parse_moment(text: str, format_: str, *, date: bool, time: bool, offset: bool = False) -> Moment:
    """Returns the moment of a text, with the requested parts; raises BadTextError."""
    reader = _Reader(text)
    try:
        for item in items_of(format_):
            reader.read(item)
    except BadFormatError:
        raise BadTextError(BAD_FORMAT) from None
    if reader.at < len(text):
        raise BadTextError(TOO_LONG)
    return _resolved(reader.fields, date=date, time=time, offset=offset)


@dataclass(slots=True)
class _Fields:
    """The fields read so far, by the letters of the items; `half` is 0 for AM; `offset` is in seconds."""

    numbers: dict[str, int] = field(default_factory=dict)
    weekday: int | None = None
    half: int | None = None
    offset: int | None = None

    def set(self, name: str, number: int) -> None:
        if self.numbers.setdefault(name, number) != number:
            raise BadTextError(IMPOSSIBLE)

    def set_weekday(self, weekday: int) -> None:
        if self.weekday not in (None, weekday):
            raise BadTextError(IMPOSSIBLE)
        self.weekday = weekday


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.fields = _Fields()

    def read(self, item: Item) -> None:
        match item.kind:
            case "literal":
                self._literal(item.text)
            case "blank":
                self._skip_blanks()
            case "b" | "B" | "h":
                self.fields.set("m", self._name(MONTHS) + 1)
            case "a" | "A":
                self.fields.set_weekday(self._name(WEEKDAYS))
            case "p" | "P":
                self.fields.half = self._choice(("am", "pm"))
            case "Z":
                self._skip(lambda char: not char.isspace())
            case "z" | ":z" | "#z":
                self._skip_blanks()
                self.fields.offset = self._offset(optional_minutes=item.kind == "#z")
            case ".f" | ".3f" | ".6f" | ".9f":
                if self._peek() == ".":
                    self.at += 1
                    self.fields.set("f", self._fraction(1, 9))
            case "3f" | "6f" | "9f":
                count = int(item.kind[0])
                self.fields.set("f", self._fraction(count, count))
            case "+":
                for part in items_of("%Y-%m-%dT%H:%M:%S%.f%:z"):
                    self.read(part)
            case _:
                self._number(item.kind)

    def _literal(self, text: str) -> None:
        found = self._text[self.at : self.at + len(text)]
        if len(found) < len(text):
            raise BadTextError(TOO_SHORT)
        if found != text:
            raise BadTextError(INVALID)
        self.at += len(text)

    def _number(self, kind: str) -> None:
        self._skip_blanks()
        sign = self._peek() if kind in _SIGNED and self._peek() in ("+", "-") else ""
        self.at += len(sign)
        digits = self._digits(1, 18 if sign or kind == "s" else NUMBERS[kind][0])
        number = -int(digits) if sign == "-" else int(digits)
        low, high = _LIMITS.get(kind, (number, number))
        if not low <= number <= high:
            raise BadTextError(OUT_OF_RANGE)
        if kind in ("w", "u"):
            self.fields.set_weekday((number - 1) % 7)
        else:
            self.fields.set(_SAME.get(kind, kind), number)

    def _fraction(self, least: int, most: int) -> int:
        digits = self._digits(least, most)
        self._skip(lambda char: "0" <= char <= "9")
        return int(f"{digits:0<9}")

    def _digits(self, least: int, most: int) -> str:
        start = self.at
        while self.at - start < most and "0" <= self._peek() <= "9":
            self.at += 1
        if self.at - start < least:
            raise BadTextError(INVALID if self._peek() else TOO_SHORT)
        return self._text[start : self.at]

    def _name(self, names: tuple[str, ...]) -> int:
        """Returns the index of a name, short or in full."""
        index = self._choice(tuple(name[:3].lower() for name in names))
        rest = names[index][3:].lower()
        if self._text[self.at : self.at + len(rest)].lower() == rest:
            self.at += len(rest)
        return index

    def _choice(self, words: tuple[str, ...]) -> int:
        size = len(words[0])
        word = self._text[self.at : self.at + size].lower()
        if len(word) < size:
            raise BadTextError(TOO_SHORT)
        if word not in words:
            raise BadTextError(INVALID)
        self.at += size
        return words.index(word)

    def _offset(self, *, optional_minutes: bool) -> int:
        sign = self._peek()
        if sign not in ("+", "-"):
            raise BadTextError(INVALID if sign else TOO_SHORT)
        self.at += 1
        hours = int(self._digits(2, 2))
        self._skip(lambda char: char == ":" or char.isspace())
        minutes = 0 if optional_minutes and not self._peek().isdecimal() else int(self._digits(2, 2))
        if minutes > 59 or hours > 23:
            raise BadTextError(OUT_OF_RANGE)
        return (hours * 60 + minutes) * (-60 if sign == "-" else 60)

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    def _skip_blanks(self) -> None:
        self._skip(str.isspace)

    def _skip(self, belongs: Callable[[str], bool]) -> None:
        while self._peek() and belongs(self._peek()):
            self.at += 1


# Fields → a moment


def _resolved(fields: _Fields, *, date: bool, time: bool, offset: bool) -> Moment:
    if offset and fields.offset is None:
        raise BadTextError(NOT_ENOUGH)
    if "s" in fields.numbers and date and time:
        local = Moment(0, 0, fields.offset).shifted(fields.numbers["s"] + (fields.offset or 0))
        return Moment(local.days, local.nanoseconds, fields.offset if offset else None)
    days = _days(fields) if date else None
    nanoseconds = _nanoseconds(fields) if time else None
    return Moment(days, nanoseconds, fields.offset if offset else None)


def _days(fields: _Fields) -> int:
    numbers, weekday = fields.numbers, fields.weekday
    year = _year(numbers, "Y", "C", "y")
    iso_year = _year(numbers, "G", "", "g")
    days: int | None
    if year is not None and "m" in numbers and "d" in numbers:
        if not calendar.is_date(year, numbers["m"], numbers["d"]):
            raise BadTextError(OUT_OF_RANGE)
        days = calendar.days_of(year, numbers["m"], numbers["d"])
    elif year is not None and "j" in numbers:
        days = calendar.days_of(year, 1, 1) + numbers["j"] - 1
    elif year is not None and weekday is not None and ("U" in numbers or "W" in numbers):
        name, place = ("U", (weekday + 1) % 7) if "U" in numbers else ("W", weekday)
        first = calendar.weekday_of(calendar.days_of(year, 1, 1))
        start = (first + 1) % 7 if name == "U" else first
        days = calendar.days_of(year, 1, 1) + 7 * numbers[name] + place - (start or 7)
    elif iso_year is not None and weekday is not None and "V" in numbers:
        days = calendar.from_iso_week(iso_year, numbers["V"], weekday)
    else:
        raise BadTextError(NOT_ENOUGH)
    if days is None or (year is not None and calendar.date_of(days)[0] != year):
        raise BadTextError(OUT_OF_RANGE)
    found = calendar.date_of(days)
    said = {"m": found[1], "d": found[2], "j": calendar.ordinal_of(days), "V": calendar.iso_week_of(days)[1]}
    contradicts = any(numbers.get(name, number) != number for name, number in said.items())
    if contradicts or weekday not in (None, calendar.weekday_of(days)):
        raise BadTextError(IMPOSSIBLE)
    return days


def _year(numbers: dict[str, int], whole: str, hundreds: str, rest: str) -> int | None:
    """Returns a year from its parts; two digits alone are from 1970 to 2069."""
    if whole in numbers:
        return numbers[whole]
    if rest not in numbers:
        return None
    if hundreds in numbers:
        return numbers[hundreds] * 100 + numbers[rest]
    return numbers[rest] + (1900 if numbers[rest] >= 70 else 2000)


def _nanoseconds(fields: _Fields) -> int:
    numbers = fields.numbers
    if "H" in numbers:
        hour = numbers["H"]
        if fields.half is not None and (hour >= 12) != bool(fields.half):
            raise BadTextError(IMPOSSIBLE)
        if "I" in numbers and numbers["I"] % 12 != hour % 12:
            raise BadTextError(IMPOSSIBLE)
    elif "I" in numbers and fields.half is not None:
        hour = numbers["I"] % 12 + 12 * fields.half
    else:
        raise BadTextError(NOT_ENOUGH)
    if "M" not in numbers or ("S" not in numbers and "f" in numbers):
        raise BadTextError(NOT_ENOUGH)
    # There is no room for leap seconds: they are the last moment of the second before.
    leap = numbers.get("S") == 60
    second, fraction = (59, 999_999_999) if leap else (numbers.get("S", 0), numbers.get("f", 0))
    return nanoseconds_of(hour, numbers["M"], second, fraction)


# Standard formats


def parse_rfc3339(text: str) -> Moment:
    """Reads `2003-07-01T10:52:37.5+02:00`; raises BadTextError."""
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise BadTextError(INVALID if text else TOO_SHORT)
    *numbers, fraction, utc, sign, hours, minutes = found.groups()
    return _standard(list(map(int, numbers)), fraction or "0", _seconds(sign, hours, minutes) if not utc else 0)


def parse_rfc2822(text: str) -> Moment:
    """Reads `Tue, 1 Jul 2003 10:52:37 +0200`; the weekday and the seconds may be missing; raises BadTextError."""
    found = _RFC_2822.fullmatch(text)
    if found is None:
        raise BadTextError(INVALID if text else TOO_SHORT)
    weekday, day, month, year, hour, minute, second, sign, hours, minutes, zone = found.groups()
    names = [name[:3].lower() for name in MONTHS]
    if month.lower() not in names:
        raise BadTextError(INVALID)
    numbers = [_full_year(year), names.index(month.lower()) + 1, int(day), int(hour), int(minute), int(second or 0)]
    offset = _ZONES.get(zone.lower(), 0) * 3600 if zone else _seconds(sign, hours, minutes)
    moment = _standard(numbers, "0", offset)
    if weekday:
        short = [name[:3].lower() for name in WEEKDAYS]
        if weekday.lower() not in short:
            raise BadTextError(INVALID)
        assert moment.days is not None
        if short.index(weekday.lower()) != calendar.weekday_of(moment.days):
            raise BadTextError(IMPOSSIBLE)
    return moment


def _full_year(text: str) -> int:
    """Returns the year: two digits are from 1950 to 2049, three are years since 1900."""
    year = int(text)
    if len(text) == 2:
        return year + (2000 if year < 50 else 1900)
    return year + 1900 if len(text) == 3 else year


def _standard(numbers: list[int], fraction: str, offset: int) -> Moment:
    year, month, day, hour, minute, second = numbers
    if not calendar.is_date(year, month, day) or hour > 23 or minute > 59 or second > 60 or abs(offset) >= 86_400:
        raise BadTextError(OUT_OF_RANGE)
    nanosecond = 999_999_999 if second == 60 else int(f"{fraction[:9]:0<9}")
    time = nanoseconds_of(hour, minute, min(second, 59), nanosecond)
    return Moment(calendar.days_of(year, month, day), time, offset)


def _seconds(sign: str, hours: str, minutes: str) -> int:
    return (int(hours) * 60 + int(minutes)) * (-60 if sign == "-" else 60)
