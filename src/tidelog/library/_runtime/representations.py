"""Representations of the library's extern types, for text, bytes and default values: see `values/externs.py`.

Most are numbers or texts that only their own functions understand, and print as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from tidelog.library._runtime.any_value import AnyValue, any_debug_text, any_record_text, refuse_any
from tidelog.types import STRING, U32, U128, UNIT, NamedType, Type
from tidelog.values.definitions import Definitions
from tidelog.values.externs import ExternKind, ExternType, itself
from tidelog.values.quote import quote


def _held_as(inner: Type) -> ExternType:
    return ExternType(ExternKind.TRANSPARENT, partial(itself, inner), itself)


def _text(make: Callable[[str], str], default: str) -> ExternType:
    """Returns a type whose values are texts; `make` raises ValueError for a text that is no value."""
    return ExternType(ExternKind.OTHER, partial(itself, STRING), make, itself, default)


# Values are made by the modules of the types, which are imported when a program has such values.


def _regex(pattern: str) -> str:
    from tidelog.library._regex.parse import BadPatternError, parse

    try:
        parse(pattern)
    except BadPatternError as error:
        raise ValueError(str(error)) from None
    return pattern


def _url(text: str) -> str:
    from tidelog.library._url.text import normal_url

    return normal_url(text)


def _time(text: str) -> str:
    from tidelog.library._time.moment import read_time, time_text

    return time_text(read_time(text))


def _date(text: str) -> str:
    from tidelog.library._time.moment import date_text, read_date

    return date_text(read_date(text))


def _zoned(text: str) -> str:
    from tidelog.library._time.moment import read_zoned, zoned_text
    from tidelog.library._time.parse import BadTextError, parse_rfc3339

    try:
        return zoned_text(parse_rfc3339(text))
    except BadTextError:
        return zoned_text(read_zoned(text))


def _zoned_record(value: str) -> str:
    from tidelog.library._time.moment import read_zoned, rfc3339_text

    return quote(rfc3339_text(read_zoned(value)))


LIBRARY_TYPES: Mapping[str, ExternType] = {
    "ddlog_std::Any": ExternType(
        ExternKind.OTHER,
        partial(itself, STRING),
        refuse_any,
        any_record_text,
        default=AnyValue(UNIT, (), Definitions()),
        record_text=any_record_text,
        debug_text=any_debug_text,
        typed=AnyValue,
    ),
    "net::ipv4::Ipv4Addr": _held_as(U32),
    "net::ipv6::Ipv6Addr": _held_as(U128),
    "regex::Regex": _text(_regex, ""),
    "regex::RegexSet": _held_as(NamedType("ddlog_std::Vec", (STRING,))),
    "time::Date": _text(_date, "0000-01-01"),
    "time::Time": _text(_time, "00:00:00.000000000"),
    "time::TzDateTime": replace(_text(_zoned, "0000-01-01T00:00:00+00:00"), record_text=_zoned_record),
    "url::Url": _text(_url, "http://127.0.0.1/"),
    "uuid::Uuid": _held_as(U128),
}
