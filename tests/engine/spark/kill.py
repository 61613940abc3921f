"""`kill -9` of a driver that writes to a database on Spark, at random moments of random histories, against the oracle:

    python -m tests.engine.spark.kill --kills 500 --seed 1         tasks inside the driver: no Spark, thousands of kills
    python -m tests.engine.spark.kill --spark --kills 20 --seed 1  a Spark session in each driver

A server process forks a driver for each run, as in `database/storage/kill.py`; with `--spark` each is a process of
its own. Every transaction leaves its number as a mark. When the driver is dead, the database is opened here: it must be
that of the last commit that the driver spoke of, or of the one after it, by its mark, by the rows of every relation,
and by the files in its directory.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from unittest import mock

from tests.database.storage.kill import ROOT, Made, Server, say, serve, server
from tests.engine.spark.in_process import NoSpark, run_tasks_here
from tests.oracle.case import Case
from tests.oracle.generate import random_case
from tests.oracle.history import Transaction, apply
from tests.oracle.instances import TooLargeError
from tests.oracle.types import Relations
from tests.oracle.write import write as written
from tests.properties.check import INSTANCE_LIMIT, assert_same, oracle

import tidelog
from tidelog.database.transactions.transaction import CommitOptions
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans import choose_plan
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.publish import last_manifest

LONGEST = 0.15
LONGEST_ON_SPARK = 1.5


@lru_cache(maxsize=1)
def case_of(seed: int) -> Made:
    """The program and the history of a run, which both processes make from the seed, and the program compiled."""
    case = random_case(random.Random(f"kill on Spark {seed}"))
    return case, tidelog.compile(written(case.program))


def transaction_of(case: Case, number: int) -> Transaction:
    """The transactions go on forever: the history again and again."""
    return case.history[number % len(case.history)]


# The driver


def write_until_killed(case: Case, program: tidelog.Program, number: int, directory: Path) -> None:
    """Commits the transactions from this number on, with tasks in this process."""
    try:
        with tasks_here():
            write_forever(program.open("spark", spark=NoSpark(), path=directory, durability="os"), case, number)
    except BaseException as error:
        say(f"failed {error!r}")
        os._exit(1)


def write_on_spark(seed: int, number: int, directory: Path) -> None:
    """Commits the transactions from this number on, on a session of its own."""
    from tidelog.engine.spark.session import local_session

    case, program = case_of(seed)
    write_forever(program.open("spark", spark=local_session(cores=2), path=directory), case, number)


def write_forever(database: tidelog.Database, case: Case, number: int) -> None:
    while True:
        with database.transaction() as tx:
            for call in transaction_of(case, number).writes:
                (tx.insert if call.sign > 0 else tx.delete)(call.relation, list(call.rows))
            tx._commit_with(CommitOptions(marks={"done": number + 1}))
        say(f"done {number}")
        number += 1


@contextmanager
def tasks_here() -> Iterator[None]:
    """Tasks run in this process, and what can be decomposed is."""
    with (
        mock.patch.object(run_epoch, "run_tasks", run_tasks_here(lambda: False)),
        mock.patch.object(choose_plan, "SINGLE_TASK_ROWS", -1),
        mock.patch.object(choose_plan, "RECURSIVE_SINGLE_TASK_ROWS", -1),
    ):
        yield


# The killer


class Past:
    """What the oracle says after so many transactions."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._facts: list[Relations] = [{}]

    def after(self, transactions: int) -> Relations:
        while len(self._facts) <= transactions:
            call = Transaction(transaction_of(self._case, len(self._facts) - 1).writes)
            self._facts.append(apply(self._facts[-1], call))
        return oracle(self._case.program, self._facts[transactions], INSTANCE_LIMIT)


def check_what_is_left(seed: int, past: Past, directory: Path, acknowledged: int) -> int:
    """Opens the database of a driver that is dead and compares it with the oracle; how many transactions it has."""
    case, program = case_of(seed)
    if last_manifest(StateDirectory(str(directory))) is None:
        assert acknowledged == 0, f"seed {seed}: nothing is left of {acknowledged} commits"
        return 0
    with tasks_here(), program.open("spark", spark=NoSpark(), path=directory) as database:
        done = int(database._locked.marks().get("done", 0))
        assert done in (acknowledged, acknowledged + 1), f"seed {seed}: {done} commits instead of {acknowledged}"
        found = {each.name: frozenset(database.relation(each.name)) for each in case.program.relations}
        assert_same(past.after(done), found, f"seed {seed}: relations after {done} transactions")
        manifest = last_manifest(StateDirectory(str(directory)))
        assert manifest is not None
        files = {str(file.relative_to(directory)) for file in directory.glob("epoch-*/**/*") if file.is_file()}
        # Spark leaves a checksum beside each file that it writes.
        assert {name for name in files if name.endswith(".parquet")} == set(manifest.named)
        return done


def survives_kills(server: Server, seed: int, kills: int, seen: Counter[str] | None = None) -> None:
    """Kills the writer of one database so many times; after each, what is left is as the oracle has it."""
    chance = random.Random(seed)
    past = Past(case_of(seed)[0])
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "state"
        number = 0
        for _ in range(kills):
            after_a_commit = chance.random() < 0.8
            reached = server.run(seed, number, directory, chance.random() * LONGEST, after_a_commit=after_a_commit)
            was_in_flight = directory.exists() and _is_in_flight(directory)
            done = check_what_is_left(seed, past, directory, reached)
            if seen is not None:
                seen["kills"] += 1
                seen["commits"] += done - number
                seen["in the middle of an epoch"] += was_in_flight
                seen["after a commit that was not acknowledged"] += done != reached
            number = done


def survives_kills_on_spark(seed: int, kills: int, seen: Counter[str] | None = None) -> None:
    """The same with a Spark session in each driver, killed after its first commit."""
    chance = random.Random(seed)
    past = Past(case_of(seed)[0])
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "state"
        number = 0
        for _ in range(kills):
            reached = _kill_a_driver(seed, number, directory, chance.random() * LONGEST_ON_SPARK)
            was_in_flight = _is_in_flight(directory)
            done = check_what_is_left(seed, past, directory, reached)
            if seen is not None:
                seen["kills"] += 1
                seen["commits"] += done - number
                seen["in the middle of an epoch"] += was_in_flight
                seen["after a commit that was not acknowledged"] += done != reached
            number = done


def _is_in_flight(directory: Path) -> bool:
    """Whether there are files of an epoch that was not committed."""
    manifest = last_manifest(StateDirectory(str(directory)))
    return (directory / f"epoch-{manifest.epoch + 1 if manifest else 0}").exists()


def _kill_a_driver(seed: int, number: int, directory: Path, seconds: float) -> int:
    command = [sys.executable, "-m", "tests.engine.spark.kill", "--driver", str(seed), str(number), str(directory)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert driver.stdout is not None
    try:
        ready, _, _ = select.select([driver.stdout], [], [], 300)
        assert ready, "the driver says nothing"
        time.sleep(seconds)
    finally:
        driver.send_signal(signal.SIGKILL)
    said = driver.stdout.read().decode().split()
    driver.wait()
    return max((int(each) + 1 for each in said if each.isdigit()), default=number)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills drivers and looks at what they leave.")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--spark", action="store_true", help="with a Spark session in each driver")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--driver", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(write_until_killed, case_of)
        return 0
    if options.driver:
        seed, number, directory = options.driver
        write_on_spark(int(seed), int(number), Path(directory))
        return 0
    seen: Counter[str] = Counter()
    seed = options.seed
    with server("tests.engine.spark.kill") as running:
        while seen["kills"] < options.kills:
            with suppress(TooLargeError):
                if options.spark:
                    survives_kills_on_spark(seed, min(4, options.kills), seen)
                else:
                    survives_kills(running, seed, 10, seen)
            seed += 1
            print(", ".join(f"{count} {name}" for name, count in seen.items()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
