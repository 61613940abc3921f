"""Canonical values → the Python values that users get: rows, deltas, callbacks, answers, proofs.

| type | canonical | for users |
| --- | --- | --- |
| `Option<T>` | `None{}`, `Some{7}` | `None`, `7` |
| `Option<Option<T>>` | `None{}`, `Some{None{}}`, `Some{Some{7}}` | `None`, `Some{None}`, `Some{7}` |
| any other type | | the same value, with these forms in its parts |

Items of a set, keys of a map and members of a group keep `Some{…}` and `None{}`: their order needs values that can be
compared. `fit` takes both forms back. Types without such parts cost nothing: their form is None, and rows whose columns
all have none are given out as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidelog.deep_recursion import at_any_depth
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import bare, is_option, is_plain
from tidelog.types import NamedType, TupleType, Type
from tidelog.values import Definitions, Map, Vec
from tidelog.values.structs import construct

Form = Callable[[Any], Any]

_MOST_PARTS = 200
"""The types that are searched for an `Option`: a type that holds itself with other arguments has no end of parts."""


def user_form(type_: Type, definitions: Definitions) -> Form | None:
    """Returns the function from a canonical value to the one for users; None where that is the value itself."""
    if is_plain(type_):
        return None
    form = definitions.keep(_form, type_)
    return None if form is _itself else lambda value: at_any_depth(form, value)


def user_rows(rows: Sequence[Row], relation: Relation, definitions: Definitions) -> list[Row]:
    """Returns the rows with the values that users get; `rows` itself where those are the canonical ones."""
    forms = _column_forms(relation, definitions)
    if not any(forms):
        return rows if isinstance(rows, list) else list(rows)
    return [_converted(row, forms) for row in rows]


def user_weights(
    weights: Iterable[tuple[Row, int]], relation: Relation, definitions: Definitions
) -> list[tuple[Row, int]]:
    """Returns rows and their weights, the rows as `user_rows` gives them."""
    forms = _column_forms(relation, definitions)
    if not any(forms):
        return weights if isinstance(weights, list) else list(weights)
    return [(_converted(row, forms), weight) for row, weight in weights]


def user_values(values: Mapping[str, Any], types: Mapping[str, Type], definitions: Definitions) -> dict[str, Any]:
    """Returns values by name, such as those of a rule's variables, as users get them."""
    forms = {name: user_form(types[name], definitions) for name in values if name in types}
    return {name: value if (form := forms.get(name)) is None else form(value) for name, value in values.items()}


def _column_forms(relation: Relation, definitions: Definitions) -> list[Form | None]:
    return [user_form(column.type, definitions) for column in relation.columns]


def _converted(row: Row, forms: Sequence[Form | None]) -> Row:
    # A list first: a generator would be called from C, and values may be as deep as Python's stack is.
    return tuple([value if form is None else form(value) for value, form in zip(row, forms, strict=True)])


def _form(definitions: Definitions, type_: Type) -> Form:
    if not _has_option(type_, definitions, set()):
        return _itself
    match bare(type_, definitions):
        case TupleType(items):
            forms = [definitions.keep(_form, item) for item in items]
            return lambda value: _converted(value, forms)
        case NamedType("ddlog_std::Vec", (item,)):
            of_item = definitions.keep(_form, item)
            return lambda value: Vec([of_item(each) for each in value])
        case NamedType("ddlog_std::Map", (_, item)):
            of_value = definitions.keep(_form, item)
            return lambda value: Map.of_sorted([(key, of_value(each)) for key, each in value])
        case NamedType() as named if is_option(named):
            return _option_form(definitions, named)
        case NamedType() as named:
            return _struct_form(definitions, named)
        case _:
            raise AssertionError(f"{type_} has no parts")


def _itself(value: Any) -> Any:
    return value


def _option_form(definitions: Definitions, type_: NamedType) -> Form:
    (inner,) = type_.arguments
    of_value = definitions.keep(_form, inner)
    if not is_option(inner):
        return lambda value: of_value(value[1]) if value[0] else None
    return lambda value: construct(type(value), (1, of_value(value[1]))) if value[0] else None


def _struct_form(definitions: Definitions, type_: NamedType) -> Form:
    variants = definitions.variants(type_)
    # The forms of fields are made when they are needed, for a type may hold itself.
    fields: list[list[Form] | None] = [None] * len(variants)

    def form(value: Any) -> Any:
        index = value[0] if len(variants) > 1 else 0
        variant, own = variants[index], fields[index]
        if own is None:
            own = fields[index] = [definitions.keep(_form, field) for _, field in variant.fields]
        start = variant.start
        return construct(variant.cls, (*value[:start], *_converted(value[start : start + len(own)], own)))

    return form


def _has_option(type_: Type, definitions: Definitions, seen: set[Type]) -> bool:
    """True where a value can have an `Option` in a place where users get None or a bare value for it."""
    type_ = bare(type_, definitions)
    if is_plain(type_) or type_ in seen:
        return False
    if len(seen) > _MOST_PARTS:
        return True
    seen.add(type_)
    match type_:
        case TupleType(items):
            return any(_has_option(item, definitions, seen) for item in items)
        case NamedType("ddlog_std::Vec", (item,)) | NamedType("ddlog_std::Map", (_, item)):
            return _has_option(item, definitions, seen)
        case NamedType() as named if is_option(named):
            return True
        case NamedType() as named if definitions.extern(named) is None:
            fields = [field for variant in definitions.variants(named) for _, field in variant.fields]
            return any(_has_option(field, definitions, seen) for field in fields)
        case _:
            return False
