"""`kill -9` of a pipeline that follows Postgres, and of the server, at random moments:

    python -m tests.pipeline.kill_postgres --kills 20 --seed 1

Each transaction of the source writes to two tables, so that an epoch with a part of one would show. Runs are children
of this process. After each run that was not disturbed the outputs are those of the tables as they are.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from tests.pipeline.folder import Pipe, closure
from tests.pipeline.kill import die_at
from tests.pipeline.postgres_server import Server, server
from tidelog.pipeline.batch_log import BatchLog
from tidelog.pipeline.local.sinks import LocalChangeTable
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.sources.postgres.slot import Slot

PROGRAM = """
input relation Edge(id: u32, src: string, dst: string)
input relation Mark(id: u32, note: Option<string>)
output relation Reach(src: string, dst: string)
output relation Torn(id: u32)
Reach(x, y) :- Edge(_, x, y).
Reach(x, z) :- Reach(x, y), Edge(_, y, z).
Torn(i) :- Edge(i, _, _), not Mark(i, _).
Torn(i) :- Mark(i, _), not Edge(i, _, _).
"""
FILE = """
program = "program.dl"
state   = "state"
[changes.Edge]
format  = "postgres"
options = {{dsn = "{dsn}", table = "edge", slot = "tidelog", maxChangesPerTrigger = 7}}
key     = "id"
[changes.Mark]
format  = "postgres"
options = {{dsn = "{dsn}", table = "mark", slot = "tidelog", maxChangesPerTrigger = 7}}
key     = "id"
[outputs.Reach]
format = "json"
path   = "out/Reach"
[outputs.Torn]
format = "json"
path   = "out/Torn"
"""
NODES = "abcdefgh"
POINTS: list[tuple[type, str]] = [
    (BatchLog, "plan"),
    (BatchLog, "replace_last"),
    (Slot, "start"),
    (Slot, "acknowledge"),
    (Slot, "transactions"),
    (Slot, "_plan"),
    (Sinks, "prepare"),
    (Sinks, "publish"),
    (LocalChangeTable, "publish"),
]


class History:
    """A server with two tables, and a pipeline that follows them."""

    def __init__(self, running: Server, folder: Path, dice: random.Random) -> None:
        self._server, self._dice = running, dice
        self.pipe = Pipe(folder, PROGRAM, FILE.format(dsn=running.dsn))
        self._ids: set[int] = set()
        self._next = 0
        self.counts = {"pipeline": 0, "server": 0, "checks": 0}
        running.sql(
            "CREATE TABLE edge(id int PRIMARY KEY, src text NOT NULL, dst text NOT NULL)",
            "CREATE TABLE mark(id int PRIMARY KEY, note text)",
        )

    def write(self) -> None:
        """Commits some transactions, each to both tables."""
        for _ in range(self._dice.randrange(1, 6)):
            statements = []
            for _ in range(self._dice.randrange(1, 5)):
                statements += self._statements()
            self._server.transaction(statements)

    def _statements(self) -> list[str]:
        known = sorted(self._ids)
        kind = self._dice.random()
        if known and kind < 0.3:
            number = self._dice.choice(known)
            self._ids.discard(number)
            return [f"DELETE FROM {table} WHERE id = {number}" for table in ("edge", "mark")]
        if known and kind < 0.45:
            number = self._dice.choice(known)
            return [f"UPDATE edge SET src = '{self._dice.choice(NODES)}' WHERE id = {number}"]
        self._next += 1
        if known and kind < 0.6:
            number = self._dice.choice(known)
            self._ids = (self._ids - {number}) | {self._next}
            return [f"UPDATE {table} SET id = {self._next} WHERE id = {number}" for table in ("edge", "mark")]
        if kind > 0.98:
            self._ids.clear()
            return ["TRUNCATE edge, mark"]
        self._ids.add(self._next)
        src, dst = self._dice.choice(NODES), self._dice.choice(NODES)
        return [
            f"INSERT INTO edge VALUES ({self._next}, '{src}', '{dst}')",
            f"INSERT INTO mark VALUES ({self._next}, NULL)",
        ]

    def disturbed_run(self) -> None:
        """Runs the pipeline, and kills it or the server."""
        kills_server = self._dice.random() < 0.4
        owner, name = self._dice.choice(POINTS)
        call, before, at_any_moment = self._dice.randrange(1, 4), self._dice.random() < 0.5, self._dice.random() < 0.4
        child = self._child(None if kills_server or at_any_moment else (owner, name, call, before))
        if kills_server:
            time.sleep(self._dice.random() * 0.5)
            self._server.kill()
            os.waitpid(child, 0)
            self._server.start()
            self.counts["server"] += 1
            return
        if at_any_moment:
            time.sleep(self._dice.random() * 0.4)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the run has failed"
        self.counts["pipeline"] += os.WIFSIGNALED(status)

    def check(self) -> None:
        """Runs the pipeline to the end, and compares the outputs with the tables."""
        _, status = os.waitpid(self._child(None), 0)
        assert status == 0, "the run has failed"
        edges: Any = set(self._server.sql("SELECT src, dst FROM edge"))
        assert self.pipe.summed("Reach") == closure(edges)
        assert self.pipe.epochs("Torn") == []
        self.counts["checks"] += 1

    def _child(self, dying: tuple[type, str, int, bool] | None) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            if dying is not None:
                owner, name, call, before = dying
                die_at(owner, name, call, before=before)
            self.pipe.run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from tidelog.engine.local.machine_code.load import load_all

    load_all()
    dice = random.Random(options.seed)
    with server() as running, tempfile.TemporaryDirectory(prefix="tidelog-kill-") as folder:
        history = History(running, Path(folder), dice)
        while history.counts["pipeline"] + history.counts["server"] < options.kills:
            history.write()
            history.disturbed_run()
            if dice.random() < 0.3:
                history.check()
            print(*history.counts.values(), flush=True)
        history.write()
        history.check()
        print(*(f"{name} {count}" for name, count in history.counts.items()))


if __name__ == "__main__":
    main()
