from __future__ import annotations

import random

import pytest

from tests.io.declare import relation
from tidelog.io.rows import to_table
from tidelog.io.sort import sort_by_value
from tidelog.rules.schema.arrow import empty_rows, table_to_rows
from tidelog.types import BOOL, S64, S128, STRING, U64, U128, SignedType, Type

VALUES: list[tuple[Type, list[bool | int | str]]] = [
    (BOOL, [False, True]),
    (S64, [-(2**63), -10, -9, 0, 9, 10, 2**63 - 1]),
    (U64, [0, 9, 10, 2**63, 2**64 - 1]),
    (U128, [0, 9, 10, 99, 100, 2**64, 2**128 - 1]),
    (S128, [-(2**127), -100, -99, -9, 0, 9, 10, 2**127 - 1]),
    (SignedType(100), [-(2**99), -1, 0, 2**99 - 1]),
    (STRING, ["", "A", "Z", "a", "aa", "b", "é", "\uffff", "𝄞"]),
]


@pytest.mark.parametrize(
    ("type_", "values"), VALUES, ids=lambda value: str(value) if not isinstance(value, list) else ""
)
def test_each_type_sorts_in_value_order(type_: Type, values: list[bool | int | str]) -> None:
    column = relation("R", x=type_)
    shuffled = values * 2
    random.Random(1).shuffle(shuffled)
    ordered = table_to_rows(sort_by_value(to_table([(value,) for value in shuffled], column), column), column)
    assert [row[0] for row in ordered] == sorted(values * 2, key=values.index)


def test_text_sorts_by_bytes_not_by_utf16() -> None:
    text = relation("T", x=STRING)
    rows = table_to_rows(sort_by_value(to_table(["𝄞", "\uffff"], text), text), text)
    assert rows == [("\uffff",), ("𝄞",)]


def test_the_first_column_counts_most() -> None:
    pairs = relation("P", a=S64, b=STRING)
    rows: list[tuple[int, str]] = [(2, "a"), (1, "z"), (1, "b"), (-1, "c")]
    assert table_to_rows(sort_by_value(to_table(rows, pairs), pairs), pairs) == sorted(rows)


def test_rows_without_columns_are_all_kept() -> None:
    assert sort_by_value(empty_rows(3), relation("Flag")).num_rows == 3
