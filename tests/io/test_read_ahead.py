"""Items that a thread reads before they are asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from tidelog.io.read_ahead import read_ahead


def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_all_items_come_in_their_order(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _two_processors(monkeypatch)
    assert list(read_ahead(iter(range(count)))) == list(range(count))


def test_the_next_item_is_read_while_the_caller_works(monkeypatch: pytest.MonkeyPatch) -> None:
    _two_processors(monkeypatch)
    read, threads = threading.Event(), set()

    def items() -> Iterator[int]:
        threads.add(threading.get_ident())
        yield 1
        read.set()
        yield 2

    found = read_ahead(items())
    assert next(found) == 1
    assert read.wait(10)
    assert list(found) == [2]
    assert threads.isdisjoint({threading.get_ident()})


def test_an_error_comes_behind_the_items_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _two_processors(monkeypatch)

    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    found = read_ahead(items())
    assert next(found) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(found)


def test_a_closed_reader_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    _two_processors(monkeypatch)
    found = read_ahead(iter(range(100)))
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert not [each for each in threading.enumerate() if each.name.startswith("tidelog-read")]


def test_one_processor_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    found = read_ahead(iter([1, 2]))
    assert next(found) == 1
    assert not [each for each in threading.enumerate() if each.name.startswith("tidelog-read")]
    assert list(found) == [2]
