"""Long reads beside commits: a scan is of its commit, and keeps no other reader waiting."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest

import tidelog
from tidelog.engine.local.queries import later_lines, store_at
from tidelog.engine.local.storage.versions import Pins

PROGRAM = "input relation R(n: s64, m: s64)\noutput relation Q(m: s64, n: s64)\nQ(m, n) :- R(n, m)."


def commit(db: tidelog.Database, deleted: list[tuple[int, int]], inserted: list[tuple[int, int]]) -> None:
    with db.transaction() as tx:
        tx.delete("R", deleted)
        tx.insert("R", inserted)


@pytest.mark.parametrize("few", [0, 1 << 15])
@pytest.mark.parametrize("before", [0, 2])
def test_a_scan_is_of_its_commit_whatever_is_committed_while_it_copies(
    before: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later_lines, "_FEW", few)
    monkeypatch.setattr(store_at, "_ROWS_AT_ONCE", 7)
    db = tidelog.compile(PROGRAM).open()
    rows = [(n, n % 7) for n in range(100)]
    commit(db, [], rows)
    commit(db, rows[:20], [])  # lines that are used again
    left = rows[20:]

    def commits(first: int, count: int) -> None:
        for number in range(first, first + count):
            commit(db, left[number::5], [(1000 * (number + 1) + n, n % 7) for n in range(number % 2 * 300 + 15)])

    steady = Pins.steady
    is_left = [True]

    def disturbed(pins: Pins, read: Callable[[], Any]) -> Any:
        """Commits once before the read, which is after the bytes of the rows were copied."""
        if is_left and is_left.pop():
            commits(before, 3)
        return steady(pins, read)

    with db.snapshot() as pinned:
        commits(0, before)
        monkeypatch.setattr(Pins, "steady", disturbed)
        assert pinned.relation("R").rows() == left
        assert not is_left
        assert pinned.relation("R").rows() == left
        assert sorted(map(tuple, pinned.relation("R").to_arrow().to_pandas().to_numpy().tolist())) == left
        assert pinned.relation("R").lookup(m=3) == [row for row in left if row[1] == 3]
        assert len(pinned.relation("R")) == len(left)
    with db.snapshot() as pinned:
        now = db.relation("R").rows()
        is_left.append(True)
        left = now
        assert pinned.relation("R").rows() == now
        assert db.relation("R").rows() != now
    db.close()


def test_a_long_read_that_turns_have_disturbed_keeps_the_next_turn_waiting_and_no_reader() -> None:
    pins = Pins()
    tries, reads, may_end = [0], Event(), Event()

    def read() -> str:
        tries[0] += 1
        if tries[0] <= 4:
            with pins.turning():
                return "disturbed"
        reads.set()
        assert may_end.wait(60)
        return "undisturbed"

    found: list[str] = []
    reader = Thread(target=lambda: found.append(pins.steady(read)))
    reader.start()
    assert reads.wait(60)
    try:
        assert pins.turn.acquire(timeout=10)  # as every other reader does, to pin the last commit
        pins.turn.release()
        turned = Event()

        def turn() -> None:
            with pins.turning():
                turned.set()

        writer = Thread(target=turn)
        writer.start()
        assert not turned.wait(0.05)
    finally:
        may_end.set()
    reader.join(60)
    writer.join(60)
    assert found == ["undisturbed"]
    assert turned.is_set()


def test_a_state_that_is_pinned_again_while_its_last_pin_ends_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.compile(PROGRAM).open()
    commit(db, [], [(1, 2)])
    release = Pins.release
    pinned: list[tidelog.Snapshot] = []

    def late(pins: Pins, number: int) -> bool:
        """Ends a pin; then others pin the same commit and make the next one, before the caller goes on."""
        is_last = release(pins, number)
        if is_last and not pinned:
            pinned.append(db.snapshot())
            commit(db, [(1, 2)], [(3, 4)])
        return is_last

    monkeypatch.setattr(Pins, "release", late)
    assert len(db.relation("R")) == 1
    assert pinned[0].relation("R").rows() == [(1, 2)]
    assert pinned[0].relation("Q").rows() == [(2, 1)]
    pinned[0].close()
    assert db.relation("R").rows() == [(3, 4)]
    db.close()
