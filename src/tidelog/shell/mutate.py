"""A value and a record of changes → the changed value, for `modify`.

    struct          the fields in the record are changed recursively, the others stay
    union           the same if the record has the constructor of the value; otherwise it is replaced
    Set             the items of the record are added if absent, and removed if present
    Map             a new key is added; a present key is removed by the value `()`, else its value is changed
    all others      replaced

A `@json` record replaces a value of any type.
"""

from __future__ import annotations

from typing import Any

from tidelog.shell.from_record import MisfitError, ValueReader
from tidelog.shell.records import ArrayRecord, Record, Serialized, StructRecord, TupleRecord
from tidelog.types import NamedType, Type
from tidelog.values.externs import ExternKind
from tidelog.values.maps import Map
from tidelog.values.structs import construct, field_values

_SETS = ("ddlog_std::Set", "hashset::HashSet", "tinyset::Set64")


def mutate(old: Any, record: Record, type_: Type, reader: ValueReader) -> Any:
    """Returns the changed value. Raises MisfitError if the record does not fit."""
    if isinstance(record, Serialized) or not isinstance(type_, NamedType):
        return reader.value(record, type_)
    extern = reader.definitions.extern(type_)
    if extern is None:
        return _struct(old, record, type_, reader)
    if extern.kind is ExternKind.TRANSPARENT:
        return extern.make(mutate(old, record, extern.inner(*type_.arguments), reader))
    if type_.name in _SETS:
        items = set(reader.items(record, type_.arguments[0]))
        return type(old)(items.symmetric_difference(old))
    if type_.name == "ddlog_std::Map":
        return _map(old, record, type_, reader)
    return reader.value(record, type_)


def _struct(old: Any, record: Record, type_: NamedType, reader: ValueReader) -> Any:
    variants = reader.definitions.variants(type_)
    index = old[0] if len(variants) > 1 else 0
    variant = variants[index]
    if not isinstance(record, StructRecord) or (len(variants) > 1 and record.name != variant.name):
        return reader.value(record, type_)
    names = record.names
    if names is None:
        if len(record.fields) != len(variant.fields):
            # Reports the number of fields.
            return reader.struct(record, variant, index, type_)
        names = tuple(name for name, _ in variant.fields)
    changes = dict(zip(names, record.fields))
    values = []
    for (name, wanted), value in zip(variant.fields, field_values(old)):
        change = changes.get(name)
        try:
            values.append(value if change is None else mutate(value, change, wanted, reader))
        except MisfitError as error:
            error.path.insert(0, name)
            raise
    return construct(variant.cls, (index, *values) if variant.start else tuple(values))


def _map(old: Map, record: Record, type_: NamedType, reader: ValueReader) -> Map:
    key_type, value_type = type_.arguments
    changes: dict[Any, Record] = {}
    for pair in record.items if isinstance(record, ArrayRecord) else (record,):
        if not isinstance(pair, TupleRecord) or len(pair.items) != 2:
            raise MisfitError(pair.place, f"a pair of {key_type} and {value_type} is wanted, not {pair}")
        changes[reader.value(pair.items[0], key_type)] = pair.items[1]
    for key, change in changes.items():
        if key not in old:
            old = old.insert(key, reader.value(change, value_type))
        elif isinstance(change, TupleRecord) and not change.items:
            old = old.remove(key)
        else:
            old = old.insert(key, mutate(old.get(key), change, value_type, reader))
    return old
