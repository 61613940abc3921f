"""An `Option` at the API: users give and get None or the bare value, alike on both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.engine.spark.in_process import NEVER, NoSpark, tasks_here
from tidelog import DataError

PROGRAM = """
typedef Person = Person{name: string, age: Option<u8>}
input relation In(id: u32, note: Option<string>, twice: Option<Option<u8>>)
output relation Out(id: u32, note: Option<string>, twice: Option<Option<u8>>)
output multiset Notes(note: Option<string>)
output relation Nested(id: u32, all: Vec<Option<string>>, person: Person, by: Map<u32, Option<string>>, pair: (u32, Option<string>), set: Set<Option<string>>)
output relation Adult(id: u32)
index by_note(note: Option<string>) on Out(_, note, _)
Out(i, n, t) :- In(i, n, t).
Notes(n) :- In(_, n, _).
Nested(i, [n], Person{"p", None}, map_singleton(i, n), (i, n), set_singleton(n)) :- In(i, n, _).
Adult(i) :- In(i, Some{_}, _).
"""  # noqa: E501

ROWS = [(1, None, None), (2, "", 7), (3, "x", 8)]
Opening = Callable[..., tidelog.Database]


@pytest.fixture(params=["local", "spark"])
def opened(request: pytest.FixtureRequest) -> Iterator[Opening]:
    """Opens a program on either engine, Spark's tasks in this process."""
    opened: list[tidelog.Database] = []

    def open_(text: str = PROGRAM, **options: Any) -> tidelog.Database:
        program = tidelog.compile(text)
        where: dict[str, Any] = {} if request.param == "local" else {"engine": "spark", "spark": NoSpark()}
        opened.append(program.open(**where, **options))
        return opened[-1]

    with tasks_here(lambda: NEVER, seed=1):
        yield open_
    for database in opened:
        database.close()


def loaded(database: tidelog.Database) -> Any:
    with database.transaction() as tx:
        tx.insert("In", ROWS)
    return tx


def test_rows_have_none_and_the_bare_value(opened: Opening) -> None:
    database = opened()
    tx = loaded(database)
    some = database_types(database).Some
    wanted = [(1, None, None), (2, "", some(7)), (3, "x", some(8))]
    assert database.relation("Out").rows() == wanted
    assert list(database.relation("Out")) == wanted
    assert [row for row, _ in database.relation("Out").weights()] == wanted
    assert tx.changes["Out"].inserted == wanted
    assert list(tx.changes["Out"]) == [(row, 1) for row in wanted]
    assert dict(database.relation("Notes").weights()) == {(None,): 1, ("",): 1, ("x",): 1}


def database_types(database: tidelog.Database) -> Any:
    return tidelog.compile(PROGRAM).types


def test_an_option_of_an_option_tells_its_two_nulls_apart(opened: Opening) -> None:
    database = opened()
    some = database_types(database).Some
    with database.transaction() as tx:
        tx.insert("In", [(1, None, None), (2, None, some(None)), (3, None, some(5)), (4, None, 5)])
    wanted = [(1, None, None), (2, None, some(None)), (3, None, some(5)), (4, None, some(5))]
    assert database.relation("Out").rows() == wanted
    assert all(row in database.relation("Out") for row in wanted)


def test_lookup_in_and_indexes_take_none_and_bare_values(opened: Opening) -> None:
    database = opened()
    loaded(database)
    view = database.relation("Out")
    some = database_types(database).Some
    assert view.lookup(note=None) == [(1, None, None)]
    assert view.lookup(note="x") == [(3, "x", some(8))]
    assert view.lookup(note=some("x")) == [(3, "x", some(8))]
    assert (1, None, None) in view
    assert (1, "x", None) not in view
    assert {"id": 2, "note": "", "twice": 7} in view
    assert database.query_index("by_note", None) == [(1, None, None)]
    assert database.dump_index("by_note") == view.rows()


def test_queries_and_their_parameters_have_none(opened: Opening) -> None:
    database = opened()
    loaded(database)
    answer = database.query("Out(i, n, _)")
    assert answer.rows == list(answer) == [(1, None), (2, ""), (3, "x")]
    assert answer[0] == (1, None)
    assert answer.to_dicts()[0] == {"i": 1, "n": None}
    assert (1, None) in answer
    assert answer.to_json() == '[{"i": 1, "n": null}, {"i": 2, "n": ""}, {"i": 3, "n": "x"}]'
    assert answer.to_text().splitlines()[0] == "i = 1, n = ddlog_std::None{}"
    assert database.query("Out(i, $n, _)", params={"n": None}).rows == [(1,)]
    assert database.query("Out(i, $n, _)", params={"n": "x"}).rows == [(3,)]


def test_options_inside_values_are_none_too(opened: Opening) -> None:
    database = opened()
    loaded(database)
    types = database_types(database)
    rows = database.relation("Nested").rows()
    _, vector, person, by, pair, members = rows[0]
    assert list(vector) == [None]
    assert person == types.Person("p", None)
    assert person.age is None
    assert list(by) == [(1, None)]
    assert pair == (1, None)
    assert list(members) == [types.None_()]  # a set orders its items
    assert list(rows[2][1]) == ["x"]
    assert rows[2] in database.relation("Nested")  # what comes out goes in again


def test_callbacks_get_none(opened: Opening) -> None:
    database = opened()
    seen: list[str | None] = []
    database.on_change("Out", lambda delta: seen.extend(row[1] for row in delta.inserted))
    loaded(database)
    assert seen == [None, "", "x"]


def test_proofs_and_missing_rows_show_none(opened: Opening) -> None:
    database = opened()
    loaded(database)
    proof = database.explain("Out", (1, None, None))
    assert proof[0].row == (1, None, None)
    assert proof[0].bindings == {"i": 1, "n": None, "t": None}
    assert proof.to_dict()["steps"][0]["row"] == [1, None, {"tag": "None"}]
    assert "ddlog_std" not in str(proof)
    assert str(proof).startswith("Out(1, None, None)")
    some = database_types(database).Some
    assert str(database.explain("Out", (3, "x", some(8)))).startswith('Out(3, Some{"x"}, Some{Some{8}})')
    missing = database.why_not("Adult", (1,))
    assert not missing.is_present
    assert database.why_not("Out", (9, None, None)).row == (9, None, None)


def test_what_comes_out_goes_in_again(opened: Opening) -> None:
    database = opened()
    loaded(database)
    with database.transaction() as tx:
        tx.delete("In", database.relation("Out").rows())
    assert len(database.relation("Out")) == 0
    assert tx.changes["Out"].deleted[0] == (1, None, None)


def test_a_function_that_modifies_gets_none_and_the_bare_value(opened: Opening) -> None:
    database = opened("""
    input relation In(id: u32, note: Option<string>) primary key (x) x.id
    output relation Out(id: u32, note: Option<string>)
    Out(i, n) :- In(i, n).""")
    with database.transaction() as tx:
        tx.insert("In", [(1, None), (2, "x")])
    given: list[Any] = []

    def change(row: Any) -> dict[str, Any]:
        given.append(row.note)
        return {"id": row.id, "note": "new" if row.note is None else None}

    with database.transaction() as tx:
        tx.modify("In", 1, change)
        tx.modify("In", 2, change)
    assert given == [None, "x"]
    assert database.relation("Out").rows() == [(1, "new"), (2, None)]


def test_externs_keep_some_and_none() -> None:
    program = tidelog.compile(
        """
        extern function shown(o: Option<u8>): string
        input relation In(o: Option<u8>)
        output relation Out(text: string)
        Out(shown(o)) :- In(o).
        """,
        externs={"shown": lambda option: f"{type(option).__name__} {len(option)}"},
    )
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("In", [None, 3])
        assert database.relation("Out").rows() == [("None 1",), ("Some 2",)]


def test_a_null_where_none_is_allowed_names_the_column_and_how_to_declare_it() -> None:
    with tidelog.compile("input relation In(id: u32, age: u8)").open() as database, database.transaction() as tx:
        with pytest.raises(DataError, match="row 2, column `age` of `In`: null where a u8") as caught:
            tx.insert("In", [(1, 1), (2, None)])
        assert caught.value.help == "leave such rows out, or declare the column `age: Option<u8>`"


def test_files_of_a_relation_have_the_values_of_the_language(tmp_path: Path, opened: Opening) -> None:
    database = opened()
    loaded(database)
    view = database.relation("Out")
    for name in ("out.parquet", "out.jsonl", "out.arrow"):
        view.write(tmp_path / name)
        with tidelog.compile(PROGRAM).open() as other:
            with other.transaction() as tx:
                tx.load("In", tmp_path / name)
            assert other.relation("Out").rows() == view.rows()
