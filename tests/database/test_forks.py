"""A child of a fork reads the state of its parent, or gets an error at once: it never waits for other threads."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.test_open_local import insert

SECONDS = 60


def in_child(work: Callable[[], Any]) -> Any:
    """Returns the result of a function in a child of a fork, or its error; a child that hangs is killed."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            found = work()
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(writes, pickle.dumps(found))
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    assert data, "the child hung, or crashed"
    return pickle.loads(data)


def graph(seed: int, nodes: int = 150) -> list[tuple[str, str]]:
    chosen = random.Random(seed)
    return [(f"n{chosen.randrange(nodes)}", f"n{chosen.randrange(nodes)}") for _ in range(4 * nodes)]


def test_a_child_commits_with_threads_of_its_own() -> None:
    with tidelog.compile(REACH).open(threads=2) as db:
        db._locked._engine._thread_pool.share_from = 1  # type: ignore[union-attr]
        insert(db, "Edge", *graph(1))

        def work() -> tuple[int, int]:
            before = len(db.relation("Reach"))
            with db.transaction() as tx:
                tx.delete("Edge", graph(1))
                tx.insert("Edge", graph(2))
            return before, len(db.relation("Reach"))

        before, after = in_child(work)
        assert before == len(db.relation("Reach"))
        work()
        assert after == len(db.relation("Reach"))


def test_a_child_that_is_forked_during_a_commit_gets_an_error_at_once() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(n: int) -> int:
        inside.set()
        assert go_on.wait(SECONDS)
        return n

    text = """
    extern function wait(n: u32): u32
    input relation A(n: u32)
    output relation B(n: u32)
    B(wait(n)) :- A(n).
    """
    with tidelog.compile(text, externs={"wait": wait}).open() as db:
        thread = threading.Thread(target=insert, args=(db, "A", (1,)))
        thread.start()
        assert inside.wait(SECONDS)

        def use() -> list[str]:
            errors = []
            for read in (
                lambda: db.relation("B").rows(),
                lambda: len(db.relation("A")),
                lambda: db.query("B(x)"),
                lambda: insert(db, "A", (2,)),
            ):
                with pytest.raises(tidelog.UsageError, match="another thread was using the database") as caught:
                    read()
                errors.append(caught.value.code)
            db.close()
            return errors

        assert in_child(use) == ["E859"] * 4
        assert in_child(lambda: tidelog.compile(REACH).open().close()) is None
        go_on.set()
        thread.join()
        assert db.relation("B").rows() == [(1,)]


def test_a_child_reads_a_durable_database_and_does_not_write_or_refresh_it(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        insert(db, "Edge", ("a", "b"))
        reader = tidelog.open(tmp_path / "db", read_only=True)
        assert in_child(lambda: db.relation("Reach").rows()) == [("a", "b")]
        assert "and this is a child of it" in in_child(lambda: insert(db, "Edge", ("b", "c")))
        assert in_child(lambda: reader.relation("Reach").rows()) == [("a", "b")]
        assert "and this is a child of it" in in_child(reader.refresh)
        insert(db, "Edge", ("b", "c"))
        reader.refresh()
        assert len(reader.relation("Reach")) == 3
        reader.close()
    with tidelog.open(tmp_path / "db") as db:
        assert len(db.relation("Reach")) == 3


def test_a_function_that_forks_inside_a_commit_commits_once(tmp_path: Path) -> None:
    children = []

    def forked(n: int) -> int:
        child = os.fork()
        children.append(child)
        return n

    text = (
        "extern function forked(n: u32): u32\ninput relation A(n: u32)\noutput relation B(n: u32)\n"
        "B(forked(n)) :- A(n).\n"
    )
    here = os.getpid()
    db = tidelog.compile(text, externs={"forked": forked}).open(path=tmp_path / "db")
    try:
        insert(db, "A", (1,))
    finally:
        if os.getpid() != here:
            os._exit(7)
    _, status = os.waitpid(children[0], 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert db.relation("B").rows() == [(1,)]
    db.close()
    with tidelog.open(tmp_path / "db", externs={"forked": lambda n: n}) as again:
        assert again.report.epoch == db.report.epoch
        assert again.relation("B").rows() == [(1,)]


def count(relation: str) -> int:
    return len(_shared.relation(relation))


_shared: tidelog.Database


def test_workers_of_multiprocessing_read_the_state_they_were_forked_with() -> None:
    global _shared
    with tidelog.compile(REACH).open(threads=2) as _shared:
        insert(_shared, "Edge", *graph(3))
        with multiprocessing.get_context("fork").Pool(2) as workers:
            found = workers.map_async(count, ["Reach", "Edge"] * 4).get(SECONDS)
        assert found == [len(_shared.relation("Reach")), len(_shared.relation("Edge"))] * 4
