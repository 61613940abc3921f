"""Python rows → tables: what is taken, and how what is not taken is refused."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tests.io.declare import relation
from tidelog.diagnostics.errors import DataError
from tidelog.io.rows import to_row, to_rows, to_table
from tidelog.rules.schema.arrow import arrow_schema, table_to_rows
from tidelog.types import BOOL, DOUBLE, FLOAT, S8, S64, S128, STRING, U8, U32, U64, U128, BitType
from tidelog.values import NAN, Definitions

EDGE = relation("Edge", src=STRING, dst=STRING)
HOST = relation("Host", name=STRING)
ALL = relation(
    "All", flag=BOOL, tiny=S8, odd=BitType(12), unsigned=U64, signed=S64, wide=U128, wide_signed=S128, text=STRING
)
EXTREMES = [
    (False, -128, 0, 0, -(2**63), 0, -(2**127), ""),
    (True, 127, 4095, 2**64 - 1, 2**63 - 1, 2**128 - 1, 2**127 - 1, "ünï\n\0 𝄞"),
]


class Named(NamedTuple):
    x: str
    y: str


class Backwards(NamedTuple):
    dst: str
    src: str


@dataclass
class Link:
    dst: str
    src: str


@dataclass(frozen=True, slots=True)
class Slotted:
    src: str
    dst: str

    @property
    def label(self) -> str:
        return f"{self.src}-{self.dst}"


class Attrs:
    """What the class of a record made by attrs looks like."""

    __slots__ = ("dst", "src")
    __attrs_attrs__ = (SimpleNamespace(name="src"), SimpleNamespace(name="dst"))

    def __init__(self, src: str, dst: str) -> None:
        self.src, self.dst = src, dst


class Pydantic:
    """What the class of a pydantic model looks like."""

    model_fields: ClassVar = {"src": str, "dst": str}

    def __init__(self, src: str, dst: str) -> None:
        self.src, self.dst, self.extra = src, dst, None


def refusal(rows: Any, to: Any = EDGE) -> str:
    with pytest.raises(DataError) as caught:
        to_table(rows, to)
    return f"{caught.value.code}: {caught.value.message}"


def test_extreme_values_of_every_type_survive_the_way_to_arrow_and_back() -> None:
    table = to_table(EXTREMES, ALL)
    assert table.schema == arrow_schema(ALL)
    assert table_to_rows(table, ALL) == EXTREMES
    assert [tuple(map(type, row)) for row in table_to_rows(table, ALL)] == [tuple(map(type, row)) for row in EXTREMES]


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "b"), ("c", "d")],
        [["a", "b"], ["c", "d"]],
        (row for row in [("a", "b"), ["c", "d"]]),
        [{"dst": "b", "src": "a"}, {"src": "c", "dst": "d"}],
        [("a", "b"), {"src": "c", "dst": "d"}],
        [Named("a", "b"), ("c", "d")],
        [Link(dst="b", src="a"), Link(dst="d", src="c")],
        [Backwards(dst="b", src="a"), ("c", "d")],
        [SimpleNamespace(dst="b", src="a", _cache=1), Slotted("c", "d")],
        [Attrs("a", "b"), Pydantic("c", "d")],
        np.array([["a", "b"], ["c", "d"]]),
    ],
)
def test_rows_of_every_shape_are_taken(rows: Any) -> None:
    assert table_to_rows(to_table(rows, EDGE), EDGE) == [("a", "b"), ("c", "d")]


def test_bare_values_are_rows_of_a_relation_with_one_column() -> None:
    assert table_to_rows(to_table(["a", ("b",), {"name": "c"}], HOST), HOST) == [("a",), ("b",), ("c",)]
    numbers = relation("Number", n=U32)
    assert table_to_rows(to_table([1, np.int64(2)], numbers), numbers) == [(1,), (2,)]
    assert table_to_rows(to_table(pa.array([1, 2]), numbers), numbers) == [(1,), (2,)]


def test_a_relation_without_columns_takes_empty_rows() -> None:
    flag = relation("Flag")
    assert table_to_rows(to_table([(), ()], flag), flag) == [(), ()]
    assert table_to_rows(to_table([], flag), flag) == []
    assert "has 1 value where the relation has 0 columns" in refusal([("a",)], flag)


def test_no_rows_make_an_empty_table() -> None:
    assert to_table([], ALL) == arrow_schema(ALL).empty_table()


def test_numpy_scalars_are_taken_for_their_python_kind() -> None:
    numbers = relation("N", flag=BOOL, n=U8)
    assert table_to_rows(to_table([(np.bool_(True), np.int64(255))], numbers), numbers) == [(True, 255)]


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ((1, 1), "E504: row 2, column `flag` of `P`: `1` is not a bool"),
        ((True, True), "E504: row 2, column `n` of `P`: `True` is not a bit<12> (0 to 4095)"),
        ((True, np.bool_(True)), "column `n` of `P`"),
        ((True, 1.0), "E504: row 2, column `n` of `P`: `1.0` is not a bit<12> (0 to 4095)"),
        ((True, "1"), "E504: row 2, column `n` of `P`: `'1'` is not a bit<12> (0 to 4095)"),
        ((True, -1), "`-1` is not a bit<12> (0 to 4095)"),
        ((True, 4096), "`4096` is not a bit<12> (0 to 4095)"),
        ((True, 2**200), "is not a bit<12> (0 to 4095)"),
        ((True, 10**5000), "`an integer of 16610 bits` is not a bit<12> (0 to 4095)"),
        ((True, b"1"), "`b'1'` (bytes) is not a bit<12>"),
        ((True, None), "E505: row 2, column `n` of `P`: null where a bit<12> (0 to 4095) is wanted"),
        ((True,), "E502: row 2 for `P` has 1 value where the relation has 2 columns: (True,)"),
        ((True, 1, 2), "E502: row 2 for `P` has 3 values where the relation has 2 columns: (True, 1, 2)"),
        ({"flag": True}, "E503: row 2 for `P` lacks the column `n`"),
        ({"flag": True, "m": 1}, "E503: row 2 for `P` has a key 'm', which is no column"),
        ({"flag": True, "n": 1, "m": 1}, "E503: row 2 for `P` has a key 'm', which is no column"),
        (5, "E501: row 2 for `P` is an int, not a row: 5"),
        ("ab", "E501: row 2 for `P` is a str, not a row: 'ab'"),
        (b"ab", "E501: row 2 for `P` is a bytes, not a row"),
        (None, "E501: row 2 for `P` is a NoneType, not a row: None"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_place_value_and_the_type_wanted(row: Any, part: str) -> None:
    pairs = relation("P", flag=BOOL, n=BitType(12))
    assert part in refusal([(True, 4095), row, (False, 0)], pairs)


def test_text_for_a_wide_integer_in_a_python_row_is_refused() -> None:
    wide = relation("W", n=U128)
    assert "`'1'` is not a u128" in refusal([("1",)], wide)
    assert "is not a u128" in refusal([(2**128,)], wide)


def test_a_number_for_text_is_refused_however_long_it_is() -> None:
    assert "`7` is not a string" in refusal([7], HOST)
    assert "`an integer of 16610 bits` is not a string" in refusal([10**5000], HOST)


def test_a_string_that_is_not_unicode_is_refused() -> None:
    assert "row 2, column `name` of `Host`" in refusal(["a", "\ud800"], HOST)


def test_a_single_row_given_for_a_list_of_rows_is_refused_with_the_way_to_write_it() -> None:
    for rows in (("a", "b"), "ab", {"src": "a", "dst": "b"}, 5):
        with pytest.raises(DataError) as caught:
            to_table(rows, EDGE)
        assert caught.value.code == "E501"
        assert caught.value.help is not None
        assert "list" in caught.value.help


def test_a_misspelt_key_brings_the_column_that_was_meant() -> None:
    with pytest.raises(DataError) as caught:
        to_table([{"scr": "a", "dst": "b"}], EDGE)
    assert caught.value.help == "did you mean `src`? the columns are `Edge(src: string, dst: string)`"


def test_one_row_is_checked_like_many() -> None:
    assert to_row({"dst": "b", "src": "a"}, EDGE, Definitions()) == ("a", "b")
    assert to_row("a", HOST, Definitions()) == ("a",)
    with pytest.raises(DataError, match="the row, column `dst` of `Edge`: `1` is not a string"):
        to_row(("a", 1), EDGE, Definitions())


def test_columns_of_floats_are_canonical_whichever_way_they_are_read() -> None:
    floats = relation("F", d=DOUBLE, f=FLOAT)
    given = [(-0.0, 0.1), (float("nan"), 1e300), (2.5, float("-inf")), (1e-320, 16777217.0)]
    wanted = [(0.0, 0.10000000149011612), (NAN, float("inf")), (2.5, float("-inf")), (1e-320, 16777216.0)]
    for rows in (given, [*given, (1, 2)]):
        found = table_to_rows(to_table(rows, floats), floats)[:4]
        assert found == to_rows(rows, floats, Definitions())[:4] == wanted
        assert repr(found) == repr(wanted)


def test_a_record_with_a_field_that_is_no_column_is_refused() -> None:
    assert refusal([("a", "b"), SimpleNamespace(src="a", dts="b")]) == (
        "E503: row 2 for `Edge` has a field 'dts', which is no column"
    )
    assert refusal([Link(dst="b", src="a")], relation("Pair", src=STRING, dst=STRING, cost=U8)) == (
        "E503: row 1 for `Pair` lacks the column `cost`"
    )
    assert refusal([Backwards(dst="b", src="a")], relation("Other", src=STRING, to=STRING)) == (
        "E503: row 1 for `Other` has a field 'dst', which is no column"
    )


def test_a_bad_value_of_a_record_names_relation_row_and_column() -> None:
    assert refusal([Slotted("a", "b"), Slotted("a", 7)]) == "E504: row 2, column `dst` of `Edge`: `7` is not a string"  # type: ignore[arg-type]


def test_an_object_without_fields_is_no_row() -> None:
    assert refusal([print]).startswith("E501: row 1 for `Edge` is a builtin_function_or_method, not a row")
    assert refusal([Link]).startswith("E501: row 1 for `Edge` is a type, not a row")
    assert refusal([object()]).startswith("E501: row 1 for `Edge` is an object, not a row")


def test_many_rows_are_converted_in_steps_and_errors_count_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.io.rows._AT_ONCE", 3)
    monkeypatch.setattr("tidelog.rules.schema.arrow._AT_ONCE", 4)
    rows: list[Any] = [(f"a{number}", f"b{number}") for number in range(11)]
    assert table_to_rows(to_table(rows, EDGE), EDGE) == rows
    assert gc.isenabled()
    assert refusal([*rows, ("a", 7)], EDGE) == "E504: row 12, column `dst` of `Edge`: `7` is not a string"
    assert refusal([*rows[:4], ("a",), *rows]).startswith("E502: row 5 for `Edge` has 1 value")
    assert gc.isenabled()
