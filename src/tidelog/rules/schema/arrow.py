"""Relation → Arrow schema: how a relation's rows look at every border (users, files, engines).

| type | Arrow |
| --- | --- |
| `bool` | bool |
| `bit<N>`, N ≤ 64 | uint8, 16, 32 or 64, the smallest that holds N bits |
| `signed<N>`, N ≤ 64 | int8, 16, 32 or 64 |
| wider integers, `bigint` | string, in decimal |
| `float`, `double` | float32, float64 |
| `string` | string |
| `date` | date32 |
| `timestamp`, `duration` | timestamp and duration in microseconds; the zone of a timestamp is UTC |
| `decimal<P, S>` | decimal128(P, S) |
| `(A, B)` | struct with the fields `_0`, `_1`; `()` is a struct with the Boolean `_present`, always true |
| a struct | struct with its fields |
| a union, a struct without fields | struct: `tag`, which is the constructor's name without its module, and the fields |
| | of all constructors, each null where the constructor does not have it |
| `Option<T>` | `T`, nullable; where null is not possible (an `Option` or a key of a map) it is the union that it is |
| `Vec`, `Set`, `HashSet`, `Set64` | list; that of a set is sorted |
| `Map<K, V>` | map, sorted by key |
| `Group<K, V>` | struct: the key `_0`, and `_1`, the list of values with their weights (`_0`, `_1`) |
| `Ref<T>`, `Intern<T>` | `T` |
| other extern types of the library | what they are held as: string (`regex::Regex`, `time::Date`), or a number |
| a type that can hold a value of itself | string, with the value as JSON (Arrow has no such types) |
| functions | none: a table with such a column is refused |

Columns are never null, except those of an `Option`. Two widths share an Arrow type (`bit<12>` and `u16`), so a range
check belongs to every border. The *plain* types are those of the first nine lines, also behind a `Ref` or an `Intern`.
Engines exchange tables of those alone; rows with other columns reach them, and leave them, as Python values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.rules.ir import Column, Relation
from tidelog.scaled_values import from_units
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    FunctionType,
    NamedType,
    ScaledType,
    SignedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
)
from tidelog.values import Definitions, ExternKind
from tidelog.values.definitions import Variant
from tidelog.values.floats import NAN
from tidelog.values.text import integer_of_text

OPTION = "ddlog_std::Option"
UNIT_FIELD = "_present"
_UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_AT_ONCE = 1 << 15  # rows that become Python objects in one step: other threads wait for the end of it
_WRAPPERS = ("ddlog_std::Ref", "internment::Intern", "intern::IObj")


_PLAIN = BoolType | BitType | SignedType | BigIntType | FloatType | StringType | ScaledType


def plain_type(type_: Type) -> Type:
    """Returns the type without the `Ref` or `Intern` around it, whose values are those of the type inside."""
    while isinstance(type_, NamedType) and type_.name in _WRAPPERS:
        (type_,) = type_.arguments
    return type_


def is_plain(type_: Type) -> bool:
    """True for the types whose values are a bool, a number, a text, a time or a decimal."""
    return isinstance(plain_type(type_), _PLAIN)


def is_plain_relation(relation: Relation) -> bool:
    """True where all columns are plain, so that the relation is a table to every engine."""
    return all(is_plain(column.type) for column in relation.columns)


def with_plain_columns(relation: Relation) -> Relation:
    """Returns the relation with `plain_type` of its columns: users read and write an `istring` as a `string`."""
    if not any(isinstance(column.type, NamedType) and column.type.name in _WRAPPERS for column in relation.columns):
        return relation
    columns = tuple(Column(column.name, plain_type(column.type)) for column in relation.columns)
    return replace(relation, columns=columns)


def arrow_type(type_: Type, definitions: Definitions | None = None) -> pa.DataType:
    """Returns the Arrow type of a column of this type; one that is not plain needs the definitions.

    Raises UsageError for a type that holds functions.
    """
    match plain_type(type_):
        case BoolType():
            return pa.bool_()
        case BitType(width) if width <= 64:
            return _UNSIGNED[_storage_bits(width)]
        case SignedType(width) if width <= 64:
            return _SIGNED[_storage_bits(width)]
        case BitType() | SignedType() | BigIntType() | StringType():
            return pa.string()
        case FloatType(width):
            return pa.float64() if width == 64 else pa.float32()
        case DateType():
            return pa.date32()
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case DurationType():
            return pa.duration("us")
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case _:
            assert definitions is not None, f"{type_} is not a plain type"
            return _nested_type(type_, definitions)


def arrow_field(name: str, type_: Type, definitions: Definitions | None = None) -> pa.Field:
    """Returns the field of a column, nullable for an `Option` that is not the union."""
    return pa.field(name, arrow_type(type_, definitions), nullable=is_nullable(type_, definitions))


def arrow_schema(relation: Relation, definitions: Definitions | None = None) -> pa.Schema:
    """Returns one field per column. A relation without columns has an empty schema; num_rows counts its rows."""
    return pa.schema([arrow_field(column.name, column.type, definitions) for column in relation.columns])


def empty_rows(count: int) -> pa.Table:
    """Returns a table of `count` rows without columns, as a relation without columns has them."""
    return pa.table({"_": pa.nulls(count)}).select([])


def table_to_rows(table: pa.Table, relation: Relation) -> list[tuple[Any, ...]]:
    """Returns the rows of a table with the schema of a plain relation as tuples of Python values, in the table's
    order."""
    if not relation.columns:
        return [()] * table.num_rows
    rows: list[tuple[Any, ...]] = []
    for start in range(0, table.num_rows, _AT_ONCE):
        some = table.slice(start, _AT_ONCE)
        columns = [python_column(some.column(index), column.type) for index, column in enumerate(relation.columns)]
        rows.extend(zip(*columns))
    return rows


def python_column(array: pa.ChunkedArray | pa.Array, type_: Type) -> list[Any]:
    """Returns the values of a column of a plain type, in canonical form."""
    values: list[Any] = array.to_pylist()
    type_ = plain_type(type_)
    if isinstance(type_, BigIntType) or (isinstance(type_, BitType | SignedType) and type_.width > 64):
        return [integer_of_text(value) for value in values]
    if isinstance(type_, FloatType):
        return [NAN if value != value else value for value in values]
    if isinstance(type_, ScaledType) and (pa.types.is_integer(array.type) or pa.types.is_string(array.type)):
        return [from_units(int(value), type_) for value in values]  # from a file of the Spark engine
    if isinstance(type_, TimestampType):
        return [value.replace(tzinfo=UTC) for value in values]  # one of the objects that stand for this zone
    return values


# Types that are not plain


def bare(type_: Type, definitions: Definitions) -> Type:
    """Returns the type without the `Ref`, `Intern` and the like around it, which nobody sees at a border."""
    while isinstance(type_, NamedType) and (extern := definitions.extern(type_)) is not None:
        if extern.kind is not ExternKind.TRANSPARENT:
            break
        type_ = extern.inner(*type_.arguments)
    return type_


def held_as(type_: Type, definitions: Definitions) -> Type:
    """Returns the type that values of an extern type are written as: a `time::Date` as a `string`."""
    while isinstance(type_, NamedType) and (extern := definitions.extern(type_)) is not None:
        if extern.kind is ExternKind.SEQUENCE:
            break
        type_ = extern.inner(*type_.arguments)
    return type_


def is_option(type_: Type) -> bool:
    """True for an `Option`, also behind a `Ref` or an `Intern`: its column may be missing, and then is null."""
    return inside_option(type_) is not None


def inside_option(type_: Type) -> Type | None:
    """Returns the `T` of an `Option<T>`; None for another type."""
    found = plain_type(type_)
    return found.arguments[0] if isinstance(found, NamedType) and found.name == OPTION else None


def is_nullable(type_: Type, definitions: Definitions | None) -> bool:
    """True for an `Option` whose `None{}` is null: that of anything but another such `Option`."""
    if definitions is None or is_plain(type_):
        return False
    found = bare(type_, definitions)
    return isinstance(found, NamedType) and found.name == OPTION and not is_nullable(found.arguments[0], definitions)


def is_recursive(type_: Type, definitions: Definitions) -> bool:
    """True for a struct or union whose values can hold others of the type."""
    if not isinstance(type_, NamedType) or definitions.extern(type_) is not None:
        return False
    return definitions.classes_of(type_.name)[0].__variant__.shape.recursive


def has_tag(variants: Sequence[Variant]) -> bool:
    """True where a value is written with the name of its constructor: for unions, and where there are no fields."""
    return len(variants) > 1 or not variants[0].fields


def tag_name(variants: Sequence[Variant]) -> str:
    """`tag`, or with underscores behind it where a constructor has a field of that name."""
    taken = {name for variant in variants for name, _ in variant.fields}
    name = "tag"
    while name in taken:
        name += "_"
    return name


def _nested_type(type_: Type, definitions: Definitions) -> pa.DataType:
    match bare(type_, definitions):
        case TupleType(()):
            return pa.struct([pa.field(UNIT_FIELD, pa.bool_(), nullable=False)])
        case TupleType(items):
            return pa.struct([arrow_field(f"_{place}", item, definitions) for place, item in enumerate(items)])
        case FunctionType():
            raise UsageError(
                f"values of type `{type_}` cannot be written to a table or a file",
                code=Code.NO_TABLE_OF_FUNCTIONS,
                help="read the relation with `rows()`, or derive one without functions",
            )
        case NamedType(name, arguments) as named:
            extern = definitions.extern(named)
            if name == "ddlog_std::Map":
                return _map_type(*arguments, definitions=definitions)
            if extern is not None:
                inner = extern.inner(*arguments)
                if extern.kind is ExternKind.SEQUENCE:
                    return pa.list_(arrow_field("item", inner, definitions))
                return arrow_type(inner, definitions)
            if is_nullable(named, definitions):
                return arrow_type(arguments[0], definitions)
            return union_type(named, definitions)
        case plain:
            return arrow_type(plain)


def union_type(type_: NamedType, definitions: Definitions) -> pa.DataType:
    """Returns the Arrow type of a struct or union as what it is, whether or not it is an `Option`."""
    if is_recursive(type_, definitions):
        return pa.string()
    variants = definitions.variants(type_)
    if not has_tag(variants):
        return pa.struct([arrow_field(name, field, definitions) for name, field in variants[0].fields])
    fields = {tag_name(variants): pa.field(tag_name(variants), pa.string(), nullable=False)}
    for variant in variants:
        for name, field in variant.fields:
            fields[name] = pa.field(name, arrow_type(field, definitions))
    return pa.struct(list(fields.values()))


def _map_type(key: Type, item: Type, *, definitions: Definitions) -> pa.DataType:
    bare_key = bare(key, definitions)
    if is_nullable(key, definitions):
        assert isinstance(bare_key, NamedType)
        key_type = union_type(bare_key, definitions)
    else:
        key_type = arrow_type(key, definitions)
    return pa.map_(pa.field("key", key_type, nullable=False), arrow_field("value", item, definitions))


def _storage_bits(width: int) -> int:
    return next(bits for bits in (8, 16, 32, 64) if width <= bits)
