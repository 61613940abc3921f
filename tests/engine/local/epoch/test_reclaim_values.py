"""Interned values are given back when nothing uses them any more, and no sooner."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from threading import Event, Thread, Timer
from typing import Any

import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.encoding import pool as interning
from tidelog.engine.local.encoding.pool import ObjectPool, Pool
from tidelog.engine.local.encoding.string_pool import StringPool
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.epoch.changes import LocalChanges
from tidelog.engine.local.epoch.reclaim_values import Reclaim
from tidelog.types import STRING

NAMES = """
    input relation Name(x: string)
    output relation Greeting(x: string)
    Greeting("Hello " ++ x) :- Name(x), x != "nobody".
    Greeting("all") :- Name(_).
"""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools are swept whenever they have doubled, however small they are."""
    monkeypatch.setattr(interning, "SMALLEST_SWEEP", 4)


def interned(engine: LocalEngine) -> int:
    return sum(map(len, engine._values.pools))


def places(engine: LocalEngine) -> int:
    return sum(pool.id_end for pool in engine._values.pools)


def exchange(engine: LocalEngine, relation: str, old: list[Any], new: list[Any]) -> Any:
    return engine.commit([Operation(relation, -1, old), Operation(relation, +1, new)])


def churn(engine: LocalEngine, relation: str, row: Any, epochs: int) -> Iterator[int]:
    """Each epoch exchanges the row of the last one; yields what is interned after it."""
    old: list[Any] = []
    for epoch in range(epochs):
        new = [row(epoch)]
        exchange(engine, relation, old, new)
        old = new
        yield interned(engine)


def test_ten_thousand_epochs_of_fresh_strings_do_not_fill_the_memory() -> None:
    engine = Running(NAMES).engine
    most = max(churn(engine, "Name", lambda epoch: (f"name {epoch}",), 10_000))
    assert most < 2 * interning.SMALLEST_SWEEP
    assert places(engine) < 2 * interning.SMALLEST_SWEEP, "ids are used again"
    assert dict(engine.rows("Greeting")) == {("Hello name 9999",): 1, ("all",): 1}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("input relation In(x: string) output relation Out(x: string) Out(x) :- In(x).", lambda n: (str(n),)),
        ("input relation In(x: bigint) output relation Out(x: bigint) Out(x * x) :- In(x).", lambda n: (1 << n,)),
        ("input multiset In(x: string) output multiset Out(x: string) Out(x) :- In(x).", lambda n: (str(n),)),
        (
            "input relation In(x: string) input relation No(x: string) output relation Out(x: string)"
            " Out(x) :- In(x), not No(x).",
            lambda n: (str(n),),
        ),
        (
            "input relation In(k: string, v: string) output relation Out(k: string, g: string)"
            " Out(k, g) :- In(k, v), var g = v.group_by(k).max().",
            lambda n: ("key", str(n)),
        ),
        (
            "input relation In(x: string) output relation Out(x: string) Out(x) :- In(x). Out(x) :- In-3(x).",
            lambda n: (str(n),),
        ),
        (
            "input relation In(x: string) output relation Out(x: string, n: usize)"
            ' Out(y, n) :- In(x), var w = "a" ++ x, var n = string_len(w), var y = w ++ "b".',
            lambda n: (str(n),),
        ),
    ],
    ids=["strings", "wide numbers", "multisets", "negation", "groups", "delays", "values inside a rule"],
)
@pytest.mark.usefixtures("often")
def test_what_comes_and_goes_leaves_nothing_behind(text: str, row: Any) -> None:
    engine = Running(text).engine
    sizes = list(churn(engine, "In", row, 400))
    assert max(sizes[100:]) <= max(sizes[:100])


@pytest.mark.usefixtures("often")
def test_the_records_of_a_stream_are_given_back() -> None:
    run = Running("""
        input stream In(x: string)
        output stream Out(x: string)
        Out("a" ++ x) :- In(x).
        output relation Last(x: string)
        Last(x) :- In'(x).
    """)
    sizes = []
    for epoch in range(400):
        found = run.commit({"In": [(str(epoch),)]})
        gone = {(str(epoch - 1),): -1} if epoch else {}
        assert found == {"Out": {(f"a{epoch}",): 1}, "Last": {(str(epoch),): 1, **gone}}
        sizes.append(interned(run.engine))
    assert max(sizes[100:]) <= max(sizes[:100])


@pytest.mark.usefixtures("often")
def test_changes_that_somebody_holds_keep_their_values_until_they_are_dropped() -> None:
    engine = Running(NAMES).engine
    outcomes = [exchange(engine, "Name", [(str(n - 1),)] if n else [], [(str(n),)]) for n in range(300)]
    for n, outcome in enumerate(outcomes[1:], 1):
        changes = dict(outcome.changes["Greeting"].weights())
        assert changes == {(f"Hello {n}",): 1, (f"Hello {n - 1}",): -1}
        assert outcome.changes["Greeting"].inserted().to_pylist() == [{"x": f"Hello {n}"}]
    assert interned(engine) > 300
    del outcomes, outcome
    gc.collect()
    sizes = list(churn(engine, "Name", lambda n: (f"new {n}",), 700))
    assert sizes[-1] < 100


@pytest.mark.usefixtures("often")
def test_what_failed_epochs_have_interned_is_given_back() -> None:
    run = Running("""
        input relation In(x: string, n: u64)
        output relation Out(x: string, n: u64)
        Out("long " ++ x, 10 / n) :- In(x, n).
    """)
    run.commit({"In": [("kept", 5)]})
    sizes = []
    for epoch in range(200):
        with pytest.raises(tidelog.EvaluationError):
            run.commit({"In": [(str(epoch), 0)]})
        sizes.append(interned(run.engine))
    assert max(sizes[50:]) <= max(sizes[:50])
    assert run.rows("Out") == {("long kept", 2): 1}


@pytest.mark.usefixtures("often")
def test_a_negative_weight_keeps_its_row() -> None:
    run = Running("""
        input multiset In(x: string)
        output multiset Out(x: string)
        Out(x) :- In(x).
        input relation Other(x: string)
    """)
    run.commit(delete={"In": [("owed",)]})
    for _ in churn(run.engine, "Other", lambda n: (str(n),), 100):
        pass
    assert run.commit({"In": [("owed",), ("owed",)]}) == {"Out": {("owed",): 2}}
    assert run.rows("In") == {("owed",): 1}


@pytest.mark.usefixtures("often")
def test_what_a_delay_waits_for_keeps_its_values() -> None:
    run = Running("""
        input stream In(x: string)
        output stream Out(x: string)
        Out(x) :- In-20(x).
        input relation Other(x: string)
    """)
    found = []
    for epoch in range(60):
        other = {"Other": [(f"other {epoch - 1}",)]} if epoch else {}
        found.append(run.commit({"In": [(f"in {epoch}",)], "Other": [(f"other {epoch}",)]}, other))
    assert found == [{"Out": {(f"in {epoch - 20}",): 1}} if epoch >= 20 else {} for epoch in range(60)]


@pytest.mark.usefixtures("often")
def test_the_text_inside_a_value_stays_while_the_value_does() -> None:
    run = Running("""
        typedef Person = Person{name: string, friends: Vec<string>}
        input relation In(p: Person)
        input relation Name(x: string)
        output relation Out(x: string)
        Out(p.name) :- In(p), Name(p.name).
    """)
    person = run.program.types.Person("Ann", tidelog.values.Vec(("Bob", "Cid")))
    run.commit({"In": [(person,)]})
    for _ in churn(run.engine, "Name", lambda n: (str(n),), 100):
        pass
    assert run.commit({"Name": [("Ann",)]}) == {"Out": {("Ann",): 1}}
    assert run.rows("In") == {(person,): 1}


def test_a_look_at_the_rows_is_taken_only_when_the_values_have_grown_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []
    prepare = StringPool.prepare_sweep

    def noted(pool: StringPool, marks: Any) -> Callable[[], None]:
        swept.append(len(pool))
        return prepare(pool, marks)

    monkeypatch.setattr(StringPool, "prepare_sweep", noted)
    engine = Running("input relation In(x: string, n: u64) output relation Out(x: string) Out(x) :- In(x, _).").engine
    engine.commit([Operation("In", +1, [("few", n) for n in range(24_000)])])
    for _ in churn(engine, "In", lambda n: (f"{n}", 0), 2_000):
        pass
    assert [size >= 24_000 // 16 for size in swept] == [True], "one word of sixteen"


@pytest.mark.parametrize("make", [ObjectPool, StringPool])
def test_ids_that_were_given_back_are_the_first_to_be_used_and_the_last_are_cut_off(make: Callable[[], Pool]) -> None:
    pool = make()
    numbers = {name: pool.intern(name) for name in "abcdef"}
    marks = pool.marks()
    marks[[numbers["b"], numbers["d"]]] = True
    pool.prepare_sweep(marks)()
    assert (len(pool), pool.id_end) == (2, 4)
    assert [pool.intern(name) for name in "bdxyz"] == [1, 3, 0, 2, 4]
    pool.prepare_sweep(pool.marks())()
    assert (len(pool), pool.id_end) == (0, 0)
    assert pool.constant("c") == 0
    pool.prepare_sweep(pool.marks())()
    assert (len(pool), pool.id_end, pool.value(0)) == (1, 1, "c")


class _Engine:
    """An engine with a string that only the next sweep frees, and a pool that is due."""

    def __init__(self) -> None:
        text = "input relation In(x: string) output relation Out(x: string) Out(x) :- In(x)."
        self.engine = Running(text).engine
        self.engine.commit([Operation("In", +1, [(f"long {n}",) for n in range(2_000)])])
        self.engine.commit([Operation("In", -1, [(f"long {n}",) for n in range(1, 2_000)])])
        self.pool = self.engine._values.pool(STRING)
        self.pool.limit = 0

    def commit(self) -> int:
        """Commits, which begins with a sweep, and returns how many strings there are."""
        self.engine.commit([Operation("In", +1, [("new",)])])
        return len(self.pool)


def test_a_sweep_waits_for_a_moment_in_which_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Engine()
    prepare = StringPool.prepare_sweep

    def pinned(pool: StringPool, marks: Any) -> Callable[[], None]:
        reads = held.engine.pin()
        Timer(0.003, reads.release).start()
        return prepare(pool, marks)

    monkeypatch.setattr(StringPool, "prepare_sweep", pinned)
    assert held.commit() == 2


def test_no_value_is_freed_beside_a_reader_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Engine()
    prepare, pins = StringPool.prepare_sweep, []

    def pinned(pool: StringPool, marks: Any) -> Callable[[], None]:
        pins.append(held.engine.pin())
        return prepare(pool, marks)

    monkeypatch.setattr(StringPool, "prepare_sweep", pinned)
    assert held.commit() == 2_001
    assert pins[0].rows("In") == [(("long 0",), 1)]
    assert held.pool.limit > 2_001, "the next epoch does not look at all rows again"
    pins[0].release()
    monkeypatch.undo()
    held.pool.limit = 0
    assert held.commit() == 2


def test_no_value_is_freed_that_a_query_has_interned_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Engine()
    prepare = StringPool.prepare_sweep

    def interned(pool: StringPool, marks: Any) -> Callable[[], None]:
        sweep = prepare(pool, marks)
        pool.intern("of a query")
        return sweep

    monkeypatch.setattr(StringPool, "prepare_sweep", interned)
    assert held.commit() == 2_002
    assert held.pool.find("of a query") is not None


def test_strings_are_read_and_interned_beside_sweeps() -> None:
    pool, ends = StringPool(), Event()
    kept = [f"kept {n} {'x' * (n % 50)}" for n in range(3_000)]
    numbers = pool.intern_all(kept)
    wrong: list[object] = []

    def read() -> None:
        while not ends.is_set():
            found = pool.decode(numbers)
            wrong.extend(set(found) ^ set(kept))
            wrong.extend(number for number, text in zip(numbers.tolist()[:50], kept) if pool.find(text) != number)

    readers = [Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for step in range(60):
        pool.intern_all([f"{step} {n}" for n in range(20_000)])
        marks = pool.marks()
        marks[numbers] = True
        pool.prepare_sweep(marks)()
        assert len(pool) == len(kept)
    ends.set()
    for reader in readers:
        reader.join()
    assert not wrong


@pytest.mark.usefixtures("often")
def test_an_epoch_that_loads_looks_at_the_values_not_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Running(NAMES).engine
    swept: list[int] = []
    sweep = Reclaim._sweep

    def noted(self: Reclaim, due: Any) -> Any:
        swept.append(engine.epoch)
        return sweep(self, due)

    monkeypatch.setattr(Reclaim, "_sweep", noted)
    outcome = engine.commit([Operation("Name", +1, [(f"name {each}",) for each in range(100)])])
    assert outcome is not None
    assert outcome.report.strata[0].strategy == "bootstrap"
    assert swept == [engine.epoch]
    changes = outcome.changes["Greeting"]
    assert isinstance(changes, LocalChanges)
    assert changes.inserted_rows.are_in_store, "nothing is copied, although the caller holds the changes"
    engine.commit([Operation("Name", -1, [("name 7",)])])
    assert len(swept) == 1
    assert len(dict(engine.rows("Greeting"))) == 100
    assert (("Hello name 7",), 1) in outcome.changes["Greeting"].weights()
