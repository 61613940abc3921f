"""Histories of one database that is converted from one engine to the other, again and again, as functions of a case.

After every transaction it may be closed and opened with either engine. Nothing of that may show: relations, weights,
changes, the number of the epoch and, on the local engine, the ranked state go on as if it had stayed where it was.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from tests.engine.spark.in_process import ALWAYS, NEVER, NoSpark, tasks_here
from tests.oracle.case import Case
from tests.oracle.program import Program
from tests.properties.language import BesideOracle
from tests.properties.language_on_spark import replay_on

ENGINES = ("local", "spark")


class ConvertingReplay(replay_on(NoSpark())):  # type: ignore[misc]
    """A database in a directory, with whatever engine it was last opened with."""

    def __init__(self, program: Program, directory: Path, name: str) -> None:
        self._directory = directory
        self.name = name
        super().__init__(program)

    def make_engine(self) -> Any:
        spark = {} if self.name == "local" else {"spark": NoSpark()}
        self._database = self.compiled.open(self.name, path=self._directory, durability="os", **spark)
        return self._database._locked._engine

    def reopen(self, name: str) -> None:
        self._database.close()
        self.name = name
        self.engine = self.make_engine()

    @property
    def epoch(self) -> int:
        """The epoch that the database was opened at."""
        return int(self._database.report.epoch)

    def close(self) -> None:
        self._database.close()


def converts_unnoticed(case: Case, seed: int = 0, recounted: bool = False) -> int:
    """Closed, and opened with either engine at random, a database is as the oracle has it after every transaction.

    Returns how often it was converted.
    """
    chance = random.Random(seed)
    program = case.program
    times = 0
    with tempfile.TemporaryDirectory() as directory, tasks_here(lambda: chance.choice((ALWAYS, NEVER)), seed):
        replay = ConvertingReplay(program, Path(directory), chance.choice(ENGINES))
        beside = BesideOracle(program, replay)
        for number, transaction in enumerate(case.history):
            if chance.random() < 0.7:
                before, name = replay.name, chance.choice(ENGINES)
                replay.reopen(name)
                times += before != name
                when = f"before transaction {number}, {before} to {name}"
                assert replay.epoch == len(beside.past) - 1, f"the epoch {when}"
                beside.check(f"relations {when}")
            beside.commit(transaction, f"transaction {number} on {replay.name}", recounted and replay.name == "local")
        replay.close()
    return times
