"""A name as written → the one thing that it means; reports names that mean nothing, or too much."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Protocol, TypeVar

from tidelog.check.names.library_modules import import_for, import_of, is_library_module
from tidelog.check.names.scope import ConstructorEntry, Module, RelationEntry, TransformerEntry, TypeEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax.habits import aggregate

# For each kind of names: what is reported where there is no such name, and the names of that kind.
_KINDS: dict[str, tuple[Code, str, Callable[[Module], Iterable[str]]]] = {
    "type": (Code.UNKNOWN_TYPE, "no such type", lambda module: module.types),
    "constructor": (Code.UNKNOWN_CONSTRUCTOR, "not declared", lambda module: module.constructors),
    "relation": (Code.UNKNOWN_RELATION, "not declared", lambda module: module.relations),
    "transformer": (Code.UNKNOWN_TRANSFORMER, "not declared", lambda module: module.transformers),
    "function": (Code.UNKNOWN_FUNCTION, "not declared", lambda module: module.functions),
}
_MOST_HINTS = 50

# Words that begin like a constructor, or are written like one elsewhere.
_WORDS = ("FlatMap", "Aggregate", "true", "false")

# Types by the names that they have elsewhere.
_FOREIGN_TYPES = {
    **dict.fromkeys(("int", "integer", "Integer", "number", "long", "i64", "int64", "Int"), "s64"),
    **dict.fromkeys(("i8", "int8"), "s8"),
    **dict.fromkeys(("i16", "int16", "short"), "s16"),
    **dict.fromkeys(("i32", "int32"), "s32"),
    **dict.fromkeys(("i128", "int128"), "s128"),
    **dict.fromkeys(("uint", "unsigned", "uint64", "nat"), "u64"),
    **dict.fromkeys(("byte", "uint8"), "u8"),
    **dict.fromkeys(("uint16",), "u16"),
    **dict.fromkeys(("uint32",), "u32"),
    **dict.fromkeys(("String", "str", "text", "char", "symbol", "varchar"), "string"),
    **dict.fromkeys(("boolean", "Boolean", "Bool"), "bool"),
    **dict.fromkeys(("f64", "Double", "real", "float64"), "double"),
    **dict.fromkeys(("f32", "Float", "float32"), "float"),
    **dict.fromkeys(("bignum", "BigInt", "Bigint"), "bigint"),
    **dict.fromkeys(("List", "list", "Array", "array", "vector", "Vector", "vec"), "Vec"),
    **dict.fromkeys(("Dict", "dict", "HashMap", "BTreeMap", "map"), "Map"),
    **dict.fromkeys(("optional", "Optional", "Maybe", "option"), "Option"),
    **dict.fromkeys(("object", "any", "Any", "clob", "citext"), "string"),
    **dict.fromkeys(("blob", "bytea", "bytes", "binary", "varbinary"), "Vec<u8>"),
}

# Types of time and money by the names that they have elsewhere, in any case of letters.
_SCALED_TYPES = {
    "date": "`date`",
    **dict.fromkeys(("datetime", "timestamp", "timestamptz", "timestamp_ntz", "instant"), "`timestamp`"),
    **dict.fromkeys(("duration", "interval", "timedelta"), "`duration`"),
    **dict.fromkeys(("decimal", "numeric", "money", "bigdecimal"), "`decimal<P, S>`, for example `decimal<10, 2>`"),
}

# Types that have no single counterpart.
_TYPES_TO_CHOOSE = {
    "time": "a time of day is a `duration` since midnight",
    **dict.fromkeys(("json", "jsonb", "variant"), "`import json` has the type `json::JsonValue`; text is a `string`"),
    "enum": "a type has constructors: `typedef Color = Red | Green`",
    **dict.fromkeys(("uuid", "guid"), "`import net::uuid` has the type `net::uuid::Uuid`; text is a `string`"),
}

# A value that is missing, in any case of letters.
_NOTHING = frozenset(("null", "nil", "nothing", "na", "undefined"))

# Functions by the names that they have elsewhere.
_FOREIGN_FUNCTIONS = {
    **dict.fromkeys(("upper", "ucase", "to_upper"), "`to_uppercase(s)`"),
    **dict.fromkeys(("lower", "lcase", "to_lower"), "`to_lowercase(s)`"),
    **dict.fromkeys(("length", "size"), "`len(x)` is the length of a string or a vector"),
    **dict.fromkeys(("coalesce", "ifnull", "nvl"), "`unwrap_or(x, y)` is `y` where `x` is `None`"),
    **dict.fromkeys(("concat", "cat"), "`a ++ b` joins strings"),
    **dict.fromkeys(("substring",), "`substr(s, start, end)`"),
    **dict.fromkeys(("isnull", "is_null"), "`is_none(x)` is true for an `Option` without a value"),
    **dict.fromkeys(("strlen",), "`len(s)`"),
    **dict.fromkeys(("cast", "convert"), "`x as double` is the number as another type"),
    **dict.fromkeys(("int", "integer", "parse_int", "atoi"), "`x as s64` casts a number, `parse_dec_i64(s)` reads one"),
    **dict.fromkeys(("str", "text"), '`to_string(x)`, or `"${x}"` inside a text'),
    **dict.fromkeys(
        ("now", "today", "current_date", "current_timestamp", "sysdate", "getdate"),
        "the time is no fact: `input relation Now(at: timestamp)` lets a transaction say what it is",
    ),
    **dict.fromkeys(
        ("strptime", "to_datetime", "date_parse", "strftime", "date_format"),
        "`parse_timestamp(s)` reads the ISO form, `to_string(x)` writes it",
    ),
    **dict.fromkeys(
        ("date_trunc", "floor_date", "trunc", "trunc_month", "trunc_day", "trunc_hour", "truncate", "month_start"),
        "`truncate_to_hour(x)`, `truncate_to_day(x)` and `truncate_to_month(x)`",
    ),
    **dict.fromkeys(
        ("format", "to_char"),
        '`"${year(at)}-${month(at)}"` is a text with values in it (2024-1); `to_string(at)` is the ISO form',
    ),
    **dict.fromkeys(("date",), "`to_date(t)` is the day of a timestamp, `parse_date(s)` reads one"),
    **dict.fromkeys(
        ("timestamp", "datetime"), "`to_timestamp(d)` is the first moment of a day, `parse_timestamp(s)` reads one"
    ),
    **dict.fromkeys(("datediff", "timestampdiff"), "`a - b` of two dates or timestamps is a `duration`"),
    **dict.fromkeys(("days", "weeks"), '`whole_days(d)` is a duration in days, `duration"P1D" * n` are so many days'),
    **{
        f"{unit}s": f'`whole_{unit}s(d)` is a duration in {unit}s, `duration"PT1{unit[0].upper()}" * n` are so many'
        for unit in ("hour", "minute", "second")
    },
    **dict.fromkeys(("make_interval", "timedelta", "to_timedelta", "interval"), '`duration"P1DT2H30M"`'),
    **dict.fromkeys(
        ("row_number", "rank", "dense_rank", "lag", "lead", "ntile", "first_value", "last_value"),
        "there are no windows; `var last = max((at, item)) by (shop)` finds the last item of each shop",
    ),
    **dict.fromkeys(("strip", "btrim"), "`trim(s)`"),
    **dict.fromkeys(("lstrip", "ltrim", "rstrip", "rtrim"), "`trim(s)` cuts blanks at both ends"),
    **dict.fromkeys(("unnest", "explode", "flatten"), "`var x = FlatMap(v)` binds each item of a vector"),
    **dict.fromkeys(("abs",), "`if (x < 0) -x else x`; of floating-point numbers, `import fp` has `abs_d(x)`"),
    **dict.fromkeys(
        ("round", "floor", "ceil", "ceiling"),
        "`x as decimal<10, 1>` rounds a decimal; of floating-point numbers, `import fp` has `round_d(x)`",
    ),
    **dict.fromkeys(("isnan", "is_nan"), "of floating-point numbers, `import fp` has `is_nan_d(x)`"),
    **dict.fromkeys(("regexp_match", "regexp_like", "rlike", "re_match", "match"), "`import regex`"),
    **dict.fromkeys(("float", "double", "real"), "`x as double`"),
    **{f"{sign}{width}": f"`x as {sign}{width}`" for sign in "us" for width in (8, 16, 32, 64, 128)},
    **dict.fromkeys(("isinstance", "typeof", "type"), "the type of every column is declared"),
    **dict.fromkeys(("date_add", "dateadd"), '`d + duration"P1D"` is another day'),
    **dict.fromkeys(("to_number",), "`parse_dec_i64(s)` reads a number; `import souffle_lib` has `to_number`"),
}


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def span(self) -> Span: ...


_Entry = TypeVar("_Entry", bound=_Named)


class Names:
    """Looks names up for one module."""

    def __init__(self, module: Module, diagnostics: list[Diagnostic]) -> None:
        self.module = module
        self._diagnostics = diagnostics

    def type(self, name: str, span: Span, built_in: Iterable[str]) -> TypeEntry | None:
        return self._one(self.module.find_types(name), name, span, "type", built_in)

    def constructor(self, name: str, span: Span, *, is_bare: bool = False) -> ConstructorEntry | None:
        """Returns the constructor; one without arguments may have been meant for a variable."""
        found = self.module.find_constructors(name)
        variable = f"a variable begins with a small letter: `{name[0].lower()}{name[1:]}`"
        if name.casefold() in _NOTHING:
            variable = "an `Option` without a value is `None`"
        otherwise = variable if is_bare and "::" not in name else None
        return self._one(found, name, span, "constructor", _WORDS, otherwise)

    def relation(self, name: str, span: Span) -> RelationEntry | None:
        return self._one(self.module.find_relations(name), name, span, "relation")

    def transformer(self, name: str, span: Span) -> TransformerEntry | None:
        return self._one(self.module.find_transformers(name), name, span, "transformer")

    def unknown_function(self, name: str, span: Span, others: Iterable[str] = (), first: str | None = None) -> None:
        """Reports a function that does not exist; `others` are names of another kind that may have been meant.

        `first` is the type of its first argument, if that is known.
        """
        if self._knows_module(name, span):
            known = (*others, "group_by", *self._all(name, "relation"), *self._all(name, "function"))
            help = aggregate(name) or _FOREIGN_FUNCTIONS.get(name)
            if help is None and first:
                help = import_for(name, first, self.module.prefixes())
            self._report_unknown(name, span, "function", known, help)

    def _one(
        self,
        found: Sequence[_Entry],
        name: str,
        span: Span,
        what: str,
        others: Iterable[str] = (),
        otherwise: str | None = None,
    ) -> _Entry | None:
        """Returns the entry if exactly one was found, else reports; `others` may also have been meant, and `otherwise`
        is the help where no known name is near."""
        if len(found) == 1:
            return found[0]
        if not found:
            if self._knows_module(name, span):
                known = chain(others, self._all(name, what))
                self._report_unknown(name, span, what, known, otherwise=otherwise)
            return None
        self._diagnostics.append(
            diagnostic(
                Code.AMBIGUOUS_NAME,
                f"{what} `{name}` may be any of {len(found)}",
                span,
                "imported from more than one module",
                related=[(entry.span, f"`{entry.name}`") for entry in found],
                help=f"`{found[0].name}`",
            )
        )
        return None

    def _knows_module(self, name: str, span: Span) -> bool:
        prefix = name.rpartition("::")[0]
        if not prefix or self.module.places(prefix):
            return True
        guess = suggest(prefix, self.module.prefixes())
        last = name.rpartition("::")[2]
        help = f"did you mean `{guess}::{last}`?" if guess else None
        if self.module.find_types(prefix):
            help = f"constructors and functions stand without their type: `{last}`"
        elif help is None and (cast := _cast(prefix, last)):
            help = cast
        elif help is None and is_library_module(prefix):
            help = f"`import {prefix}`"
        message = f"there is no module `{prefix}` here"
        self._diagnostics.append(diagnostic(Code.UNKNOWN_MODULE, message, span, "not imported", help=help))
        return False

    def _report_unknown(
        self,
        name: str,
        span: Span,
        what: str,
        known: Iterable[str],
        help: str | None = None,
        otherwise: str | None = None,
    ) -> None:
        prefix, separator, last = name.rpartition("::")
        guess = self.suggested(last, known) if help is None else None
        help = f"did you mean `{prefix}{separator}{guess}`?" if guess else help
        if what == "type":
            help = _foreign_type(last) or help
        if help is None and not prefix:
            help = import_of(what, last, self.module.prefixes())
        code, label, _ = _KINDS[what]
        self._diagnostics.append(diagnostic(code, f"unknown {what} `{name}`", span, label, help=help or otherwise))

    def suggested(self, name: str, known: Iterable[str]) -> str | None:
        """Returns the known name that was probably meant, unless so much is wrong that nobody reads hints."""
        # Each costs a look at every name there is.
        return suggest(name, known) if len(self._diagnostics) < _MOST_HINTS else None

    def _all(self, name: str, what: str) -> Iterable[str]:
        """Returns all names of a kind that could stand in the place of this one."""
        prefix, table = name.rpartition("::")[0], _KINDS[what][2]
        return (each for place in self.module.places(prefix) for each in table(place))


def _cast(value: str, type_: str) -> str | None:
    """Returns how `value::type_`, a cast of Postgres, is written."""
    meant = _FOREIGN_TYPES.get(type_, type_)
    if meant == "string":
        return f"`to_string({value})`"
    is_number = re.fullmatch(r"[us](8|16|32|64|128)|bigint|float|double", meant)
    return f"`{value} as {meant}`" if is_number and "::" not in value else None


def _foreign_type(name: str) -> str | None:
    meant = _FOREIGN_TYPES.get(name)
    if meant is None and name.casefold() in _SCALED_TYPES:
        return f"it is called {_SCALED_TYPES[name.casefold()]} here"
    if meant is None:
        return _TYPES_TO_CHOOSE.get(name.casefold())
    return f"it is called `{meant}` here"
