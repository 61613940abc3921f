"""The commit of a large Update beside readers: they see the new epoch before its deleted rows have left the index."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from tests.database.concurrency.storm import REACH, Storm
from tidelog.engine.local.kernels import finish_epoch
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import store as stores

PAIRS = """
input relation Edge(a: u32, b: u32)
output relation Back(b: u32, a: u32)
output relation Lone(a: u32)
Back(b, a) :- Edge(a, b).
Lone(a) :- Edge(a, _), not Back(a, _).
"""


@pytest.fixture
def finishes_everything_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every commit leave most of its work to the time after its turn, one row a turn."""
    monkeypatch.setattr(stores, "FINISHED_LATER", 1)
    monkeypatch.setattr(stores, "REMOVED_IN_A_TURN", 1)
    monkeypatch.setattr(stores, "LET_READERS_IN", 0)
    monkeypatch.setattr(stores, "LARGE_LOG", 0)


def _seen(source: Any) -> tuple[Any, ...]:
    back = source.relation("Back")
    return (
        len(back),
        back.rows(),
        back.lookup(b=2),
        back.lookup(a=7),
        (2, 7) in back,
        (7, 7) in back,
        source.query("Back(2, x), Edge(x, 2)").rows,
        source.relation("Lone").rows(),
    )


@pytest.mark.usefixtures("finishes_everything_later")
def test_reads_between_the_turns_of_a_commit_see_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [(a, a % 5) for a in range(60)]
    added = [(a, 2) for a in range(100, 160)]
    db, plain = (tidelog.compile(PAIRS).open(threads=1) for _ in range(2))
    for each in (db, plain):
        with each.transaction() as tx:
            tx.insert("Edge", edges)
    for _ in range(12):  # so many look-ups give the relation an arrangement by this column
        db.relation("Back").lookup(a=7)
    snapshot, before = db.snapshot(), _seen(db)
    with plain.transaction() as tx:
        tx.delete("Edge", edges[::2])
        tx.insert("Edge", added)
    after, explained = _seen(plain), str(plain.explain("Back", (2, 7)))
    seen = []

    def look(_: float) -> None:
        seen.append(_seen(db))
        assert _seen(snapshot) == before
        assert str(db.explain("Back", (2, 7))) == explained
        with db.snapshot() as pinned:
            assert pinned.epoch == snapshot.epoch + 1

    monkeypatch.setattr(stores, "sleep", look)
    with db.transaction() as tx:
        tx.delete("Edge", edges[::2])
        tx.insert("Edge", added)
    assert len(seen) >= 2 * (len(edges) // 2 - 1)
    assert all(each == after for each in seen)
    assert (_seen(db), _seen(snapshot)) == (after, before)
    snapshot.close()
    engine: Any = db._locked._engine
    used = int(engine._store("Edge").line[k.USED])
    with db.transaction() as tx:
        tx.insert("Edge", [(a, 3) for a in range(200, 230)])
    assert int(engine._store("Edge").line[k.USED]) == used, "the lines of deleted rows are used again"
    assert len(db.relation("Edge")) == 30 + 60 + 30


@pytest.mark.usefixtures("finishes_everything_later")
@pytest.mark.parametrize("strategy", ["elastic", "counting", "elastic-paper", "circuit", "recompute"])
def test_reads_beside_commits_that_end_later_are_of_committed_epochs(strategy: str) -> None:
    storm = Storm(tidelog.compile(REACH).open(strategy=strategy), seed=7, nodes=8)

    def work() -> None:
        for _ in range(25):
            storm.commit(size=4)

    storm.run(work, readers=2)


def test_the_turn_of_a_large_update_is_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn removes no more rows than `REMOVED_IN_A_TURN`."""
    removed = []
    kernel = finish_epoch.remove_deleted

    def remove(*arguments: Any) -> int:
        *_, first, end = arguments
        removed.append(end - first)
        return int(kernel(*arguments))

    monkeypatch.setattr(finish_epoch, "remove_deleted", remove)
    db = tidelog.compile("input relation A(x: u32)\noutput relation B(x: u32)\nB(x) :- A(x).").open()
    rows = [(x,) for x in range(30_000)]
    for act in ("insert", "delete"):
        with db.transaction() as tx:
            getattr(tx, act)("A", rows[:100] if act == "insert" else rows[:1])
        with db.transaction() as tx:
            getattr(tx, act)("A", rows[100:] if act == "insert" else rows[1:29_000])
    assert sum(removed) >= 28_999
    assert max(removed) <= stores.REMOVED_IN_A_TURN
    assert db.relation("B").rows() == rows[29_000:]
