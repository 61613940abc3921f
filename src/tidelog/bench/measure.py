"""Measurements: a program's database with its facts, changes to it, and the seconds of each.

A time is that of a whole transaction as a user sees it: from Arrow tables to the committed epoch. Every time belongs to
a `Case`; a benchmark checks its results before it returns its cases, so that no wrong answer is ever fast.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.bench.machine import peak_memory, settled_memory
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from tidelog.database.transactions.transaction import Transaction
    from tidelog.engine.interface import EpochReport

PROGRAMS = Path(__file__).with_name("programs")
Tables = Mapping[str, "pa.Table"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One timed action, repeated. `group` names the input; `rows` is the checked result."""

    group: str
    name: str
    seconds: tuple[float, ...]
    who: str = "tidelog"
    rows: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of two medians of this run. `spread`: the lowest and the highest of single repetitions."""

    group: str
    name: str
    value: float
    spread: tuple[float, float] | None = None


@dataclass(slots=True)
class Outcome:
    """The results of a benchmark."""

    inputs: list[dict[str, Any]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    memory_mb: dict[str, dict[str, float]] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, found: object, expected: object) -> None:
        """Notes that the two are equal. Raises InternalError if they are not."""
        self.checks.append(require_equal(what, found, expected))

    def case(
        self, group: str, name: str, seconds: Iterable[float], who: str = "tidelog", rows: int | None = None
    ) -> Case:
        """Adds a case, and returns it."""
        self.cases.append(Case(group, name, tuple(seconds), who, rows))
        return self.cases[-1]

    def ratio(self, group: str, name: str, slower: Case, faster: Case) -> None:
        """Adds the quotient of two medians."""
        self.ratios.append(Ratio(group, name, slower.median / faster.median))


class Subject:
    """A database of a benchmark program, or of a program text. With the strategy "update" the switch never gives up.

    In a program in Soufflé's language, rows for a relation that is also derived go to the relation of its facts.
    """

    def __init__(self, program: str, strategy: str = "elastic", threads: int | None = None) -> None:
        import tidelog

        compiled = tidelog.compile(program if "\n" in program else PROGRAMS / f"{program}.dl")
        souffle = compiled.stages.souffle
        self._written: Mapping[str, str] = souffle.facts if souffle is not None else {}
        self._db = compiled.open(strategy=strategy, threads=threads)
        self.report: EpochReport | None = None
        self.seconds = self.cpu_seconds = 0.0

    def change(self, inserts: Tables | None = None, deletes: Tables | None = None) -> float:
        """Returns the seconds of one transaction, deletes first. `cpu_seconds` has those of the processor."""
        with self._timed() as transaction:
            for relation, rows in (deletes or {}).items():
                transaction.delete(self._written.get(relation, relation), rows)
            for relation, rows in (inserts or {}).items():
                transaction.insert(self._written.get(relation, relation), rows)
        return self.seconds

    def change_rules(self, add: str = "", remove: str = "") -> float:
        """Returns the seconds of one transaction that changes rules."""
        with self._timed() as transaction:
            if add:
                transaction.add_rules(add)
            if remove:
                transaction.remove_rules(remove)
        return self.seconds

    @contextmanager
    def _timed(self) -> Iterator[Transaction]:
        started, on_processor = perf_counter(), process_time()
        with self._db.transaction() as transaction:
            yield transaction
        self.seconds, self.cpu_seconds = perf_counter() - started, process_time() - on_processor
        self.report = transaction.report

    @property
    def instances(self) -> int:
        """Rule instances that the last transaction enumerated, including those of Updates that were given up."""
        strata = self.report.strata if self.report else ()
        return sum(each.instances + each.given_up_instances for each in strata)

    @property
    def bytes(self) -> int:
        """Memory of the declared relations, as the database reports it."""
        return sum(self.report.bytes.values()) if self.report else 0

    @property
    def relation_bytes(self) -> dict[str, int]:
        """Memory of each relation that has rows, including those that the compiler added."""
        return {each.name: each.bytes for each in self._db.profile().relations}

    @property
    def all_bytes(self) -> int:
        """Memory of all relations, including those that the compiler added."""
        return sum(self.relation_bytes.values())

    def count(self, relation: str) -> int:
        return len(self._db.relation(relation))

    def counts(self, relations: Iterable[str]) -> dict[str, int]:
        return {relation: self.count(relation) for relation in relations}

    def table(self, relation: str) -> pa.Table:
        return self._db.relation(relation).to_arrow()

    def close(self) -> None:
        self._db.close()


def warm(program: str, tables: Tables, strategies: Sequence[str] = ("elastic", "recompute")) -> None:
    """Loads the kernels of these strategies, for inserts and deletes, so that no case pays for it."""
    few = {name: table.slice(0, 20) for name, table in tables.items()}
    for strategy in strategies:
        subject = Subject(program, strategy)
        subject.change(inserts=few)
        for name, rows in few.items():
            subject.change(deletes={name: rows})
            subject.change(inserts={name: rows})
        subject.close()


def counts_of(program: str, tables: Tables, relations: Iterable[str]) -> dict[str, int]:
    """Returns the rows of some relations in a database that is given these facts at once."""
    subject = Subject(program)
    subject.change(inserts=tables)
    counts = subject.counts(relations)
    subject.close()
    return counts


def touch_memory(program: str, tables: Tables, threads: int | None) -> None:
    """Bootstraps everything once, so that later runs reuse memory that the system has already allocated."""
    subject = Subject(program, threads=threads)
    subject.change(inserts=tables)
    subject.close()


def loads(program: str, tables: Tables, times: int, threads: int | None) -> tuple[Subject, list[float]]:
    """Returns a loaded subject, and the seconds of this load and of those before it, each into a new database."""
    seconds = []
    for _ in range(times - 1):
        subject = Subject(program, threads=threads)
        seconds.append(subject.change(inserts=tables))
        subject.close()
    subject = Subject(program, threads=threads)
    seconds.append(subject.change(inserts=tables))
    return subject, seconds


def memory_of_load(out: Outcome, name: str, program: str, tables: Tables, threads: int | None) -> float | None:
    """Notes the memory that a load takes in a process of its own, and returns its peak in MB; None except on Linux.

    `after two rows` is the memory of the process with the Arrow tables, after a commit of two rows of each to another
    database, which loads the kernels. The peak during the load and the memory after it are those beyond that.
    """
    import pyarrow.feather

    with tempfile.TemporaryDirectory() as folder:
        for relation, table in tables.items():
            pyarrow.feather.write_feather(table, str(Path(folder, f"{relation}.arrow")), compression="uncompressed")
        command = [sys.executable, "-c", _LOAD, folder, program, str(threads or 0)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=own_environment())
    memory: dict[str, float] = json.loads(done.stdout)
    if not memory:
        return None
    out.memory_mb[name] = memory
    return memory["peak beyond it"]


_LOAD = """\
import sys
from tidelog.bench.measure import load_in_this_process
load_in_this_process(sys.argv[1], sys.argv[2], int(sys.argv[3]) or None)
"""


def load_in_this_process(folder: str, program: str, threads: int | None) -> None:
    """Prints what `memory_of_load` notes, as JSON; empty if the system does not tell."""
    import pyarrow.feather

    tables = {
        path.stem: pyarrow.feather.read_table(str(path), memory_map=False) for path in sorted(Path(folder).iterdir())
    }
    touch_memory(program, {relation: table.slice(0, 2) for relation, table in tables.items()}, threads)
    noted: dict[str, dict[str, float]] = {}
    with peak_memory(noted, program):
        subject = Subject(program, threads=threads)
        subject.change(inserts=tables)
    settled = settled_memory()
    found: dict[str, float] = {}
    if noted:
        before, peak = noted[program]["before"], noted[program]["peak"]
        beyond = {"peak beyond it": peak - before, "settled beyond it": settled - before}
        found = {"after two rows": before} | {name: round(size, 1) for name, size in beyond.items()}
    print(json.dumps(found))
    subject.close()


def own_environment() -> dict[str, str]:
    """Returns the environment for a process that imports the same sources as this one, whatever is installed."""
    import tidelog

    paths = [str(Path(tidelog.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def take(table: pa.Table, places: npt.ArrayLike) -> pa.Table:
    """Returns the rows at these places."""
    import numpy as np

    return table.take(np.asarray(places, dtype=np.int64))


def one_by_one(subject: Subject, relation: str, rows: pa.Table) -> tuple[list[float], list[float]]:
    """Returns the seconds of deleting, and of inserting again, one row after the other."""
    deletes, inserts = [], []
    for at in range(rows.num_rows):
        row = {relation: rows.slice(at, 1)}
        deletes.append(subject.change(deletes=row))
        inserts.append(subject.change(inserts=row))
    return deletes, inserts


def require_equal(what: str, found: object, expected: object) -> str:
    """Returns a line that says that the two are equal. Raises InternalError if not: then no time means anything."""
    if found != expected:
        raise InternalError(f"{what}: {found}, and it should be {expected}", code=Code.WRONG_BENCHMARK_RESULT)
    return f"{what}: {found:,}" if isinstance(found, int) else f"{what}: equal"


@contextmanager
def spark_session() -> Iterator[Any]:
    """Yields the Spark session of this process, or a local one that is stopped after the block."""
    from tidelog.engine.spark.session import active_session, local_session

    is_ours = active_session() is None
    session = local_session()
    try:
        yield session
    finally:
        if is_ours:
            session.stop()


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Returns the seconds of a call, and its result."""
    started = perf_counter()
    result = run()
    return perf_counter() - started, result
