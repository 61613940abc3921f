"""Readers in other processes, which `refresh` while a writer commits, against the oracle:

    python -m tests.database.storage.other_readers --seconds 60 --seed 1

The writer commits a random history over and over, with checkpoints one after the other, which cut the journal that the
readers follow. Each reader refreshes and reads all relations; they must be those of one epoch, not older than the last
one that was acknowledged before it began, and never older than what it saw last. Every reader also starts anew now and
then.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.database.storage.kill import Past, case_of, transaction_of
from tests.oracle.instances import TooLargeError
from tests.properties.check import assert_same
from tests.properties.durable import DurableReplay
from tests.properties.language import kept, shown_weights
from tidelog.database.storage import checkpoint_policy
from tidelog.database.storage.durable_engine import DurableEngine
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.maintain.options import Maintenance

READERS = 3
MOST_TRANSACTIONS = 400  # the oracle computes every epoch


class ReadingReplay(DurableReplay):
    """A database that another process writes."""

    def make_engine(self) -> DurableEngine:
        rules, stored = self.compiled._rule_set, StoredProgram.of(self.compiled)
        return DurableEngine(self._directory, rules, stored, {}, Maintenance(self.strategy), lock=None)

    def refresh(self) -> None:
        if (found := self.engine.refresh()) is not None:
            self.engine = found[0]


class Shared:
    """Numbers that all processes see: the acknowledged transactions, and the refreshes and new starts of readers."""

    def __init__(self) -> None:
        self._words = mmap.mmap(-1, 8 * (1 + 2 * READERS))

    def __getitem__(self, place: int) -> int:
        return int.from_bytes(self._words[8 * place : 8 * place + 8], "little")

    def __setitem__(self, place: int, value: int) -> None:
        self._words[8 * place : 8 * place + 8] = value.to_bytes(8, "little")


def write(seed: int, directory: Path, shared: Shared, seconds: float) -> None:
    """Commits for some seconds; the database is there already."""
    case, program = case_of(seed)
    checkpoint_policy._SECONDS, checkpoint_policy._TIMES_ITS_COST = 0.01, 0
    replay = DurableReplay(case.program, directory, program)
    replay.open()
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end and number < MOST_TRANSACTIONS:
        replay.commit(transaction_of(case, number))
        number += 1
        shared[0] = number
        time.sleep(0.002)
    replay.engine.close()


def read(seed: int, directory: Path, shared: Shared, seconds: float, me: int) -> None:
    """Refreshes and reads for some seconds; raises where something is wrong."""
    case, program = case_of(seed)
    past, chance = Past(case), random.Random(me)
    end, last = time.monotonic() + seconds, 0
    replay = ReadingReplay(case.program, directory, program)
    replay.open()
    while time.monotonic() < end:
        acknowledged = shared[0]
        if chance.random() < 0.1:
            replay.engine.close()
            replay = ReadingReplay(case.program, directory, program)
            replay.open()
            shared[1 + READERS + me] += 1
        else:
            replay.refresh()
        found = replay.local.epoch
        assert found >= max(past.epoch_after(acknowledged), last), f"epoch {found} after {last}, {acknowledged} done"
        assert found <= past.epoch_after(shared[0] + 1), f"epoch {found} is not committed"
        last = found
        expected = past.epochs[found]
        shown = shown_weights(case.program, replay, expected)
        assert_same(kept(case.program, expected), shown, f"seed {seed}: epoch {found} in another process")
        shared[1 + me] += 1
    replay.engine.close()


def _in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def read_beside_a_writer(seed: int, seconds: float, seen: Counter[str]) -> None:
    """Runs a writer and its readers; raises AssertionError where one of them found anything wrong."""
    case, program = case_of(seed)
    past = Past(case)
    past.epoch_after(len(case.history))
    if past.has_too_large_weight(len(case.history)):
        raise TooLargeError
    shared = Shared()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        replay = DurableReplay(case.program, directory, program)
        replay.open()
        replay.engine.close()
        children = [_in_child(lambda: write(seed, directory, shared, seconds))]
        for me in range(READERS):
            children.append(_in_child(lambda me=me: read(seed, directory, shared, seconds, me)))  # type: ignore[misc]
        failed = []
        for child in children:
            _, status = os.waitpid(child, 0)
            failed += [status] if status else []
            if failed:
                for other in children:
                    with suppress(ProcessLookupError):
                        os.kill(other, signal.SIGTERM)
    assert not failed, f"seed {seed}: a process ended with {failed[0]}"
    seen["histories"] += 1
    seen["commits"] += shared[0]
    seen["reads"] += sum(shared[1 + me] for me in range(READERS))
    seen["new starts"] += sum(shared[1 + READERS + me] for me in range(READERS))


def main() -> int:
    parser = argparse.ArgumentParser(description="Reads in other processes while one writes.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1000)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    seed, end = options.seed, time.monotonic() + options.seconds
    while time.monotonic() < end:
        with suppress(TooLargeError):
            read_beside_a_writer(seed, 3.0, seen)
        seed += 1
    print(", ".join(f"{count} {name}" for name, count in seen.items()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
