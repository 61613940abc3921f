"""Steps of an exchange: all tasks hear the same, parts arrive, and who stops or was lost is noticed by all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow.fs as pafs
import pytest
from tests.engine.spark.programs import rules_of

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.kernels import sent_instances as kernels
from tidelog.engine.spark.plans.partitioned.exchange import Exchange, MessageFiles, RepeatedError, StoppedError
from tidelog.engine.spark.plans.partitioned.instances import InstanceCodec
from tidelog.engine.spark.storage.bucket import bucket_of_column
from tidelog.engine.spark.storage.directory import StateDirectory


@pytest.fixture
def directory() -> Iterator[StateDirectory]:
    made = StateDirectory.temporary()
    made.make(4)
    yield made
    assert made.remove is not None
    made.remove()


def together(directory: StateDirectory, count: int, run: Callable[[Exchange], Any], name: str = "a") -> list[Any]:
    def one(me: int) -> Any:
        exchange = Exchange(MessageFiles(directory, 4, name), count, me)
        exchange.begin()
        return run(exchange)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_all_tasks_hear_the_same_and_each_gets_its_parts(directory: StateDirectory) -> None:
    def run(exchange: Exchange) -> list[Any]:
        found = []
        for step in range(3):
            if step == 1:
                exchange.send([bytes([exchange.me, other, 9]) for other in range(3)])
            heard, parts = exchange.meet({"me": exchange.me}, [bytes([exchange.me, other, step]) for other in range(3)])
            found.append(([each["me"] for each in heard], sorted(parts)))
        return found

    for me, steps in enumerate(together(directory, 3, run)):
        for step, (heard, parts) in enumerate(steps):
            assert heard == [0, 1, 2]
            more = [9] if step == 1 else []
            assert parts == sorted(bytes([other, me, each]) for other in range(3) for each in (step, *more))


def test_files_of_past_steps_are_removed(directory: StateDirectory) -> None:
    def run(exchange: Exchange) -> None:
        for _ in range(4):
            exchange.meet({})

    together(directory, 2, run)
    names = sorted(info.base_name for info in _files(directory))
    assert names == ["sent.a.3.0", "sent.a.3.1", "sent.a.begun.0", "sent.a.begun.1"]


def test_a_task_that_stops_stops_all(directory: StateDirectory) -> None:
    def run(exchange: Exchange) -> str:
        if exchange.me == 1:
            exchange.stop("no rows today")
            return "stopped"
        with pytest.raises(StoppedError, match="no rows today"):
            exchange.meet({})
        return "heard"

    assert together(directory, 3, run) == ["heard", "stopped", "heard"]


def test_a_repeated_task_takes_no_part_and_stops_the_others(directory: StateDirectory) -> None:
    def run(exchange: Exchange) -> str:
        if exchange.me == 0:
            again = Exchange(exchange.files, 2, 0)
            with pytest.raises(RepeatedError):
                again.begin()
            return "repeated"
        with pytest.raises(StoppedError):
            exchange.meet({})
        return "stopped"

    assert together(directory, 2, run) == ["repeated", "stopped"]


TYPES = """
input relation R(a: u32, b: s64, c: string, d: bool, e: u64, f: u8)
input relation Plain(a: u32, b: s64, d: bool, e: u64)
"""
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "R": [(7, -5, "é", True, 2**64 - 1, 0), (0, 5, "", False, 3, 255), (2**32 - 1, -(2**63), "zz", True, 2**63, 1)],
    "Plain": [(7, -5, True, 2**64 - 1), (0, 2**63 - 1, False, 3), (2**32 - 1, -(2**63), True, 2**63)],
}


@pytest.mark.parametrize("name", ["R", "Plain"])
def test_instances_travel_between_processes_and_are_dealt_like_files(name: str) -> None:
    relation = rules_of(TYPES).relations[name]
    sender, receiver = Values(), Values()
    receiver.rows_to_words([(1, 1, "other", False, 1, 1)], rules_of(TYPES).relations["R"])  # other ids than the sender
    words = sender.rows_to_words(ROWS[name], relation)
    instances = np.zeros((len(words), words.shape[1] + 2), dtype=np.int64)
    instances[:, :-2] = words
    instances[:, -2] = [3, 4 | 2 << 32, 5]
    kernels.hash_instances(instances)
    here, there = InstanceCodec(relation, sender), InstanceCodec(relation, receiver)
    found = there.decode(here.encode(instances))
    assert receiver.words_to_rows(found[:, :-2], relation) == ROWS[name]
    assert found[:, -2].tolist() == instances[:, -2].tolist()
    expected = found.copy()
    kernels.hash_instances(expected)
    assert (found == expected).all()
    assert kernels.repeats_of(found) == 2
    stored = sender.words_to_table(words, relation)
    for column in range(words.shape[1]):
        for parts in (1, 2, 7):
            dealt = bucket_of_column(stored.column(column), parts)
            assert here.parts(instances, column, parts).tolist() == dealt.tolist(), relation.columns[column]


def test_dividing_keeps_every_instance() -> None:
    instances = np.arange(60, dtype=np.int64).reshape(20, 3)
    parts = np.array([i * 7 % 4 for i in range(20)], dtype=np.int64)
    out, starts = np.empty_like(instances), np.empty(6, dtype=np.int64)
    kernels.divide(instances, parts, 5, out, starts)
    for part in range(5):
        assert out[starts[part] : starts[part + 1]].tolist() == instances[parts == part].tolist()


def _files(directory: StateDirectory) -> list[Any]:
    filesystem, root = directory.opened
    return list(filesystem.get_file_info(pafs.FileSelector(f"{root}/epoch-4")))
