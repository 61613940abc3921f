"""Relations as readers see them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import tidelog
from tests.database.programs import REACH


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open() as database:
        with database.transaction() as tx:
            tx.insert("Edge", [("b", "c"), ("a", "b")])
            tx.insert("Host", ["z", "a"])
        yield database


def test_a_relation_has_rows_a_length_members_and_tables(db: tidelog.Database) -> None:
    reach = db.relation("Reach")
    assert reach.rows() == list(reach) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(reach) == 3
    assert ("a", "c") in reach
    assert ("c", "a") not in reach
    assert {"src": "a", "dst": "c"} in reach
    assert "z" in db.relation("Alone")
    assert "a" not in db.relation("Alone")
    assert reach.to_arrow().schema.names == ["src", "dst"]
    assert sorted(reach.to_pandas().itertuples(index=False, name=None)) == reach.rows()
    assert repr(reach) == "<output relation Reach(src: string, dst: string)>"


def test_input_and_internal_relations_can_be_read_too(db: tidelog.Database) -> None:
    assert db.relation("Edge").rows() == [("a", "b"), ("b", "c")]
    assert db.relation("Touched").rows() == [("a",), ("b",), ("c",)]


def test_a_relation_always_shows_the_last_commit(db: tidelog.Database) -> None:
    reach = db.relation("Reach")
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        assert len(reach) == 3
    assert reach.rows() == [("b", "c")]


def test_an_open_iterator_stays_on_its_epoch(db: tidelog.Database) -> None:
    rows = iter(db.relation("Reach"))
    assert next(rows) == ("a", "b")
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b"), ("b", "c")])
    assert list(rows) == [("a", "c"), ("b", "c")]
    assert db.relation("Reach").rows() == []


def test_looking_for_a_row_that_cannot_be_there_is_an_error(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.DataError, match="`1` is not a string"):
        assert ("a", 1) in db.relation("Reach")
    with pytest.raises(tidelog.DataError, match="1 value where the relation has 2 columns"):
        assert ("a",) in db.relation("Reach")


def test_an_unknown_relation_brings_the_one_that_was_meant(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        db.relation("reach")
    assert caught.value.help == "did you mean `Reach`?"


def test_readers_in_other_threads_see_whole_epochs(db: tidelog.Database) -> None:
    """Replaces the chain by one of another length in every epoch; a reader must never see a mixture."""
    names = "abcdef"
    seen: list[tuple[object, ...]] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.append(tuple(db.relation("Reach").rows()))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(40):
            links = 2 + turn % 4
            with db.transaction() as tx:
                tx.delete("Edge", db.relation("Edge").rows())
                tx.insert("Edge", [(names[i], names[i + 1]) for i in range(links)])
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    allowed = {
        tuple(sorted((names[i], names[j]) for i in range(links + 1) for j in range(i + 1, links + 1)))
        for links in range(2, 6)
    }
    assert seen
    assert set(seen) <= allowed


def test_what_is_shared_or_interned_looks_like_what_is_inside() -> None:
    program = tidelog.compile(
        """
        input relation In(name: istring, n: Ref<u8>, wide: Intern<u128>, d: Intern<double>, flag: Ref<bool>)
        output relation Out(name: istring, n: Ref<u8>, wide: Intern<u128>, d: Intern<double>, flag: Ref<bool>)
        Out(a, b, c, d, e) :- In(a, b, c, d, e).
        """
    )
    rows = [("a", 1, 2**127, 0.5, True), ("b", 2, 9, 1.5, False), ("b", 2, 10, 1.5, False)]
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("In", rows[1:])
        first = db.relation("Out").to_arrow()
        with db.transaction() as tx:
            tx.delete("In", first)
            tx.insert("In", rows)
        assert tx.changes["Out"].inserted == rows[:1]
        assert db.relation("Out").rows() == rows
        assert [str(field.type) for field in first.schema] == ["string", "uint8", "string", "double", "bool"]
        with (
            db.transaction() as tx,
            pytest.raises(tidelog.DataError, match="column `name` of `In`: `7` is not a string"),
        ):
            tx.insert("In", [(7, 1, 2, 3, True)])
