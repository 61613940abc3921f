"""Writers that queue, in threads and in asyncio; see `docs/reference/concurrency.md`."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import tidelog
from tidelog.database.database import Database

PROGRAM = "input relation A(x: u32)\noutput relation B(x: u32)\nB(x) :- A(x)."


@pytest.fixture
def db() -> Database:
    return tidelog.compile(PROGRAM).open()


def test_writers_wait_and_begin_in_the_order_in_which_they_came(db: Database) -> None:
    order: list[int] = []
    tx = db.transaction().begin()
    threads = []

    def write(number: int) -> None:
        with db.transaction() as own:
            order.append(number)
            own.insert("A", [(number,)])

    for number in range(6):
        threads.append(threading.Thread(target=write, args=(number,)))
        threads[-1].start()
        while len(db._locked.writers._waiting) <= number:
            time.sleep(0.001)
    tx.insert("A", [(100,)])
    tx.commit()
    for thread in threads:
        thread.join(30)
    assert order == list(range(6))
    assert len(db.relation("B")) == 7


def test_a_second_transaction_of_the_same_thread_is_refused_at_once(db: Database) -> None:
    with db.transaction(), pytest.raises(tidelog.TransactionError, match="would wait for itself") as error:
        db.transaction().begin()
    assert error.value.code == "E404"
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    assert len(db.relation("A")) == 1


def test_a_callback_cannot_begin_a_transaction(db: Database) -> None:
    errors: list[str] = []

    def tell(_: object) -> None:
        try:
            db.transaction().begin()
        except tidelog.TransactionError as error:
            errors.append(str(error.code))

    db.on_change("B", tell)
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    assert errors == ["E404"]


def test_a_writer_that_has_waited_long_enough_names_the_holder(db: Database) -> None:
    go_on, began = threading.Event(), threading.Event()

    def hold() -> None:
        with db.transaction():
            began.set()
            assert go_on.wait(30)

    thread = threading.Thread(target=hold, name="the slow one")
    thread.start()
    assert began.wait(30)
    with pytest.raises(tidelog.TransactionError, match="thread `the slow one` is open since") as error:
        db.transaction(wait=0.05).begin()
    assert error.value.code == "E404"
    with pytest.raises(tidelog.TransactionError, match="waited for it for 0 s"):
        db.transaction(wait=0).begin()
    go_on.set()
    thread.join(30)
    with db.transaction(wait=5) as tx:
        tx.insert("A", [(1,)])
    with pytest.raises(tidelog.UsageError, match="`wait` is -1"):
        db.transaction(wait=-1)


def test_a_transaction_may_be_committed_in_another_thread(db: Database) -> None:
    tx = db.transaction().begin()
    tx.insert("A", [(1,)])
    thread = threading.Thread(target=tx.commit)
    thread.start()
    thread.join(30)
    assert len(db.relation("B")) == 1
    with db.transaction() as tx:
        tx.insert("A", [(2,)])


def test_tasks_take_turns_and_the_loop_goes_on(db: Database) -> None:
    async def write(number: int) -> None:
        async with db.transaction() as tx:
            await asyncio.sleep(0)
            tx.insert("A", [(number,)])

    async def main() -> int:
        ticks = 0
        is_over = False

        async def tick() -> None:
            nonlocal ticks
            while not is_over:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await asyncio.gather(*(write(number) for number in range(30)))
        is_over = True
        await ticking
        return ticks

    assert asyncio.run(main()) > 30
    assert len(db.relation("B")) == 30


def test_a_task_does_not_wait_for_itself_nor_block_the_loop(db: Database) -> None:
    async def main() -> list[str]:
        errors = []
        async with db.transaction():
            try:
                async with db.transaction():
                    pass
            except tidelog.TransactionError as error:
                errors.append(str(error))

            async def other() -> str:
                try:
                    with db.transaction():
                        return "begun"
                except tidelog.TransactionError as error:
                    return str(error)

            errors.append(await asyncio.create_task(other()))
            late = db.transaction(wait=0.02)
            try:
                await asyncio.create_task(late.__aenter__())
            except tidelog.TransactionError as error:
                errors.append(str(error))
        return errors

    first, second, third = asyncio.run(main())
    assert "would wait for itself" in first
    assert "would block the event loop" in second
    assert "waited for it for 0.02 s" in third
    with db.transaction() as tx:
        tx.insert("A", [(1,)])


def test_a_cancelled_task_leaves_the_queue(db: Database) -> None:
    async def main() -> None:
        tx = db.transaction().begin()

        async def write() -> None:
            async with db.transaction() as own:
                own.insert("A", [(5,)])

        task = asyncio.create_task(write())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        tx.insert("A", [(6,)])
        tx.commit()

    asyncio.run(main())
    assert db.relation("A").rows() == [(6,)]
    with db.transaction(wait=1) as tx:
        tx.insert("A", [(7,)])


def test_an_error_in_an_async_block_rolls_back(db: Database) -> None:
    async def main() -> None:
        async with db.transaction() as tx:
            tx.insert("A", [(1,)])
            raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        asyncio.run(main())
    assert len(db.relation("A")) == 0


def test_a_query_in_asyncio_lets_the_loop_go_on_and_can_be_cancelled(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(3000)])

    async def main() -> Any:
        answer = await db.aquery("A(x), x < 3")
        with db.snapshot() as snapshot:
            assert (await snapshot.aquery("A($x)", params={"x": 7})).rows == [()]
        task = asyncio.create_task(db.aquery("A(x), A(y), A(z), x + y + z == 1000000"))
        await asyncio.sleep(0.05)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 5
        return answer.rows

    assert asyncio.run(main()) == [(0,), (1,), (2,)]


def commit(db: Database, number: int) -> None:
    with db.transaction() as tx:
        tx.insert("A", [(number,)])
        tx.delete("A", [(number - 2,)])


def test_changes_come_in_commit_order_and_end_with_the_database(db: Database) -> None:
    async def main() -> list[Any]:
        stream = db.changes("B")

        def work() -> None:
            for number in range(2, 12):
                commit(db, number)
            db.close()

        thread = threading.Thread(target=work)
        thread.start()
        found = [(delta.inserted, delta.deleted) async for delta in stream]
        thread.join(30)
        return found

    found = asyncio.run(main())
    assert found[0] == ([(2,)], [])
    assert found[-1] == ([(11,)], [(9,)])
    assert len(found) == 10


def test_a_slow_consumer_gets_merged_deltas_or_an_error(db: Database) -> None:
    merged, failing = db.changes("B", buffer=3), db.changes("B", buffer=3, when_full="error")
    for number in range(2, 30):
        commit(db, number)
    rows = db.relation("B").rows()

    async def sum_of() -> dict[Any, int]:
        total: dict[Any, int] = {}
        for _ in range(3):
            async for delta in merged:
                for row, weight in delta:
                    total[row] = total.get(row, 0) + weight
                break
        return {row: weight for row, weight in total.items() if weight}

    assert asyncio.run(sum_of()) == dict.fromkeys(rows, 1)
    assert merged.merged == 25

    async def fail() -> int:
        count = 0
        async for _ in failing:
            count += 1
        return count

    with pytest.raises(tidelog.EvaluationError, match="more than 3 commits behind") as error:
        asyncio.run(fail())
    assert error.value.code == "E412"
    merged.close()
    with pytest.raises(tidelog.UsageError, match="`when_full` is 'drop'"):
        db.changes("B", when_full="drop")
    with pytest.raises(tidelog.UsageError):
        db.changes("A")


def test_commits_and_close_do_not_fail_for_a_consumer_whose_event_loop_is_closed(db: Database) -> None:
    stream = db.changes("B")

    async def next_delta() -> None:
        await anext(stream)

    loop = asyncio.new_event_loop()
    waiting = loop.create_task(next_delta())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    stream._wake = lambda: loop.call_soon_threadsafe(print)
    db.close()
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_writer_whose_event_loop_is_closed_does_not_stop_the_queue(db: Database) -> None:
    async def write(number: int) -> None:
        async with db.transaction() as tx:
            tx.insert("A", [(number,)])

    tx = db.transaction().begin()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(write(1))
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    second = threading.Thread(target=commit, args=(db, 3))
    second.start()
    while len(db._locked.writers._waiting) < 2:
        time.sleep(0.001)
    tx.commit()
    second.join(30)
    assert db.relation("A").rows() == [(3,)]
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def test_an_interrupt_while_a_writer_waits_takes_it_out_of_the_queue(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    opened, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with db.transaction() as tx:
            tx.insert("A", [(7,)])
            opened.set()
            ends.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    opened.wait(30)
    with monkeypatch.context() as patched:
        patched.setattr("tidelog.database.transactions.writer_queue.threading.Event", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            db.transaction().begin()
    ends.set()
    holder.join(30)
    with db.transaction(wait=5) as tx:
        tx.insert("A", [(8,)])
    assert db.relation("A").rows() == [(7,), (8,)]


@pytest.mark.parametrize("is_too_far", [False, True])
def test_cancelling_a_task_during_its_commit_cancels_the_epoch_unless_it_was_too_far(is_too_far: bool) -> None:
    """An extern function runs before the point of no return, a callback of `on_change` behind it."""
    began, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        assert go_on.wait(30)

    def slowly(x: int) -> int:
        if x == 2 and not is_too_far:
            wait()
        return x

    program = tidelog.compile(
        "input relation A(x: u32)\noutput relation B(x: u32)\nextern function slowly(x: u32): u32\n"
        "B(slowly(x)) :- A(x).",
        externs={"slowly": slowly},
    )
    db = program.open()
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    if is_too_far:
        db.on_change("B", lambda _: wait())

    async def commit() -> None:
        async with db.transaction() as tx:
            tx.insert("A", [(2,), (3,)])

    async def main() -> bool:
        task = asyncio.create_task(commit())
        while not began.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    assert asyncio.run(main())
    rows = [(1,), (2,), (3,)] if is_too_far else [(1,)]
    assert db.relation("A").rows() == db.relation("B").rows() == rows
    go_on.set()
    with db.transaction() as tx:
        tx.insert("A", [(4,)])
    assert db.relation("B").rows() == [*rows, (4,)]
