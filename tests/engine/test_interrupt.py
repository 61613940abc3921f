"""Ctrl-C during a long epoch stops it, and the database is as it was."""

from __future__ import annotations

import os
import signal
import threading
from time import perf_counter, sleep

import pyarrow as pa
import pytest

from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.rules.compile_rules import compile_rules

# Counts to four thousand million: it would run for hours.
ENDLESS = """
input relation Start(n: u32)
output relation Count(n: u32)
Count(n) :- Start(n).
Count(n + 1) :- Count(n).
"""


def start(number: int) -> list[Operation]:
    return [Operation("Start", 1, pa.table({"n": pa.array([number], pa.uint32())}))]


def interrupt_soon() -> None:
    sleep(0.7)
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_ends_a_long_epoch_and_undoes_it() -> None:
    engine = LocalEngine(compile_rules(Source("<test>", ENDLESS)).rules)
    engine.open()
    handler = signal.getsignal(signal.SIGINT)
    alarm = threading.Thread(target=interrupt_soon)
    alarm.start()
    began = perf_counter()
    with pytest.raises(KeyboardInterrupt):
        engine.commit(start(0))
    alarm.join()
    assert perf_counter() - began > 0.5
    assert (engine.count("Start"), engine.count("Count")) == (0, 0)
    assert signal.getsignal(signal.SIGINT) is handler
