"""Histories of databases that are closed and opened again, as functions of a case.

After every transaction the database may be closed and opened, with or without a snapshot before; nothing of that may
show: relations, weights, changes and the ranked state go on as if it had stayed open.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tidelog
from tests.oracle.case import Case
from tests.oracle.evaluate import weigh
from tests.oracle.history import Transaction, is_an_epoch, weigh_facts
from tests.oracle.program import Program
from tests.oracle.recount import recount
from tests.oracle.types import Weights
from tests.properties.check import INSTANCE_LIMIT, assert_same
from tests.properties.language import EngineReplay, expected_changes, kept, shown_weights
from tidelog.database.durable.engine import DurableEngine
from tidelog.database.durable.lock import WriterLock
from tidelog.database.durable.stored_program import StoredProgram
from tidelog.database.program import rules_of
from tidelog.maintain.options import Maintenance


class DurableReplay(EngineReplay):
    """An engine in a directory."""

    engine: DurableEngine

    def __init__(self, program: Program, directory: Path, compiled: tidelog.Program | None = None) -> None:
        self._directory = directory
        super().__init__(program, compiled=compiled)

    def make_engine(self) -> DurableEngine:
        return DurableEngine(
            self._directory,
            rules_of(self.compiled),
            StoredProgram.of(self.compiled),
            {},
            Maintenance(self.strategy),
            durability="os",
            lock=WriterLock(self._directory),
        )

    def reopen(self) -> None:
        """Closes the engine and makes another one; `open` comes next."""
        self.engine.close()
        self.engine = self.make_engine()

    def snapshot(self) -> None:
        self.engine._snapshot()


def survives_reopening(
    case: Case, seed: int = 0, recounted: bool = False, strategies: Sequence[str] = ("elastic",)
) -> None:
    """Closed, opened and snapshotted at random, a database is as the oracle has it after every transaction.

    Each time it is opened with one of the strategies.
    """
    chance = random.Random(seed)
    program = case.program
    facts: Weights = {}
    past: list[Weights] = [weigh(program, facts, (), INSTANCE_LIMIT)]
    with tempfile.TemporaryDirectory() as directory:
        replay = DurableReplay(program, Path(directory))
        replay.open()
        for number, transaction in enumerate(case.history):
            if chance.random() < 0.4:
                replay.snapshot()
            if chance.random() < 0.5:
                replay.strategy = chance.choice(strategies)
                replay.reopen()
                assert replay.open() == {}
                _check(program, past[-1], replay, f"relations after opening again before transaction {number}")
            before, facts = facts, weigh_facts(program, facts, transaction)
            happens = is_an_epoch(program, before, facts)
            if happens:
                past.append(weigh(program, facts, past, INSTANCE_LIMIT))
            found = replay.commit(transaction)
            assert (found is not None) == happens
            _check(program, past[-1], replay, f"relations after transaction {number}")
            if happens:
                assert_same(expected_changes(program, past[-2], past[-1]), found, f"changes of transaction {number}")
            if recounted and replay.strategy != "elastic-paper":  # as in the paper, that keeps no totals
                sets = {name: frozenset(rows) for name, rows in facts.items()}
                mistakes = recount(program, sets, replay.state(), replay.ranked())
                assert not mistakes, f"state after transaction {number}:\n" + "\n".join(mistakes)
        replay.engine.close()


def captured_while_written(case: Case, seed: int = 0) -> None:
    """A capture that is read while epochs commit is of the epoch in which it was begun, number by number."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        replay = DurableReplay(case.program, Path(directory))
        replay.open()
        for number in range(len(case.history)):
            stores = replay.engine.capture()._stores
            before = [each.store.rows[: each.used].tolist() for each in stores]
            found: list[list[list[int]]] = [[] for _ in stores]
            for later in case.history[number : number + 3]:
                for rows, store in zip(found, stores, strict=True):
                    if chance.random() < 0.5:
                        rows += store.piece(chance.randrange(5)).tolist()
                replay.commit(Transaction(later.writes))
            for rows, store, expected in zip(found, stores, before, strict=True):
                rows += store.piece(store.used).tolist()
                columns = store.store.columns
                assert _lines(rows, columns) == _lines(expected, columns), store.name
            replay.engine.release()
        replay.engine.close()


def _lines(rows: list[list[int]], columns: int) -> list[list[int]]:
    """The lines, those that are free without what they held before."""
    freed = ((1 << 31) - 1) << 32
    return [row if row[-1] != freed else [*[0] * columns, 0, 0, freed] for row in rows]


def _check(program: Program, expected: Weights, replay: EngineReplay, what: str) -> None:
    assert_same(kept(program, expected), shown_weights(program, replay, expected), what)
