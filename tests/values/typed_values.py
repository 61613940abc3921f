"""Random types and values of them, and the plain Python that a value's order comes down to."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tests.functions.program import chain, definitions, map_of, option, set_of, vec
from tidelog.scaled_values import from_units, unit_range
from tidelog.types import (
    BIGINT,
    BOOL,
    DATE,
    DOUBLE,
    DURATION,
    FLOAT,
    S8,
    S64,
    STRING,
    TIMESTAMP,
    U8,
    U128,
    UNIT,
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
    TupleType,
    Type,
)
from tidelog.values import Group, Map, Set, Struct, Vec, field_values
from tidelog.values.floats import double, single

DEFINITIONS = definitions()

_leaves: st.SearchStrategy[Type] = st.sampled_from(
    [
        *(BOOL, U8, S8, U128, BitType(3), SignedType(12), BitType(200), BIGINT, FLOAT, DOUBLE, STRING, UNIT),
        *(DATE, TIMESTAMP, DURATION, DecimalType(10, 2), DecimalType(18, 18), DecimalType(38, 0), DecimalType(38, 20)),
    ]
)


def _around(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        st.builds(lambda a, b: TupleType((a, b)), inner, inner),
        st.builds(option, inner),
        st.builds(vec, inner),
        st.builds(set_of, inner),
        st.builds(map_of, inner, inner),
        st.builds(chain, inner),
        st.builds(lambda a: NamedType("ddlog_std::Ref", (a,)), inner),
        st.builds(lambda a, b: NamedType("ddlog_std::Group", (a, b)), inner, inner),
        st.sampled_from([NamedType("Point"), NamedType("Shape"), NamedType("Nothing")]),
    )


types: st.SearchStrategy[Type] = st.recursive(_leaves, _around, max_leaves=4)


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Values of a type."""
    match type_:
        case BoolType():
            return st.booleans()
        case BitType(width):
            return st.integers(0, 2**width - 1)
        case SignedType(width):
            return st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
        case BigIntType():
            return st.integers() | st.integers(-(2**300), 2**300)
        case FloatType(width):
            return st.floats(width=32 if width == 32 else 64).map(double if width == 64 else single)
        case StringType():
            return st.text(max_size=4)
        case DateType() | TimestampType() | DurationType() | DecimalType():
            low, high = unit_range(type_)
            return (st.integers(low, high) | st.sampled_from([low, high])).map(lambda number: from_units(number, type_))
        case TupleType(items):
            return st.tuples(*map(values, items))
        case NamedType("ddlog_std::Ref", (inner,)):
            return values(inner)
        case NamedType("ddlog_std::Vec", (inner,)):
            return st.lists(values(inner), max_size=3).map(Vec)
        case NamedType("ddlog_std::Set", (inner,)):
            return st.lists(values(inner), max_size=3).map(Set)
        case NamedType("ddlog_std::Map", (key, inner)):
            return st.lists(st.tuples(values(key), values(inner)), max_size=3).map(Map)
        case NamedType("ddlog_std::Group", (key, inner)):
            weights = st.lists(st.tuples(values(inner), values(S64)), max_size=3)
            return st.builds(Group, values(key), weights.map(lambda pairs: sorted(pairs)))
        case NamedType("Chain", (inner,)):
            return st.lists(values(inner), max_size=3).map(_chained)
        case NamedType():
            variants = DEFINITIONS.variants(type_)
            return st.one_of([st.builds(each.cls, *(values(field) for _, field in each.fields)) for each in variants])
    raise AssertionError(type_)


def _chained(items: list[Any]) -> Struct:
    end, link = DEFINITIONS.classes_of("Chain")
    found = end()
    for item in items:
        found = link(item, found)
    return found


def plain(value: Any, type_: Type) -> Any:
    """Lists, numbers and texts that are equal and ordered as values of the type are."""
    match type_:
        case FloatType():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case StringType():
            return value.encode()
        case TupleType(items):
            return [plain(item, own) for item, own in zip(value, items)]
        case NamedType("ddlog_std::Ref", (inner,)):
            return plain(value, inner)
        case NamedType("ddlog_std::Vec" | "ddlog_std::Set", (inner,)):
            return [plain(item, inner) for item in value]
        case NamedType("ddlog_std::Map", (key, inner)):
            return [[plain(each, key), plain(item, inner)] for each, item in value]
        case NamedType("ddlog_std::Group", (key, inner)):
            return [plain(value.key, key), [[plain(item, inner), weight] for item, weight in value.items]]
        case NamedType():
            variants = DEFINITIONS.variants(type_)
            index = next(index for index, variant in enumerate(variants) if variant.cls is type(value))
            fields = zip(field_values(value), variants[index].fields)
            return [index, *(plain(each, own) for each, (_, own) in fields)]
        case _:
            return value
