"""What an epoch may take, and who says when it is too much.

A program may diverge: `N(x + 1) :- N(x).` over `bigint` never comes to an end. Limits stop it with an error that names
the rule that was running; the state is that of the last commit. There are none unless they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.rules.ir import Rule

NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_rounds` of a stratum in one epoch, `max_rows` of a relation, and a `deadline` for an epoch, in seconds."""

    max_rounds: int | None = None
    max_rows: int | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_rows", "deadline"):
            value = getattr(self, name)
            if value is not None:
                check_positive(name, value, whole=name != "deadline")


def check_positive(name: str, value: object, *, whole: bool = False) -> None:
    """Raises UsageError for an option that is not a (whole) number above 0."""
    kinds = int if whole else (int, float)
    if isinstance(value, kinds) and not isinstance(value, bool) and value > 0:
        return
    wanted = "a whole number above 0" if whole else "a number above 0"
    raise UsageError(f"`{name}` is {value!r}; it must be {wanted}", code=Code.BAD_LIMIT)


class Interrupt(Protocol):
    def check(self) -> None:
        """Raises when somebody wants the epoch to end."""


class NoInterrupt:
    """For an epoch that nobody can end."""

    def check(self) -> None:
        pass


class Watch:
    """Looks at the limits and at interrupts while an epoch runs."""

    def __init__(self, limits: Limits, interrupt: Interrupt) -> None:
        self.limits = limits
        self._interrupt = interrupt
        self._started = perf_counter()
        self.on_round: Callable[[int], None] | None = None

    def begin(self, spent: float = 0.0) -> None:
        """An epoch begins, of whose time so many seconds are gone already."""
        self._started = perf_counter() - spent

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, if there is one; below 0 when it has passed."""
        deadline = self.limits.deadline
        return None if deadline is None else deadline - (perf_counter() - self._started)

    @property
    def last_round(self) -> int:
        return NO_LIMIT if self.limits.max_rounds is None else self.limits.max_rounds

    def look(self, rule: Rule | None = None) -> None:
        """Raises when the time is over or somebody wants the epoch to end."""
        self._interrupt.check()
        left = self.left
        if left is not None and left < 0:
            took = f"the epoch took longer than its deadline of {self.limits.deadline:g} s"
            raise _stopped(took, rule, Code.DEADLINE_PASSED)

    def rounds(self, count: int, rule: Rule | None = None) -> None:
        """Raises when a stratum needs more rounds than it may."""
        if count > self.last_round:
            raise _stopped(
                f"a stratum needs more than {self.last_round} rounds (`max_rounds`)", rule, Code.TOO_MANY_ROUNDS
            )

    def at(self, round_: int) -> None:
        """A stratum is in this round: for whoever follows the epoch."""
        if self.on_round is not None:
            self.on_round(round_)

    def rows(self, relation: str, count: int, rule: Rule | None = None) -> None:
        """Raises when a relation has more rows than it may."""
        limit = self.limits.max_rows
        if limit is not None and count > limit:
            raise _stopped(f"`{relation}` would have more than {limit} rows (`max_rows`)", rule, Code.TOO_MANY_ROWS)


def _stopped(what: str, rule: Rule | None, code: Code) -> EvaluationError:
    where = f", while the rule `{rule.text}` at {rule.span} was running" if rule is not None else ""
    return EvaluationError(
        f"{what}{where}; the last commit is intact",
        code=code,
        help="look for a rule that makes ever new values; if there is none, raise the limit",
    )
