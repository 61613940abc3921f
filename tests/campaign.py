"""All that looks for defects by chance, for hours, with a report:

    python -m tests.campaign --hours 4 --seed 1

A campaign runs its parts in turn, as many at a time as there are processors, each for a short while with a seed of its
own, until the time is over. The report has, for each part, what it did in numbers, and for each failure the command
that repeats it and the end of what it printed. The campaign fails if any part did.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock

from tests.database.storage.system_calls import can_trace

ROOT = Path(__file__).parents[1]
_FIGURE = re.compile(r"(\d[\d,]*) ([a-z][a-zA-Z' -]*)")


@dataclass
class Part:
    """A command that takes a seed, and what its runs have done. `every`: it runs in one round of so many."""

    name: str
    command: str
    every: int = 1
    runs: int = 0
    seconds: float = 0.0
    figures: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def parts() -> list[Part]:
    """Returns the parts of a campaign on this machine."""
    found = [
        Part("random programs and histories", "tests.properties.soak --seconds 60 --seed {seed}"),
        Part("mutated programs and random bytes", "tests.fuzz.fuzz --count 400 --seed {seed}"),
        Part("kills of writers", "tests.database.storage.kill --kills 100 --seed {seed}"),
        Part("crafted directories", "tests.database.storage.crafted --files 400 --seed {seed}"),
        Part("crafted directories of Spark", "tests.engine.spark.crafted --files 200 --seed {seed}"),
        Part("readers in other processes", "tests.database.storage.other_readers --seconds 40 --seed {seed}"),
        Part("epochs of churn", "tests.database.storage.churn --epochs 4000 --seed {seed}", every=2),
        Part("kills of pipelines", "tests.pipeline.kill --kills 10 --seed {seed}", every=2),
        Part("kills of drivers", "tests.engine.spark.kill --kills 60 --seed {seed}", every=2),
        Part("kills of drivers with a session", "tests.engine.spark.kill --spark --kills 5 --seed {seed}", every=4),
    ]
    if can_trace():
        crashes = "tests.database.storage.crash_states --seconds 60 --seed {seed}"
        found += [Part("crashes at every system call", crashes), Part("system calls that fail", f"{crashes} --faults")]
    return found


def work(found: list[Part], seed: int) -> Iterator[tuple[Part, int]]:
    """Yields the parts, round after round, with a seed that no other run of a part is near to."""
    for number in count():
        for part in found:
            if number % part.every == 0:
                yield part, seed + 10_000 * (number + 1)


class Campaign:
    """A campaign under way."""

    def __init__(self, found: list[Part], seed: int, hours: float, report: Path) -> None:
        self._parts = found
        self._seed = seed
        self._hours = hours
        self._report = report
        self._work = work(found, seed)
        self._lock = Lock()
        self._began = time.monotonic()
        self._end = self._began + hours * 3600

    def run(self, at_once: int) -> bool:
        """Runs all parts until the time is over; returns False if anything failed."""
        with ThreadPoolExecutor(at_once) as threads:
            for done in [threads.submit(self._take_turns) for _ in range(at_once)]:
                done.result()
        return not any(part.failures for part in self._parts)

    def _take_turns(self) -> None:
        while time.monotonic() < self._end:
            with self._lock:
                part, seed = next(self._work)
            self._run(part, seed)

    def _run(self, part: Part, seed: int) -> None:
        command = part.command.format(seed=seed)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
        )
        with self._lock:
            part.runs += 1
            part.seconds += time.monotonic() - began
            part.figures.update(figures(done.stderr + done.stdout))
            if done.returncode != 0:
                part.failures.append(f"python -m {command}\n{(done.stdout + done.stderr)[-4000:]}")
            self._report.write_text(self._text())
            print(f"{part.name}: {'failed' if done.returncode else 'done'} (seed {seed})", file=sys.stderr)

    def _text(self) -> str:
        hours = (time.monotonic() - self._began) / 3600
        lines = [f"# Campaign of {hours:.1f} hours, seed {self._seed}", ""]
        lines += ["| part | runs | seconds | figures | failures |", "| --- | --: | --: | --- | --: |"]
        for part in self._parts:
            shown = ", ".join(f"{number:,} {name}" for name, number in part.figures.items())
            lines.append(f"| {part.name} | {part.runs} | {part.seconds:,.0f} | {shown} | {len(part.failures)} |")
        for part in self._parts:
            for failure in part.failures:
                lines += ["", f"## {part.name}", "", "```", failure, "```"]
        return "\n".join(lines) + "\n"


def figures(output: str) -> Counter[str]:
    """Returns the figures of the last line that has any: `400 kills, 1,200 commits`."""
    for line in reversed(output.splitlines()):
        if found := _FIGURE.findall(line):
            return Counter({name.strip(): int(number.replace(",", "")) for number, name in found})
    return Counter()


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for defects by chance, for hours.")
    parser.add_argument("--hours", type=float, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="parts that run beside each other")
    parser.add_argument("--report", type=Path, default=Path("campaign.md"))
    parser.add_argument("--only", action="append", help="a word of the names of the parts to run")
    options = parser.parse_args()
    found = [part for part in parts() if not options.only or any(word in part.name for word in options.only)]
    is_well = Campaign(found, options.seed, options.hours, options.report).run(options.at_once)
    print(options.report.read_text())
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
