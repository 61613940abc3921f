"""Limits of an epoch: rounds, rows and time, and the checks that enforce them.

A program may diverge: `N(x + 1) :- N(x).` over `bigint` never ends. Limits stop it with an error that names the running
rule; the state is that of the last commit. There are no limits by default.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter
from typing import Protocol

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.rules.ir import Rule

NO_LIMIT = 1 << 40


EVERY_SECONDS = 0.02
Running = Rule | Callable[[], Rule | None] | None
"""The rule that is running, or a function that returns it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_rounds` of a stratum in one epoch, `max_rows` of a relation after it, its `deadline` in seconds."""

    max_rounds: int | None = None
    max_rows: int | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_rows"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, positive_whole(name, value))
        if self.deadline is not None:
            object.__setattr__(self, "deadline", positive("deadline", self.deadline))


def positive_whole(name: str, value: object) -> int:
    """Returns an option that is a whole number above 0. Raises UsageError for any other."""
    if not isinstance(value, bool) and isinstance(value, Integral) and int(value) > 0:
        return int(value)
    raise UsageError(f"`{name}` is {value!r}; it must be a whole number above 0", code=Code.BAD_LIMIT)


def positive(name: str, value: object) -> float:
    """Returns an option that is a number above 0. Raises UsageError for any other."""
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):
            if float(value) > 0:
                return float(value)
    raise UsageError(f"`{name}` is {value!r}; it must be a number above 0", code=Code.BAD_LIMIT)


def not_negative(name: str, value: object) -> float:
    """Returns an option that is a number, 0 or above. Raises UsageError for any other."""
    return 0.0 if isinstance(value, int | float) and value == 0 else positive(name, value)


class CancellationCheck(Protocol):
    def check(self) -> None:
        """Raises if the epoch was cancelled."""


class Watch:
    """Checks the limits and cancellation while an epoch runs.

    `stratum` is the one under way; `written` returns the rule of the program that a rule is part of; `pardoned` returns
    the seconds so far that do not count, such as those in which kernels were loaded.
    """

    def __init__(self, limits: Limits, cancellation: CancellationCheck) -> None:
        self.limits = limits
        self._cancellation = cancellation
        self.on_round: Callable[[int], None] | None = None
        self.stratum: tuple[str, ...] = ()
        self.written: Callable[[Rule], Rule] = _itself
        self.pardoned: Callable[[], float] = _none
        self.begin()

    def begin(self, spent: float = 0.0) -> None:
        """Begins an epoch that has already taken so many seconds."""
        self.stratum = ()
        self._started = perf_counter() - spent - self.pardoned()

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, if there is one; below 0 when it has passed."""
        deadline = self.limits.deadline
        return None if deadline is None else deadline - (perf_counter() - self.pardoned() - self._started)

    @property
    def is_plain(self) -> bool:
        """True if neither rounds nor rows are limited, and nobody asked for progress."""
        return self.on_round is None and self.limits.max_rows is None and self.limits.max_rounds is None

    @property
    def last_round(self) -> int:
        return NO_LIMIT if self.limits.max_rounds is None else min(self.limits.max_rounds, NO_LIMIT)

    def look(self, rule: Running = None) -> None:
        """Raises if the deadline has passed or the epoch was cancelled."""
        try:
            self._cancellation.check()
        except KeyboardInterrupt as interrupt:
            if where := self._where(rule):
                interrupt.add_note(f"interrupted{where}; the last commit is intact")
            raise
        except EvaluationError as error:
            if error.code != Code.CANCELLED:
                raise
            raise self.cancelled(rule) from None
        left = self.left
        if left is not None and left < 0:
            took = f"the epoch took longer than its deadline of {self.limits.deadline:g} s"
            raise self._stopped(took, rule, Code.DEADLINE_PASSED)

    def cancelled(self, rule: Running = None) -> EvaluationError:
        """Returns the error of a cancelled epoch."""
        where = self._where(rule)
        return EvaluationError(f"the epoch was cancelled{where}; the last commit is intact", code=Code.CANCELLED)

    def pace(self, rule: Running = None) -> Callable[[], None]:
        """Returns `look` for this rule, `paced`."""
        return paced(lambda: self.look(rule))

    def rounds(self, count: int, rule: Running = None) -> None:
        """Raises if a stratum needs more rounds than allowed."""
        if count > self.last_round:
            raise self._stopped(
                f"a stratum needs more than {self.limits.max_rounds} rounds (`max_rounds`)", rule, Code.TOO_MANY_ROUNDS
            )

    def at(self, round_: int) -> None:
        """Reports the round of the stratum as progress."""
        if self.on_round is not None:
            self.on_round(round_)

    def rows(self, relation: str, count: int, rule: Running = None) -> None:
        """Raises if a relation has more rows than allowed."""
        limit = self.limits.max_rows
        if limit is not None and count > limit:
            raise self._stopped(
                f"`{relation}` would have more than {limit} rows (`max_rows`)", rule, Code.TOO_MANY_ROWS
            )

    def _stopped(self, what: str, rule: Running, code: Code) -> EvaluationError:
        return EvaluationError(
            f"{what}{self._where(rule)}; the last commit is intact",
            code=code,
            help="look for a rule that makes ever new values; if there is none, raise the limit",
        )

    def _where(self, running: Running) -> str:
        """Returns the running rule as a part of a sentence; empty if it is unknown."""
        names = ", ".join(name for name in self.stratum if "#" not in name)
        rule = running() if callable(running) else running
        if rule is None:
            return f", while the stratum {names} was running" if names else ""
        rule = self.written(rule)
        return f", while the rule `{rule.text}` at {rule.span} was running" + (f" (stratum {names})" if names else "")


def paced(look: Callable[[], None]) -> Callable[[], None]:
    """Returns a function to call before each of many small steps, maybe slow ones; it calls `look` now and then."""
    due = 0.0

    def look_if_due() -> None:
        nonlocal due
        now = perf_counter()
        if now >= due:
            due = now + EVERY_SECONDS
            look()

    return look_if_due


def _itself(rule: Rule) -> Rule:
    return rule


def _none() -> float:
    return 0.0
