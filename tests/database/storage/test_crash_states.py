"""A crash at any system call of a commit loses nothing that was committed; `make campaign` has many more histories."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.database.storage.crash_states import FAULTS, survives_crashes, survives_fault
from tests.database.storage.disk import Disk
from tests.database.storage.system_calls import Create, Operation, Rename, Sync, Truncate, Write, can_trace
from tests.sample import day

needs_strace = pytest.mark.skipif(not can_trace(), reason="strace is not installed, or may not trace here")


@needs_strace
@pytest.mark.parametrize(("seed", "durability"), [(1001, "disk"), (1002, "os")])
def test_after_a_crash_at_any_system_call_the_last_commit_is_there(seed: int, durability: str) -> None:
    seen: Counter[str] = Counter()
    survives_crashes(seed, durability, seen, share=0.3)
    assert seen["system calls"] > 50
    assert seen["states"] > 40


@needs_strace
def test_a_sync_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The check of the check: on a disk whose syncs do nothing, commits must get lost.
    honest = Disk.apply
    monkeypatch.setattr(Disk, "apply", lambda disk, operation, **_: honest(disk, operation, is_lie=True))
    with pytest.raises(Exception, match=r"epoch|journal"):
        survives_crashes(1001, "disk", Counter(), lies=0)


@needs_strace
def test_system_calls_that_fail_are_clear_errors_and_lose_nothing() -> None:
    chance, seen = random.Random(day()), Counter[str]()
    for call, error in chance.sample(FAULTS, 4):
        survives_fault(1001, call, error, f"{chance.randrange(1, 5)}{chance.choice(('', '+'))}", seen)
    assert seen["faults"] > 0


def test_the_disk_has_what_was_synced_and_nothing_else() -> None:
    disk = Disk()
    _apply_all(disk, [Create("a"), Write("a", 0, b"abc"), Sync("a")])
    assert disk.after_kill() == {"a": b"abc"}
    assert disk.after_power_cut() == {}, "the name was not synced"
    assert disk.with_all_names() == {"a": b"abc"}
    later: list[Operation] = [
        Write("a", 1, b"xyz"),
        Create("b"),
        Write("b", 2, b"!"),
        Rename("b", "c"),
        Truncate("a", 2),
    ]
    _apply_all(disk, [Sync(""), *later])
    assert disk.after_kill() == {"a": b"ax", "c": b"\0\0!"}
    assert disk.after_power_cut() == {"a": b"abc"}
    assert disk.with_all_names() == {"a": b"abc", "c": b""}
    assert disk.with_all_bytes() == {"a": b"ax"}
    found = {tuple(sorted(disk.after_power_cut(random.Random(seed)).items())) for seed in range(200)}
    assert {dict(each)["a"] for each in found} == {b"abc", b"axyz", b"ax", b"ab"}
    assert {frozenset(dict(each)) for each in found} == {frozenset("a"), frozenset("ab"), frozenset("ac")}


def _apply_all(disk: Disk, operations: list[Operation]) -> None:
    for operation in operations:
        disk.apply(operation)
