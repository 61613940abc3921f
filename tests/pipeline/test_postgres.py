"""Tables of a Postgres server as feeds: first rows, changes, whole transactions, and everything that is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.folder import Pipe, closure, read_folder
from tests.pipeline.postgres_server import Server, programs, server
from tidelog.diagnostics.errors import DataError, ProgramError, TidelogError, UsageError
from tidelog.pipeline.sources.postgres import slot as slots

pytest.importorskip("psycopg2")
pytestmark = pytest.mark.skipif(programs() is None, reason="Postgres is not installed")

PROGRAM = """
input relation Edge(id: u32, src: string, dst: string)
input relation Mark(id: u32, note: Option<string>)
output relation Reach(src: string, dst: string)
output relation Torn(id: u32)
output relation Note(id: u32, note: string)
Reach(x, y) :- Edge(_, x, y).
Reach(x, z) :- Reach(x, y), Edge(_, y, z).
Torn(i) :- Edge(i, _, _), not Mark(i, _).
Torn(i) :- Mark(i, _), not Edge(i, _, _).
Note(i, n) :- Mark(i, Some{n}).
"""
TABLES = (
    "CREATE TABLE {schema}.edge(id int PRIMARY KEY, src text NOT NULL, dst text NOT NULL)",
    "CREATE TABLE {schema}.mark(id int PRIMARY KEY, note text)",
)
FEED = """
[changes.{relation}]
format = "postgres"
options = {{dsn = "{dsn}", table = "{schema}.{table}", slot = "{schema}"{more}}}
{key}
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


class World:
    """A schema of the server, and a pipeline whose slot has its name."""

    def __init__(self, running: Server, schema: str, folder: Path) -> None:
        self.server, self.schema, self.folder = running, schema, folder
        self.sql(f"CREATE SCHEMA {schema}")

    def sql(self, *statements: str) -> list[Any]:
        return self.server.sql(*(each.format(schema=self.schema) for each in statements))

    def transaction(self, *statements: str) -> None:
        self.server.transaction([each.format(schema=self.schema) for each in statements])

    def feed(self, relation: str, table: str, key: str = 'key = "id"', more: str = "") -> str:
        return FEED.format(relation=relation, dsn=self.server.dsn, schema=self.schema, table=table, key=key, more=more)

    def pipe(self, program: str, outputs: tuple[str, ...], *feeds: str, engine: str | None = None) -> Pipe:
        self.folder.mkdir(exist_ok=True)
        sinks = "".join(f'[outputs.{name}]\nformat = "json"\npath = "out/{name}"\n' for name in outputs)
        return Pipe(self.folder, program, f'program = "program.dl"\nstate = "state"\n{"".join(feeds)}{sinks}', engine)

    def reach(self, more: str = "", engine: str | None = None) -> Pipe:
        feeds = (self.feed("Edge", "edge", more=more), self.feed("Mark", "mark", more=more))
        return self.pipe(PROGRAM, ("Reach", "Torn", "Note"), *feeds, engine=engine)

    def place(self) -> str:
        ((place,),) = self.sql(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{schema}'"
        )
        return str(place)


@pytest.fixture
def world(postgres: Server, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    name = f"w{abs(hash(request.node.nodeid)) % 10**9}"
    return World(postgres, name, tmp_path / "pipe")


def check(world: World, pipe: Pipe) -> None:
    """The outputs are those of the tables as they are, and no epoch has seen a part of a transaction."""
    edges = {(src, dst) for src, dst in world.sql("SELECT src, dst FROM {schema}.edge")}
    assert pipe.summed("Reach") == closure(edges)
    assert pipe.summed("Note") == set(world.sql("SELECT id, note FROM {schema}.mark WHERE note IS NOT NULL"))
    assert pipe.epochs("Torn") == []


def insert(number: int, src: str, dst: str, note: str = "NULL") -> tuple[str, str]:
    return (
        f"INSERT INTO {{schema}}.edge VALUES ({number}, '{src}', '{dst}')",
        f"INSERT INTO {{schema}}.mark VALUES ({number}, {note})",
    )


def test_a_pipeline_follows_tables_from_their_first_rows_on(world: World) -> None:
    world.sql(*TABLES, *insert(1, "a", "b"), *insert(2, "b", "c", "'x'"))
    pipe = world.reach()
    assert [(step.batch, step.read) for step in pipe.run()] == [("start", 0), ("0", 4)]
    check(world, pipe)
    assert pipe.run() == []
    world.transaction(*insert(3, "c", "d"), "UPDATE {schema}.edge SET src = 'z' WHERE id = 1")
    world.transaction("UPDATE {schema}.edge SET id = 9 WHERE id = 2", "UPDATE {schema}.mark SET id = 9 WHERE id = 2")
    gone = [f"DELETE FROM {{schema}}.{table} WHERE id = 3" for table in ("edge", "mark")]
    world.transaction(*gone, *insert(3, "x", "y"))
    assert [step.batch for step in pipe.run()] == ["1"]
    check(world, pipe)
    world.transaction("TRUNCATE {schema}.edge, {schema}.mark", *insert(1, "n", "m"))
    world.transaction(*insert(2, "m", "o"))
    pipe.run()
    check(world, pipe)
    assert pipe.summed("Reach") == {("n", "m"), ("m", "o"), ("n", "o")}
    world.transaction("TRUNCATE {schema}.edge, {schema}.mark")
    pipe.run()
    check(world, pipe)


def test_every_transaction_is_whole_in_one_epoch_however_small_the_batches(world: World) -> None:
    world.sql(*TABLES)
    pipe = world.reach(", maxChangesPerTrigger = 1")
    pipe.run()
    for number in range(5):
        world.transaction(*insert(number, f"n{number}", f"n{number + 1}", "'x'"))
    world.transaction(*[text for number in range(10, 40) for text in insert(number, "many", f"n{number}")])
    assert [step.read for step in pipe.run()] == [2, 2, 2, 2, 2, 60]
    check(world, pipe)


def test_long_values_that_an_update_did_not_send_are_those_of_the_row_before(world: World) -> None:
    long = "(SELECT string_agg(md5(i::text || '{0}'), '') FROM generate_series(1, 2000) AS i)"
    world.sql(*TABLES, *insert(1, "a", "b", long.format(1)), *insert(2, "b", "c", long.format(2)))
    world.sql("ALTER TABLE {schema}.mark ADD COLUMN other int")
    pipe = world.reach()
    pipe.run()
    world.sql("UPDATE {schema}.mark SET other = 1")  # of committed rows
    world.transaction("UPDATE {schema}.mark SET id = id + 10", "UPDATE {schema}.edge SET id = id + 10")
    world.transaction(
        *insert(3, "c", "d", long.format(3)),  # of a row of the same batch
        "UPDATE {schema}.mark SET other = 2 WHERE id = 3",
        "UPDATE {schema}.mark SET id = 4 WHERE id = 3",
        "UPDATE {schema}.edge SET id = 4 WHERE id = 3",
    )
    pipe.run()
    check(world, pipe)
    assert {len(note) for _, note in pipe.summed("Note")} == {64000}
    world.sql("ALTER TABLE {schema}.mark REPLICA IDENTITY FULL", "UPDATE {schema}.mark SET other = 3")
    pipe.run()
    check(world, pipe)


def test_transactions_that_run_while_the_first_rows_are_read_count_once(world: World) -> None:
    """The pipeline ends only when nothing is new, so the writers end first."""
    world.sql(*TABLES)
    end = time.monotonic() + 2

    def write(number: int) -> None:
        while time.monotonic() < end:
            world.transaction(*insert(number, "a", f"n{number}"))
            if number % 3 == 0:
                gone = [f"DELETE FROM {{schema}}.{table} WHERE id = {number}" for table in ("edge", "mark")]
                world.transaction(*gone)
            number += 1

    writers = [threading.Thread(target=write, args=(begin,)) for begin in (0, 1_000_000)]
    for each in writers:
        each.start()
    pipe = world.reach()
    time.sleep(0.2)
    pipe.run()
    for each in writers:
        each.join()
    pipe.run()
    check(world, pipe)


def test_the_snapshot_waits_for_a_transaction_that_runs_when_the_slot_is_made(world: World) -> None:
    import psycopg2

    world.sql(*TABLES)
    running = psycopg2.connect(world.server.dsn)
    with running.cursor() as cursor:
        for text in insert(1, "a", "b"):
            cursor.execute(text.format(schema=world.schema))
        pipe = world.reach()
        thread = threading.Thread(target=pipe.run)
        thread.start()
        time.sleep(0.5)
        assert thread.is_alive()
        running.commit()
        thread.join(60)
    running.close()
    pipe.run()
    check(world, pipe)
    assert pipe.summed("Reach") == {("a", "b")}


def test_a_multiset_has_equal_rows_as_often_as_the_table(world: World) -> None:
    world.sql("CREATE TABLE {schema}.item(shop text, price int)", "ALTER TABLE {schema}.item REPLICA IDENTITY FULL")
    world.sql("INSERT INTO {schema}.item VALUES ('a', 1), ('a', 1), ('b', 2)")
    program = """
input multiset Item(shop: string, price: s32)
output relation Sum(shop: string, n: u64)
Sum(s, n) :- Item(s, _), var n = count() by (s).
"""
    pipe = world.pipe(program, ("Sum",), world.feed("Item", "item", key=""))
    pipe.run()
    assert pipe.summed("Sum") == {("a", 2), ("b", 1)}
    world.sql("DELETE FROM {schema}.item WHERE ctid = (SELECT min(ctid) FROM {schema}.item)")
    world.sql("UPDATE {schema}.item SET shop = 'c' WHERE shop = 'b'", "INSERT INTO {schema}.item VALUES ('c', 2)")
    pipe.run()
    assert pipe.summed("Sum") == {("a", 1), ("c", 2)}
    world.sql("TRUNCATE {schema}.item", "INSERT INTO {schema}.item VALUES ('z', 0)")
    pipe.run()
    assert pipe.summed("Sum") == {("z", 1)}


def test_a_feed_that_is_added_later_begins_with_its_rows(world: World) -> None:
    world.sql(*TABLES, *insert(1, "a", "b", "'x'"))
    feeds = world.feed("Edge", "edge"), world.feed("Mark", "mark")
    pipe = world.pipe(PROGRAM, ("Reach", "Note"), feeds[0])
    pipe.run()
    world.transaction(*insert(2, "b", "c", "'y'"))
    pipe = world.pipe(PROGRAM, ("Reach", "Note"), *feeds)
    pipe.run()
    world.transaction(*insert(3, "c", "d", "'z'"))
    pipe.run()
    assert pipe.summed("Note") == {(1, "x"), (2, "y"), (3, "z")}
    assert len(pipe.summed("Reach")) == 6


def test_a_partitioned_table_is_followed_as_one(world: World) -> None:
    world.sql(
        "CREATE TABLE {schema}.edge(id int PRIMARY KEY, src text, dst text) PARTITION BY RANGE (id)",
        "CREATE TABLE {schema}.low PARTITION OF {schema}.edge FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE {schema}.high PARTITION OF {schema}.edge FOR VALUES FROM (10) TO (99)",
        TABLES[1],
        *insert(1, "a", "b"),
    )
    pipe = world.reach()
    pipe.run()
    world.transaction(*insert(2, "b", "c"), *insert(12, "c", "d"))
    world.transaction("UPDATE {schema}.edge SET id = 11 WHERE id = 1", "UPDATE {schema}.mark SET id = 11 WHERE id = 1")
    pipe.run()
    check(world, pipe)


def test_the_slot_moves_on_while_only_other_tables_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_LAG", 1000)
    world.sql(*TABLES, *insert(1, "a", "b"))
    pipe = world.reach()
    pipe.run()
    before = world.place()
    world.sql("CREATE TABLE {schema}.other AS SELECT i FROM generate_series(1, 1000) AS i")
    (step,) = pipe.run()
    assert (step.read, step.report) == (0, None)
    assert world.place() != before
    world.transaction(*insert(2, "b", "c"))
    pipe.run()
    check(world, pipe)


def test_values_that_do_not_fit_are_bad_records(world: World) -> None:
    world.sql(
        "CREATE TABLE {schema}.t(id int PRIMARY KEY, day date)", "INSERT INTO {schema}.t VALUES (1, '2024-01-31')"
    )
    program = "input relation T(id: u8, day: date)\noutput relation Out(id: u8, day: date)\nOut(i, d) :- T(i, d)."
    pipe = world.pipe(program, ("Out",), world.feed("T", "t"))
    pipe.run()
    world.sql("INSERT INTO {schema}.t VALUES (2, 'infinity'), (300, '2024-02-01'), (3, NULL), (4, '2024-02-02')")
    with pytest.raises(DataError, match=r"at [0-9A-F]+/[0-9A-F]+, column `day` of `T`: `'infinity'` is not a date"):
        pipe.run()
    pipe.write_file((pipe.folder / "pipe.toml").read_text() + '[quarantine]\npath = "bad"\n')
    (step,) = pipe.run()
    assert (step.read, step.bad) == (4, 3)
    assert pipe.summed("Out") == {(1, "2024-01-31"), (4, "2024-02-02")}
    (bad,) = (pipe.folder / "bad").glob("batch=*")
    assert [row["code"] for row in read_folder(bad)] == ["E504", "E504", "E505"]


# Tables that cannot be followed


@pytest.mark.parametrize(
    ("made", "relation", "key", "message", "help_"),
    [
        (
            "CREATE TABLE {schema}.t(id int, v text)",
            "input relation T(id: u32, v: string)",
            "",
            "has no replica identity, so the server cannot say which row",
            "REPLICA IDENTITY FULL",
        ),
        (
            "CREATE TABLE {schema}.t(id int, v text); ALTER TABLE {schema}.t REPLICA IDENTITY FULL",
            "input relation T(id: u32, v: string)",
            "",
            "it may have equal rows",
            "input multiset T",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input relation T(v: string)",
            "",
            r"is found by its key \(id\), which `T` does not have",
            "add the columns",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input relation T(id: u32, v: string)",
            "",
            "has no key, and the rows of",
            "in `.changes.T.`",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input multiset T(id: u32, v: string)",
            "",
            "does not send whole rows that are deleted",
            "REPLICA IDENTITY FULL",
        ),
        (
            "CREATE UNLOGGED TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "unlogged or temporary",
            "",
        ),
        (
            "CREATE VIEW {schema}.t AS SELECT 1 AS id, 'a' AS v",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "is a view",
            "",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input relation T(id: u32, w: string)",
            'key = "id"',
            "has no column `w`, which `T` needs",
            "its columns are",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v int GENERATED ALWAYS AS (id + 1) STORED)",
            "input relation T(id: u32, v: s32)",
            'key = "id"',
            "computes its column `v` from others",
            "by a rule",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v money)",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "is `money`, whose values do not all fit `T.v: string`",
            "no type of the language",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text);"
            "CREATE PUBLICATION {schema} FOR TABLE {schema}.t WITH (publish = 'insert')",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "leaves out `update`, `delete`, `truncate`",
            "ALTER PUBLICATION",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text);"
            "CREATE PUBLICATION {schema} FOR TABLE {schema}.t WHERE (id > 5)",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "has a condition for the rows",
            "by a rule|as a rule",
        ),
        (
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text);CREATE PUBLICATION {schema} FOR TABLE {schema}.t (id)",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "leaves out the column `v`",
            "add it",
        ),
        (
            "SELECT pg_create_logical_replication_slot('{schema}', 'test_decoding');"
            "CREATE TABLE {schema}.t(id int PRIMARY KEY, v text)",
            "input relation T(id: u32, v: string)",
            'key = "id"',
            "is of another kind: plugin test_decoding",
            "another `slot`",
        ),
        ("", "input relation T(id: u32, v: string)", 'key = "id"', "the server has no table", "schema"),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused_by_name(
    world: World, made: str, relation: str, key: str, message: str, help_: str
) -> None:
    import re

    for each in filter(None, made.split(";")):
        world.sql(each)
    pipe = world.pipe(relation, (), world.feed("T", "t", key=key))
    with pytest.raises(UsageError, match=message) as raised:
        pipe.run()
    assert re.search(help_, raised.value.help or "")


def changed(world: World) -> Pipe:
    """A pipeline over a table that has taken its first rows."""
    world.sql(
        "CREATE TABLE {schema}.t(id int PRIMARY KEY, v varchar(9), n int)", "INSERT INTO {schema}.t VALUES (1, 'a', 5)"
    )
    program = """
input relation T(id: s64, v: string, n: s64, later: Option<string>)
output relation Out(id: s64, v: string, n: s64)
Out(i, v, n) :- T(i, v, n, _).
"""
    pipe = world.pipe(program, ("Out",), world.feed("T", "t"))
    pipe.run()
    assert pipe.summed("Out") == {(1, "a", 5)}
    return pipe


def test_columns_that_nobody_reads_and_wider_types_go_on(world: World) -> None:
    pipe = changed(world)
    world.sql("ALTER TABLE {schema}.t ADD COLUMN more int DEFAULT 7", "INSERT INTO {schema}.t VALUES (2, 'b', 6)")
    pipe.run()
    world.sql("ALTER TABLE {schema}.t ALTER COLUMN n TYPE bigint, ALTER COLUMN v TYPE text, DROP COLUMN more")
    world.sql(
        f"INSERT INTO {{schema}}.t VALUES (3, 'a longer text', {1 << 40})", "UPDATE {schema}.t SET n = 0 WHERE id = 1"
    )
    pipe.run()
    assert pipe.summed("Out") == {(1, "a", 0), (2, "b", 6), (3, "a longer text", 1 << 40)}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE {schema}.t RENAME COLUMN v TO w", "has no column `v`"),
        ("ALTER TABLE {schema}.t DROP COLUMN n", "has no column `n`"),
        ("ALTER TABLE {schema}.t ADD COLUMN later text DEFAULT 'x'", "has a new column `later`"),
        ("ALTER TABLE {schema}.t ALTER COLUMN n TYPE smallint", "column `n` from `integer` to `smallint`"),
        ("ALTER TABLE {schema}.t ALTER COLUMN v TYPE varchar(3)", r"from `varchar\(9\)` to `varchar\(3\)`"),
        ("DROP TABLE {schema}.t; CREATE TABLE {schema}.t(id int PRIMARY KEY, v text, n int)", "dropped and made again"),
        ("DROP TABLE {schema}.t", "no table"),
        ("SELECT pg_drop_replication_slot('{schema}')", "the server has no slot of this name"),
        (
            "INSERT INTO {schema}.t VALUES (9, 'z', 9);"
            "SELECT pg_replication_slot_advance('{schema}', pg_current_wal_lsn())",
            "behind the last commit of this state",
        ),
    ],
)
def test_a_source_that_the_state_cannot_follow_any_more_is_refused_by_name(
    world: World, statement: str, message: str
) -> None:
    pipe = changed(world)
    for each in statement.split(";"):
        world.sql(each)
    with pytest.raises(UsageError, match=message) as raised:
        pipe.run()
    assert raised.value.code in ("E503", "E870", "E872")
    assert pipe.summed("Out") == {(1, "a", 5)}


def test_a_change_of_the_table_is_seen_where_it_is_in_the_log(world: World) -> None:
    """The column is back when the pipeline looks, but not in the rows between."""
    pipe = changed(world)
    world.sql(
        "INSERT INTO {schema}.t VALUES (2, 'b', 6)",
        "ALTER TABLE {schema}.t ALTER COLUMN n TYPE text USING (n * 2)::text",
        "INSERT INTO {schema}.t VALUES (3, 'c', '7')",
        "ALTER TABLE {schema}.t ALTER COLUMN n TYPE int USING n::int",
    )
    with pytest.raises(TidelogError, match=r"from `integer` to `text`|is `text`, whose values"):
        pipe.run()
    assert pipe.summed("Out") == {(1, "a", 5)}


def test_a_new_state_begins_again_with_the_slot_that_is_there(world: World) -> None:
    import shutil

    pipe = changed(world)
    world.sql(
        "ALTER TABLE {schema}.t ALTER COLUMN n TYPE bigint USING n * 2", "INSERT INTO {schema}.t VALUES (2, 'b', 1)"
    )
    shutil.rmtree(pipe.folder / "state")
    shutil.rmtree(pipe.folder / "out")
    pipe.run()
    world.sql("INSERT INTO {schema}.t VALUES (3, 'c', 2)")
    pipe.run()
    assert pipe.summed("Out") == {(1, "a", 10), (2, "b", 1), (3, "c", 2)}


def test_a_server_that_is_not_there_is_an_error_that_names_the_slot(tmp_path: Path) -> None:
    feed = FEED.format(relation="T", dsn=f"host={tmp_path}", schema="s", table="t", key='key = "id"', more="")
    file = f'program = "program.dl"\nstate = "state"\n{feed}'
    with pytest.raises(DataError, match=r"Postgres says, of the slot `s`: .*No such file") as raised:
        Pipe(tmp_path, "input relation T(id: u8)", file).run()
    assert raised.value.code == "E869"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('options = {table = "t", slot = "s"}\nop = "op"', "the feed of `T` has no `op`"),
        ('options = {table = "t", slot = "s"}\norder = "n"', "the feed of `T` has no `order`"),
        ('options = {slot = "s"}', "has no `table`"),
        ('options = {table = "t", slot = "s", maxChangesPerTrigger = 0}', "is a number"),
        ('options = {table = "t", slot = "s", tabel = "t"}', "the format `postgres` has no option `tabel`"),
        ('path = "t"\noptions = {table = "t", slot = "s"}', "the format `postgres` has no path"),
    ],
)
def test_settings_that_contradict_the_format_are_errors(tmp_path: Path, table: str, message: str) -> None:
    file = f'program = "program.dl"\nstate = "state"\n[changes.T]\nformat = "postgres"\n{table}\n'
    with pytest.raises(ProgramError, match=message):
        Pipe(tmp_path, "input relation T(id: u8)", file).run()


@pytest.mark.spark
def test_spark_follows_tables_in_the_same_way(world: World, spark: Any) -> None:
    world.sql(*TABLES, *insert(1, "a", "b"), *insert(2, "b", "c", "'x'"))
    pipe = world.reach(engine="spark")
    pipe.run(spark=spark)
    check(world, pipe)
    world.transaction("UPDATE {schema}.edge SET src = 'z' WHERE id = 1", *insert(3, "c", "d"))
    world.transaction("DELETE FROM {schema}.edge WHERE id = 2", "DELETE FROM {schema}.mark WHERE id = 2")
    pipe.run(spark=spark)
    check(world, pipe)
    world.transaction("TRUNCATE {schema}.edge, {schema}.mark", *insert(7, "q", "r"))
    pipe.run(spark=spark)
    check(world, pipe)
