"""The phases of a command: timed always, shown as a line with a bar on a terminal, silent in a pipe.

While an epoch is evaluated, the bar counts strata, and beside it are the relations and the round of the current one.
The number of rounds of a recursion is not known before its end, so no bar counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import Self

import click
from rich import progress as bars
from rich.console import Console

_LONGEST = 60


class Progress:
    """Phases in sequence, inside a `with` block. `seconds` has the time of each, in order."""

    def __init__(self, console: Console | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._console = console or Console(stderr=True)
        self._bar: bars.Progress | None = None
        self._task = bars.TaskID(0)
        self._strata = 0
        self._relations: Sequence[str] = ()
        self._phase = ""
        self._started = 0.0

    @property
    def is_shown(self) -> bool:
        """True on a terminal."""
        return self._console.is_terminal

    def start(self, phase: str, detail: str = "", strata: int | None = None) -> None:
        """Ends the current phase and begins another, or the same one on another thing (`read`, `Edge.csv`).

        `strata` is how many there are to evaluate in this phase, if any.
        """
        self._end()
        self._phase, self._started = phase, perf_counter()
        self._strata, self._relations = 0, ()
        self._show(f"{phase} {detail}".rstrip(), 0, strata)

    def at(self, relations: Sequence[str], round_: int) -> None:
        """Shows that the epoch is in this round of the stratum of these relations."""
        if relations != self._relations:
            self._relations = relations
            self._strata += 1
        names = ", ".join(relations)
        names = names if len(names) <= _LONGEST else f"{names[:_LONGEST]}…"
        self._show(f"{self._phase} {names}" + (f", round {round_:,}" if round_ else ""), self._strata - 1)

    def say(self, text: str, *, on_error: bool) -> None:
        """Prints a line, on standard error or output, above the bar."""
        if self._bar is None:
            click.echo(text, err=on_error)
            return
        self._bar.stop()
        click.echo(text, err=on_error)
        self._bar.start()

    def __enter__(self) -> Self:
        if self.is_shown:
            self._bar = bars.Progress(
                bars.SpinnerColumn(),
                bars.TextColumn("{task.description}", markup=False),
                bars.BarColumn(bar_width=24),
                bars.TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if self._bar is not None:
            self._bar.stop()

    def _show(self, text: str, completed: int, total: int | None = None) -> None:
        if self._bar is None:
            return
        if total is None and self._relations:
            self._bar.update(self._task, description=text, completed=completed)
        else:
            self._bar.reset(self._task, description=text, completed=completed, total=total)

    def _end(self) -> None:
        if self._phase:
            taken = perf_counter() - self._started
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + taken
            self._phase = ""
