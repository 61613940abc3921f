"""Canonical values → plain Python objects for Arrow and JSON.

    Circle{.r = 2}              {"tag": "Circle", "r": 2}
    ddlog_std::Some{.x = 1}     1
    Set([1, 2])                 [1, 2]

`rules/schema` has the table of forms; `fit` reads them back. JSON differs from Arrow where it has a simpler form: a
tuple is an array, a map with text as keys an object, an integer of any size a number. JSON has no float that is not
finite; there it is the text `NaN`, `inf` or `-inf`. Nor has it dates, times and exact decimals: those are text, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tidelog.deep_recursion import at_any_depth
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.iso_texts import value_text
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import (
    OPTION,
    UNIT_FIELD,
    arrow_schema,
    arrow_type,
    bare,
    has_tag,
    is_nullable,
    is_plain,
    is_recursive,
    tag_name,
)
from tidelog.types import (
    BigIntType,
    BitType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    NamedType,
    SignedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
)
from tidelog.values import Definitions, ExternKind
from tidelog.values.floats import float_text
from tidelog.values.text import integer_text

Form = Callable[[Any], Any]
_Maker = Callable[[Definitions, Type], Form]


def arrow_form(type_: Type, definitions: Definitions) -> Form:
    """Returns a function from a value to the input of `pyarrow.array` for `arrow_type`."""
    form = definitions.keep(_arrow_form, type_)
    return form if is_plain(type_) else lambda value: _deeply(form, value)


def json_form(type_: Type, definitions: Definitions) -> Form:
    """Returns a function from a value to the input of `json.dumps`. Raises UsageError if the type holds functions."""
    arrow_type(type_, definitions)  # refuses the types that have no form
    form = definitions.keep(_json_form, type_)
    return lambda value: _deeply(form, value)


def json_text(type_: Type, definitions: Definitions) -> Callable[[Any], str]:
    """Returns a function from a value to its JSON text, on one line."""
    form = json_form(type_, definitions)
    return lambda value: dump_json(form(value))


def dump_json(document: Any) -> str:
    """Writes a result of `json_form` on one line, however deep it is and however long its integers are."""
    found: str = _deeply(_dumps, document)
    return found


def _deeply(form: Form, value: Any) -> Any:
    try:
        return at_any_depth(form, value)
    except RecursionError:
        raise DataError("a value is nested too deeply to be written", code=Code.WRONG_VALUE) from None


def rows_to_table(rows: Sequence[tuple[Any, ...]], relation: Relation, definitions: Definitions) -> pa.Table:
    """Converts rows to a table with `arrow_schema(relation, definitions)`, which must have columns."""
    schema = arrow_schema(relation, definitions)
    arrays = []
    for place, (column, field) in enumerate(zip(relation.columns, schema)):
        form = arrow_form(column.type, definitions)
        arrays.append(pa.array([form(row[place]) for row in rows], field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _dumps(document: Any) -> str:
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False)
    except ValueError:
        # Python refuses to print the longest integers.
        return json.dumps(_with_long_integers_as_text(document), ensure_ascii=False)


def _with_long_integers_as_text(document: Any) -> Any:
    match document:
        case dict():
            return {key: _with_long_integers_as_text(value) for key, value in document.items()}
        case list():
            return [_with_long_integers_as_text(value) for value in document]
        case int() if not isinstance(document, bool) and document.bit_length() > 1000:
            return integer_text(document)
        case _:
            return document


def _arrow_form(definitions: Definitions, type_: Type) -> Form:
    type_ = bare(type_, definitions)
    if is_plain(type_):
        return integer_text if arrow_type(type_) == pa.string() and not isinstance(type_, StringType) else _itself
    if isinstance(type_, TupleType):
        names = [f"_{place}" for place in range(len(type_.items))]
        forms = [definitions.keep(_arrow_form, item) for item in type_.items]
        if not names:
            return lambda value: {UNIT_FIELD: True}
        return lambda value: {name: form(item) for name, form, item in zip(names, forms, value)}
    if is_recursive(type_, definitions):
        form = definitions.keep(_json_form, type_)
        return lambda value: _dumps(form(value))
    if isinstance(type_, NamedType) and type_.name == "ddlog_std::Map":
        key, item = _key_form(definitions, type_.arguments[0], _arrow_form), type_.arguments[1]
        item_form = definitions.keep(_arrow_form, item)
        return lambda value: [(key(k), item_form(v)) for k, v in value]
    return _named_form(definitions, type_, _arrow_form)


def _json_form(definitions: Definitions, type_: Type) -> Form:
    type_ = bare(type_, definitions)
    match type_:
        case FloatType(width):
            return lambda value: value if math.isfinite(value) else float_text(value, width)
        case BitType() | SignedType() | BigIntType():
            return _itself
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return value_text
        case TupleType(items):
            forms = [definitions.keep(_json_form, item) for item in items]
            return lambda value: [form(item) for form, item in zip(forms, value)]
        case NamedType("ddlog_std::Map", (key, item)):
            key_form, item_form = _key_form(definitions, key, _json_form), definitions.keep(_json_form, item)
            if isinstance(bare(key, definitions), StringType):
                return lambda value: {k: item_form(v) for k, v in value}
            return lambda value: [[key_form(k), item_form(v)] for k, v in value]
        case _ if is_plain(type_):
            return _itself
        case _:
            return _named_form(definitions, type_, _json_form)


def _named_form(definitions: Definitions, type_: Type, of: _Maker) -> Form:
    """Makes the forms that Arrow and JSON share; `of` makes the forms of their parts."""
    assert isinstance(type_, NamedType), f"{type_} has no form"
    extern = definitions.extern(type_)
    if extern is None:
        return _option_form(definitions, type_, of) if type_.name == OPTION else _struct_form(definitions, type_, of)
    inner = definitions.keep(of, extern.inner(*type_.arguments))
    if extern.kind is ExternKind.SEQUENCE:
        return lambda value: [inner(item) for item in value]
    take = extern.take
    assert take is not None
    return lambda value: inner(take(value))


def _key_form(definitions: Definitions, type_: Type, of: _Maker) -> Form:
    """Makes the form of a key of a map, where null is not possible."""
    found = bare(type_, definitions)
    if isinstance(found, NamedType) and is_nullable(found, definitions):
        return _struct_form(definitions, found, of)
    return definitions.keep(of, type_)


def _option_form(definitions: Definitions, type_: NamedType, of: _Maker) -> Form:
    if not is_nullable(type_, definitions):
        return _struct_form(definitions, type_, of)
    inner = definitions.keep(of, type_.arguments[0])
    return lambda value: inner(value[1]) if value[0] else None


def _struct_form(definitions: Definitions, type_: NamedType, of: _Maker) -> Form:
    variants = definitions.variants(type_)
    tag = tag_name(variants) if has_tag(variants) else None
    # The forms of fields are made when they are needed, for a type may hold itself.
    fields: list[list[tuple[str, int, Form]] | None] = [None] * len(variants)

    def form(value: Any) -> Any:
        index = value[0] if len(variants) > 1 else 0
        variant, own = variants[index], fields[index]
        if own is None:
            own = fields[index] = [
                (name, position, definitions.keep(of, field))
                for position, (name, field) in enumerate(variant.fields, variant.start)
            ]
        parts = {name: part(value[position]) for name, position, part in own}
        return parts if tag is None else {tag: variant.name.rpartition("::")[2], **parts}

    return form


def _itself(value: Any) -> Any:
    return value


def with_lists(table: pa.Table) -> pa.Table:
    """Returns the table with lists of entries instead of maps: polars has no maps, and makes a null one empty."""
    return table.cast(pa.schema([field.with_type(_without_maps(field.type)) for field in table.schema]))


def _without_maps(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_map(type_):
        entry = [pa.field("key", _without_maps(type_.key_type), nullable=False)]
        entry.append(pa.field("value", _without_maps(type_.item_type), nullable=type_.item_field.nullable))
        return pa.list_(pa.struct(entry))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_without_maps(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_without_maps(type_.value_type)))
    return type_
