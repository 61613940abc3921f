"""Python values of a user → the canonical values of the language (`tidelog.values`), for every type.

| type | accepted besides the canonical value |
| --- | --- |
| `bool`, integers, `string` | `bool`, `int`, `str` and NumPy's spellings of them |
| `float`, `double` | `float`, `int` |
| tuples | a tuple or a list of the right length |
| a struct | its class (`program.types.Person`), a dict by field name, a tuple or a list of all fields |
| a union | the class of a constructor, or a dict with the constructor's name as `tag` and its fields |
| `Option<T>` | `None` for `None{}`, and what `T` takes for `Some{...}` |
| `Vec`, `Set`, `HashSet`, `Set64` | a list, a tuple, an array; for sets also a Python set |
| `Map` | a dict, or a list of pairs, where of two equal keys the later wins |
| `Ref`, `Intern` | what their argument takes |
| extern types of the library | what their text (or number) takes, such as `"2024-02-29"` for a `time::Date` |
| functions, `Any` | nothing |

`None` for an `Option<Option<T>>` is the outer `None{}`; a dict with the key `tag` is the union itself there, and in the
key of a map. Where a constructor has a field `tag` of its own, the key for its name is `tag_`.

Data from files and tables (`wire`) may also have text for values that those cannot hold: integers of more than 64
bits, `bigint`, floats that are not finite, dates and times (in ISO form), and decimals. A value of a recursive type is
JSON text there. `to_python` writes all these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from operator import is_
from typing import Any

import numpy as np

from tidelog.deep_recursion import at_any_depth
from tidelog.diagnostics.wording import listed
from tidelog.io.scaled import load_json
from tidelog.io.values import UnfitError, fit, fit_text, is_missing, quoted
from tidelog.rules.schema.arrow import (
    OPTION,
    UNIT_FIELD,
    bare,
    held_as,
    inside_option,
    is_nullable,
    is_plain,
    is_recursive,
    plain_type,
    tag_name,
)
from tidelog.rules.schema.stored import is_wide
from tidelog.types import (
    BitType,
    FloatType,
    FunctionType,
    NamedType,
    ScaledType,
    SignedType,
    StringType,
    TupleType,
    Type,
    integer_range,
)
from tidelog.values import Definitions, ExternKind, Group, Map, Set, Struct, Vec, field_values
from tidelog.values.definitions import Variant
from tidelog.values.externs import ExternType
from tidelog.values.structs import construct

Fitter = Callable[[Any], Any]
CellFitter = Callable[[str | None], Any]

EMPTY_CELL = frozenset([""])
"""The cells of text files that are null, unless somebody says otherwise."""

_Maker = Callable[[Definitions, Type], Fitter]


def fitter(type_: Type, definitions: Definitions, *, wire: bool = False) -> Fitter:
    """Returns a function from a given value to the canonical one, which raises UnfitError. It is made once per type."""
    fit_ = definitions.keep(_wire_fitter if wire else _python_fitter, type_)
    if is_plain(type_):
        return fit_

    def fit_deeply(value: Any) -> Any:
        try:
            return at_any_depth(fit_, value)
        except RecursionError:
            raise UnfitError(value, type_, "it is nested too deeply") from None

    return fit_deeply


def cell_fitter(type_: Type, definitions: Definitions, nulls: frozenset[str] = EMPTY_CELL) -> CellFitter:
    """Returns a function from a cell of a text file to its value: text for a type held as a plain one, else JSON.

    A cell is None if it is empty and has no quotes. For an `Option`, the cells in `nulls` and `null` are `None{}`, and
    a cell that begins with a quote is JSON if it can be; for a `string`, every cell is its text. The function raises
    UnfitError, with None as the value for a null.
    """
    inner = inside_option(type_)
    if inner is not None:
        return _option_cell_fitter(type_, inner, definitions, nulls)
    held = plain_type(held_as(type_, definitions))
    from_held = fitter(type_, definitions)
    empty = "" if isinstance(plain_type(type_), StringType) else None
    if is_plain(held):

        def fit_cell(cell: str | None) -> Any:
            text = empty if cell is None else cell
            found = None if text is None else fit_text(text, held)
            if found is None:
                raise UnfitError(None if text in nulls and text != "" else text, type_)
            return from_held(found)

        return fit_cell
    from_json = _json_fitter(type_, fitter(type_, definitions, wire=True))

    def fit_json_cell(cell: str | None) -> Any:
        if cell is None:
            raise UnfitError(None, type_)
        return from_json(cell)

    return fit_json_cell


def _option_cell_fitter(type_: Type, inner: Type, definitions: Definitions, nulls: frozenset[str]) -> CellFitter:
    held = plain_type(held_as(inner, definitions))
    of_value = fitter(type_, definitions, wire=True)
    of_json = _json_fitter(type_, of_value)
    nothing = of_value(None)
    is_text = isinstance(held, StringType)

    def fit_cell(cell: str | None) -> Any:
        if cell is None or (cell == "" and not is_text):
            if "" in nulls:
                return nothing
            cell = ""
        if cell == "null" or (cell and cell in nulls):
            return nothing
        if not is_plain(held):
            return of_json(cell)
        if cell.startswith('"'):
            with suppress(UnfitError):
                return of_json(cell)
        found = fit_text(cell, held)
        if found is None:
            raise UnfitError(cell, type_)
        return of_value(found)

    return fit_cell


def _python_fitter(definitions: Definitions, type_: Type) -> Fitter:
    if is_plain(type_):
        return _plain_fitter(plain_type(type_))
    return _nested_fitter(definitions, type_, _python_fitter)


def _wire_fitter(definitions: Definitions, type_: Type) -> Fitter:
    if is_plain(type_):
        return _plain_wire_fitter(plain_type(type_))
    nested = _nested_fitter(definitions, type_, _wire_fitter)
    return _json_fitter(type_, nested) if is_recursive(type_, definitions) else nested


def _plain_fitter(type_: Type) -> Fitter:
    def fit_plain(value: Any) -> Any:
        found = fit(value, type_)
        if found is None:
            raise UnfitError(value, type_)
        return found

    # Nearly all values take the first branch.
    match type_:
        case BitType() | SignedType():
            low, high = integer_range(type_)
            return lambda value: value if type(value) is int and low <= value <= high else fit_plain(value)
        case StringType():
            return lambda value: value if type(value) is str and value.isascii() else fit_plain(value)
        case _:
            return fit_plain


def _plain_wire_fitter(type_: Type) -> Fitter:
    if not isinstance(type_, FloatType | ScaledType) and not is_wide(type_):
        return _plain_fitter(type_)

    def fit_wide(value: Any) -> Any:
        found = fit_text(value, type_) if isinstance(value, str) else fit(value, type_)
        if found is None:
            raise UnfitError(value, type_)
        return found

    return fit_wide


def _json_fitter(type_: Type, nested: Fitter) -> Fitter:
    def fit_json(value: Any) -> Any:
        if not isinstance(value, str):
            return nested(value)
        try:
            document = at_any_depth(load_json, value)
        except (ValueError, RecursionError) as error:
            raise UnfitError(value, type_, f"it is not JSON: {error}", help=_help_of(nested, value)) from None
        return nested(document)

    return fit_json


def _help_of(fitter: Fitter, value: str) -> str | None:
    """Returns the help for a text that does not fit as it stands."""
    try:
        fitter(value)
    except UnfitError as error:
        return error.help
    return None


def _nested_fitter(definitions: Definitions, type_: Type, of: _Maker) -> Fitter:
    match type_:
        case TupleType(items):
            return _tuple_fitter(type_, [definitions.keep(of, item) for item in items])
        case FunctionType():
            return _function_fitter(type_)
        case NamedType() if (extern := definitions.extern(type_)) is not None:
            return _extern_fitter(definitions, type_, extern, of)
        case NamedType(name) if name == OPTION:
            return _option_fitter(definitions, type_, of, tagged=not is_nullable(type_, definitions))
        case NamedType():
            return _StructFitter(definitions, type_, of).fit
        case _:
            raise AssertionError(f"{type_} is not a type of values")


def _function_fitter(type_: Type) -> Fitter:
    def refuse(value: Any) -> Any:
        raise UnfitError(value, type_, "functions cannot be given from outside")

    return refuse


def _tuple_fitter(type_: TupleType, items: Sequence[Fitter]) -> Fitter:
    names = [f"_{place}" for place in range(len(items))] or [UNIT_FIELD]

    def fit_tuple(value: Any) -> Any:
        if isinstance(value, Mapping) and list(value) == names:
            value = tuple(value.values()) if items else ()
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, tuple | list) or isinstance(value, Struct):
            raise UnfitError(value, type_)
        if len(value) != len(items):
            raise UnfitError(value, type_, f"it has {len(value)} items, not {len(items)}")
        fitted: list[Any] = []
        try:
            for fit_, item in zip(items, value, strict=True):
                fitted.append(fit_(item))
        except UnfitError as error:
            raise error.inside(f".{len(fitted)}") from None
        return tuple(fitted)

    return fit_tuple


class _StructFitter:
    """Fits values of a struct or union. The fitters of fields are made when needed, for a type may hold itself."""

    def __init__(self, definitions: Definitions, type_: NamedType, of: _Maker) -> None:
        self._definitions, self._type, self._of = definitions, type_, of
        self._variants = definitions.variants(type_)
        self._fields: list[list[Fitter] | None] = [None] * len(self._variants)
        self._by_class = {variant.cls: place for place, variant in enumerate(self._variants)}
        self._tag = tag_name(self._variants)
        # A constructor is known by its qualified name, and within its type also by the last part of that.
        self._by_tag = {
            name: place
            for place, variant in enumerate(self._variants)
            for name in (variant.name, variant.name.rpartition("::")[2])
        }

    def fit(self, value: Any) -> Any:
        place = self._by_class.get(type(value))
        if place is not None:
            fields: Sequence[Any] = field_values(value)
        else:
            place, fields = self._apart(value)
        variant = self._variants[place]
        fitted: list[Any] = []
        try:
            # One call for each link of a chain: values may be as deep as Python's stack is.
            for fit_, field in zip(self._of_fields(place), fields, strict=True):
                fitted.append(fit_(field))
        except UnfitError as error:
            raise error.inside(f".{variant.fields[len(fitted)][0]}") from None
        if type(value) is variant.cls and all(map(is_, fitted, fields)):
            return value
        return construct(variant.cls, (place, *fitted) if variant.start else tuple(fitted))

    def _of_fields(self, place: int) -> list[Fitter]:
        found = self._fields[place]
        if found is None:
            types = (type_ for _, type_ in self._variants[place].fields)
            found = self._fields[place] = [self._definitions.keep(self._of, type_) for type_ in types]
        return found

    def _apart(self, value: Any) -> tuple[int, Sequence[Any]]:
        """Returns the number of the constructor, and the values for its fields."""
        if isinstance(value, Mapping):
            place = self._place_of_tag(value)
            return place, self._fields_by_name(value, self._variants[place])
        if isinstance(value, tuple | list) and not isinstance(value, Struct) and len(self._variants) == 1:
            wanted = len(self._variants[0].fields)
            if len(value) != wanted:
                raise UnfitError(value, self._type, f"it has {len(value)} values for {wanted} fields")
            return 0, value
        raise UnfitError(value, self._type, help=self._constructors(value))

    def _constructors(self, value: Any) -> str | None:
        """Returns how a value is written, with the constructor that a text names, or else with the first one."""
        if isinstance(value, Struct):
            return None
        names = [variant.name.rpartition("::")[2] for variant in self._variants]
        place = self._by_tag.get(value, 0) if isinstance(value, str) else 0
        fields = [name for name, _ in self._variants[place].fields]
        call = f"`program.types.{names[place]}({', '.join(f'{name}=…' for name in fields)})` in Python, "
        tag = [f'"{self._tag}": "{names[place]}"'] if len(names) > 1 else []
        record = ", ".join(tag + [f'"{name}": …' for name in fields])
        others = f"; the constructors are {listed(names)}" if len(names) > 1 else ""
        if "::" in self._variants[place].name:
            call = ""
        return f"write {call}`{{{record}}}` in records and in the cells of CSV{others}"

    def _place_of_tag(self, value: Mapping[Any, Any]) -> int:
        if self._tag not in value:
            if len(self._variants) == 1:
                return 0
            raise UnfitError(value, self._type, f"the key `{self._tag}`, for the constructor, is missing")
        tag = value[self._tag]
        place = self._by_tag.get(tag) if isinstance(tag, str) else None
        if place is None:
            raise UnfitError(value, self._type, f"there is no constructor {quoted(tag)}")
        return place

    def _fields_by_name(self, value: Mapping[Any, Any], variant: Variant) -> Sequence[Any]:
        names = [name for name, _ in variant.fields]
        missing = [name for name in names if name not in value]
        if missing:
            raise UnfitError(value, self._type, f"the field `{missing[0]}` is missing")
        for key, other in value.items():
            # Tables have the fields of all constructors, and null in those of the others.
            if key != self._tag and key not in names and not (other is None and len(self._variants) > 1):
                raise UnfitError(value, self._type, f"`{variant.name}` has no field {quoted(key)}")
        return [value[name] for name in names]


def _option_fitter(definitions: Definitions, type_: NamedType, of: _Maker, *, tagged: bool) -> Fitter:
    """Reads a dict with the key `tag` as the union if `tagged`, otherwise as the value of `Some`."""
    as_union = _StructFitter(definitions, type_, of).fit
    none, some = definitions.variants(type_)
    nothing = construct(none.cls, (0,))
    inner = definitions.keep(of, type_.arguments[0])

    takes_nan = isinstance(plain_type(held_as(type_.arguments[0], definitions)), FloatType)

    def fit_option(value: Any) -> Any:
        if value is None or is_missing(value) or (isinstance(value, float) and value != value and not takes_nan):
            return nothing
        if isinstance(value, none.cls | some.cls) or (tagged and isinstance(value, Mapping) and "tag" in value):
            return as_union(value)
        return construct(some.cls, (1, inner(value)))

    return fit_option


def _extern_fitter(definitions: Definitions, type_: NamedType, extern: ExternType, of: _Maker) -> Fitter:
    if type_.name == "ddlog_std::Map":
        key_type, item_type = type_.arguments
        return _map_fitter(type_, _key_fitter(definitions, key_type, of), definitions.keep(of, item_type))
    inner = definitions.keep(of, extern.inner(*type_.arguments))
    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE if type_.name == "ddlog_std::Vec":
            return _vec_fitter(type_, inner)
        case ExternKind.SEQUENCE:
            return _set_fitter(type_, inner, extern)
        case ExternKind.OTHER:
            return _other_fitter(type_, inner, extern)


def _vec_fitter(type_: Type, inner: Fitter) -> Fitter:
    def fit_vec(value: Any) -> Any:
        fitted = _all(inner, _items(value, type_, Vec))
        return value if isinstance(value, Vec) and all(map(is_, fitted, value)) else Vec(fitted)

    return fit_vec


def _set_fitter(type_: Type, inner: Fitter, extern: ExternType) -> Fitter:
    empty = type(extern.make(()))

    def fit_set(value: Any) -> Any:
        fitted = _all(inner, _items(value, type_, Set, AbstractSet))
        return value if type(value) is empty and all(map(is_, fitted, value)) else extern.make(sorted(set(fitted)))

    return fit_set


def _key_fitter(definitions: Definitions, type_: Type, of: _Maker) -> Fitter:
    found = bare(type_, definitions)
    if isinstance(found, NamedType) and is_nullable(found, definitions):
        return _option_fitter(definitions, found, of, tagged=True)
    return definitions.keep(of, type_)


def _map_fitter(type_: Type, key: Fitter, item: Fitter) -> Fitter:
    def fit_pair(place: int, pair: Any) -> tuple[Any, Any]:
        if isinstance(pair, Mapping) and list(pair) == ["key", "value"]:
            return pair["key"], pair["value"]  # an entry of polars, which has no maps
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UnfitError(pair, type_, "it is not a pair").inside(f"[{place}]")
        return pair[0], pair[1]

    def fit_map(value: Any) -> Any:
        if isinstance(value, Mapping):
            pairs = list(value.items())
        else:
            pairs = [fit_pair(place, pair) for place, pair in enumerate(_items(value, type_, Map))]
        found = []
        for given, other in pairs:
            try:
                found.append((key(given), item(other)))
            except UnfitError as error:
                raise error.inside(f"[{quoted(given)}]") from None
        return Map(found)

    return fit_map


def _other_fitter(type_: Type, inner: Fitter, extern: ExternType) -> Fitter:
    def fit_other(value: Any) -> Any:
        if isinstance(value, Group) and extern.take is not None:
            value = extern.take(value)
        fitted = inner(value)
        try:
            return extern.make(fitted)
        except ValueError as error:
            raise UnfitError(value, type_, str(error)) from None

    return fit_other


def _items(value: Any, type_: Type, *kinds: Any) -> list[Any]:
    """Returns the items of a list, a tuple, an array, or one of the kinds."""
    if type(value) is list:
        return value
    if not isinstance(value, (Sequence, np.ndarray, *kinds)) or isinstance(value, Struct | str | bytes | bytearray):
        raise UnfitError(value, type_)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [*value]


def _all(inner: Fitter, items: Sequence[Any]) -> list[Any]:
    fitted = []
    try:
        for item in items:
            fitted.append(inner(item))
    except UnfitError as error:
        raise error.inside(f"[{len(fitted)}]") from None
    return fitted
