"""Arrow-shaped data → tables of a relation's schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tidelog
from tests.io.declare import relation
from tidelog.diagnostics.errors import DataError
from tidelog.io.rows import to_table
from tidelog.rules.schema.arrow import arrow_schema, table_to_rows
from tidelog.types import BOOL, STRING, U8, U32, U64, U128, BitType

PAIR = relation("Pair", name=STRING, n=BitType(12))


class Stream:
    """What polars, DuckDB and others look like from here: an object that offers the Arrow C stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Frame:
    """A DataFrame that turns itself into Arrow when it is asked to."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.columns = table.column_names

    def to_arrow(self) -> pa.Table:
        return self._table


class Interchange:
    """An older DataFrame, which offers only the interchange protocol."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self._table.__dataframe__(nan_as_null, allow_copy)


def refusal(rows: Any, to: Any = PAIR) -> str:
    with pytest.raises(DataError) as caught:
        to_table(rows, to)
    return f"{caught.value.code}: {caught.value.message}"


def test_columns_are_found_by_name_in_tables_of_every_kind() -> None:
    table = pa.table({"n": pa.array([1, 4095], pa.int64()), "name": ["a", "b"]})
    batch = table.to_batches()[0]
    for rows in (
        table,
        batch,
        pa.RecordBatchReader.from_batches(table.schema, [batch]),
        table.to_pandas(),
        Stream(table),
        Frame(table),
        Interchange(table),
    ):
        fitted = to_table(rows, PAIR)
        assert fitted.schema == arrow_schema(PAIR), type(rows)
        assert table_to_rows(fitted, PAIR) == [("a", 1), ("b", 4095)]


def test_the_index_of_a_pandas_frame_is_no_column() -> None:
    frame = pd.DataFrame({"name": ["a", "b", "c"], "n": [1, 2, 3]})
    assert table_to_rows(to_table(frame[frame.n > 1], PAIR), PAIR) == [("b", 2), ("c", 3)]


def test_a_series_gives_the_rows_of_a_relation_with_one_column() -> None:
    host = relation("Host", name=STRING)
    assert table_to_rows(to_table(pd.Series(["a", "b"]), host), host) == [("a",), ("b",)]


def test_an_empty_pandas_frame_is_no_rows_whatever_its_column_types() -> None:
    assert to_table(pd.DataFrame({"name": [], "n": []}), PAIR).num_rows == 0
    assert to_table(pa.table({"name": pa.nulls(0), "n": pa.nulls(0)}), PAIR) == arrow_schema(PAIR).empty_table()


TEXT_LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


@pytest.mark.parametrize("kind", TEXT_LAYOUTS, ids=str)
def test_text_comes_in_every_layout_that_arrow_has(kind: pa.DataType) -> None:
    rows = pa.table({"name": pa.array(["a", "b", "a"], pa.string()).cast(kind), "n": [1, 2, 3]})
    assert [name for name, _ in table_to_rows(to_table(rows, PAIR), PAIR)] == ["a", "b", "a"]


def test_integers_come_in_every_width_as_long_as_they_are_in_range() -> None:
    small, large = relation("S", n=U8), relation("L", n=U64)
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        assert table_to_rows(to_table(pa.table({"n": pa.array([0, 127], kind)}), small), small) == [(0,), (127,)]
        assert to_table(pa.table({"n": pa.array([0, 127], kind)}), large).schema == arrow_schema(large)
    assert table_to_rows(to_table(pa.table({"n": pa.array([2**64 - 1], pa.uint64())}), large), large) == [(2**64 - 1,)]


def test_wide_integers_come_as_text_as_integers_and_as_decimals() -> None:
    wide = relation("W", n=U128)
    for column in (
        pa.array(["0007", str(2**128 - 1)]),
        pa.array([7, 8], pa.uint64()),
        pa.array([7, 8], pa.decimal128(38, 0)),
    ):
        fitted = to_table(pa.table({"n": column}), wide)
        assert fitted.schema == arrow_schema(wide)
        assert table_to_rows(fitted, wide)[0] == (7,)
    assert fitted.column("n").to_pylist() == ["7", "8"]
    assert "row 1, column `n` of `W`: `'x'` is not a u128" in refusal(pa.table({"n": ["x"]}), wide)


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        (
            {"name": ["a", "b"], "n": [1, 4096]},
            "E504: row 2, column `n` of `Pair`: `4096` is not a bit<12>",
        ),
        ({"name": ["a", "b"], "n": [1, 70000]}, "E504: row 2, column `n` of `Pair`: `70000` is not a bit<12>"),
        ({"name": ["a", "b"], "n": [-1, 1]}, "E504: row 1, column `n` of `Pair`: `-1` is not a bit<12> (0 to 4095)"),
        ({"name": ["a", None], "n": [1, 1]}, "E505: row 2, column `name` of `Pair`: null where a string is wanted"),
        ({"name": ["a"], "n": [1.0]}, "E506: column `n` of the rows for `Pair` holds `double` values where bit<12>"),
        ({"name": ["a"], "n": ["1"]}, "E506: column `n` of the rows for `Pair` holds `string` values"),
        ({"name": ["a"], "n": [True]}, "E506: column `n` of the rows for `Pair` holds `bool` values"),
        (
            {"name": [1], "n": [1]},
            "E506: column `name` of the rows for `Pair` holds `int64` values where string is wanted",
        ),
        ({"name": [b"a"], "n": [1]}, "E506: column `name` of the rows for `Pair` holds `binary` values"),
        ({"name": ["a"]}, "E503: rows for `Pair` lack the column `n`"),
        (
            {"name": ["a"], "n": [1], "m": [1]},
            "E503: rows for `Pair` have a column `m`, which",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_with_the_place(columns: dict[str, Any], part: str) -> None:
    assert part in refusal(pa.table(columns))


def test_a_number_is_not_taken_for_a_bool() -> None:
    assert "holds `int64` values where bool is wanted" in refusal(pa.table({"b": [0, 1]}), relation("F", b=BOOL))


def test_two_columns_of_one_name_are_refused() -> None:
    assert "two columns named `n`" in refusal(pa.table([[1], [2]], names=["n", "n"]), relation("N", n=U32))


def test_a_pandas_column_with_a_gap_is_refused_not_rounded() -> None:
    message = refusal(pd.DataFrame({"name": ["a", "b"], "n": [1, None]}))
    assert message.startswith(("E505", "E506"))


def test_a_frame_that_arrow_cannot_read_is_a_data_error() -> None:
    assert refusal(pd.DataFrame({"name": ["a", 1], "n": [1, 2]})).startswith("E501")


def test_every_nan_is_the_same() -> None:
    """Whatever their bits are, so that a set has one of them."""
    words = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64)
    singles = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], dtype=np.uint32)
    table = pa.table({"x": words.view(np.float64), "y": singles.view(np.float32)})
    text = "input relation F(x: double, y: float)\noutput relation G(x: double, y: float)\nG(x, y) :- F(x, y)."
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("F", table)
        assert (len(db.relation("F")), len(db.relation("G"))) == (1, 1)
