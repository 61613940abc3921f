"""`tidelog pipeline --watch` on Spark, as a process of its own: files come one after the other, it is killed in the
middle of a batch, started again, and stopped from the keyboard. Every batch is taken once."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.folder import Pipe, after, closure, read_folder

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 900
"""So many seconds a session and a batch may take, on a machine that has much to do."""

BATCHES = [
    [("+", "b", "c")],
    [("+", "c", "d"), ("+", "d", "a")],
    [("-", "b", "c"), ("+", "b", "d")],
    [("+", "e", "a")],
]


class Watching:
    """The command, in a group of processes of its own, as a terminal has it."""

    def __init__(self, pipe: Pipe, log: Path) -> None:
        command = [sys.executable, "-m", "tidelog.cli.main", "pipeline", str(pipe.folder / "pipe.toml")]
        options = ["--engine", "spark", "--watch", "--interval", "0.2", "--json"]
        self._log = log.open("w")
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=self._log, text=True, start_new_session=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def step(self) -> dict[str, Any]:
        """The next batch that it says it has taken."""
        found: dict[str, Any] = json.loads(self._lines.get(timeout=PATIENCE))
        return found

    def signal(self, number: int) -> int:
        """Sends a signal to the whole group, as a terminal does; the exit code."""
        os.killpg(self.process.pid, number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self._log.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)


@contextmanager
def watching(pipe: Pipe, log: Path) -> Iterator[Watching]:
    process = Watching(pipe, log)
    try:
        yield process
    finally:
        process.close()


def feed(pipe: Pipe, batch: list[tuple[str, str, str]]) -> None:
    pipe.feed(*({"op": op, "src": src, "dst": dst} for op, src, dst in batch))


def wait_for(folder: Path, pattern: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not any(folder.glob(pattern)):
        assert time.monotonic() < deadline, f"there is no {pattern}"
        time.sleep(0.002)


def test_a_watched_pipeline_takes_every_batch_once_though_it_is_killed_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    pipe.table("a,b\n")
    (tmp_path / "feed").mkdir()
    with watching(pipe, tmp_path / "first.log") as run:
        assert run.step()["batch"] == "start"
        for number, batch in enumerate(BATCHES[:2]):
            feed(pipe, batch)
            assert run.step()["batch"] == str(number)
        feed(pipe, BATCHES[2])
        wait_for(tmp_path / "out/reach", "_pending-*")  # its changes are written, and not yet committed, or just now
        assert run.signal(signal.SIGKILL) == -signal.SIGKILL
    with watching(pipe, tmp_path / "second.log") as run:
        feed(pipe, BATCHES[3])
        taken = []
        while "3" not in taken:
            taken.append(run.step()["batch"])
        assert taken in (["2", "3"], ["3"]), "the third batch is taken again only if it was not committed"
        assert run.signal(signal.SIGINT) == 0, (tmp_path / "second.log").read_text()[-2000:]
    edges = after([("a", "b")], BATCHES)
    assert pipe.summed("reach") == closure(edges)
    assert [path.name for path in pipe.epochs("reach")] == [f"epoch={number}" for number in range(1, 6)]
    assert {row["node"] for row in read_folder(tmp_path / "out/loop")} == {a for a, b in closure(edges) if a == b}
    assert not list((tmp_path / "out/reach").glob("_pending-*"))
