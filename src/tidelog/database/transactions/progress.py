"""Progress of long commits: a callback, or a line on standard error.

    with tidelog.progress():                       a line: `stratum 2 of 5: Reach, round 17, 3 s`
        with db.transaction() as tx: ...
    with tidelog.progress(lambda step: ...):       a function of a `Step`

The block covers every commit of this process that begins inside it. The engine reports when a stratum begins, and now
and then with its round. The number of rounds of a recursion is not known before its end.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Engine, EpochReport

_LOG = logging.getLogger("tidelog")
_SLOW = 1.0
"""An epoch that takes longer, in seconds, is logged at the level INFO."""

_SILENT = 0.5
"""So long, in seconds, nothing is printed: short commits need no line."""

_EVERY = 0.1
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Step:
    """Where a commit is: `stratum` counts from 1 to at most `strata`; `round` is 0 before the first round of it.

    `relations` are those of the stratum, `seconds` have passed since the commit began.
    """

    relations: tuple[str, ...]
    round: int
    stratum: int
    strata: int
    seconds: float

    def __str__(self) -> str:
        names = ", ".join(self.relations)
        names = names if len(names) <= _LONGEST else f"{names[:_LONGEST]}…"
        round_ = f", round {self.round:,}" if self.round else ""
        return f"stratum {self.stratum} of {self.strata}: {names}{round_}, {self.seconds:.0f} s"


Tell = Callable[[Step], object]
_listening: list[Tell] = []


@contextmanager
def progress(callback: Tell | None = None) -> Iterator[None]:
    """Reports the progress of commits inside the block to `callback(step)`; without one, as a line on standard error.

    Callbacks run in the committing thread, many times a second, so they must be quick; an exception in one stops the
    commit, which is rolled back. Raises UsageError for a callback that cannot be called.
    """
    if callback is not None and not callable(callback):
        raise UsageError(f"`callback` is {callback!r}, which cannot be called", code=Code.NOT_A_CALLBACK)
    line = _Line()
    tell = line.show if callback is None else callback
    _listening.append(tell)
    try:
        yield
    finally:
        _listening.remove(tell)
        line.clear()


@contextmanager
def reporting(engine: Engine, strata: int) -> Iterator[None]:
    """Lets the engine report to the callbacks of `progress` while the block, a commit, runs."""
    tellers = tuple(_listening)
    if not tellers:
        yield
        return
    started, count = perf_counter(), 0
    current: tuple[str, ...] = ()

    def tell(relations: Sequence[str], round_: int) -> None:
        nonlocal current, count
        if tuple(relations) != current:
            current, count = tuple(relations), min(count + 1, strata)
        step = Step(current, round_, count, strata, perf_counter() - started)
        for each in tellers:
            each(step)

    engine.on_progress(tell)
    try:
        yield
    finally:
        engine.on_progress(None)


def log_if_slow(report: EpochReport) -> None:
    """Logs an epoch that took long, with the strata that took most of the time."""
    if report.seconds < _SLOW or not _LOG.isEnabledFor(logging.INFO):
        return
    slowest = sorted(report.strata, key=lambda each: -each.seconds)[:3]
    strata = "; ".join(
        f"{', '.join(each.relations)[:_LONGEST]} {each.seconds:.1f} s ({each.strategy}, {each.rounds:,} rounds)"
        for each in slowest
        if each.seconds > 0
    )
    _LOG.info("epoch %d took %.1f s: %s", report.epoch, report.seconds, strata)


class _Line:
    """One line on standard error that is written again and again, on terminals and in notebooks."""

    def __init__(self) -> None:
        self._width = 0
        self._due = _SILENT

    def show(self, step: Step) -> None:
        if step.seconds < self._due:
            if step.seconds < _SILENT:
                self._due = _SILENT  # another commit has begun
            return
        self._due = step.seconds + _EVERY
        text = str(step)
        self._write(text.ljust(self._width))
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            self._write(" " * self._width)
            self._write("")
            self._width = 0

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text}")
        sys.stderr.flush()
