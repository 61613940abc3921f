"""Records → values of the expected type.

A record fits several types, as scripts expect:

    5                       any number type that has it, `float` and `double` too
    x                       a vector or set of one item; `Some{x}` of an Option
    []  [x]                 None and Some{x} of an Option
    C{.f = 1}               omitted fields get default values, unknown ones are ignored
    @json"…"                any type

A shared or interned value is written as the value inside; a value of an extern type as it is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tidelog.iso_texts import value_of_text
from tidelog.library._runtime.extern import ExternContext
from tidelog.scaled_values import exact_decimal
from tidelog.shell.place import Place
from tidelog.shell.records import ArrayRecord, Record, Scalar, Serialized, StructRecord, TupleRecord
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    NamedType,
    ScaledType,
    SignedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
    integer_range,
)
from tidelog.values.default import default_value
from tidelog.values.definitions import Definitions, Variant
from tidelog.values.externs import ExternKind, ExternType
from tidelog.values.floats import NAN, double, double_of, single, single_of
from tidelog.values.maps import Map
from tidelog.values.sets import Set, SizedSet
from tidelog.values.structs import construct

_NIL = ".nil"  # the empty record of a record type in Soufflé's language
_OPTION = "ddlog_std::Option"
_GROUP = "ddlog_std::Group"
_GROUP_NAMES = ("key", "vals")

# As they are printed.
_NOT_FINITE = {"NaN": NAN, "inf": math.inf}

# Their items may come in any order.
_SORTING: dict[str, Callable[[list[Any]], Any]] = {
    "ddlog_std::Set": Set,
    "ddlog_std::Map": Map,
    "hashset::HashSet": SizedSet,
    "tinyset::Set64": SizedSet,
}


class MisfitError(Exception):
    """A record is not of the expected type. `path` has the fields that lead to it, from the outside in."""

    def __init__(self, place: Place, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.help = help
        self.path: list[str] = []


class ValueReader:
    """Makes values of the types of one program. `context` is called when the first `@json` is read."""

    def __init__(self, definitions: Definitions, context: Callable[[], ExternContext]) -> None:
        self.definitions = definitions
        self._context = context

    def value(self, record: Record, type_: Type) -> Any:
        """Returns the value of a record. Raises MisfitError if it is not of the type."""
        if isinstance(record, Serialized):
            return self._decoded(record, type_)
        match type_:
            case StringType() if isinstance(record, Scalar) and isinstance(record.value, str):
                return record.value
            case BitType() | SignedType() if isinstance(record, Scalar) and type(record.value) is int:
                low, high = integer_range(type_)
                if not low <= record.value <= high:
                    raise _misfit(record, type_)
                return record.value
            case BoolType() if isinstance(record, Scalar) and isinstance(record.value, bool):
                return record.value
            case BigIntType() if isinstance(record, Scalar) and type(record.value) is int:
                return record.value
            case FloatType(width) if isinstance(record, Scalar) and type(record.value) in (int, float):
                return _float(record.value, width)
            case DateType() | TimestampType() | DurationType() | DecimalType() if isinstance(record, Scalar):
                return _scaled(record, type_)
            case FloatType() if isinstance(record, StructRecord) and record.name in _NOT_FINITE and not record.fields:
                return _NOT_FINITE[record.name]
            case TupleType(items) if isinstance(record, TupleRecord) and len(record.items) == len(items):
                return tuple([self.value(item, wanted) for item, wanted in zip(record.items, items)])
            case NamedType():
                return self._named(record, type_)
            case _:
                # `(x)` is `x`, as in programs.
                if isinstance(record, TupleRecord) and len(record.items) == 1 and not isinstance(type_, TupleType):
                    return self.value(record.items[0], type_)
                raise _misfit(record, type_)

    def items(self, record: Record, type_: Type) -> list[Any]:
        """Returns the items of a collection; a record that is no array is the only item."""
        records = record.items if isinstance(record, ArrayRecord) else (record,)
        return [self.value(each, type_) for each in records]

    def struct(self, record: StructRecord, variant: Variant, index: int, type_: Type) -> Any:
        """Returns a value of one constructor; the record's own name is ignored."""
        fields = variant.fields
        values: list[Any] = []
        if record.names is None:
            if len(record.fields) != len(fields):
                raise MisfitError(
                    record.place, f"{variant.name} has {_count(fields)}, not {len(record.fields)}, in {type_}"
                )
            for (name, wanted), given in zip(fields, record.fields):
                values.append(self._field(name, given, wanted))
        else:
            by_name = dict(zip(record.names, record.fields))
            for name, wanted in fields:
                found = by_name.get(name)
                values.append(
                    default_value(wanted, self.definitions) if found is None else self._field(name, found, wanted)
                )
        return construct(variant.cls, (index, *values) if variant.start else tuple(values))

    def _field(self, name: str, record: Record, type_: Type) -> Any:
        try:
            return self.value(record, type_)
        except MisfitError as error:
            error.path.insert(0, name)
            raise

    def _named(self, record: Record, type_: NamedType) -> Any:
        extern = self.definitions.extern(type_)
        if extern is not None:
            return self._extern(record, type_, extern)
        if isinstance(record, StructRecord):
            variants = self.definitions.variants(type_)
            for index, variant in enumerate(variants):
                if variant.name == record.name:
                    return self.struct(record, variant, index, type_)
                if (record.name, record.fields) == ("nil", ()) and variant.name.endswith(_NIL):
                    return variant.cls()
            raise _unknown_constructor(record, type_, variants)
        if isinstance(record, ArrayRecord) and (found := self._record_of(type_)) is not None:
            return self.struct(StructRecord(found[1].name, record.items, None, record.place), found[1], found[0], type_)
        if type_.name == _OPTION:
            return self._option(record, type_)
        if isinstance(record, TupleRecord) and len(record.items) == 1:
            return self.value(record.items[0], type_)
        raise _misfit(record, type_)

    def _record_of(self, type_: NamedType) -> tuple[int, Variant] | None:
        """Returns the constructor of a record in Soufflé's language, and its place: the one beside `nil`."""
        variants = self.definitions.variants(type_)
        if len(variants) != 2 or not variants[0].name.endswith(_NIL):
            return None
        return 1, variants[1]

    def _option(self, record: Record, type_: NamedType) -> Any:
        """Returns an Option whose record has no constructor."""
        none, some = self.definitions.variants(type_)
        inner = record
        if isinstance(record, ArrayRecord):
            if not record.items:
                return none.cls()
            if len(record.items) > 1:
                raise _misfit(record, type_)
            inner = record.items[0]
        return some.cls(self.value(inner, type_.arguments[0]))

    def _extern(self, record: Record, type_: NamedType, extern: ExternType) -> Any:
        inner = extern.inner(*type_.arguments)
        if extern.kind is ExternKind.TRANSPARENT:
            return extern.make(self.value(record, inner))
        if extern.kind is ExternKind.SEQUENCE:
            make: Callable[[list[Any]], Any] = _SORTING.get(type_.name, extern.make)
            return make(self.items(record, inner))
        try:
            if type_.name == _GROUP and isinstance(inner, TupleType):
                return extern.make(self._group_parts(record, type_, inner))
            return extern.make(self.value(record, inner))
        except ValueError as error:
            raise MisfitError(record.place, f"{type_} is wanted, not {record}: {error}") from None

    def _group_parts(self, record: Record, type_: Type, inner: TupleType) -> tuple[Any, ...]:
        if not isinstance(record, StructRecord) or record.name != "ddlog_std::DDlogGroup":
            raise _misfit(record, type_)
        given = dict(zip(record.names or _GROUP_NAMES, record.fields))
        if len(record.fields) != len(_GROUP_NAMES) or given.keys() != set(_GROUP_NAMES):
            raise _misfit(record, type_)
        return tuple(self.value(given[name], wanted) for name, wanted in zip(_GROUP_NAMES, inner.items))

    def _decoded(self, record: Serialized, type_: Type) -> Any:
        from tidelog.library._json.decode import Decoder
        from tidelog.library._json.text import JsonError, parse_json

        if record.format != "json":
            raise MisfitError(record.place, f"there is no format `{record.format}`", 'write `@json"..."`')
        try:
            return Decoder(self._context()).value(type_, parse_json(record.text))
        except JsonError as error:
            raise MisfitError(record.place, f"{type_} is wanted, not {record}: {error.text(record.text)}") from None


def _float(number: bool | float | str, width: int) -> float:
    if isinstance(number, int):
        return single_of(number) if width == 32 else double_of(number)
    assert isinstance(number, float)
    return single(number) if width == 32 else double(number)


def _scaled(record: Scalar, type_: ScaledType) -> Any:
    """Returns a date, a time or a decimal: a text in ISO form, or a number."""
    given = record.digits or record.value
    found = None
    if isinstance(given, str) and not (isinstance(type_, DecimalType) and isinstance(record.value, str)):
        found = value_of_text(given, type_)
    elif isinstance(type_, DecimalType) and type(given) is int:
        found = exact_decimal(Decimal(given), type_)
    if found is None:
        raise _misfit(record, type_)
    return found


def _misfit(record: Record, type_: Type) -> MisfitError:
    return MisfitError(record.place, f"{type_} is wanted, not {record}")


def _unknown_constructor(record: StructRecord, type_: Type, variants: Sequence[Variant]) -> MisfitError:
    known = [variant.name for variant in variants]
    local = record.name.rpartition("::")[2]
    meant = next((name for name in known if name.rpartition("::")[2] == local), None)
    return MisfitError(
        record.place,
        f"{type_} is wanted, and `{record.name}` is no constructor of it",
        f"did you mean `{meant}`?" if meant else f"its constructors are {', '.join(f'`{name}`' for name in known)}",
    )


def _count(fields: Sequence[object]) -> str:
    return "1 field" if len(fields) == 1 else f"{len(fields)} fields"
