"""Indexes and look-ups: distinct rows of the relation, in value order, after the last commit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidelog

PROGRAM = """
typedef Host = Host{name: string, port: Option<u16>}
input relation Edge(src: string, dst: string, cost: u8)
input relation Hosts[Host]
input multiset Bag(x: u8, y: u8)
index BySrc(s: string) on Edge(s, _, _)
index ByBoth(d: string, c: u8) on Edge(_, d, c)
index Open(p: u16) on Hosts[Host{_, Some{p}}]
index Bagged(x: u8) on Bag(x, _)
"""


@pytest.fixture
def program() -> tidelog.Program:
    return tidelog.compile(PROGRAM)


@pytest.fixture
def db(program: tidelog.Program) -> Iterator[tidelog.Database]:
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("Edge", [("a", "c", 2), ("a", "b", 1), ("b", "c", 2)])
            tx.insert("Hosts", [("x", 80), ("w", 80), ("v", 22), ("u", None)])
            tx.insert("Bag", [(1, 2), (1, 2), (1, 1)])
        yield database


def test_an_index_gives_the_rows_of_a_key_in_value_order(db: tidelog.Database, program: tidelog.Program) -> None:
    assert db.query_index("BySrc", "a") == [("a", "b", 1), ("a", "c", 2)]
    assert db.query_index("BySrc", ("z",)) == []
    assert db.query_index("ByBoth", ("c", 2)) == [("a", "c", 2), ("b", "c", 2)]
    assert db.query_index("ByBoth", {"c": 1, "d": "b"}) == [("a", "b", 1)]
    host = program.types.Host
    assert db.query_index("Open", 80) == [(host("w", 80),), (host("x", 80),)]
    assert db.query_index("Bagged", 1) == [(1, 1), (1, 2)]


def test_an_index_is_dumped_without_the_rows_that_do_not_match_it(db: tidelog.Database) -> None:
    assert db.dump_index("BySrc") == [("a", "b", 1), ("a", "c", 2), ("b", "c", 2)]
    assert [row[0].name for row in db.dump_index("Open")] == ["v", "w", "x"]
    assert db.dump_index("Bagged") == [(1, 1), (1, 2)]


def test_an_index_follows_the_commits(db: tidelog.Database) -> None:
    tx = db.transaction().begin()
    tx.delete("Edge", [("a", "b", 1)])
    tx.insert("Edge", [("a", "d", 1)])
    assert db.query_index("BySrc", "a") == [("a", "b", 1), ("a", "c", 2)]
    tx.commit()
    assert db.query_index("BySrc", "a") == [("a", "c", 2), ("a", "d", 1)]


def test_a_relation_is_looked_up_by_any_columns(db: tidelog.Database) -> None:
    edges = db.relation("Edge")
    assert edges.lookup(dst="c") == [("a", "c", 2), ("b", "c", 2)]
    assert edges.lookup(cost=2, src="b") == [("b", "c", 2)]
    assert edges.lookup(src="never seen") == []
    assert edges.lookup() == edges.rows()


def test_what_cannot_be_looked_up_is_refused(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        db.query_index("BySorce", "a")
    assert (caught.value.code, caught.value.help) == ("E811", "did you mean `BySrc`?")
    with pytest.raises(tidelog.UsageError, match="there is no index `X`"):
        db.dump_index("X")
    with pytest.raises(tidelog.DataError, match="has 1 value where the relation has 2 columns"):
        db.query_index("ByBoth", ("c",))
    with pytest.raises(tidelog.DataError, match="column `p` of `Open`: `-1` is not a u16"):
        db.query_index("Open", -1)
    with pytest.raises(tidelog.DataError, match="`Edge` has no column `sorce` to look up"):
        db.relation("Edge").lookup(sorce="a")
    with pytest.raises(tidelog.DataError, match="the lookup, column `cost` of `Edge`: `'x'` is not a u8"):
        db.relation("Edge").lookup(cost="x")
