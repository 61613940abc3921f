"""Snapshots keep their state across all that a database goes through: in memory, durable and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.concurrency.storm import REACH, State, expected

KINDS = ("memory", "durable", "spark")
CHAIN = {(f"n{i}", f"n{i + 1}") for i in range(12)}
OTHER = REACH.replace("Reach(x, z) :- Reach(x, y), Edge(y, z).", "").replace(
    "output relation Free", "output relation Loop(node: string)\nLoop(x) :- Reach(x, x).\noutput relation Free"
)


def options(kind: str, path: Path) -> dict[str, Any]:
    if kind == "spark":
        return {"engine": "auto", "path": path, "keep_epochs": 2}
    return {"path": path} if kind == "durable" else {}


def filled(kind: str, path: Path, **more: Any) -> tidelog.Database:
    db = tidelog.compile(REACH).open(**options(kind, path), **more)
    with db.transaction() as tx:
        tx.insert("Edge", sorted(CHAIN))
        tx.insert("Blocked", [("n3",)])
    return db


def check(snapshot: tidelog.Snapshot, state: State) -> None:
    """Reads a state in all ways there are."""
    for name, rows in state.items():
        relation = snapshot.relation(name)
        assert relation.rows() == sorted(rows)
        assert len(relation) == len(rows)
        assert sorted(map(tuple, relation)) == sorted(rows)
        assert relation.to_arrow().num_rows == len(rows)
    assert snapshot.relation("Reach").lookup(src="n2") == sorted(row for row in state["Reach"] if row[0] == "n2")
    assert snapshot.relation("Reach").lookup(dst="n9") == sorted(row for row in state["Reach"] if row[1] == "n9")
    assert ("n0", "n12") in snapshot.relation("Reach")
    free = sorted(("n3", f"n{i}") for i in range(4, 13))
    assert snapshot.query('Edge("n2", x), Reach(x, y), not Blocked(y)').rows == free
    assert snapshot.explain("Reach", ("n0", "n6")).height == 6
    assert not snapshot.why_not("Reach", ("n6", "n0")).is_present


def after_bootstraps(db: tidelog.Database) -> None:
    for number in range(4):
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", [(f"m{i}", f"m{i + number}") for i in range(300)])


def after_rules(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.remove_rules("Reach(x, z) :- Reach(x, y), Edge(y, z).")
        tx.add_rules("output relation Back(x: string, y: string)\nBack(y, x) :- Reach(x, y).")
    with db.transaction() as tx:
        tx.add_rules("Reach(x, z) :- Edge(x, y), Reach(y, z).")
        tx.delete("Edge", [("n4", "n5")])
    with db.transaction() as tx:
        tx.remove_rules("Free(x, y) :- Reach(x, y), not Blocked(y).")


def after_updates(db: tidelog.Database) -> None:
    for i in range(12):
        with db.transaction() as tx:
            tx.delete("Edge", [(f"n{i}", f"n{i + 1}")])
            tx.insert("Edge", [(f"n{i + 1}", f"n{i}")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("strategy", "change"),
    [
        ("recompute", after_bootstraps),
        ("elastic", after_bootstraps),
        ("recompute", after_rules),
        ("elastic", after_rules),
        ("elastic", after_updates),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__.removeprefix("after_"),
)
def test_a_snapshot_keeps_its_state(
    kind: str, strategy: str, change: Callable[[tidelog.Database], None], tmp_path: Path
) -> None:
    db = filled(kind, tmp_path / "db", **({} if kind == "spark" else {"strategy": strategy}))
    state = expected(CHAIN, {"n3"})
    with db.snapshot() as snapshot, db.snapshot() as read_first:
        check(read_first, state)
        change(db)
        assert sorted(db.relation("Edge").rows()) != sorted(state["Edge"])
        check(read_first, state)
        check(snapshot, state)
        assert db.profile().pinned_bytes > 0
    assert db.profile().pinned_bytes == 0
    db.close()


def test_a_snapshot_keeps_its_state_across_checkpoints(tmp_path: Path) -> None:
    filled("durable", tmp_path / "db").close()
    db: Any = tidelog.open(tmp_path / "db")
    with db.snapshot() as snapshot:
        for _ in range(3):
            after_updates(db)
            after_bootstraps(db)
            db._locked._engine.checkpoint()
        check(snapshot, expected(CHAIN, {"n3"}))
    db.close()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_snapshot_of_a_reader_keeps_its_state_across_a_refresh(kind: str, tmp_path: Path) -> None:
    db = filled(kind, tmp_path / "db")
    with tidelog.open(tmp_path / "db", read_only=True) as reader, reader.snapshot() as snapshot:
        after_updates_once(db)
        reader.refresh()
        assert ("n9", "n8") in reader.relation("Edge")
        check(snapshot, expected(CHAIN, {"n3"}))
        if kind == "durable":
            after_updates(db)
            db._locked._engine.checkpoint()  # type: ignore[union-attr]
            reader.refresh()
            check(snapshot, expected(CHAIN, {"n3"}))
    db.close()


def after_updates_once(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.delete("Edge", [("n3", "n4")])
        tx.insert("Edge", [("n9", "n8")])


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_snapshot_of_a_reader_keeps_its_state_across_a_migration(kind: str, tmp_path: Path) -> None:
    filled(kind, tmp_path / "db").close()
    with (
        tidelog.open(tmp_path / "db", read_only=True) as reader,
        reader.snapshot() as snapshot,
        tidelog.compile(OTHER).open(**options(kind, tmp_path / "db"), migrate=True) as db,
    ):
        after_updates_once(db)
        assert len(db.relation("Reach")) == 12
        with pytest.raises(tidelog.UsageError):
            reader.refresh()
        check(snapshot, expected(CHAIN, {"n3"}))
        assert len(reader.relation("Reach")) == 78
