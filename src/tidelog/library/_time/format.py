"""Formats of dates and times: text → items, and items with a moment → text.

"%d/%b %_H"   →   number day of month, zeroes; "/"; short month; a blank; number hour, blanks
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.library._time import calendar as calendar
from tidelog.library._time.moment import Moment, fraction_text, offset_text, rfc3339_text, year_text

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Items that abbreviate several others.
_COMPOSED = {
    "D": "%m/%d/%y", "x": "%m/%d/%y", "F": "%Y-%m-%d", "v": "%e-%b-%Y", "R": "%H:%M", "T": "%H:%M:%S",
    "X": "%H:%M:%S", "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y",
}  # fmt: skip
# Numbers: the number of digits, and the padding.
NUMBERS = {
    "Y": (4, "0"), "C": (2, "0"), "y": (2, "0"), "G": (4, "0"), "g": (2, "0"), "m": (2, "0"), "d": (2, "0"),
    "e": (2, " "), "j": (3, "0"), "w": (1, ""), "u": (1, ""), "U": (2, "0"), "W": (2, "0"), "V": (2, "0"),
    "H": (2, "0"), "k": (2, " "), "I": (2, "0"), "l": (2, " "), "M": (2, "0"), "S": (2, "0"), "f": (9, "0"),
    "s": (1, ""),
}  # fmt: skip
_PADDING = {"-": "", "_": " ", "0": "0"}
_WORDS = frozenset("bBhaApPZ+")
_LITERAL = {"t": "\t", "n": "\n", "%": "%"}
_FRACTIONS = (".f", ".3f", ".6f", ".9f", "3f", "6f", "9f", ":z", "#z")


class BadFormatError(Exception):
    """An invalid item in a format."""


@dataclass(frozen=True, slots=True)
class Item:
    """`kind` is the text after the percent sign, or `literal`, or `blank`; `text` is the literal, or the padding."""

    kind: str
    text: str = ""


def items_of(text: str) -> Iterator[Item]:
    """Yields the items of a format; raises BadFormatError at an invalid one."""
    at = 0
    while at < len(text):
        if text[at] != "%":
            end = at
            blank = text[at].isspace()
            while end < len(text) and text[end] != "%" and text[end].isspace() == blank:
                end += 1
            yield Item("blank" if blank else "literal", text[at:end])
            at = end
            continue
        at += 1
        padding = _PADDING.get(text[at : at + 1])
        if padding is not None:
            at += 1
        kind = next((each for each in _FRACTIONS if text.startswith(each, at)), text[at : at + 1])
        at += len(kind)
        if padding is not None and kind not in NUMBERS:
            raise BadFormatError
        if kind in _COMPOSED:
            yield from items_of(_COMPOSED[kind])
        elif kind in _LITERAL:
            yield Item("blank" if kind in "tn" else "literal", _LITERAL[kind])
        elif kind in NUMBERS:
            yield Item(kind, NUMBERS[kind][1] if padding is None else padding)
        elif kind in _WORDS or kind in _FRACTIONS or kind == "z":
            yield Item(kind)
        else:
            raise BadFormatError


def format_moment(moment: Moment, text: str) -> str:
    """Returns the text of a moment; raises BadFormatError for an invalid format, or a part that the moment lacks."""
    return "".join(_item_text(item, moment) for item in items_of(text))


def _item_text(item: Item, moment: Moment) -> str:
    kind = item.kind
    if kind in ("literal", "blank"):
        return item.text
    if kind in "YCyGgmdejwuUWVbBhaA":
        return _day_text(item, moment)
    if kind in ("z", ":z", "#z", "Z"):
        if moment.offset is None or kind == "#z":
            raise BadFormatError
        return offset_text(moment.offset, "" if kind == "z" else ":")
    if kind in ("s", "+"):
        return _whole_text(kind, moment)
    if moment.nanoseconds is None:
        raise BadFormatError
    hour, minute, second, nanosecond = moment.clock
    match kind:
        case "p" | "P":
            half = "PM" if hour >= 12 else "AM"
            return half if kind == "p" else half.lower()
        case ".f":
            return fraction_text(nanosecond)
        case ".3f" | ".6f" | ".9f" | "3f" | "6f" | "9f":
            digits = f"{nanosecond:09}"[: int(kind[-2])]
            return f".{digits}" if kind.startswith(".") else digits
        case "I" | "l":
            return _padded(item, (hour - 1) % 12 + 1)
        case _:
            return _padded(item, {"H": hour, "k": hour, "M": minute, "S": second, "f": nanosecond}[kind])


def _day_text(item: Item, moment: Moment) -> str:
    if moment.days is None:
        raise BadFormatError
    days = moment.days
    year, month, day = calendar.date_of(days)
    ordinal, weekday = calendar.ordinal_of(days), calendar.weekday_of(days)
    match item.kind:
        case "b" | "h":
            return MONTHS[month - 1][:3]
        case "B":
            return MONTHS[month - 1]
        case "a":
            return WEEKDAYS[weekday][:3]
        case "A":
            return WEEKDAYS[weekday]
        case "Y" if item.text == "0":
            return year_text(year)
        case "G" if item.text == "0":
            return year_text(calendar.iso_week_of(days)[0])
    iso_year, iso_week = calendar.iso_week_of(days)
    numbers = {
        "Y": year, "C": year // 100, "y": year % 100, "G": iso_year, "g": iso_year % 100, "m": month, "d": day,
        "e": day, "j": ordinal, "w": (weekday + 1) % 7, "u": weekday + 1, "U": (ordinal + 6 - (weekday + 1) % 7) // 7,
        "W": (ordinal + 6 - weekday) // 7, "V": iso_week,
    }  # fmt: skip
    return _padded(item, numbers[item.kind])


def _whole_text(kind: str, moment: Moment) -> str:
    """Returns the text of an item that needs a date and a time."""
    if moment.days is None or moment.nanoseconds is None or (kind == "+" and moment.offset is None):
        raise BadFormatError
    if kind == "s":
        return str(moment.days * 86_400 + moment.nanoseconds // 1_000_000_000 - (moment.offset or 0))
    return rfc3339_text(moment)


def _padded(item: Item, number: int) -> str:
    width = NUMBERS[item.kind][0]
    return str(number).rjust(width, item.text) if item.text else str(number)
