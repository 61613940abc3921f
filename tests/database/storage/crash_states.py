"""Every state in which a crash can leave the directory of a database, at every system call of random histories:

    python -m tests.database.storage.crash_states --seconds 600 --seed 1

A child makes a database, commits, checkpoints and opens it again, under `strace`. Its system calls are replayed on a
model of a disk. After each of them the process may be killed: then everything is there that it wrote. Or the power is
cut: then only what was synced is there for certain, and of the rest nothing, all names, all bytes, or any sectors. Each
of those directories is opened, and must hold the last commit that the child spoke of, or the one in flight.

With durability "os" a power cut may lose commits, and so may a sync that lies: then any earlier commit is right, and
for a lie an error, but never a mixture.

In other runs system calls fail, once or from some time on. Then a commit fails with a clear error, and the directory is
held to the same.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import tidelog
from tests.database.storage.disk import Disk, Files
from tests.database.storage.kill import ROOT, Past, case_of, transaction_of
from tests.database.storage.system_calls import Mark, Operation, Sync, Write, record, run_with_fault
from tests.oracle.case import Case
from tests.oracle.instances import TooLargeError
from tests.properties.check import assert_same
from tests.properties.durable import DurableReplay
from tests.properties.language import kept, shown_weights
from tidelog.database.storage import last_epoch
from tidelog.diagnostics.errors import DataError, TidelogError
from tidelog.engine.storage_errors import not_a_database

TRANSACTIONS = 5
CUTS = 2  # random states after a power cut, for each system call
ANOTHER_START = 12345  # of the machine, as the file with the last epoch has it


# The child


def write_history(seed: int, directory: Path, marks: Path, durability: str) -> None:
    """Commits the transactions of a seed, with checkpoints and new starts, and marks each."""
    case, program = case_of(seed)
    chance = random.Random(seed)
    with marks.open("wb", buffering=0) as file:
        _mark_mapped_writes(file.fileno())
        replay = _Replay(case, directory, program, durability)
        replay.open()
        file.write(b"made\n")
        for number in range(TRANSACTIONS):
            file.write(b"begin\n")
            replay.commit(transaction_of(case, number))
            file.write(b"done\n")
            if chance.random() < 0.4:
                replay.checkpoint()
            if chance.random() < 0.3:
                replay.reopen()
                replay.open()
        replay.engine.close()


def write_in_spite_of_errors(seed: int, directory: Path, marks: Path) -> None:
    """Commits the transactions of a seed, each twice if the first attempt fails; marks errors that are not clear."""
    case, program = case_of(seed)
    with marks.open("wb", buffering=0) as file:
        try:
            try:
                replay = _Replay(case, directory, program, "disk")
            except OSError as error:  # from the writer's lock; `open_durable` does the same
                raise not_a_database(directory, f"it cannot be written to: {error.strerror}") from error
            replay.open()
            for number in range(TRANSACTIONS):
                file.write(b"begin\n")
                try:
                    replay.commit(transaction_of(case, number))
                except TidelogError:
                    file.write(b"failed\n")
                    replay.commit(transaction_of(case, number))
                file.write(b"done\n")
                with suppress(OSError):  # the next checkpoint is due soon; a database writes them beside commits
                    replay.checkpoint()
            replay.engine.close()
        except TidelogError as error:
            file.write(f"stopped {error.code}\n".encode())
        except BaseException as error:
            file.write(f"raw {error!r}\n".encode())
    os._exit(0)


class _Replay(DurableReplay):
    def __init__(self, case: Case, directory: Path, program: tidelog.Program, durability: str) -> None:
        self.durability = durability
        super().__init__(case.program, directory, program)


def _mark_mapped_writes(marks: int) -> None:
    """Marks what is written to the mapped file with the last epoch."""
    write = last_epoch.LastEpoch.write

    def marked(self: last_epoch.LastEpoch, epoch: int) -> None:
        write(self, epoch)
        os.write(marks, f"head {bytes(self._slots[:]).hex()}\n".encode())

    last_epoch.LastEpoch.write = marked  # type: ignore[method-assign]


# The states


@dataclass(frozen=True, slots=True)
class State:
    """A directory after a crash, how many transactions were certainly committed, how many may be, and what happened.

    `may_fail`: an error is right, too.
    """

    files: Files
    committed: int
    begun: int
    what: str
    may_fail: bool = False


def states(operations: list[Operation], durability: str, chance: random.Random) -> Iterator[State]:
    """Yields the states after each operation, different ones."""
    disk = Disk()
    is_made, begun, done = False, 0, 0
    seen: set[tuple[int, int, frozenset[tuple[str, bytes]]]] = set()
    for number, operation in enumerate(operations):
        match operation:
            case Mark("made"):
                is_made = True
            case Mark("begin"):
                begun += 1
            case Mark("done"):
                done += 1
            case _:
                disk.apply(_unmarked(operation))
        if isinstance(operation, Mark) and not operation.text.startswith("head "):
            continue
        if isinstance(operation, Mark):
            disk.apply(_unmarked(operation))
        certain = done if durability == "disk" else 0
        found = [State(disk.after_kill(), done, begun, f"killed after call {number}")]
        cuts = [disk.after_power_cut(), disk.with_all_names(), disk.with_all_bytes()]
        cuts += [disk.after_power_cut(chance) for _ in range(CUTS)]
        found += [
            State(files, certain, begun, f"power cut {cut} after call {number}") for cut, files in enumerate(cuts)
        ]
        for state in found:
            key = state.committed, state.begun, frozenset(state.files.items())
            if key not in seen and (is_made or state.what.startswith("killed")):
                seen.add(key)
                yield state


def states_after_lies(operations: list[Operation], count: int, chance: random.Random) -> Iterator[State]:
    """Yields states after power cuts, with syncs before them that did nothing."""
    for _ in range(count):
        disk, lies, begun = Disk(), chance.random(), 0
        end = chance.randrange(len(operations))
        for operation in operations[:end]:
            begun += operation == Mark("begin")
            is_lie = isinstance(operation, Sync) and chance.random() < lies
            disk.apply(_unmarked(operation), is_lie=is_lie)
        files = disk.after_power_cut(chance if chance.random() < 0.7 else None)
        yield State(files, 0, begun, f"power cut after call {end}, with syncs that lied", may_fail=True)


def _unmarked(operation: Operation) -> Operation:
    """Returns the write that a mark stands for."""
    match operation:
        case Mark(text) if text.startswith("head "):
            return Write("head", 0, bytes.fromhex(text.removeprefix("head ")))
        case _:
            return operation


# What must be there


def check(state: State, case: Case, program: tidelog.Program, past: Past, seen: Counter[str]) -> None:
    """Opens the directory, compares it with the oracle, and commits the next transaction."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for file, content in state.files.items():
            (directory / file).write_bytes(content)
        try:
            replay = _Replay(case, directory, program, "os")
            replay.open()
        except DataError:
            if not state.may_fail:
                raise
            seen["errors after a lie"] += 1
            return
        found = replay.local.epoch
        allowed = {past.epoch_after(number): number for number in range(state.begun, state.committed - 1, -1)}
        assert found in allowed, f"{state.what}: epoch {found} instead of {sorted(allowed)}"
        _compare(case, past, found, replay, state.what)
        number = allowed[found]
        replay.commit(transaction_of(case, number))
        _compare(case, past, past.epoch_after(number + 1), replay, f"{state.what}, and a commit")
        replay.engine.close()
        seen["states"] += 1
        seen["with the commit in flight"] += found != past.epoch_after(state.committed)


def _compare(case: Case, past: Past, epoch: int, replay: DurableReplay, what: str) -> None:
    expected = past.epochs[epoch]
    assert_same(kept(case.program, expected), shown_weights(case.program, replay, expected), what)


def survives_crashes(seed: int, durability: str, seen: Counter[str], *, lies: int = 20, share: float = 1.0) -> None:
    """Makes the history of a seed and checks all states, or a share of them."""
    case, program = case_of(seed)
    past = Past(case)
    past.epoch_after(TRANSACTIONS + 1)
    if past.has_too_large_weight(TRANSACTIONS + 1):
        raise TooLargeError
    chance = random.Random(f"crashes {seed}")
    with tempfile.TemporaryDirectory() as name:
        directory, marks = Path(name) / "database", Path(name) / "marks"
        directory.mkdir()
        options = ["--write", str(directory), str(marks), "--seed", str(seed), "--durability", durability]
        command = [sys.executable, "-m", "tests.database.storage.crash_states", *options]
        operations = record(command, directory, marks, Path(name) / "calls", ROOT)
    seen["histories"] += 1
    seen["system calls"] += sum(not isinstance(each, Mark) for each in operations)
    # A machine that lost its power starts again, with another number.
    with patch.object(last_epoch, "_machine_start", return_value=ANOTHER_START):
        for state in states(operations, durability, chance):
            if share == 1.0 or chance.random() < share:
                if state.what.startswith("killed"):
                    with patch.object(last_epoch, "_machine_start", _this_start):
                        check(state, case, program, past, seen)
                else:
                    check(state, case, program, past, seen)
        for state in states_after_lies(operations, lies, chance):
            check(state, case, program, past, seen)


_this_start = last_epoch._machine_start


def survives_fault(seed: int, call: str, error: str, when: str, seen: Counter[str]) -> bool:
    """Makes the history of a seed with system calls that fail; returns False if there were none."""
    case, program = case_of(seed)
    past = Past(case)
    with tempfile.TemporaryDirectory() as name:
        directory, marks = Path(name) / "database", Path(name) / "marks"
        directory.mkdir()
        options = ["--write", str(directory), str(marks), "--seed", str(seed), "--in-spite-of-errors"]
        command = [sys.executable, "-m", "tests.database.storage.crash_states", *options]
        names = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-journal", "journal.sqlite.partial", "head"]
        names += ["journal.sqlite.partial-journal", "journal.sqlite-shm"]
        names += [f"snapshot-{epoch:012}.{end}" for epoch in range(TRANSACTIONS + 1) for end in ("partial", "tide")]
        paths = [directory, *(directory / each for each in names)]
        is_hit = run_with_fault(command, paths, call, error, when, Path(name) / "log", ROOT)
        said = marks.read_text().splitlines()
        what = f"seed {seed}, {call} fails with {error} ({when})"
        assert not any(line.startswith("raw ") for line in said), f"{what}: {said[-1]}"
        files = {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("-shm")}
    seen["faults"] += is_hit
    seen["failed commits"] += said.count("failed")
    if "journal.sqlite" in files:
        check(State(files, said.count("done"), said.count("begin"), what), case, program, past, seen)
    else:
        assert "begin" not in said, what
    return is_hit


FAULTS = (
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("write", "ENOSPC"),
    ("write", "EIO"),
    ("fdatasync", "EIO"),
    ("fsync", "EIO"),
    ("openat", "EMFILE"),
    ("ftruncate", "EIO"),
    ("rename", "EIO"),
    ("unlink", "EIO"),
    ("mmap", "ENOMEM"),
)


def survives_faults(seed: int, seen: Counter[str], end: float) -> None:
    """Lets each call of each kind fail, once and from then on, until the clock shows `end`."""
    for call, error in FAULTS:
        for number in range(1, 200):
            if time.monotonic() > end:
                return
            hits = [survives_fault(seed, call, error, f"{number}{more}", seen) for more in ("", "+")]
            if not any(hits):
                break


def main() -> int:
    parser = argparse.ArgumentParser(description="Opens every directory that a crash can leave.")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--durability", default="disk")
    parser.add_argument("--faults", action="store_true", help="let system calls fail, instead of crashes")
    parser.add_argument("--in-spite-of-errors", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, metavar=("DIRECTORY", "MARKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write and options.in_spite_of_errors:
        write_in_spite_of_errors(options.seed, Path(options.write[0]), Path(options.write[1]))
    if options.write:
        write_history(options.seed, Path(options.write[0]), Path(options.write[1]), options.durability)
        return 0
    seen: Counter[str] = Counter()
    seed, end = options.seed, time.monotonic() + options.seconds
    while time.monotonic() < end:
        with suppress(TooLargeError):
            if options.faults:
                survives_faults(seed, seen, end)
            else:
                survives_crashes(seed, ("disk", "os")[seed % 2], seen)
        seed += 1
        print(f"seed {seed}: " + ", ".join(f"{count} {name}" for name, count in seen.items()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
