"""Values ↔ words: columns of any types as columns of one type, so that one join serves all rules.

    words are longs      where every value is a truth value or an integer of at most 64 bits: as frames hold them
    words are strings    else: numbers in decimal, encodings in hexadecimal, text as it is

Equal values of one type have equal words, and nothing else is promised: values of two types are never compared. There
are no words for floating-point numbers, because Java and Python do not write them alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tidelog.engine.spark.encoding.columns import decode_values, encode_values, frame_type
from tidelog.engine.spark.plans.frames.join_rule import RANK
from tidelog.engine.spark.plans.frames.packed_rows import MEMBER, PackedRows
from tidelog.rules.ir import Assign, Relation, Rule, Stratum, Unfold
from tidelog.types import Type
from tidelog.values import Definitions


class Words:
    """The words of a stratum whose columns and variables have these types."""

    def __init__(self, types: Iterable[Type], definitions: Definitions) -> None:
        self._definitions = definitions
        self._are_longs = {frame_type(each) for each in types} <= {"boolean", "long"}

    @property
    def type(self) -> str:
        """The Spark type of a word."""
        return "long" if self._are_longs else "string"

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.int64() if self._are_longs else pa.string()

    @property
    def filler(self) -> Any:
        """The word that stands where none is needed."""
        return 0 if self._are_longs else ""

    def of_column(self, column: str, type_: str) -> str:
        """Converts a column of frames, of that Spark type, to words: both in SQL."""
        if type_ == "binary":
            return f"hex({column})"
        return column if type_ == self.type else f"cast({column} as {self.type})"

    def to_column(self, words: str, type_: str) -> str:
        """Converts words to a column of frames of that Spark type: both in SQL."""
        if type_ == "binary":
            return f"unhex({words})"
        return words if type_ == self.type else f"try_cast({words} as {type_})"

    def of_values(self, values: list[Any], type_: Type) -> list[Any]:
        """Converts Python values to words."""
        encoded = encode_values(values, type_, self._definitions)
        match frame_type(type_):
            case "boolean":
                return [int(each) if self._are_longs else str(each).lower() for each in encoded]
            case "binary":
                return [each.hex().upper() for each in encoded]
            case "long" if not self._are_longs:
                return [*map(str, encoded)]
            case _:
                return encoded

    def to_values(self, words: list[Any], type_: Type) -> list[Any]:
        """Converts words to Python values."""
        match frame_type(type_):
            case "boolean":
                encoded = [each == (1 if self._are_longs else "true") for each in words]
            case "binary":
                encoded = [*map(bytes.fromhex, words)]
            case "long":
                encoded = words if self._are_longs else [*map(int, words)]
            case _:
                encoded = words
        return decode_values(encoded, type_, self._definitions)


def facts_of(relation: Relation, words: Words, width: int) -> list[str]:
    """Returns the columns of facts, with `width` words, for rows of a relation below: they have rank 0."""
    types = [frame_type(column.type) for column in relation.columns]
    found = [words.of_column(f"c{i}", type_) for i, type_ in enumerate(types)]
    values = [*found, *(f"cast(null as {words.type})" for _ in range(len(found), width))]
    return ["0L as rank", *(f"{value} as w{i}" for i, value in enumerate(values))]


def facts_inside(packed: PackedRows, words: Words, width: int) -> list[str]:
    """Returns the columns of facts for the common frame of a stratum, whose rows have ranks."""
    values: list[str] = []
    for i in range(width):
        owners: dict[str, list[int]] = {}
        for name, places in packed.places.items():
            if i < len(places):
                owners.setdefault(places[i], []).append(packed.members[name])
        ways = {slot: words.of_column(slot, packed.types[slot]) for slot in owners}
        if len(ways) == 1:  # the slot of a shorter row is never read
            values += ways.values()
        else:
            cases = "".join(f" when {_is_one_of(owners[slot])} then {way}" for slot, way in ways.items())
            nothing = f"cast(null as {words.type})"
            values.append(f"case{cases} else {nothing} end" if cases else nothing)
    return [f"{RANK} as rank", *(f"{value} as w{i}" for i, value in enumerate(values))]


def heads_inside(packed: PackedRows, words: Words) -> dict[str, str]:
    """Returns the slots of the common frame for heads (`member`, words `h0`, ...)."""
    values = {}
    for slot, type_ in packed.types.items():
        owners: dict[int, list[int]] = {}
        for name, places in packed.places.items():
            if slot in places:
                owners.setdefault(places.index(slot), []).append(packed.members[name])
        ways = [f"when {_is_one_of(members)} then {words.to_column(f'h{i}', type_)}" for i, members in owners.items()]
        values[slot] = f"case {' '.join(ways)} else {_EMPTY[type_]} end"
    return values


_EMPTY = {"boolean": "false", "long": "0L", "string": "''", "binary": "X''"}
"""Constants in the slots that a row does not need (`packed_rows`), in SQL."""


def _is_one_of(members: list[int]) -> str:
    return f"{MEMBER} in ({', '.join(map(str, members))})"


def types_of(stratum: Stratum, rules: Iterable[Rule], relations: Mapping[str, Relation]) -> set[Type]:
    """Returns all types of values that rules of a stratum join, compute and derive."""
    rules = list(rules)
    names = {*stratum.relations, *(atom.relation for rule in rules for atom in rule.atoms)}
    types = {column.type for name in names for column in relations[name].columns}
    for rule in rules:
        for literal in rule.body:
            if isinstance(literal, Assign):
                types.add(literal.variable.type)
            elif isinstance(literal, Unfold):
                types |= {variable.type for variable in literal.variables}
    return types


def has_words(stratum: Stratum, rules: Iterable[Rule], relations: Mapping[str, Relation]) -> bool:
    """True if all values that rules of a stratum join, compute and derive have words."""
    return all(frame_type(each) != "double" for each in types_of(stratum, rules, relations))
