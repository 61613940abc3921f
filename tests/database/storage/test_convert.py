"""A database of one engine that is opened with the other; tasks of Spark run in this process."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tidelog
from tests.database.programs import REACH
from tests.engine.spark.in_process import NoSpark, run_tasks_here
from tests.sample import todays
from tidelog.database.storage import active_format, convert
from tidelog.database.storage.active_format import active_engine
from tidelog.database.transactions.transaction import CommitOptions
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.epoch.rule_changes import change_rules

EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
ENGINES = ("local", "spark")
OTHER = {"local": "spark", "spark": "local"}
LEFT = {"local": ("manifest.*", "epoch.*"), "spark": ("journal.*", "snapshot.*", "head")}
# Something of everything that lasts: recursion, facts of a derived relation, weights, delays, the records of a stream.
HISTORY = """
input relation Edge(src: string, dst: string)
input relation Near(src: string, dst: string)
input multiset Visit(host: string)
input stream Ping(host: string)
output relation Reach(src: string, dst: string)
output relation Was(src: string, dst: string)
output relation Pinged(host: string)
output multiset Seen(host: string)
output relation Visits(host: string, n: u64)
Near(x, y) :- Edge(x, y), Edge(y, x).
Near(y, x) :- Near(x, y).
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Was(x, y) :- Edge-2(x, y).
Pinged(h) :- Ping'(h).
Seen(h) :- Visit(h), Edge(h, _).
Visits(h, n) :- Visit(h), var n = h.group_by(h).count_distinct() as u64.
"""


@pytest.fixture(autouse=True)
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))


compiled = cache(tidelog.compile)


def open_(text: str, engine: str, path: Path, **options: Any) -> tidelog.Database:
    return compiled(text).open(engine, path=path, **on(engine), **options)


def on(engine: str) -> dict[str, Any]:
    return {} if engine == "local" else {"spark": NoSpark()}


def insert(database: tidelog.Database, relation: str, *rows: Any) -> tidelog.Transaction:
    with database.transaction() as tx:
        tx.insert(relation, list(rows))
    return tx


def contents(database: tidelog.Database) -> dict[str, Any]:
    relations = ("Edge", "Near", "Visit", "Reach", "Was", "Pinged", "Seen", "Visits")
    return {name: database.relation(name).weights() for name in relations} | {"epoch": database.report.epoch}


def files(path: Path) -> set[str]:
    return {file.name for file in path.iterdir()} - {"lock", "form"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_database_is_converted_with_its_rows_and_epoch_and_no_files_are_left(engine: str, tmp_path: Path) -> None:
    with open_(REACH, engine, tmp_path) as db:
        insert(db, "Edge", *EDGES[:2])
        before = files(tmp_path)
    with open_(REACH, OTHER[engine], tmp_path) as db:
        assert (db.report.epoch, len(db.initial)) == (1, 0)
        assert db.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        tx = insert(db, "Edge", EDGES[2])
        assert tx.changes["Reach"].inserted == [("a", "d"), ("b", "d"), ("c", "d")]
        assert tx.report is not None
        assert tx.report.epoch == 2
        assert {each.strategy for each in tx.report.strata if "Reach" in each.relations} == {"update"}, "no recompute"
    assert not files(tmp_path) & before
    with tidelog.open(tmp_path, **on(OTHER[engine])) as db:
        assert len(db.relation("Reach")) == 6, "it stays with the engine that it was converted to"


@pytest.mark.parametrize("first", ENGINES)
def test_everything_that_has_a_history_goes_on_from_engine_to_engine(first: str, tmp_path: Path) -> None:
    program = tidelog.compile(HISTORY)
    engine = first
    with program.open() as stayed:
        for number in range(6):
            with open_(HISTORY, engine, tmp_path) as db:
                assert contents(db) == contents(stayed)
                for each in (db, stayed):
                    with each.transaction() as tx:
                        tx.insert("Edge", [(EDGES[number % 3][0], EDGES[number % 3][1]), ("d", str(number % 2))])
                        tx.insert("Near", [(str(number), "a"), ("b", "c")])
                        tx.insert("Visit", ["a"] * (number % 3) + ["b"])
                        tx.insert("Ping", [str(number)])
                        if number:
                            tx.delete("Edge", [EDGES[(number - 1) % 3]])
                assert contents(db) == contents(stayed), f"{engine} in epoch {number + 1}"
            engine = OTHER[engine]


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_that_were_changed_and_marks_are_converted(engine: str, tmp_path: Path) -> None:
    with open_(REACH, engine, tmp_path) as db:
        with db.transaction() as tx:
            tx.insert("Edge", EDGES)
            tx.add_rules("output relation Back(src: string, dst: string)\nBack(y, x) :- Reach(x, y).")
            tx.remove_rules("Reach(x, z) :- Reach(x, y), Edge(y, z).")
            tx._commit_with(CommitOptions(marks={"feed": 7}))
        rules = db.rules()
    with open_(REACH, OTHER[engine], tmp_path) as db:
        assert (db.rules(), db._locked.marks()) == (rules, {"feed": 7})
        assert db.relation("Back").rows() == sorted((y, x) for x, y in EDGES)
        with db.transaction() as tx:
            tx.add_rules("Reach(x, z) :- Reach(x, y), Edge(y, z).")
        assert len(db.relation("Back")) == 6
    with open_(REACH, engine, tmp_path) as db:
        assert (len(db.relation("Back")), db._locked.marks()) == (6, {"feed": 7})
        with db.transaction() as tx:
            tx.delete("Edge", EDGES[1:2])
        assert db.relation("Back").rows() == [("b", "a"), ("d", "c")]


@pytest.mark.parametrize("engine", ENGINES)
def test_facts_stay_when_an_input_relation_gets_its_first_rule_or_loses_its_last(engine: str, tmp_path: Path) -> None:
    rule = "Edge(y, x) :- Edge(x, y)."
    with open_(REACH, engine, tmp_path) as db, db.transaction() as tx:
        tx.insert("Edge", EDGES)
        tx.add_rules(rule)
    with open_(REACH, OTHER[engine], tmp_path) as db:
        assert len(db.relation("Edge")) == 6
        with db.transaction() as tx:
            tx.remove_rules(rule)
        assert db.relation("Edge").rows() == EDGES
    with open_(REACH, engine, tmp_path) as db:
        assert db.relation("Edge").rows() == EDGES
        with db.transaction() as tx:
            tx.delete("Edge", EDGES)
        assert len(db.relation("Reach")) == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_another_program_is_refused_and_the_database_stays_where_it_is(engine: str, tmp_path: Path) -> None:
    with open_(REACH, engine, tmp_path) as db:
        insert(db, "Edge", *EDGES)
    before = files(tmp_path)
    changed = REACH + "output relation Back(src: string, dst: string)\nBack(y, x) :- Edge(x, y).\n"
    with pytest.raises(tidelog.UsageError, match="E855"):
        open_(changed, OTHER[engine], tmp_path)
    assert files(tmp_path) == before
    with open_(changed, OTHER[engine], tmp_path, migrate=True) as db:
        assert (len(db.relation("Back")), len(db.relation("Reach")), db.report.epoch) == (3, 6, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_a_writer_converts_a_database(engine: str, tmp_path: Path) -> None:
    with open_(REACH, engine, tmp_path) as db:
        insert(db, "Edge", *EDGES)
    with pytest.raises(tidelog.UsageError, match=rf"E706(.|\n)*engine='{engine}'"):
        open_(REACH, OTHER[engine], tmp_path, read_only=True)
    with tidelog.open(tmp_path, read_only=True, **on(engine)) as reader:
        open_(REACH, OTHER[engine], tmp_path).close()
        with pytest.raises(tidelog.UsageError, match=r"E706|E852"):
            reader.refresh()


def test_an_address_of_a_disk_is_its_path_and_others_are_not_for_the_local_engine(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open("spark", spark=NoSpark(), path=f"file://{tmp_path}") as db:
        insert(db, "Edge", *EDGES)
    with tidelog.compile(REACH).open(path=f"file://{tmp_path}") as db:
        assert len(db.relation("Reach")) == 6
    with pytest.raises(tidelog.UsageError, match=r"E706.*on a disk"):
        tidelog.compile(REACH).open(path="s3://bucket/state")


def test_a_journal_and_a_manifest_that_nobody_put_side_by_side_are_damage(tmp_path: Path) -> None:
    for engine in ENGINES:
        open_(REACH, engine, tmp_path / engine).close()
    (manifest,) = (tmp_path / "spark").glob("manifest-*")
    shutil.copy(manifest, tmp_path / "local")
    with pytest.raises(tidelog.DataError, match=r"E853.*which is active"):
        open_(REACH, "local", tmp_path / "local")


# Killed on the way


@contextmanager
def at_every_step(look: Callable[[], None]) -> Iterator[None]:
    """Looks before every line that is run of the conversion and of the functions that it calls to write files."""
    watched = {Path(module.__file__ or "").parent for module in (convert, active_format, run_epoch)}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if Path(frame.f_code.co_filename).parent not in watched:
            return None
        look()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_that_is_killed_on_the_way_leaves_one_of_the_two_whole(engine: str, tmp_path: Path) -> None:
    check_images(engine, tmp_path, lambda images: todays(images, 3))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_may_be_killed_at_every_step(engine: str, tmp_path: Path) -> None:
    check_images(engine, tmp_path, list)


def check_images(engine: str, tmp_path: Path, choose: Callable[[list[Path]], list[Path]]) -> None:
    """Copies the directory whenever something in it has changed on the way, as if the process had been killed there;
    some of the copies are opened, with either engine."""
    state, images = tmp_path / "state", tmp_path / "images"
    with open_(HISTORY, engine, state) as db:
        for number in range(3):
            with db.transaction() as tx:
                tx.insert("Edge", [EDGES[number]])
                tx.insert("Near", [EDGES[number]])
                tx.insert("Visit", ["a"])
                tx._commit_with(CommitOptions(marks={"feed": number}))
        expected = contents(db)
    seen: dict[tuple[tuple[str, int, int], ...], Path] = {}

    def look() -> None:
        # Names, sizes and times say whether anything has happened since.
        listed = sorted(state.rglob("*"))
        signature = tuple((str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in listed)
        if signature not in seen:
            seen[signature] = images / str(len(seen))
            shutil.copytree(state, seen[signature])

    with at_every_step(look):
        open_(HISTORY, OTHER[engine], state).close()
    engines = {active_engine(image) for image in seen.values()}
    assert engines == set(ENGINES), "it was seen before and after"
    assert len(seen) > 10, "it was seen on the way"
    for image in choose(list(seen.values())):
        copy = shutil.copytree(image, images / "copy")
        for place, wanted in (
            (image, active_engine(image)),
            (copy, OTHER[str(active_engine(image))]),
        ):
            with open_(HISTORY, str(wanted), place) as db:
                assert (contents(db), db._locked.marks()) == (expected, {"feed": 2}), f"{image.name} as {wanted}"
                tx = insert(db, "Edge", ("d", "e"))
                assert tx.changes["Reach"].inserted == [("a", "e"), ("b", "e"), ("c", "e"), ("d", "e")]
                assert tx.changes["Was"].inserted == [EDGES[1]], "what was waiting comes"
            left = [name for name in files(place) for pattern in LEFT[str(wanted)] if re.fullmatch(pattern, name)]
            assert not left, f"{image.name} as {wanted}"
        shutil.rmtree(copy)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_on_this_disk_is_opened_with_the_engine_that_it_is_of(engine: str, tmp_path: Path) -> None:
    place = tmp_path / "a place"
    with open_(REACH, engine, place) as database:
        insert(database, "Edge", *EDGES)
    for address in (place.as_uri(), f"file:{place}".replace(" ", "%20"), str(place)):
        with tidelog.open(address, **on(engine)) as database:
            assert database._locked.engine_name == engine
            assert len(database.relation("Reach")) == 6
    with tidelog.open(place.as_uri(), engine=OTHER[engine], **on(OTHER[engine])) as database:
        assert (database._locked.engine_name, len(database.relation("Reach"))) == (OTHER[engine], 6)


def test_an_address_without_a_database_says_so(tmp_path: Path) -> None:
    for address in (tmp_path.as_uri(), str(tmp_path)):
        with pytest.raises(tidelog.UsageError) as caught:
            tidelog.open(address)
        assert caught.value.code == "E852"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reader_whose_database_was_converted_is_told_to_which_engine(engine: str, tmp_path: Path) -> None:
    with open_(REACH, engine, tmp_path) as database:
        insert(database, "Edge", *EDGES)
    with open_(REACH, engine, tmp_path, read_only=True) as reader:
        with open_(REACH, OTHER[engine], tmp_path) as database:
            insert(database, "Edge", ("d", "e"))
        with pytest.raises(tidelog.UsageError, match=f"belongs to the engine '{OTHER[engine]}'") as caught:
            reader.refresh()
        assert caught.value.code == "E706"


def test_after_opening_again_a_change_of_rules_touches_its_stratum_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules that stay are recognised as those of the engine."""
    with open_(REACH, "auto", tmp_path) as database:
        insert(database, "Edge", *EDGES)
        with database.transaction() as tx:
            tx.add_rules("Reach(y, x) :- Edge(x, y).")
    seen = []

    def seen_change(*given: Any) -> Any:
        seen.append(change_rules(*given))
        return seen[-1]

    monkeypatch.setattr("tidelog.engine.spark.engine.change_rules", seen_change)
    with open_(REACH, "auto", tmp_path) as database, database.transaction() as tx:
        tx.add_rules("output relation Loop(x: string) Loop(x) :- Reach(x, x).")
    assert [change.recomputed for change in seen] == [{"Loop"}]
