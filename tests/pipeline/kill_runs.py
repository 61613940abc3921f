"""Runs of pipelines in processes of their own, some of them killed: the frame of `kill_delta` and `kill_iceberg`.

The libraries for tables of a lake do not live through a fork, so each run has a process that was started ahead and has
everything loaded. It dies around a step of the pipeline, or at any moment.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.pipeline.folder import Pipe
from tests.pipeline.kill import die_at
from tidelog.pipeline.batch_log import BatchLog
from tidelog.pipeline.copies import Copies
from tidelog.pipeline.lake.staged import Staged
from tidelog.pipeline.sinks import Sinks

Points = Sequence[tuple[type, str]]

# The steps of a batch in any pipeline over tables of a lake: around each of them a process may die.
LAKE_STEPS: Points = (
    (BatchLog, "plan"),
    (BatchLog, "begin"),
    (Copies, "write"),
    (Copies, "committed"),
    (Staged, "write"),
    (Sinks, "prepare"),
    (Sinks, "publish"),
)


class History(Protocol):
    """A source that changes, a pipeline over it, and their checks."""

    @property
    def pipe(self) -> Pipe: ...

    def change(self) -> None:
        """Changes the source, with one version or several."""

    def check(self) -> None:
        """After a run that ended: compares the outputs with a recomputation. Raises AssertionError."""


class Runs:
    """Processes that have everything loaded and wait for a pipeline to run; one is started ahead."""

    def __init__(self, module: str, points: Points, dice: random.Random) -> None:
        self._module, self._points, self._dice = module, points, dice
        self._next = self._started()

    def run(self, folder: Path, *, kill: bool) -> bool:
        """Runs the pipeline of a folder; whether the run was killed. Raises AssertionError if it failed."""
        plan = {
            "folder": str(folder),
            "point": self._dice.randrange(len(self._points)),
            "call": self._dice.randrange(1, 4),
            "before": self._dice.random() < 0.5,
        }
        at_any_moment = kill and self._dice.random() < 0.4
        plan["kill"] = kill and not at_any_moment
        now, self._next = self._next, self._started()
        assert now.stdin is not None
        assert now.stdout is not None
        now.stdout.readline()  # it has loaded everything
        now.stdin.write(json.dumps(plan) + "\n")
        now.stdin.flush()
        if at_any_moment:
            time.sleep(self._dice.random() * 0.6)
            now.kill()
        now.communicate()
        assert now.returncode in (0, -signal.SIGKILL), "the run has failed"
        return now.returncode != 0

    def close(self) -> None:
        self._next.kill()
        self._next.communicate()

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", self._module, "--serve"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def serve(points: Points) -> None:
    """Runs one pipeline as the parent says."""
    from tidelog.engine.local.machine_code.load import load_all

    load_all()
    print("ready", flush=True)
    plan: dict[str, Any] = json.loads(sys.stdin.readline())
    if plan["kill"]:
        owner, name = points[plan["point"]]
        die_at(owner, name, plan["call"], before=plan["before"])
    folder = Path(plan["folder"])
    os.chdir(folder)
    Pipe.there(folder).run()


def kill_runs(module: str, history: Callable[[Path, random.Random], History], points: Points) -> None:
    """The command of a module: kills runs of pipelines of random histories, and checks every run that ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        serve(points)
        return
    dice = random.Random(options.seed)
    runs = Runs(module, points, dice)
    kills = histories = 0
    try:
        while kills < options.kills:
            histories += 1
            with tempfile.TemporaryDirectory(prefix="tidelog-kill-") as folder:
                case = history(Path(folder), dice)
                for _ in range(4):
                    for _ in range(dice.randrange(1, 4)):
                        case.change()
                    while dice.random() < 0.75 and kills < options.kills:
                        kills += runs.run(case.pipe.folder, kill=True)
                        if dice.random() < 0.5:
                            case.change()
                    runs.run(case.pipe.folder, kill=False)
                    case.check()
    finally:
        runs.close()
    print(f"{kills} kills in {histories} pipelines: no version twice, none lost")
