"""`kill -9` of pipelines on the local engine, at chosen points and at any moment, against the program's definition:

    python -m tests.pipeline.kill --kills 200 --seed 1

The process has everything loaded and forks a child for each run, so that a kill costs no start of Python. A child dies
right before or after one of the steps of a batch, or whenever its time has come; the next one goes on. Operations have
an order, so the result does not depend on how the feed was cut into batches: after every run that ends, the sum of the
change table must be what the operations so far come to, and every bad record must be in the quarantine once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.pipeline.folder import REACH_FILE, Edge, Pipe, closure, read_folder
from tidelog.pipeline.batch_log import BatchLog
from tidelog.pipeline.local.sinks import LocalChangeTable, LocalQuarantine, LocalSnapshot
from tidelog.pipeline.sinks import Sinks

FILE = REACH_FILE.replace('op     = "op"', 'op = "op"\norder = "ts"') + '[quarantine]\npath = "bad"\n'
NODES = "abcde"
POINTS: list[tuple[type, str]] = [
    (BatchLog, "plan"),
    (LocalQuarantine, "put"),
    (LocalChangeTable, "_write"),
    (Sinks, "prepare"),
    (Sinks, "publish"),
    (LocalChangeTable, "publish"),
    (LocalSnapshot, "publish"),
    (Sinks, "recover"),
]


def die_at(owner: type, name: str, call: int, *, before: bool) -> None:
    """Has this process die at a call of a method."""
    method: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*arguments, **named)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


class History:
    """One pipeline, what was fed to it, and what should have come of it."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.pipe = Pipe(folder, file=FILE)
        self.pipe.table("a,b\nb,c\n")
        self._dice = dice
        self._edges: set[Edge] = {("a", "b"), ("b", "c")}
        self._bad = 0
        self._time = 0

    def feed(self) -> None:
        """A file of operations, now and then with a bad one."""
        records: list[dict[str, Any]] = []
        for _ in range(self._dice.randrange(1, 6)):
            self._time += 1
            edge = (self._dice.choice(NODES), self._dice.choice(NODES))
            op = self._dice.choice("+-")
            (self._edges.add if op == "+" else self._edges.discard)(edge)
            records.append({"op": op, "ts": self._time, "src": edge[0], "dst": edge[1]})
        if self._dice.random() < 0.3:
            self._bad += 1
            records.append({"op": "?", "number": self._bad})
        self._dice.shuffle(records)
        self.pipe.feed(*records)

    def run(self, kill: bool) -> bool:
        """One run in a child; whether it was killed."""
        owner, name = self._dice.choice(POINTS)
        call, before, at_any_moment = self._dice.randrange(1, 3), self._dice.random() < 0.5, self._dice.random() < 0.4
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if kill and not at_any_moment:
                    die_at(owner, name, call, before=before)
                self.pipe.run()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        if kill and at_any_moment:
            time.sleep(self._dice.random() * 0.15)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the run has failed"
        return os.WIFSIGNALED(status)

    def check(self) -> None:
        """After a run that ended: everything is there, once."""
        reach = closure(self._edges)
        assert self.pipe.summed("reach") == reach
        assert {row["node"] for row in read_folder(self.pipe.folder / "out/loop")} == {a for a, b in reach if a == b}
        bad = [row for batch in (self.pipe.folder / "bad").glob("batch=*") for row in read_folder(batch)]
        assert len(bad) == self._bad
        assert not list((self.pipe.folder / "out/reach").glob("_pending-*"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from tidelog.engine.local.machine_code.load import load_all

    load_all()
    dice = random.Random(options.seed)
    kills = histories = 0
    while kills < options.kills:
        histories += 1
        with tempfile.TemporaryDirectory(prefix="tidelog-kill-") as folder:
            history = History(Path(folder), dice)
            for _ in range(4):
                for _ in range(dice.randrange(3)):
                    history.feed()
                while dice.random() < 0.7:
                    kills += history.run(kill=True)
                    if dice.random() < 0.3:
                        history.feed()
                history.run(kill=False)
                history.check()
    print(f"{kills} kills in {histories} pipelines: nothing lost, nothing twice")


if __name__ == "__main__":
    main()
