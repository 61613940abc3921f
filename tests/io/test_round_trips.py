"""Rows of every type go out to Python, Arrow, pandas and files, and come back as the same rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functions.program import vec
from tests.io.declare import relation
from tests.values.typed_values import DEFINITIONS, plain, types, values
from tidelog.database.tabular import table_to_pandas
from tidelog.diagnostics.errors import DataError
from tidelog.io.fit import cell_fitter, fitter
from tidelog.io.formats import FORMATS
from tidelog.io.read import read_batches
from tidelog.io.rows import Batch, to_rows, to_table
from tidelog.io.sort import sort_by_value, sort_rows
from tidelog.io.to_python import rows_to_table, with_lists
from tidelog.io.user_values import user_rows
from tidelog.io.values import Row, UnfitError
from tidelog.io.write import write_batch
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_schema, is_plain_relation, table_to_rows
from tidelog.types import U8
from tidelog.values import decode, encode


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
def test_what_users_get_is_taken_back(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    same(to_rows(user_rows(rows, to, DEFINITIONS), to, DEFINITIONS), rows, to)


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


@settings(max_examples=100, deadline=None)
@given(relations_with_rows())
def test_polars(given_rows: tuple[Relation, list[Row]]) -> None:
    to, rows = given_rows
    same(to_rows(polars.from_arrow(with_lists(table_of(rows, to))), to, DEFINITIONS), rows, to)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet", "arrow"])
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


_scraps = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([float("-0.0"), "tag", "Some", object(), np.int8(3), np.array([1, 2]), np.float32(0.1), "\ud800"]),
)
garbage: st.SearchStrategy[Any] = st.recursive(
    _scraps,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["tag", "x", "c0", "_0", "_1", "r"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_given_is_refused_with_its_place_or_becomes_canonical(data: st.DataObject) -> None:
    to = relation("R", c0=data.draw(types), **({"c1": data.draw(types)} if data.draw(st.booleans()) else {}))
    rows = data.draw(st.lists(garbage, max_size=3) | garbage)
    refusal, found = "`R`", []
    try:
        found = to_rows(rows, to, DEFINITIONS)
    except DataError as error:
        refusal = error.message
    assert "`R`" in refusal
    same(to_rows(found, to, DEFINITIONS), found, to)
    for row in found:
        for value, column in zip(row, to.columns):
            assert decode(encode(value, column.type, DEFINITIONS), column.type, DEFINITIONS) == value


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_text_of_a_cell_is_refused_or_becomes_canonical(data: st.DataObject) -> None:
    type_ = data.draw(types)
    json_text = garbage.map(lambda value: json.dumps(value, default=str))
    text = data.draw(st.text(alphabet='[]{}",:-.0123456789 tagnulrefsix\ud800', max_size=12) | json_text)
    try:
        found = cell_fitter(type_, DEFINITIONS)(text)
    except UnfitError:
        return
    assert fitter(type_, DEFINITIONS)(found) == found


def test_a_cell_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(UnfitError):
        cell_fitter(vec(U8), DEFINITIONS)("[" * 100_000)
