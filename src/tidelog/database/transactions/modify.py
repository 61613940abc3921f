"""A row and a modification → the modified row.

A modification is a dict with new values by field name, or a function from the old value of the row to the new one. The
value of a row is the relation's struct (`program.types.Host`), or in a `relation R[T]` the value of type `T`; its
fields are those that a dict names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.io.fit import fitter
from tidelog.io.rows import to_row
from tidelog.io.user_values import user_rows
from tidelog.io.values import Row, UnfitError, misfit, quoted
from tidelog.rules.ir import Column, Relation, RuleProgram
from tidelog.rules.schema.arrow import bare
from tidelog.types import NamedType, Type
from tidelog.values import Struct
from tidelog.values.structs import with_item

Fields = Mapping[str, Any] | Callable[[Any], Any]


def modification(fields: Fields, relation: Relation, program: RuleProgram) -> Callable[[Row], Row]:
    """Returns the function that changes a row; it raises DataError for a value that does not fit."""
    definitions = program.functions.definitions
    if isinstance(fields, Mapping):
        named = fields
        if not relation.explicit:
            return lambda row: _with_columns(row, named, relation, program)
        return lambda row: (_with_fields(row[0], named, relation, program),)
    if not callable(fields):
        raise UsageError(
            f"the fields to modify in `{relation.name}` are given as {quoted(fields)}",
            code=Code.NOT_ROWS,
            help="give a dict by field name, or a function from the old value to the new one",
        )
    change = fields

    def changed(row: Row) -> Row:
        (given,) = user_rows([row], relation, definitions)
        return to_row(_as_row(change(program.row_value(relation, given)), relation), relation, definitions)

    return changed


def _as_row(value: Any, relation: Relation) -> Any:
    return (value,) if relation.explicit else value


def _with_columns(row: Row, fields: Mapping[str, Any], relation: Relation, program: RuleProgram) -> Row:
    columns = {column.name: (place, column.type) for place, column in enumerate(relation.columns)}
    changed = list(row)
    for name, value in fields.items():
        place, type_ = _known(name, columns, relation)
        changed[place] = _fitted(value, name, type_, relation, program)
    return tuple(changed)


def _with_fields(value: Any, fields: Mapping[str, Any], relation: Relation, program: RuleProgram) -> Any:
    """Replaces fields of a value; its constructor stays."""
    definitions = program.functions.definitions
    type_ = bare(relation.columns[0].type, definitions)
    if not isinstance(value, Struct) or not isinstance(type_, NamedType):
        raise DataError(
            f"the rows of `{relation.name}` have no fields to modify: they are of type `{relation.value}`",
            code=Code.WRONG_COLUMNS,
            help="give a function from the old value to the new one",
        )
    variant = next(each for each in definitions.variants(type_) if each.cls is type(value))
    places = {name: (place, field) for place, (name, field) in enumerate(variant.fields)}
    for name, given in fields.items():
        place, field = _known(name, places, relation)
        value = with_item(value, variant.start + place, _fitted(given, name, field, relation, program))
    return value


def _known(name: str, known: Mapping[str, tuple[int, Type]], relation: Relation) -> tuple[int, Type]:
    if name in known:
        return known[name]
    raise DataError(
        f"the rows of `{relation.name}` have no field {quoted(name)} to modify",
        code=Code.WRONG_COLUMNS,
        help=did_you_mean(str(name), known, f"the fields are {listed(known)}"),
    )


def _fitted(value: Any, name: str, type_: Type, relation: Relation, program: RuleProgram) -> Any:
    try:
        return fitter(type_, program.functions.definitions)(value)
    except UnfitError as error:
        raise misfit("the modified row", relation, Column(name, type_), error) from None
