"""The steps of a pipeline → a growing table on standard output, or lines of JSON; progress goes to standard error.

batch  epoch    read  bad  conflicts  inserted  deleted  seconds  how                changes
start      1   1,204    0          0     8,011        0     0.41  bootstrap          Reach +7,920 -0, Dark +91 -0
0          2       3    0          0         2      118     0.02  update, bootstrap  Reach +2 -118
"""

from __future__ import annotations

import json
from dataclasses import asdict
from types import TracebackType
from typing import Any

import click

from tidelog.cli.progress import Progress
from tidelog.maintain.report import EpochReport
from tidelog.pipeline.run import Listener, Step

_UNTOUCHED = ("unchanged",)
_LINE = "{:<6} {:>6} {:>9} {:>5} {:>9} {:>10} {:>10} {:>8}  {:<20} {}"
_HEADINGS = ("batch", "epoch", "read", "bad", "conflicts", "inserted", "deleted", "seconds", "how", "changes")


class TableSteps(Progress):
    """A table with a line for each finished batch."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = 0
        self.listener = Listener(self.start, self._done, self._warn)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if kind is None and not self._lines:
            click.echo("no new data", err=True)

    def _done(self, step: Step) -> None:
        self.start("wait")
        if not self._lines:
            self.say(_LINE.format(*_HEADINGS), on_error=False)
        self._lines += 1
        report = step.report
        inserted, deleted = (sum(each[i] for each in step.changes.values()) for i in (0, 1))
        changed = ", ".join(f"{name} +{a:,} -{b:,}" for name, (a, b) in step.changes.items())
        cells = (
            step.batch,
            str(report.epoch) if report is not None else "-",
            f"{step.read:,}",
            f"{step.bad:,}",
            f"{step.conflicts:,}",
            f"{inserted:,}",
            f"{deleted:,}",
            f"{sum(step.seconds.values()):.2f}",
            ways(report),
            changed or "nothing",
        )
        self.say(_LINE.format(*cells).rstrip(), on_error=False)

    def _warn(self, text: str) -> None:
        self.say(f"warning: {text}", on_error=True)


class JsonSteps(TableSteps):
    """A JSON object on a line for each batch."""

    def _done(self, step: Step) -> None:
        self.start("wait")
        self._lines += 1
        self.say(json.dumps(step_record(step)), on_error=False)


def step_record(step: Step) -> dict[str, Any]:
    """Returns a step as plain values; `epoch` is null for a batch without effect."""
    report = step.report
    return {
        "batch": step.batch,
        "epoch": report.epoch if report is not None else None,
        "read": step.read,
        "bad": step.bad,
        "conflicts": step.conflicts,
        "changes": {name: {"came": inserted, "went": deleted} for name, (inserted, deleted) in step.changes.items()},
        "seconds": {phase: round(seconds, 6) for phase, seconds in step.seconds.items()},
        "strata": [asdict(each) for each in report.strata] if report is not None else [],
    }


def ways(report: EpochReport | None) -> str:
    """Returns the strategies that brought the strata up to date, each once."""
    if report is None:
        return ""
    used = [
        each.strategy for each in report.strata if each.strategy not in _UNTOUCHED and (each.rounds or each.instances)
    ]
    return ", ".join(dict.fromkeys(used))
