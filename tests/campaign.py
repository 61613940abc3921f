"""All that looks for defects by chance, for hours, with a report:

    python -m tests.campaign --hours 4 --seed 1

A campaign runs its parts in turn, as many at a time as there are processors, each for a short while with a seed of its
own, until the time is over. Each run becomes a line of the records (`campaign.jsonl`) when it ends: its command, the
version of the code, what it did in numbers, and the end of its output if it failed. A campaign may be interrupted, and
continued another day: a later sitting adds to the same records, with seeds that no sitting before it has had. The
report (`campaign.md`) adds all sittings up and lists them, with the failures and the commands that repeat them. The
campaign fails if any run of the present sitting did.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock

from tests.database.storage.system_calls import can_trace

ROOT = Path(__file__).parents[1]
_FIGURE = re.compile(r"(\d[\d,]*) ([a-z][a-zA-Z' -]*)")
_SEED_STEP = 10_000


@dataclass(frozen=True)
class Part:
    """A command that takes a seed. `every`: it runs in one round of so many."""

    name: str
    command: str
    every: int = 1


@dataclass(frozen=True)
class Run:
    """One run of a part, a line of the records. `sitting` is the time at which its sitting began."""

    part: str
    command: str
    seed: int
    round: int
    sitting: float
    version: str
    at_once: int
    began: float
    seconds: float
    failed: bool
    figures: dict[str, int] = field(default_factory=dict)
    output: str = ""


def parts() -> list[Part]:
    """Returns the parts of a campaign on this machine."""
    found = [
        Part("random programs and histories", "tests.properties.soak --seconds 60 --seed {seed}"),
        Part("mutated programs and random bytes", "tests.fuzz.fuzz --count 400 --seed {seed}"),
        Part("random tables", "tests.database.random_tables --seconds 3 --seed {seed}"),
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


def work(found: Sequence[Part], seed: int, first: int = 0) -> Iterator[tuple[Part, int, int]]:
    """Yields each part, its round and its seed, from a round on; no other run of a part has a seed near to it."""
    for number in count(first):
        for part in found:
            if number % part.every == 0:
                yield part, number, seed + _SEED_STEP * (number + 1)


class Campaign:
    """A sitting of a campaign. `limit`: the seconds after which a run counts as one that hangs."""

    def __init__(
        self, found: Sequence[Part], seed: int, hours: float, records: Path, at_once: int = 1, limit: float = 3600
    ) -> None:
        self._records, self._at_once, self._limit = records, at_once, limit
        earlier = [run.round for run in read_records(records) if run.seed == seed + _SEED_STEP * (run.round + 1)]
        self._work = work(found, seed, max(earlier, default=-1) + 1)
        self._lock = Lock()
        self._version = code_version()
        self._began, self._end = time.time(), time.monotonic() + hours * 3600
        self._has_failed = False

    def run(self) -> bool:
        """Runs all parts until the time is over; returns False if anything failed."""
        with ThreadPoolExecutor(self._at_once) as threads:
            for done in [threads.submit(self._take_turns) for _ in range(self._at_once)]:
                done.result()
        return not self._has_failed

    def _take_turns(self) -> None:
        while time.monotonic() < self._end:
            with self._lock:
                part, number, seed = next(self._work)
            self._run(part, number, seed)

    def _run(self, part: Part, number: int, seed: int) -> None:
        command = part.command.format(seed=seed)
        wall, began = time.time(), time.monotonic()
        failed, output = run_command(command, self._limit)
        run = Run(
            part.name,
            f"python -m {command}",
            seed,
            number,
            self._began,
            self._version,
            self._at_once,
            wall,
            time.monotonic() - began,
            failed,
            {} if failed else dict(figures(output)),  # the last line of a failed run is that of its failure
            output[-4000:] if failed else "",
        )
        with self._lock:
            self._has_failed |= failed
            with self._records.open("a") as file:  # a line that a crash cut off must not take this one with it
                file.write(f"\n{json.dumps(asdict(run))}\n")
            self._records.with_suffix(".md").write_text(report(read_records(self._records)))
            print(f"{part.name}: {'failed' if failed else 'done'} (seed {seed})", file=sys.stderr, flush=True)


def run_command(command: str, limit: float) -> tuple[bool, str]:
    """Runs a module with Python; returns whether it failed or took longer than the limit, and what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command.split()],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return True, f"{output}\nthe run did not end within {limit:,.0f} seconds"
    return process.returncode != 0, output


def code_version() -> str:
    """Returns the commit of the code, with a mark if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def read_records(records: Path) -> list[Run]:
    """Returns all runs of a file of records; a line that a crash cut off is left out."""
    found = []
    for line in records.read_text().splitlines() if records.exists() else []:
        try:
            found.append(Run(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def report(runs: Sequence[Run]) -> str:
    """Returns the report of all runs: the sum, each sitting, each part, and the failures."""
    sittings: dict[float, list[Run]] = {}
    by_part: dict[str, list[Run]] = {}
    for run in runs:
        sittings.setdefault(run.sitting, []).append(run)
        by_part.setdefault(run.part, []).append(run)
    hours = sum(map(_hours, sittings.values()))
    busy = sum(run.seconds for run in runs) / 3600
    failed = [run for run in runs if run.failed]
    lines = [
        f"# Campaign of {hours:.2f} hours in {len(sittings)} sittings",
        "",
        f"{len(runs):,} runs, {busy:.2f} hours if all ran after each other, {len(failed)} failures.",
        "",
        "| sitting | code | at once | hours | runs | failures |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for began, of_sitting in sorted(sittings.items()):
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(began))
        first, failures = of_sitting[0], sum(run.failed for run in of_sitting)
        cells = [when, first.version, first.at_once, f"{_hours(of_sitting):.2f}", len(of_sitting), failures]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| part | runs | seconds | figures | failures |", "| --- | --: | --: | --- | --: |"]
    for name, of_part in by_part.items():
        summed: Counter[str] = Counter()
        for run in of_part:
            summed.update(run.figures)
        shown = ", ".join(f"{number:,} {what}" for what, number in summed.items())
        seconds, failures = sum(run.seconds for run in of_part), sum(run.failed for run in of_part)
        lines.append(f"| {name} | {len(of_part)} | {seconds:,.0f} | {shown} | {failures} |")
    for run in failed:
        lines += ["", f"## {run.part} ({run.version})", "", "```", run.command, run.output, "```"]
    return "\n".join(lines) + "\n"


def _hours(runs: Sequence[Run]) -> float:
    """Returns the hours from the start of the first run to the end of the last."""
    return (max(run.began + run.seconds for run in runs) - min(run.began for run in runs)) / 3600


def figures(output: str) -> Counter[str]:
    """Returns the figures of the last line that has any: `400 kills, 1,200 commits`."""
    for line in reversed(output.splitlines()):
        if found := _FIGURE.findall(line):
            return Counter({name.strip(): int(number.replace(",", "")) for number, name in found})
    return Counter()


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for defects by chance, for hours.")
    parser.add_argument("--hours", type=float, default=4, help="the length of this sitting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="parts that run beside each other")
    parser.add_argument("--records", type=Path, default=Path("campaign.jsonl"), help="the report lies beside it")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a run counts as hanging")
    parser.add_argument("--only", action="append", help="a word of the names of the parts to run")
    options = parser.parse_args()
    found = [part for part in parts() if not options.only or any(word in part.name for word in options.only)]
    sitting = Campaign(found, options.seed, options.hours, options.records, options.at_once, options.limit)
    is_well = sitting.run()
    print(report(read_records(options.records)))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
