"""Ctrl-C during a long epoch stops it, and the database is as it was."""

from __future__ import annotations

import os
import signal
import threading

import pyarrow as pa
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.epoch.cancellation import Cancellation

# Counts to four thousand million: it would run for hours.
ENDLESS = """
input relation Start(n: u32)
output relation Count(n: u32)
Count(n) :- Start(n).
Count(n + 1) :- Count(n).
"""


LATER = 50
"""The look at which the epoch is interrupted: by then the recursive rule is the busiest."""


def start(number: int) -> list[Operation]:
    return [Operation("Start", 1, pa.table({"n": pa.array([number], pa.uint32())}))]


def test_an_interrupt_ends_a_long_epoch_and_undoes_it() -> None:
    engine = LocalEngine(compile_program(Source("<test>", ENDLESS)).rules)
    engine.open()
    handler = signal.getsignal(signal.SIGINT)
    rounds: list[int] = []

    def interrupt(_: object, round_: int) -> None:
        rounds.append(round_)
        if len(rounds) == LATER:
            os.kill(os.getpid(), signal.SIGINT)

    engine.on_progress(interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        engine.commit(start(0))
    assert LATER <= len(rounds) < 1000
    assert "while the rule `Count(n + 1) :- Count(n).` at <test>:5:1 was running" in caught.value.__notes__[0]
    assert (engine.count("Start"), engine.count("Count")) == (0, 0)
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_inside_nested_blocks_waits_for_the_outermost() -> None:
    inner, outer = Cancellation(), Cancellation()
    passed = []

    def work() -> None:
        with outer.held():
            with inner.held():
                os.kill(os.getpid(), signal.SIGINT)
                passed.append("inner")
            passed.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert passed == ["inner", "outer"]
    inner.check()


def test_the_inner_of_two_nested_blocks_can_take_the_interrupt() -> None:
    inner, outer = Cancellation(), Cancellation()

    def work() -> None:
        with inner.held():
            os.kill(os.getpid(), signal.SIGINT)
            inner.check()

    with outer.held():
        with pytest.raises(KeyboardInterrupt):
            work()
        outer.check()


def test_an_interrupt_is_not_lost_when_the_block_fails_and_does_not_wait_for_the_next() -> None:
    cancellation = Cancellation()

    def fail() -> None:
        with cancellation.held():
            os.kill(os.getpid(), signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt) as caught:
        fail()
    assert isinstance(caught.value.__context__, ValueError)
    with cancellation.held():
        cancellation.check()


def test_another_thread_does_not_take_the_interrupt_of_the_main_one() -> None:
    main, other = Cancellation(), Cancellation()
    raised: list[BaseException] = []

    def look() -> None:
        try:
            with other.held():
                other.check()
        except BaseException as error:
            raised.append(error)

    def work() -> None:
        with main.held():
            os.kill(os.getpid(), signal.SIGINT)
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            main.check()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert raised == []


def test_a_handler_that_is_no_function_stays() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Cancellation().held():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
