"""Types of Postgres → values of feeds: which column takes which type, and how its text is read.

Values come as Postgres' own text, for snapshots and for changes alike, with dates in ISO form and times in UTC. A type
is lossless for a column or refused by name, when the feed is opened; a single value that does not fit (an infinite
date, a NaN in a decimal, a null) is a bad record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from tidelog.rules.schema.arrow import inside_option, is_plain, plain_type
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    NamedType,
    SignedType,
    StringType,
    TimestampType,
    Type,
)

Read = Callable[[str], Any]

SESSION = (
    "SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; SET extra_float_digits = 1;"
    " SET bytea_output = 'hex'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0"
)
"""The settings under which the texts of values have the form that is read here."""

_INTEGERS = ("int2", "int4", "int8")
_TEXTS = ("text", "varchar", "bpchar", "name", "citext", "uuid", "xml", "inet", "cidr", "macaddr", "macaddr8")
_CLOCKS = ("time", "timetz")
_JSON = ("json", "jsonb")
_WIDENED = {("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("varchar", "text")}


_INTERVAL = re.compile(
    r"(?:(?P<days>[+-]?\d+) days?)? ?"
    r"(?:(?P<sign>[+-]?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)(?:\.(?P<parts>\d{1,6}))?)?"
)


class RefusedTypeError(Exception):
    """A column of this type cannot take the values of a Postgres type."""

    def __init__(self, postgres: str, wanted: str) -> None:
        super().__init__(postgres, wanted)
        self.postgres, self.wanted = postgres, wanted


@dataclass(frozen=True, slots=True)
class PostgresType:
    """A type of the server. `name` is that of the base type of a domain, `element` that of the items of an array.

    `modifier` has the length of a text, or precision and scale of a number; -1 if there is none.
    """

    name: str
    modifier: int = -1
    is_enum: bool = False
    element: PostgresType | None = None

    def __str__(self) -> str:
        if self.element is not None:
            return f"{self.element}[]"
        if self.name == "numeric" and self.modifier >= 0:
            return f"numeric({self.precision},{self.scale})"
        if self.name in ("varchar", "bpchar") and self.modifier >= 0:
            return f"{'char' if self.name == 'bpchar' else 'varchar'}({self.modifier - 4})"
        return _NAMES.get(self.name, self.name)

    @property
    def precision(self) -> int:
        return (self.modifier - 4) >> 16 & 0xFFFF

    @property
    def scale(self) -> int:
        scale = (self.modifier - 4) & 0x7FF
        return scale - 0x800 if scale & 0x400 else scale

    def widens_to(self, other: PostgresType) -> bool:
        """True if a column that changes from this type to the other one keeps the value of every row."""
        if self.element is not None or other.element is not None or self.is_enum or other.is_enum:
            return self == other
        if self.name == other.name == "varchar":
            return other.modifier < 0 or 0 <= self.modifier <= other.modifier
        if self.name == other.name == "numeric":
            if other.modifier < 0:
                return True
            return self.modifier >= 0 and self.scale == other.scale and self.precision <= other.precision
        return self == other or ((self.name, other.name) in _WIDENED and other.modifier < 0)


_NAMES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone",
    "bpchar": "char",
}


def reader(postgres: PostgresType, type_: Type) -> Read:
    """Returns the function from the text of a value to one that fits the type. Raises RefusedTypeError."""
    wanted = inside_option(type_) or type_
    if is_plain(wanted):
        found = _plain_reader(postgres, plain_type(wanted))
    elif postgres.element is not None:
        found = _array_reader(postgres.element, wanted)
    else:
        found = json.loads if postgres.name in _JSON else None
    if found is None:
        raise RefusedTypeError(str(postgres), taken_by(postgres))
    return found


def taken_by(postgres: PostgresType) -> str:
    """Returns the types of columns that take a Postgres type, as a part of a sentence; empty if there are none."""
    if postgres.element is not None:
        inner = taken_by(postgres.element)
        return f"`Vec<T>`, where `T` is {inner}" if inner else ""
    match postgres.name:
        case "int2" | "int4" | "int8" as name:
            more = " or `double`" if name != "int8" else ""
            return f"`{ {'int2': 's16', 'int4': 's32', 'int8': 's64'}[name] }`, another integer, a decimal{more}"
        case "numeric":
            is_whole = postgres.modifier >= 0 and postgres.scale <= 0
            return "a decimal, `bigint` or another integer" if is_whole else "a decimal such as `decimal<38, 10>`"
        case "bool":
            return "`bool`"
        case "float4":
            return "`float` or `double`"
        case "float8":
            return "`double`"
        case "date":
            return "`date`"
        case "timestamp" | "timestamptz":
            return "`timestamp`"
        case "interval":
            return "`duration`"
        case "json" | "jsonb":
            return "`string`, a struct, a tuple or a collection"
        case name if name in _TEXTS or name in _CLOCKS or postgres.is_enum:
            return "`string`"
    return ""


def _plain_reader(postgres: PostgresType, wanted: Type) -> Read | None:
    name = postgres.name
    if postgres.element is not None:
        return None
    is_whole = name in _INTEGERS or (name == "numeric" and postgres.modifier >= 0 and postgres.scale <= 0)
    match wanted:
        case BitType() | SignedType() | BigIntType() if is_whole:
            return int if name in _INTEGERS else _whole
        case DecimalType() if name in _INTEGERS or name == "numeric":
            return str
        case FloatType(width=64) if name in ("int2", "int4", "float8"):
            return float
        case FloatType() if name == "float4":
            return _single
        case BoolType() if name == "bool":
            return "t".__eq__
        case StringType() if postgres.is_enum or name in (*_TEXTS, *_CLOCKS, *_JSON):
            return str
        case DateType() if name == "date":
            return str
        case TimestampType() if name == "timestamp":
            return _moment
        case TimestampType() if name == "timestamptz":
            return _moment_in_utc
        case DurationType() if name == "interval":
            return _duration
    return None


def _array_reader(element: PostgresType, wanted: Type) -> Read | None:
    if not isinstance(wanted, NamedType) or wanted.name.rpartition("::")[2] != "Vec":
        return None
    depth, inner = 1, wanted.arguments[0]
    while isinstance(inner, NamedType) and inner.name.rpartition("::")[2] == "Vec":
        depth, inner = depth + 1, inner.arguments[0]
    read = reader(element, inner)

    def read_array(text: str) -> Any:
        items, found = _array(text, read)
        if found != depth and items:
            raise ValueError(f"it has {found} dimensions, not {depth}")
        return items

    return read_array


def _array(text: str, read: Read) -> tuple[list[Any], int]:
    """Reads the text of an array; returns its items, which may be lists, and the number of its dimensions."""
    if not text.startswith("{"):
        raise ValueError("its items do not begin with number 1")
    parts = _array_parts(text)
    next(parts)
    items, depth = _items(parts, read)
    return items, depth


def _items(parts: Iterator[str | None], read: Read) -> tuple[list[Any], int]:
    items: list[Any] = []
    depth = 1
    for part in parts:
        if part == "{":
            inner, below = _items(parts, read)
            items.append(inner)
            depth = below + 1
        elif part == "}":
            break
        elif part != ",":
            items.append(None if part is None else read(part[1:]))
    return items, depth


def _array_parts(text: str) -> Iterator[str | None]:
    """Yields braces and commas as they are, a value with `=` before it, and None for a null."""
    at = 0
    while at < len(text):
        letter = text[at]
        if letter in "{},":
            yield letter
            at += 1
            continue
        value = []
        if letter == '"':
            at += 1
            while text[at] != '"':
                at += text[at] == "\\"
                value.append(text[at])
                at += 1
            at += 1
            yield "=" + "".join(value)
            continue
        while text[at] not in "{},":
            at += text[at] == "\\"
            value.append(text[at])
            at += 1
        bare = "".join(value)
        yield None if bare == "NULL" else "=" + bare


def _whole(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else text


def _duration(text: str) -> timedelta:
    """Reads `1 day 02:30:00`. Raises ValueError for months and years, which have no fixed length."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise ValueError("a duration has days and a time, no months or years")
    hours, minutes, seconds, parts = (int(found[name] or 0) for name in ("hours", "minutes", "seconds", "parts"))
    parts *= 10 ** (6 - len(found["parts"] or ""))
    clock = timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=parts)
    return timedelta(days=int(found["days"] or 0)) + (-clock if found["sign"] == "-" else clock)


def _single(text: str) -> float:
    """Returns the number that a `real` is; its shortest text is that of another `double`."""
    return float(np.float32(text))


def _moment(text: str) -> str:
    return f"{text.replace(' ', 'T', 1)}Z"


def _moment_in_utc(text: str) -> str:
    return f"{text.removesuffix('+00').replace(' ', 'T', 1)}Z"
