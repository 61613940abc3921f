"""`kill -9` of a process that writes to a database, at random moments of random histories, against the oracle:

    python -m tests.database.storage.kill --kills 2000 --seed 1

A server process has everything loaded and forks a child for each run, so that a kill costs no start of Python. The
child opens the database and commits one transaction after the other, saying so after each; in some runs checkpoints
follow one another all the time. When it is dead, the database is opened here: its state must be that of the last commit
that the child spoke of, or of the one after it.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import tidelog
from tests.oracle.case import Case
from tests.oracle.compose import FEATURES, random_language_case
from tests.oracle.evaluate import weigh
from tests.oracle.history import Transaction, is_an_epoch, weigh_facts
from tests.oracle.instances import TooLargeError
from tests.oracle.types import Weights
from tests.oracle.write import write as written
from tests.properties.check import INSTANCE_LIMIT, assert_same
from tests.properties.durable import DurableReplay
from tests.properties.language import kept, shown_weights
from tidelog.database.storage import checkpoint_policy

ROOT = Path(__file__).parents[3]
LONGEST = 0.12
LARGEST_WEIGHT = (1 << 63) - 1

Made = tuple[Case, tidelog.Program]


@lru_cache(maxsize=1)
def case_of(seed: int) -> Made:
    """Makes the program and the history of a run from the seed, in both processes, and compiles the program."""
    case = random_language_case(random.Random(f"kill {seed}"), FEATURES[seed % len(FEATURES)])
    return case, tidelog.compile(written(case.program))


def transaction_of(case: Case, number: int) -> Transaction:
    """Repeats the history without end."""
    return case.history[number % len(case.history)]


# The child


def serve(write: Callable[[Case, tidelog.Program, int, Path], None], case_of: Callable[[int], Made]) -> None:
    """Forks a child, which writes, for every line `seed number directory` on standard input; says its number, and when
    it is dead."""
    from tidelog.engine.local.machine_code.load import load_all

    load_all()
    say("ready")
    for line in sys.stdin:
        seed, number, directory = line.split(maxsplit=2)
        made = case_of(int(seed))
        child = os.fork()
        if child == 0:
            write(*made, int(number), Path(directory.strip()))
        say(f"child {child}")
        os.waitpid(child, 0)
        say("dead")


def write_until_killed(case: Case, program: tidelog.Program, number: int, directory: Path) -> None:
    """Commits the transactions from this number on."""
    checkpoint_policy._SECONDS, checkpoint_policy._TIMES_ITS_COST = random.choice((0.005, 0.05, 1.0)), 0
    try:
        replay = DurableReplay(case.program, directory, program)
        replay.open()
        while True:
            replay.commit(transaction_of(case, number))
            say(f"done {number}")
            number += 1
    except BaseException as error:
        say(f"failed {error!r}")
        os._exit(1)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


# The killer


class ChildFailedError(Exception):
    """A transaction raised an error in the child."""

    def __init__(self, line: str, number: int) -> None:
        super().__init__(f"transaction {number} {line}")
        self.number = number


class Server:
    """The process that forks; its children are killed from here."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        self._unread = b""
        # The kernels may have to be compiled first.
        assert self._line(seconds=900) == "ready"

    def run(self, seed: int, number: int, directory: Path, seconds: float, *, after_a_commit: bool) -> int:
        """Lets a child write from transaction `number` on, and kills it; the number of the next transaction.

        The time counts from the child's start or, if asked, from its first commit. Raises ChildFailedError.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed} {number} {directory}\n".encode())
        self._process.stdin.flush()
        child = int(self._line().removeprefix("child "))
        failed = ""
        if after_a_commit:
            line = self._line()
            failed, number = (line, number) if line.startswith("failed ") else ("", self._done(line))
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        while (line := self._line()) != "dead":
            failed, number = (line, number) if line.startswith("failed ") else (failed, self._done(line))
        if failed:
            raise ChildFailedError(failed, number)
        return number

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    @staticmethod
    def _done(line: str) -> int:
        assert line.startswith("done "), line
        return int(line.removeprefix("done ")) + 1

    def _line(self, seconds: float = 60) -> str:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            assert ready, "the child says nothing"
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            assert read, "the server has ended"
            self._unread += read
        line, self._unread = self._unread.split(b"\n", 1)
        return line.decode()


@contextmanager
def server(module: str = "tests.database.storage.kill") -> Iterator[Server]:
    """Starts a process of a module that serves with `--serve`."""
    made = Server(module)
    try:
        yield made
    finally:
        made.close()


class Past:
    """What the oracle says of every epoch of a case, and which transactions make one."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._facts: Weights = {}
        self.epochs: list[Weights] = [weigh(case.program, {}, (), INSTANCE_LIMIT)]
        self._last_epoch = [0]  # after so many transactions

    def epoch_after(self, transactions: int) -> int:
        """Returns the number of the last epoch after so many transactions."""
        while len(self._last_epoch) <= transactions:
            transaction = transaction_of(self._case, len(self._last_epoch) - 1)
            before, self._facts = self._facts, weigh_facts(self._case.program, self._facts, transaction)
            if is_an_epoch(self._case.program, before, self._facts):
                self.epochs.append(weigh(self._case.program, self._facts, self.epochs, INSTANCE_LIMIT))
            self._last_epoch.append(len(self.epochs) - 1)
        return self._last_epoch[transactions]

    def has_too_large_weight(self, transactions: int) -> bool:
        """True if a weight does not fit into 64 bits after so many transactions, so that the last one must fail."""
        weights = self.epochs[self.epoch_after(transactions)].values()
        return any(abs(weight) > LARGEST_WEIGHT for bag in weights for weight in bag.values())


def survives_kills(server: Server, seed: int, kills: int, seen: Counter[str] | None = None) -> None:
    """Kills the writer of one database so many times; after each the database is as the oracle has it."""
    chance = random.Random(seed)
    case, program = case_of(seed)
    past = Past(case)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        number = 0
        for kill in range(kills):
            before = number
            try:
                number = server.run(
                    seed, number, directory, chance.random() * LONGEST, after_a_commit=chance.random() < 0.8
                )
            except ChildFailedError as failed:
                if past.has_too_large_weight(failed.number + 1):
                    raise TooLargeError from failed
                raise
            was_checkpointing = any(directory.glob("*.partial"))
            replay = DurableReplay(case.program, directory, program)
            replay.open()
            found = replay.local.epoch
            allowed = {past.epoch_after(number): number, past.epoch_after(number + 1): number + 1}
            assert found in allowed, f"seed {seed}, kill {kill}: epoch {found} instead of {sorted(allowed)}"
            assert_same(
                kept(case.program, past.epochs[found]),
                shown_weights(case.program, replay, past.epochs[found]),
                f"seed {seed}: relations after kill {kill}, in transaction {number}",
            )
            replay.engine.close()
            if seen is not None:
                seen["kills"] += 1
                seen["commits"] += number - before
                seen["in the middle of a commit"] += found != past.epoch_after(number)
                seen["in the middle of a checkpoint"] += was_checkpointing
            number = max(number, allowed[found])


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills writers and looks at what they leave.")
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(write_until_killed, case_of)
        return 0
    seen: Counter[str] = Counter()
    seed = options.seed
    with server() as running:
        while seen["kills"] < options.kills:
            with suppress(TooLargeError):
                survives_kills(running, seed, 20, seen)
            seed += 1
            print(", ".join(f"{count} {name}" for name, count in seen.items()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
