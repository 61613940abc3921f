"""Compilation in other processes: several at once, and none of it in the process that waits.

A worker (`worker`) gets the names of entry points on its standard input, writes the image of each to a folder, and
answers with a line. A process that needs an entry point asks for it (`compile_now`) and, if it belongs to a first
commit, for the others of one; `compile_all` asks for everything. Whoever waits for more than a second says so on
standard error.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, as_completed
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from tidelog.engine.local.machine_code import image_file, places, processor
from tidelog.engine.local.machine_code.declare import ENTRY_POINTS, EntryPoint
from tidelog.engine.local.machine_code.link import Image
from tidelog.engine.local.machine_code.sources import entry_point_modules

PATIENCE = 1.0  # seconds that pass before a process says what it waits for
_IDLE = 5.0  # seconds that a worker stays without work
_LOCAL = "tidelog.engine.local"
# What the first commit of every program needs, the longest to compile first.
FIRST_COMMIT = tuple(
    f"{_LOCAL}.kernels.{name}"
    for name in (
        "waves:drive",
        "finish_epoch:commit",
        "entry_points:build_arrangement",
        "entry_points:exchange_facts",
        "finish_epoch:net_operations",
        "finish_epoch:mark_all_inserted",
        "entry_points:refill_index",
    )
)

_log = logging.getLogger("tidelog")
Result = TypeVar("Result")


class Workers:
    """Worker processes for one folder. Each is started when there is work for it."""

    def __init__(self, levels: tuple[str, ...], folder: Path, count: int) -> None:
        self.levels = levels
        self.folder = folder
        self.process = os.getpid()
        self._count = count
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Future[str]]] = deque()
        self._asked: dict[str, Future[str]] = {}
        self._running = self._idle = 0

    def ask(self, name: str, *, is_urgent: bool = False) -> Future[str]:
        """Asks for an entry point; the result is empty, or says what went wrong."""
        with self._changed:
            if name in self._asked:
                return self._asked[name]
            future: Future[str] = Future()
            self._asked[name] = future
            if is_urgent:
                self._waiting.appendleft((name, future))
            else:
                self._waiting.append((name, future))
            if self._idle < len(self._waiting) and self._running < self._count:
                self._running += 1
                threading.Thread(target=self._run, name="tidelog compiler", daemon=True).start()
            self._changed.notify()
            return future

    def _next(self) -> tuple[str, Future[str]] | None:
        """Returns the next entry point to compile, or None if there has been none for a while."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting, timeout=_IDLE)
            self._idle -= 1
            if self._waiting:
                return self._waiting.popleft()
            self._running -= 1
            return None

    def _run(self) -> None:
        worker = None
        while (task := self._next()) is not None:
            name, future = task
            try:
                worker = worker or self._start()
                future.set_result(_exchange(worker, name))
            except OSError as error:
                future.set_result(f"the compiler did not start: {error}")
        if worker is not None and worker.stdin is not None and worker.stdout is not None:
            worker.stdin.close()
            worker.wait()
            worker.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        # The worker must find what this process finds, however it came to its path.
        environment["PYTHONPATH"] = os.pathsep.join((str(Path(__file__).parents[4]), *filter(None, sys.path)))
        command = [sys.executable, "-P", "-m", f"{_LOCAL}.machine_code.worker", str(self.folder), *self.levels]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the process that asked
        )


def _exchange(worker: subprocess.Popen[str], name: str) -> str:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        return f"the compiler stopped with exit code {worker.wait()}"
    return answer.strip().removeprefix("ok")


_workers: Workers | None = None
_workers_lock = threading.Lock()


def _own_workers() -> Workers:
    """Returns the workers of this process; a child that was forked has none of its parent's."""
    global _workers
    with _workers_lock:
        if _workers is None or _workers.process != os.getpid():
            _workers = Workers(processor.levels()[:1], places.folder_to_write(), processors())
        return _workers


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_now(entry_point: EntryPoint) -> Image | None:
    """Compiles an entry point in a worker and waits for it; returns None, with a note, if that fails."""
    if not sys.executable:
        return None
    workers = _own_workers()
    future = workers.ask(entry_point.name, is_urgent=True)
    if entry_point.name in FIRST_COMMIT:
        loaded = {each.name for each in ENTRY_POINTS if each.is_loaded}
        for name in FIRST_COMMIT:
            if name not in loaded:
                workers.ask(name)
    failure = announced(future.result)
    if not failure:
        return image_file.read_image(entry_point, workers.levels[0], workers.folder)
    _log.warning("%s could not be compiled in a process of its own: %s", entry_point.name, failure)
    return None


def announced(wait: Callable[[], Result]) -> Result:
    """Calls a function that compiles; if that takes long, says so on standard error, once in a process."""
    timer = threading.Timer(PATIENCE, _announce)
    timer.daemon = True
    timer.start()
    try:
        return wait()
    finally:
        timer.cancel()


@cache
def _announce() -> None:
    text = "compiling kernels for this machine; this happens once (`tidelog warm` compiles all of them)"
    _log.info(text)
    print(f"tidelog: {text}", file=sys.stderr, flush=True)


def all_entry_points() -> list[EntryPoint]:
    """Returns every entry point of the package."""
    for module in entry_point_modules():
        import_module(module)
    return [each for each in ENTRY_POINTS if each.function.__module__.startswith(f"{_LOCAL}.")]


Said = Callable[[int, int, str], None]


def warm(said: Said) -> dict[str, str]:
    """Compiles all entry points that this machine has no code for; returns what went wrong, by name."""
    if not processor.levels():
        return {}  # Numba compiles and keeps them, when they are loaded
    missing = [each.name for each in all_entry_points() if image_file.find_image(each) is None]
    return _compile(missing, _own_workers(), said) if missing else {}


def compile_all(levels: tuple[str, ...], folder: Path, said: Said) -> dict[str, str]:
    """Compiles all entry points for each of some levels into a folder; returns what went wrong, by name."""
    missing = [
        each.name
        for each in all_entry_points()
        if any(image_file.read_image(each, level, folder) is None for level in levels)
    ]
    return _compile(missing, Workers(levels, folder, processors()), said)


def _compile(names: list[str], workers: Workers, said: Said) -> dict[str, str]:
    """Compiles some entry points. `said` gets how many are done, how many there are, and the name of the last one."""
    failed: dict[str, str] = {}
    asked = {workers.ask(name): name for name in sorted(names, key=_rank)}
    for done, future in enumerate(as_completed(asked), 1):
        if failure := future.result():
            failed[asked[future]] = failure
        said(done, len(asked), asked[future])
    return failed


# Those that take longest begin first, so that no processor waits at the end.
_LONGEST = ("waves:drive", "evaluate:evaluate", "parallel_wave:share_wave", "row_wise:gather_prefixes")


def _rank(name: str) -> tuple[int, str]:
    tail = name.rsplit(".", 1)[1]
    return (_LONGEST.index(tail) if tail in _LONGEST else len(_LONGEST), name)
