"""Histories of databases that are closed and opened again, as functions of a case.

After every transaction the database may be closed and opened, with or without a checkpoint before; nothing of that may
show: relations, weights, changes and the ranked state go on as if it had stayed open.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tidelog
from tests.oracle.case import Case
from tests.oracle.history import Transaction
from tests.oracle.program import Program
from tests.properties.language import BesideOracle, EngineReplay
from tidelog.database.storage.durable_engine import DurableEngine
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.engine.local.kernels import layout as k
from tidelog.maintain.options import Maintenance


class DurableReplay(EngineReplay):
    """An engine in a directory."""

    engine: DurableEngine
    durability = "os"

    def __init__(self, program: Program, directory: Path, compiled: tidelog.Program | None = None) -> None:
        self._directory = directory
        super().__init__(program, compiled=compiled)

    def make_engine(self) -> DurableEngine:
        return DurableEngine(
            self._directory,
            self.compiled._rule_set,
            StoredProgram.of(self.compiled),
            {},
            Maintenance(self.strategy),
            durability=self.durability,
            lock=WriterLock(self._directory),
        )

    def reopen(self) -> None:
        """Closes the engine and makes another one; `open` comes next."""
        self.engine.close()
        self.engine = self.make_engine()

    def checkpoint(self) -> None:
        self.engine.checkpoint()


def survives_reopening(
    case: Case, seed: int = 0, recounted: bool = False, strategies: Sequence[str] = ("elastic",)
) -> None:
    """Closed, opened and checkpointed at random, a database is as the oracle has it after every transaction.

    Each time it is opened with one of the strategies.
    """
    chance = random.Random(seed)
    program = case.program
    with tempfile.TemporaryDirectory() as directory:
        replay = DurableReplay(program, Path(directory))
        beside = BesideOracle(program, replay)
        replay.open()
        for number, transaction in enumerate(case.history):
            if chance.random() < 0.4:
                replay.checkpoint()
            if chance.random() < 0.5:
                replay.strategy = chance.choice(strategies)
                replay.reopen()
                assert replay.open() == {}
                beside.check(f"relations after opening again before transaction {number}")
            # As in the paper, that one keeps no totals.
            is_counted = replay.strategy != "elastic-paper"
            beside.commit(transaction, f"transaction {number}", recounted and is_counted)
        replay.engine.close()


def captured_while_written(case: Case, seed: int = 0) -> None:
    """A capture that is read while epochs commit is of the epoch in which it was begun, number by number."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        replay = DurableReplay(case.program, Path(directory))
        replay.open()
        for number in range(len(case.history)):
            stores = replay.local.capture()._stores
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
            replay.local.release()
        replay.engine.close()


def _lines(rows: list[list[int]], columns: int) -> list[list[int]]:
    """The lines, those that are free without what they held before."""
    freed = ((1 << 31) - 1) << 32
    return [row if row[columns + k.META] != freed else [freed] for row in rows]
