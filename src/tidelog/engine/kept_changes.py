"""Kept changes: the changes of the last epochs of a durable database, for readers that follow it epoch by epoch.

`keep_changes=100` keeps those of the last 100 epochs, `keep_changes="7 days"` those of the last days. They are stored
in the same step as their epoch, and removed by later commits. The kept epochs are always the last ones, without a gap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError

if TYPE_CHECKING:
    from tidelog.engine.interface import ChangeRows

_SECONDS = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(epoch|minute|hour|day|week)s?\s*", re.IGNORECASE | re.ASCII)
_MOST = 1 << 53


@dataclass(frozen=True, slots=True)
class Retention:
    """How long changes are kept: a number of epochs, or seconds; with neither, none are kept."""

    epochs: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(given: object) -> Retention:
        """Reads the option `keep_changes`. Raises UsageError for anything but epochs or a time."""
        match given:
            case bool():
                pass
            case Integral() if 0 <= int(given) < _MOST:
                return Retention(epochs=int(given) or None)
            case timedelta() if given > timedelta(0):
                return Retention(seconds=given.total_seconds())
            case str() if found := _TEXT.fullmatch(given):
                number, unit = float(found[1]), found[2].lower()
                if unit == "epoch" and number.is_integer() and number < _MOST:
                    return Retention(epochs=int(number) or None)
                if unit != "epoch" and 0 < number < _MOST:
                    return Retention(seconds=number * _SECONDS[unit])
        raise UsageError(
            f"`keep_changes` is {given!r}; it must be a number of epochs, or a time",
            code=Code.BAD_LIMIT,
            help='for example `keep_changes=100` or `keep_changes="7 days"`; 0 keeps none',
        )

    @staticmethod
    def of_document(document: object) -> Retention:
        """Reads `document`. Raises ValueError for anything else."""
        match document:
            case None:
                return Retention()
            case {"epochs": int() as epochs, **rest} if not rest and epochs > 0:
                return Retention(epochs=epochs)
            case {"seconds": int() | float() as seconds, **rest} if not rest and seconds > 0:
                return Retention(seconds=seconds)
            case dict() if not document:
                return Retention()
        raise ValueError(f"{document!r} does not say how long changes are kept")

    @property
    def document(self) -> Mapping[str, Any]:
        """The setting as it is stored."""
        if self.epochs is not None:
            return {"epochs": self.epochs}
        return {} if self.seconds is None else {"seconds": self.seconds}

    def __bool__(self) -> bool:
        return self.epochs is not None or self.seconds is not None

    def outlasts(self, epoch: int, time: float, last: int, now: float) -> bool:
        """True if the changes of an epoch are still kept once `last` is committed; those of `last` always are."""
        if epoch >= last:
            return True
        if self.epochs is not None:
            return epoch > last - self.epochs
        return self.seconds is not None and time >= now - self.seconds


@dataclass(frozen=True, slots=True)
class KeptEpoch:
    """The changes of one epoch, by output relation, and the time of its commit in seconds since 1970."""

    epoch: int
    time: float
    changes: Mapping[str, ChangeRows]

    @property
    def committed_at(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)


def changes_not_kept() -> UsageError:
    """Makes the error for reading earlier changes of a database that keeps none."""
    return UsageError(
        "the database keeps no changes of earlier epochs",
        code=Code.CHANGES_NOT_KEPT,
        help='open it with `path=...` and `keep_changes=100` (epochs) or `keep_changes="7 days"`',
    )


def changes_gone(after: int, since: int, last: int) -> UsageError:
    """Makes the error for the changes after an epoch, of which only those after `since` are kept, up to `last`."""
    kept = f"those of the epochs {since + 1} to {last}" if since < last else f"none up to epoch {last}"
    return UsageError(
        f"the changes after epoch {after} are gone: the database has {kept}",
        code=Code.CHANGES_GONE,
        help=f"read the relations as they are now, and go on with the changes after epoch {last};"
        " a larger `keep_changes` keeps more",
    )


def no_such_epoch(after: int, last: int) -> UsageError:
    """Makes the error for the changes after an epoch that was not committed."""
    return UsageError(
        f"there is no epoch {after}: the last one is {last}",
        code=Code.CHANGES_GONE,
        help="the database is older than the reader, perhaps a copy: read its relations as they are now",
    )
