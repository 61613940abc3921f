"""Rows of every type go out to Python, Arrow, pandas and files, and come back as the same rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.declare import relation
from tests.values.typed_values import DEFINITIONS, plain, types, values
from tidelog.database.changes import table_to_pandas
from tidelog.io.formats import FORMATS
from tidelog.io.outward import rows_to_table
from tidelog.io.read import read_batches
from tidelog.io.rows import Batch, to_rows, to_table
from tidelog.io.sort import sort_by_value, sort_rows
from tidelog.io.values import Row
from tidelog.io.write import write_batch
from tidelog.rules.ir import Relation
from tidelog.rules.schema import arrow_schema, is_plain_relation, table_to_rows


@st.composite
def relations_with_rows(draw: st.DrawFn) -> tuple[Relation, list[Row]]:
    found = {f"c{place}": draw(types) for place in range(draw(st.integers(1, 3)))}
    rows = draw(st.lists(st.tuples(*map(values, found.values())), max_size=4))
    return relation("R", **found), list(dict.fromkeys(rows))


def same(found: list[Row], wanted: list[Row], to: Relation) -> None:
    """Equal in value, in Python type and in the order of items."""
    assert found == wanted
    assert [tuple(map(type, row)) for row in found] == [tuple(map(type, row)) for row in wanted]
    for left, right in zip(found, wanted):
        for one, other, column in zip(left, right, to.columns):
            assert plain(one, column.type) == plain(other, column.type)


def table_of(rows: list[Row], to: Relation) -> pa.Table:
    return rows_to_table(rows, to, DEFINITIONS)


def rows_of(batch: Batch, to: Relation) -> list[Row]:
    return batch if isinstance(batch, list) else table_to_rows(batch, to)


@settings(max_examples=200, deadline=None)
@given(relations_with_rows())
def test_canonical_rows_are_taken_as_they_are(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    same(to_rows(rows, to, DEFINITIONS), rows, to)


@settings(max_examples=200, deadline=None)
@given(relations_with_rows())
def test_arrow(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    table = table_of(rows, to)
    table.validate(full=True)
    assert table.schema == arrow_schema(to, DEFINITIONS)
    same(to_rows(table, to, DEFINITIONS), rows, to)


@settings(max_examples=100, deadline=None)
@given(relations_with_rows())
def test_pandas(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    same(to_rows(table_to_pandas(table_of(rows, to), to), to, DEFINITIONS), rows, to)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=100, deadline=None)
@given(given_rows=relations_with_rows())
def test_files(tmp_path_factory: pytest.TempPathFactory, name: str, given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    path = tmp_path_factory.mktemp("rows") / f"R.{name}"
    batch = to_table(rows, to) if is_plain_relation(to) else rows
    write_batch(batch, to, DEFINITIONS, path, FORMATS[name])
    found: list[Any] = []
    for read in read_batches(path, to, DEFINITIONS):
        found += rows_of(read, to)
    same(found, sort_rows(rows), to)


@settings(max_examples=100, deadline=None)
@given(relations_with_rows())
def test_arrow_sorts_plain_tables_as_python_sorts_rows(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    if is_plain_relation(to):
        same(table_to_rows(sort_by_value(to_table(rows, to), to), to), sort_rows(rows), to)
