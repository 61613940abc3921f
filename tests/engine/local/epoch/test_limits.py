"""What stops an epoch that takes too much, and that nothing remains of it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from tests.clock import HeldClock
from tests.engine.local.run import Rows, Running

import tidelog
from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.engine.local.epoch.cancellation import Cancellation
from tidelog.engine.local.strata.aggregates import instructions
from tidelog.maintain import limits
from tidelog.maintain.limits import Limits, Watch
from tidelog.maintain.options import Maintenance

COUNT = """
    input relation Start(n: u64)
    output relation N(n: u64)
    N(n) :- Start(n).
    N(n + 1) :- N(n), n < 1000000000000.
"""
# The same through Python: numbers that are no words.
COUNT_IN_PYTHON = COUNT.replace("u64", "bigint")
# One round that takes very long.
PRODUCT = """
    input relation Start(n: u64)
    output relation Pair(a: u64, b: u64, c: u64)
    Pair(a, b, c) :- Start(a), Start(b), Start(c), a + b + c == 7.
"""
# Rounds that Python makes.
GROUPS = """
    input relation Start(n: u64)
    output relation N(n: u64)
    N(n) :- Start(n).
    N(n) :- N(n).
    N(m + 1) :- N(n), var m = n.group_by(()).max().
"""
COPY = """
    input relation A(x: u64)
    output relation P(x: u64)
    P(x) :- A(x).
"""
# The same with a recursion behind it.
FROM_COPY = """
    input relation A(x: u64)
    input relation Next(x: u64, y: u64)
    output relation P(x: u64)
    P(x) :- A(x).
    P(y) :- P(x), Next(x, y).
"""
REACH = """
    input relation Start(x: u64)
    input relation Edge(x: u64, y: u64)
    output relation Reach(x: u64)
    Reach(x) :- Start(x).
    Reach(y) :- Reach(x), Edge(x, y).
"""
STEP = "Reach(y) :- Reach(x), Edge(x, y)."
CLOSURE = """
    input relation Edge(x: u64, y: u64)
    output relation Path(x: u64, y: u64)
    Path(x, y) :- Edge(x, y).
    Path(x, z) :- Path(x, y), Edge(y, z).
"""
STRATEGIES = ["elastic", "update", "counting", "elastic-paper", "circuit", "trace"]
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def running(rule: str) -> str:
    """A pattern for an error that names a rule."""
    return re.escape(f"while the rule `{rule}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HeldClock:
    """The clock of deadlines: each look at it takes a hundredth of a second, and nothing else takes any time.

    So an epoch meets its deadline only if it looks often enough before it is done.
    """
    held = HeldClock(step=0.01)
    monkeypatch.setattr(limits, "perf_counter", held)
    return held


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON], ids=["in the kernel", "in Python"])
def test_rounds_are_limited_and_the_rule_is_named(text: str, strategy: str) -> None:
    run = Running(text, Limits(max_rounds=50), strategy)
    with pytest.raises(
        EvaluationError, match=r"more than 50 rounds.*while the rule `N\(n \+ 1\) :- N\(n\), "
    ) as caught:
        run.commit({"Start": [(5,)]})
    assert caught.value.code == "E605"
    assert run.rows("N") == run.rows("Start") == {}
    # What needs fewer rounds goes through.
    assert run.commit({"Start": [(999999999980,)]})["N"][(1000000000000,)] == 1


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON], ids=["in the kernel", "in Python"])
def test_rows_are_limited(text: str, strategy: str) -> None:
    run = Running(text, Limits(max_rows=1_500), strategy)
    run.commit({"Start": [(999999999000,)]})
    before = run.rows("N")
    rule = running("N(n + 1) :- N(n), ")
    with pytest.raises(EvaluationError, match=rf"`N` would have more than 1500 rows.*{rule}") as caught:
        run.commit({"Start": [(1,)]})
    assert caught.value.code == "E606"
    assert run.rows("N") == before


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON, PRODUCT], ids=["in the kernel", "in Python", "in one round"])
def test_a_deadline_ends_the_epoch(text: str, strategy: str, clock: HeldClock) -> None:
    run = Running(text, Limits(deadline=0.5), strategy)
    clock.step = 0.2  # a look at a large join comes once in millions of instances
    with pytest.raises(EvaluationError, match=r"deadline of 0.5 s, while the rule `") as caught:
        run.commit({"Start": [(n,) for n in range(10, 5_000)]})
    assert caught.value.code == "E607"
    assert run.rows("Start") == {}


def test_limits_hold_for_rounds_with_groups() -> None:
    rule = running("N(m + 1) :- N(n), var m = n.group_by(()).max().")
    with pytest.raises(EvaluationError, match=f"more than 9 rounds.*{rule}"):
        Running(GROUPS, Limits(max_rounds=9)).commit({"Start": [(1,)]})
    with pytest.raises(EvaluationError, match=f"`N` would have more than 9 rows.*{rule}"):
        Running(GROUPS, Limits(max_rows=9)).commit({"Start": [(1,)]})


@each_strategy
def test_another_thread_cancels_the_epoch(strategy: str) -> None:
    run = Running(COUNT, strategy=strategy)
    failed: list[EvaluationError] = []

    def diverge() -> None:
        try:
            run.commit({"Start": [(1,)]})
        except EvaluationError as error:
            failed.append(error)

    assert not run.engine.cancel(), "nothing runs"
    begun = threading.Event()
    run.engine.on_progress(lambda relations, _: begun.set() if "N" in relations else None)
    thread = threading.Thread(target=diverge)
    thread.start()
    assert begun.wait(timeout=600)
    assert run.engine.cancel()
    thread.join(timeout=60)
    assert [error.code for error in failed] == ["E608"]
    # The rule is named once one has run; before its first look the stratum is.
    assert re.search(r"while the rule `N\(n.*\(stratum N\)|while the stratum N", failed[0].message)
    assert run.commit({"Start": [(1000000000000,)]}) == {"N": {(1000000000000,): 1}}


# The rows after the epoch


def some(first: int, count: int) -> Rows:
    return [(x,) for x in range(first, first + count)]


@each_strategy
@pytest.mark.parametrize("text", [COPY, FROM_COPY], ids=["without recursion", "with recursion"])
def test_rows_that_leave_make_room_for_others(text: str, strategy: str) -> None:
    run = Running(text, Limits(max_rows=1000), strategy)
    run.commit({"A": some(0, 1000)})
    run.commit({"A": some(1000, 1)}, {"A": some(0, 1)})
    run.commit({"A": some(5000, 900)}, {"A": some(1, 1000)})
    assert run.rows("P") == run.rows("A") == dict.fromkeys(some(5000, 900), 1)
    with pytest.raises(EvaluationError, match="would have more than 1000 rows"):
        run.commit({"A": some(6000, 600)}, {"A": some(5000, 499)})
    run.commit({"A": some(6000, 600)}, {"A": some(5000, 500)})
    assert run.engine.count("P") == 1000


@each_strategy
def test_a_long_chain_leaves_while_as_many_rows_come_at_once(strategy: str) -> None:
    # With exact iterations the chain is still there when the others come.
    run = Running(FROM_COPY, Limits(max_rows=300), strategy)
    run.commit({"A": [(0,)], "Next": [(x, x + 1) for x in range(250)]})
    assert run.engine.count("P") == 251
    run.commit({"A": some(1000, 280)}, {"A": [(0,)]})
    assert run.engine.count("P") == 280


@each_strategy
def test_rows_that_a_repair_makes_are_counted_while_it_runs(strategy: str) -> None:
    # Nobody could wait for all of the rows that it would make.
    run = Running(COUNT, Limits(max_rows=2_000), strategy)
    run.commit({"Start": [(999999999000,)]})
    before = run.rows("N")
    with pytest.raises(EvaluationError, match=f"`N` would have.*{running('N(n + 1) :- N(n), ')}"):
        run.commit({"Start": [(1,)]}, {"Start": [(999999999000,)]})
    assert run.rows("N") == before


@each_strategy
def test_a_product_is_stopped_before_all_of_it_is_there(strategy: str) -> None:
    text = PRODUCT.replace(", a + b + c == 7", "")
    run = Running(text, Limits(max_rows=1000, deadline=60), strategy)
    with pytest.raises(EvaluationError, match=f"`Pair` would have.*{running('Pair(a, b, c) :- ')}"):
        run.commit({"Start": some(0, 400)})


@each_strategy
def test_a_product_beside_recursion_is_stopped_before_all_of_it_is_there(strategy: str) -> None:
    rule = "Path(x, y) :- Node(x), Node(y)."
    text = f"{CLOSURE}    input relation Node(x: u64)\n    {rule}\n"
    run = Running(text, Limits(max_rows=1000, deadline=60), strategy)
    run.commit({"Edge": [(0, 1)]})
    with pytest.raises(EvaluationError, match=f"`Path` would have.*{running(rule)}"):
        run.commit({"Node": some(0, 1000)})
    run.commit({"Node": some(0, 31)})
    assert run.engine.count("Path") == 961


# Rounds


@each_strategy
def test_a_repair_that_needs_too_many_rounds_is_not_the_end(strategy: str) -> None:
    # Rows keep the ranks of the epoch in which they came, so that a repair may follow the longer way.
    run = Running(REACH, Limits(max_rounds=50), strategy)
    run.commit({"Start": [(0,)], "Edge": [(x, x + 1) for x in range(40)]})
    run.commit({"Edge": [(0, 20)]})
    run.commit({"Edge": [(x, x + 1) for x in range(40, 60)]})
    assert run.engine.count("Reach") == 61
    assert run.commit(delete={"Start": [(0,)]}) == {"Reach": dict.fromkeys(some(0, 61), -1)}
    assert all(each.rounds <= 50 for each in run.report.strata)
    if strategy in ("elastic", "update", "circuit"):
        assert "Update was given up: it needs more rounds than `max_rounds` allows" in run.report.strata[-1].reason


@each_strategy
def test_a_repair_that_diverges_is_stopped_and_the_rule_is_named(strategy: str) -> None:
    run = Running(REACH, Limits(max_rounds=9), strategy)
    run.commit({"Start": [(0,)], "Edge": [(x, x + 1) for x in range(8)]})
    before = run.rows("Reach")
    with pytest.raises(EvaluationError, match=f"more than 9 rounds.*{running(STEP)}"):
        run.commit({"Edge": [(x, x + 1) for x in range(8, 20)]})
    assert run.rows("Reach") == before


@each_strategy
def test_the_report_counts_rounds_as_the_limit_does(strategy: str) -> None:
    chain: Rows = [(x, x + 1) for x in range(6)]
    with pytest.raises(EvaluationError, match="more than 5 rounds"):
        Running(CLOSURE, Limits(max_rounds=5), strategy).commit({"Edge": chain})
    run = Running(CLOSURE, Limits(max_rounds=6), strategy)
    run.commit({"Edge": chain})
    assert run.report.strata[-1].rounds == 6
    flat = Running(COPY, Limits(max_rounds=1), strategy)
    for insert, delete in ((some(0, 9), []), (some(9, 1), []), ([], some(0, 1))):
        flat.commit({"A": insert}, {"A": delete})
        assert [each.rounds for each in flat.report.strata] == [1]


def test_rounds_with_groups_are_counted_as_the_limit_does() -> None:
    text = GROUPS.replace("N(n), var m", "N(n), n < 5, var m")
    with pytest.raises(EvaluationError, match="more than 4 rounds"):
        Running(text, Limits(max_rounds=4)).commit({"Start": [(1,)]})
    run = Running(text, Limits(max_rounds=5))
    run.commit({"Start": [(1,)]})
    assert [(each.strategy, each.rounds) for each in run.report.strata] == [("rounds", 5)]


# Time

EXTERN = """
    extern function slow(x: u64): u64
    input relation A(x: u64)
    output relation P(x: u64)
    P(slow(x)) :- A(x).
"""
IN_A_WEIGHT = EXTERN.replace("output relation", "output multiset")
UNFOLD = """
    input relation A(x: u64)
    output relation P(x: u64)
    P(y) :- A(x), var y = FlatMap(range_vec(0, x, 1)), y > 5000.
"""
TO_VEC = """
    input relation S(a: u64, b: u64)
    output relation P(a: u64, v: Vec<u64>)
    P(a, v) :- S(a, b), var v = b.group_by(a).to_vec().
"""


@pytest.mark.parametrize("strategy", [*STRATEGIES, "recompute"])
@pytest.mark.parametrize("text", [EXTERN, IN_A_WEIGHT], ids=["a set", "a multiset"])
def test_a_deadline_does_not_wait_for_all_calls_of_python(text: str, strategy: str, clock: HeldClock) -> None:
    calls = 0

    def slowly(x: int) -> int:
        nonlocal calls
        calls += 1
        clock.sleep(0.02)
        return x

    run = Running(text, Limits(deadline=0.3), strategy, externs={"slow": slowly})
    with pytest.raises(EvaluationError, match=f"deadline of 0.3 s.*{running('P(slow(x)) :- A(x).')}"):
        run.commit({"A": some(0, 300)})
    assert 0 < calls < 20
    assert run.rows("P") == {}


def test_a_deadline_does_not_wait_for_all_that_a_vector_unfolds_to(clock: HeldClock) -> None:
    run = Running(UNFOLD, Limits(deadline=0.3))
    with pytest.raises(EvaluationError, match=f"deadline of 0.3 s.*{running('P(y) :- A(x), var y')}"):
        run.commit({"A": some(0, 3_000)})


def test_what_unfolds_to_many_rows_is_handed_on_in_parts() -> None:
    run = Running(UNFOLD.replace("y > 5000", "y >= 300"))
    run.commit({"A": some(0, 600)})
    assert run.engine.count("P") == 299


@pytest.mark.parametrize(
    "text", [TO_VEC, TO_VEC.replace("Vec<u64>", "u64").replace("to_vec", "max")], ids=["to_vec", "max"]
)
def test_a_deadline_does_not_wait_for_all_groups_and_the_rule_is_that_of_the_program(
    text: str, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instructions, "AT_ONCE", 10)
    run = Running(text, Limits(deadline=0.4))
    with pytest.raises(EvaluationError, match=f"deadline of 0.4 s.*{running('P(a, v) :- S(a, b), var v = b')}"):
        run.commit({"S": [(n // 3, n) for n in range(30_000)]})


def test_a_trace_is_not_evaluated_to_its_end_after_the_deadline(clock: HeldClock) -> None:
    text = PRODUCT.replace("a + b + c == 7", "a + b + c < 7")  # that does not say what the last variable is
    run = Running(text, Limits(deadline=0.3), "trace")
    with pytest.raises(EvaluationError, match=f"deadline of 0.3 s.*{running('Pair(a, b, c) :- ')}"):
        run.commit({"Start": some(0, 390)})


def test_time_that_is_pardoned_does_not_count(clock: HeldClock) -> None:
    watch = Watch(Limits(deadline=0.2), Cancellation())
    pardoned = [0.0]
    watch.pardoned = lambda: pardoned[0]
    watch.begin()
    clock.sleep(0.3)
    pardoned[0] = 0.25
    watch.look()
    pardoned[0] = 0.0
    with pytest.raises(EvaluationError, match="deadline"):
        watch.look()


# Cancelling


def test_an_interrupt_has_a_note_of_the_rule() -> None:
    class Interrupted:
        def check(self) -> None:
            raise KeyboardInterrupt

    run = Running(COUNT)
    rule = run.engine.program.strata[-1].rules[-1]
    watch = Watch(Limits(), Interrupted())
    with pytest.raises(KeyboardInterrupt) as caught:
        watch.look(lambda: rule)
    (note,) = caught.value.__notes__
    assert re.search(running("N(n + 1) :- N(n)"), note)


def test_an_epoch_that_is_being_committed_cannot_be_cancelled() -> None:
    cancellation = Cancellation()
    with cancellation.running():
        cancellation.pass_point_of_no_return()
        assert not cancellation.cancel()
    with cancellation.running():
        assert cancellation.cancel()
        with pytest.raises(EvaluationError) as caught:
            cancellation.pass_point_of_no_return()
        assert caught.value.code == "E608"
    assert not cancellation.cancel()
    run = Running(COPY)
    answers = []
    operations = [tidelog.engine.interface.Operation("A", 1, some(0, 3))]
    run.engine.commit(operations, lambda *_: answers.append(run.engine.cancel()))
    assert (answers, run.engine.count("P")) == ([False], 3)


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"max_rounds": np.int64(3), "max_rows": np.int32(7), "deadline": np.float32(60)},
        {"threads": np.int64(2), "switch": np.float32(0.2)},
        {"max_rounds": 1 << 70, "max_rows": 1 << 70, "threads": 1 << 70},
        {"deadline": float("inf")},
    ],
    ids=lambda each: str(each)[:40],
)
def test_any_kind_of_number_is_a_limit(options: dict[str, Any]) -> None:
    asked = Maintenance.checked(**options)
    for value in (asked.limits.max_rounds, asked.limits.max_rows, asked.threads):
        assert value is None or type(value) is int
    assert type(asked.switch) is float
    with tidelog.compile(CLOSURE).open(**options) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 2)])
        assert db.relation("Path").rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"strategy": None}, "E801"),
        ({"strategy": 3}, "E801"),
        ({"strategy": ["elastic"]}, "E801"),
        ({"max_rounds": np.float64(3)}, "E814"),
        ({"deadline": 10**400}, "E814"),
        ({"deadline": float("nan")}, "E814"),
        ({"threads": np.bool_(True)}, "E814"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_is_no_option_is_refused_with_a_message(options: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        Maintenance.checked(**options)
    assert caught.value.code == code


def test_loading_kernels_does_not_count_against_the_deadline() -> None:
    """In a process of its own, as this one has its kernels; reading each from the disk takes a second there."""
    text = "input relation E(a: u64, b: u64)\noutput relation R(a: u64, b: u64)\nR(x, y) :- E(x, y).\n"
    text += "R(x, z) :- R(x, y), E(y, z)."
    script = f"""
import tidelog
from tidelog.engine.local.machine_code import declare, load
from tidelog.maintain import limits
read = load.load_entry_point
now = 0.0
def slow(*arguments):
    global now
    now += 1.0  # a second for each kernel, on the clock of the deadline and of loading
    return read(*arguments)
load.load_entry_point = slow
limits.perf_counter = declare.perf_counter = lambda: now
with tidelog.compile({text!r}).open(deadline=0.9) as db:
    with db.transaction() as tx:
        tx.insert("E", [(1, 2)])
    assert declare.seconds_loading() >= 1
    print(db.relation("R").rows())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "[(1, 2)]\n", done.stderr
