"""What `modify` makes of a value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tests.shell.scripts import record
from tests.values.typed_values import DEFINITIONS, types, values
from tidelog.diagnostics.errors import DataError
from tidelog.shell.from_record import ValueReader
from tidelog.shell.mutate import mutate
from tidelog.shell.rows import Row, Rows
from tidelog.types import NamedType
from tidelog.values import field_values, record_text

PROGRAM = """
import hashset
typedef Shape = Circle{r: u8} | Square{a: u8, b: string}
typedef Inner = Inner{p: u8, q: Set<u8>}
input relation R(
    id: u8, s: string, v: Vec<u8>, z: Set<u8>, h: hashset::HashSet<u8>, m: Map<u8, Map<u8, string>>, sh: Shape,
    inner: Ref<Inner>, o: Option<u8>, t: (u8, u8)
) primary key (r) r.id
input relation W[Inner] primary key (r) r.p
"""
ROW = """R{1, "a", [1, 2], [1, 2], [1, 2], [(1, [(1, "x"), (2, "y")]), (2, [])], Square{1, "s"},
    Inner{1, [1]}, ddlog_std::Some{1}, (1, 2)}"""


@pytest.fixture(scope="module")
def rows() -> Rows:
    return Rows(tidelog.compile(PROGRAM))


def changed_row(rows: Rows, relation: str, row: Row, change: str) -> Row:
    found = rows.relations[relation]
    old = rows.value(found, row)
    new = rows.change(found, old, record(change))
    return (new,) if found.explicit else field_values(new)


def changed(rows: Rows, field: str, change: str) -> str:
    """The field as it is printed after the change."""
    relation = rows.relations["R"]
    before = rows.row(relation, record(ROW))
    after = changed_row(rows, "R", before, f"R{{.{field} = {change}}}")
    column = [column.name for column in relation.columns].index(field)
    assert [*before[:column], *before[column + 1 :]] == [*after[:column], *after[column + 1 :]]
    text = rows.text(relation, after)
    start = text.index(f".{field} = ") + len(f".{field} = ")
    end = text.find(f", .{relation.columns[column + 1].name} = ") if column + 1 < len(relation.columns) else -1
    return text[start:end]


@pytest.mark.parametrize(
    ("field", "change", "after"),
    [
        ("s", '"b"', '"b"'),
        ("v", "[3]", "[3]"),
        ("v", "3", "[3]"),
        ("t", "(3, 4)", "(3, 4)"),
        ("z", "[2, 3]", "[1, 3]"),
        ("z", "[]", "[1, 2]"),
        ("h", "[2, 3]", "[1, 3]"),
        ("m", '[(3, [(1, "z")])]', '[(1, [(1, "x"), (2, "y")]), (2, []), (3, [(1, "z")])]'),
        ("m", "[(1, ())]", "[(2, [])]"),
        ("m", '[(1, [(1, ()), (2, "w"), (3, "z")])]', '[(1, [(2, "w"), (3, "z")]), (2, [])]'),
        ("m", r'[(1, @json"{\"5\": \"j\"}")]', '[(1, [(5, "j")]), (2, [])]'),
        ("m", r'@json"{\"7\": {}}"', "[(7, [])]"),
        ("sh", 'Square{.b = "t"}', 'Square{.a = 1, .b = "t"}'),
        ("sh", 'Square{2, "t"}', 'Square{.a = 2, .b = "t"}'),
        ("sh", "Circle{5}", "Circle{.r = 5}"),
        ("inner", "Inner{.q = [1, 2]}", "Inner{.p = 1, .q = [2]}"),
        ("inner", "_{.p = 3}", "Inner{.p = 3, .q = [1]}"),
        ("inner", "_{3, [4]}", "Inner{.p = 3, .q = [1, 4]}"),
        ("o", "ddlog_std::None", "ddlog_std::None{}"),
        ("o", "ddlog_std::Some{2}", "ddlog_std::Some{.x = 2}"),
        ("o", "[]", "ddlog_std::None{}"),
        ("o", "3", "ddlog_std::Some{.x = 3}"),
    ],
)
def test_a_record_changes_the_fields_it_has_and_no_others(rows: Rows, field: str, change: str, after: str) -> None:
    assert changed(rows, field, change) == after


def test_a_change_of_nothing_changes_nothing(rows: Rows) -> None:
    relation = rows.relations["R"]
    before = rows.row(relation, record(ROW))
    assert changed_row(rows, "R", before, "_{.unknown = 1}") == before


def test_a_relation_of_values_changes_them(rows: Rows) -> None:
    relation = rows.relations["W"]
    after = changed_row(rows, "W", rows.row(relation, record("Inner{1, [1]}")), "Inner{.q = [1]}")
    assert rows.text(relation, after) == "Inner{.p = 1, .q = []}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('_{.id = "a"}', '<stdin>:1:9: relation `R`, column `id`: u8 is wanted, not "a"'),
        ("_{.inner = _{.q = [300]}}", "<stdin>:1:20: relation `R`, column `inner.q`: u8 is wanted, not 300"),
        ("_{.m = [1]}", "<stdin>:1:9: relation `R`, column `m`: a pair of u8 and ddlog_std::Map<u8, string> is wanted"),
        ("_{.inner = _{1}}", "relation `R`, column `inner`: Inner has 2 fields, not 1, in Inner"),
        ("5", "<stdin>:1:1: relation `R`: R is wanted, not 5"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(rows: Rows, change: str, message: str) -> None:
    relation = rows.relations["R"]
    before = rows.row(relation, record(ROW))
    with pytest.raises(DataError) as error:
        changed_row(rows, "R", before, change)
    assert message in error.value.message


@settings(deadline=None)
@given(st.data())
def test_scalars_vectors_and_tuples_become_what_the_record_says_and_others_keep_their_type(data: st.DataObject) -> None:
    type_ = data.draw(types)
    old, new = data.draw(values(type_)), data.draw(values(type_))
    reader = ValueReader(DEFINITIONS, lambda: pytest.fail("no JSON here"))
    after = mutate(old, record(record_text(new, type_, DEFINITIONS)), type_, reader)
    if not isinstance(type_, NamedType):
        assert after == new
    elif type_.name == "ddlog_std::Set":
        assert set(after) == set(old) ^ set(new)
    elif type_.name == "ddlog_std::Map":
        assert set(after.keys) <= set(old.keys) | set(new.keys)
        assert set(after.keys) >= set(old.keys) - set(new.keys)
    assert reader.value(record(record_text(after, type_, DEFINITIONS)), type_) == after
