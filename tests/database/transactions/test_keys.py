"""Primary keys: what each call does to the transaction's own view, and what it refuses without a trace."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tidelog.engine.local.engine import LocalEngine

HOSTS = """
input relation Host(name: string, port: u16, up: bool) primary key (h) h.name
output relation Up(name: string, port: u16)
Up(n, p) :- Host(n, p, true).
typedef Shape = Circle{r: u8} | Square{a: u8, b: u8}
input relation Drawn[Shape] primary key (s) match (s) { Circle{var r} -> (0, r), Square{var a, _} -> (1, a) }
output relation Areas(a: u8)
Areas(r * r) :- Drawn[Circle{r}].
Areas(a * b) :- Drawn[Square{a, b}].
Host("static", 1, true).
"""


@pytest.fixture
def program() -> tidelog.Program:
    return tidelog.compile(HOSTS)


@pytest.fixture
def db(program: tidelog.Program) -> Iterator[tidelog.Database]:
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("Host", [("a", 1, True), ("b", 2, True)])
        yield database


def hosts(db: tidelog.Database) -> list[Any]:
    return [row for row in db.relation("Host") if row[0] != "static"]


def test_an_upsert_replaces_the_row_of_its_key_or_inserts_it(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.upsert("Host", [("a", 9, True), ("c", 3, True), ("c", 4, True)])
    assert list(tx.changes["Up"]) == [(("a", 1), -1), (("a", 9), 1), (("c", 4), 1)]
    assert hosts(db) == [("a", 9, True), ("b", 2, True), ("c", 4, True)]


def test_calls_see_the_earlier_writes_of_their_transaction(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.delete_key("Host", "a")
        tx.insert("Host", [("a", 7, True)])
        tx.modify("Host", "a", {"port": 8})
        tx.insert("Host", [("new", 1, False)])
        tx.modify("Host", "new", {"up": True})
        tx.delete("Host", [("a", 8, True)])
    assert hosts(db) == [("b", 2, True), ("new", 1, True)]


def test_rows_that_end_as_they_began_make_no_epoch(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.delete_key("Host", "a")
        tx.upsert("Host", [("a", 1, True)])
        tx.clear("Host")
        tx.insert("Host", [("b", 2, True), ("a", 1, True)])
    assert tx.report is None


def test_clear_forgets_the_facts_and_keeps_what_rules_derive(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", [("c", 3, True)])
        tx.clear("Host")
        tx.insert("Host", [("b", 5, True)])
    assert db.relation("Host").rows() == [("b", 5, True), ("static", 1, True)]
    with db.transaction() as tx:
        tx.insert("Host", [("a", 1, True)])
    assert hosts(db) == [("a", 1, True), ("b", 5, True)]


def test_a_function_modifies_the_value_of_the_row(db: tidelog.Database, program: tidelog.Program) -> None:
    host = program.types.Host
    with db.transaction() as tx:
        tx.modify("Host", "a", lambda old: host(old.name, old.port + 1, old.up))
        tx.modify("Host", "b", lambda old: {"name": old.name, "port": 0, "up": False})
    assert hosts(db) == [("a", 2, True), ("b", 0, False)]


def test_a_row_whose_key_is_modified_moves_to_the_new_key(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.modify("Host", "a", {"name": "z"})
        tx.insert("Host", [("a", 5, True)])
        tx.delete_key("Host", "z")
    assert hosts(db) == [("a", 5, True), ("b", 2, True)]


def test_fields_of_a_relation_with_a_given_type_are_those_of_its_value(
    db: tidelog.Database, program: tidelog.Program
) -> None:
    types = program.types
    with db.transaction() as tx:
        tx.insert("Drawn", [types.Circle(2), types.Square(2, 3)])
        tx.modify("Drawn", (1, 2), {"b": 5})
        tx.modify("Drawn", (0, 2), lambda old: types.Circle(old.r + 1))
    assert db.relation("Drawn").rows() == [(types.Circle(3),), (types.Square(2, 5),)]
    with db.transaction() as tx, pytest.raises(tidelog.DataError, match="no field 'b' to modify"):
        tx.modify("Drawn", (0, 3), {"b": 1})


REFUSED: list[tuple[str, str, Callable[[tidelog.Transaction], None]]] = [
    ("E406", "the key 'a' is there, with an equal row", lambda tx: tx.insert("Host", [("a", 1, True)])),
    ("E406", "the key 'a' is there, with ('a', 1, True)", lambda tx: tx.insert("Host", [("a", 2, True)])),
    ("E406", "the key 'z' is there", lambda tx: tx.insert("Host", [("z", 1, True), ("z", 1, True)])),
    ("E406", "its new key 'b' is there", lambda tx: tx.modify("Host", "a", {"name": "b"})),
    ("E407", "cannot delete from `Host`: the key 'z'", lambda tx: tx.delete("Host", [("a", 1, True), ("z", 1, True)])),
    ("E407", "the key 'static' is not there", lambda tx: tx.delete_key("Host", "static")),
    ("E407", "cannot modify a row of `Host`: the key 'z'", lambda tx: tx.modify("Host", "z", {"port": 1})),
    ("E408", "has another row, ('b', 2, True)", lambda tx: tx.delete("Host", [("a", 1, True), ("b", 3, True)])),
    ("E503", "no field 'prot' to modify", lambda tx: tx.modify("Host", "a", {"port": 7, "prot": 1})),
    ("E504", "the key for `Host`: `7` is not a string", lambda tx: tx.delete_key("Host", 7)),
    ("E504", "the modified row, column `port`", lambda tx: tx.modify("Host", "a", {"up": False, "port": 1 << 16})),
    ("E504", "the row, column `port`", lambda tx: tx.modify("Host", "a", lambda old: ("a", "x", True))),
]


@pytest.mark.parametrize(("code", "message", "call"), REFUSED)
def test_a_refused_call_leaves_the_transaction_as_it_was(
    db: tidelog.Database, code: str, message: str, call: Callable[[tidelog.Transaction], None]
) -> None:
    with db.transaction() as tx:
        tx.insert("Host", [("c", 3, True)])
        with pytest.raises(tidelog.TidelogError) as caught:
            call(tx)
    assert caught.value.code == code
    assert message in caught.value.message
    assert hosts(db) == [("a", 1, True), ("b", 2, True), ("c", 3, True)]


def test_a_rollback_leaves_the_keys_of_the_last_commit(db: tidelog.Database) -> None:
    tx = db.transaction().begin()
    tx.delete_key("Host", "a")
    tx.insert("Host", [("c", 3, True)])
    tx.rollback()
    with db.transaction() as tx:
        tx.delete_key("Host", "a")
        with pytest.raises(tidelog.TransactionError, match="the key 'c' is not there"):
            tx.delete_key("Host", "c")
    assert hosts(db) == [("b", 2, True)]


@pytest.mark.parametrize("verb", ["delete_key", "upsert", "modify"])
def test_a_relation_without_a_key_refuses_what_needs_one(verb: str) -> None:
    with tidelog.compile("input relation A(x: u8)").open() as db, db.transaction() as tx:
        arguments: dict[str, tuple[Any, ...]] = {"delete_key": (1,), "upsert": ([1],), "modify": (1, {"x": 2})}
        with pytest.raises(tidelog.TransactionError) as caught:
            getattr(tx, verb)("A", *arguments[verb])
    assert caught.value.code == "E409"


def test_a_key_that_divides_by_zero_is_an_evaluation_error() -> None:
    with tidelog.compile("input relation A(x: u8) primary key (a) 10 / a.x").open() as db, db.transaction() as tx:
        with pytest.raises(tidelog.EvaluationError, match="division by zero in the primary key of `A`"):
            tx.insert("A", [5, 0])
        tx.insert("A", [5])
    assert len(tx.changes) == 0


NAMES = st.sampled_from("abc")
CALLS = st.one_of(
    st.tuples(st.just("insert"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("delete"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("delete_key"), NAMES, st.just(0)),
    st.tuples(st.just("upsert"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("modify"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("clear"), st.just(""), st.just(0)),
    st.tuples(st.just("commit"), st.just(""), st.just(0)),
    st.tuples(st.just("rollback"), st.just(""), st.just(0)),
)


def apply_to_dict(view: dict[str, int], verb: str, name: str, port: int) -> bool:
    """Applies the call to a dictionary; False, and no change, where it must be refused."""
    match verb:
        case "insert" if name in view:
            return False
        case "delete" if view.get(name) != port:
            return False
        case "delete_key" | "modify" if name not in view:
            return False
        case "delete" | "delete_key":
            del view[name]
        case "clear":
            view.clear()
        case _:
            view[name] = port
    return True


@settings(deadline=None, max_examples=60)
@given(st.lists(CALLS, max_size=30))
def test_oracle_of_a_dictionary(calls: list[tuple[str, str, int]]) -> None:
    with tidelog.compile("input relation H(name: string, port: u8) primary key (h) h.name").open() as db:
        committed: dict[str, int] = {}
        view = dict(committed)
        tx = db.transaction().begin()
        for verb, name, port in calls:
            if verb in ("commit", "rollback"):
                getattr(tx, verb)()
                committed = view if verb == "commit" else committed
                view = dict(committed)
                assert db.relation("H").rows() == sorted(committed.items())
                tx = db.transaction().begin()
                continue
            arguments: dict[str, tuple[Any, ...]] = {
                "delete_key": (name,),
                "modify": (name, {"port": port}),
                "clear": (),
            }
            done = True
            try:
                getattr(tx, verb)("H", *arguments.get(verb, ([(name, port)],)))
            except tidelog.TransactionError:
                done = False
            assert done == apply_to_dict(view, verb, name, port)
        tx.commit()
        assert db.relation("H").rows() == sorted(view.items())


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_during_the_commit_leaves_it_whole_or_undone(
    db: tidelog.Database, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    engine = db._locked._engine
    assert isinstance(engine, LocalEngine)
    commit = engine.commit

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if not late:
            raise KeyboardInterrupt
        outcome = commit(*arguments, **named)
        signal.raise_signal(signal.SIGINT)
        return outcome

    monkeypatch.setattr(engine, "commit", interrupted)
    tx = db.transaction().begin()
    tx.delete_key("Host", "a")
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    monkeypatch.undo()
    assert ("committed" in repr(tx)) == late
    with db.transaction() as tx:
        if late:
            tx.insert("Host", [("a", 1, True)])
        else:
            tx.delete_key("Host", "a")
    assert len(tx.changes["Up"]) == 1


def test_an_interrupt_after_the_point_of_no_return_keeps_the_epoch_and_its_keys_together(
    db: tidelog.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = db._locked._engine
    assert isinstance(engine, LocalEngine)
    keep = engine._runtime.delays.commit

    def keep_and_interrupt() -> None:
        keep()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(engine._runtime.delays, "commit", keep_and_interrupt)
    with pytest.raises(KeyboardInterrupt), db.transaction() as tx:
        tx.delete_key("Host", "a")
    monkeypatch.undo()
    assert tx.changes["Up"].deleted == [("a", 1)]
    with db.transaction() as tx, pytest.raises(tidelog.TransactionError, match="the key 'a' is not there"):
        tx.delete_key("Host", "a")
