"""Readers in threads against a recorded history: what each read saw must be a committed state, and not an old one.

The writer records the states of the relations after each commit. A reader notes the last acknowledged epoch before it
reads, and what it saw. Afterwards every read must equal the state of one epoch that is not older than that one.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.database.database import Database
from tidelog.database.queries.readable import Readable

REACH = """
input relation Edge(src: string, dst: string)
input relation Blocked(node: string)
output relation Reach(src: string, dst: string)
output relation Free(src: string, dst: string)
output relation Degree(src: string, n: usize)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Free(x, y) :- Reach(x, y), not Blocked(y).
Degree(x, n) :- Edge(x, y), var n = y.group_by(x).count_distinct().
"""

State = Mapping[str, frozenset[tuple[Any, ...]]]


def expected(edges: set[tuple[str, str]], blocked: set[str]) -> State:
    """Computes the state from the facts, without the engine."""
    nodes = {node for edge in edges for node in edge}
    after: dict[str, set[str]] = {node: set() for node in nodes}
    for src, dst in edges:
        after[src].add(dst)
    reach = set()
    for start in nodes:
        found: set[str] = set()
        pending = list(after[start])
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending.extend(after[node])
        reach |= {(start, node) for node in found}
    return {
        "Edge": frozenset(edges),
        "Blocked": frozenset((node,) for node in blocked),
        "Reach": frozenset(reach),
        "Free": frozenset(pair for pair in reach if pair[1] not in blocked),
        "Degree": frozenset((src, len(dsts)) for src, dsts in after.items() if dsts),
    }


@dataclass
class Storm:
    """A database with a writer, and readers that note what they see."""

    db: Database
    nodes: int = 14
    seed: int = 0
    states: list[State] = field(default_factory=list)
    reads: list[tuple[int, Callable[[State], Any], Any, str]] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.edges: set[tuple[str, str]] = set()
        self.blocked: set[str] = set()
        self.states.append(expected(self.edges, self.blocked))
        self._is_over = threading.Event()

    def node(self, rng: random.Random) -> str:
        return f"node {rng.randrange(self.nodes)}"

    def change(self, tx: Any, *, size: int) -> tuple[set[tuple[str, str]], set[str]]:
        """Makes random changes in a transaction; returns the facts after it."""
        edges, blocked = set(self.edges), set(self.blocked)
        for _ in range(self.rng.randrange(1, size + 1)):
            edge = self.node(self.rng), self.node(self.rng)
            if edge in edges and self.rng.random() < 0.6:
                tx.delete("Edge", [edge])
                edges.discard(edge)
            else:
                tx.insert("Edge", [edge])
                edges.add(edge)
        if self.rng.random() < 0.3:
            node = self.node(self.rng)
            (tx.delete if node in blocked else tx.insert)("Blocked", [(node,)])
            blocked ^= {node}
        if self.rng.random() < 0.05:
            tx.clear("Edge")
            edges.clear()
        return edges, blocked

    def commit(self, *, size: int = 3) -> None:
        """Commits random changes, and records the state that they lead to before readers can see it."""
        tx = self.db.transaction().begin()
        edges, blocked = self.change(tx, size=size)
        self.states.append(expected(edges, blocked))
        tx.commit()
        self.edges, self.blocked = edges, blocked
        self.acknowledged = len(self.states) - 1

    acknowledged: int = 0

    def read(self, rng: random.Random, source: Readable, first: int) -> None:
        """Reads something, and notes it with the number of the first state that it may be of."""
        name = rng.choice(["Edge", "Reach", "Free", "Degree"])
        a, b = self.node(rng), self.node(rng)
        seen: Any
        want: Callable[[State], Any]
        match rng.randrange(8):
            case 0:
                seen, want = len(source.relation(name)), lambda state: len(state[name])
            case 1:
                seen, want = source.relation(name).rows(), lambda state: sorted(state[name])
            case 2:
                seen = source.relation(name).lookup(src=a)
                want = lambda state: sorted(row for row in state[name] if row[0] == a)  # noqa: E731
            case 3:
                seen, want = (a, b) in source.relation("Reach"), lambda state: (a, b) in state["Reach"]
            case 4:
                seen = source.query("Reach($a, y), Free(y, z)", params={"a": a}).rows
                want = lambda state: sorted(  # noqa: E731
                    (y, z) for x, y in state["Reach"] if x == a for w, z in state["Free"] if w == y
                )
            case 5:
                seen = source.query("Edge(x, y), Edge(y, z), Edge(x, z)").rows
                want = lambda state: sorted(  # noqa: E731
                    (x, y, z) for x, y in state["Edge"] for w, z in state["Edge"] if w == y and (x, z) in state["Edge"]
                )
            case 6:
                table = source.relation(name).to_arrow()
                seen = sorted(zip(*(column.to_pylist() for column in table.columns)))
                want = lambda state: sorted(state[name])  # noqa: E731
            case _:
                found = self._explained(source, (a, b))
                seen, want = True, lambda state: proof_holds(found, (a, b), state)
        self.reads.append((first, want, seen, f"{name} {a} {b}"))

    def _explained(self, source: Readable, row: tuple[str, str]) -> Any:
        from tidelog.diagnostics.errors import UsageError

        try:
            return source.explain("Reach", row)
        except UsageError:
            return None

    def reader(self, number: int) -> None:
        rng = random.Random(1000 * self.seed + number)
        try:
            while not self._is_over.is_set():
                self.read(rng, self.db, self.acknowledged)
        except BaseException as error:
            self.errors.append(error)

    def pinned_reader(self, number: int) -> None:
        """Holds a snapshot over many commits; its reads are all of one epoch."""
        rng = random.Random(5000 * self.seed + number)
        try:
            while not self._is_over.is_set():
                first = self.acknowledged
                with self.db.snapshot() as snapshot:
                    start = len(self.reads)
                    rows = {name: snapshot.relation(name).rows() for name in ("Edge", "Reach", "Free")}
                    for _ in range(rng.randrange(1, 12)):
                        self.read(rng, snapshot, first)
                    again = {name: snapshot.relation(name).rows() for name in ("Edge", "Reach", "Free")}
                    assert rows == again, "a snapshot changed"
                    assert start <= len(self.reads)
        except BaseException as error:
            self.errors.append(error)

    def run(self, work: Callable[[], None], readers: int = 3, pinned: int = 1) -> None:
        """Runs the work of the writer beside readers, then checks all reads."""
        threads = [threading.Thread(target=self.reader, args=(i,)) for i in range(readers)]
        threads += [threading.Thread(target=self.pinned_reader, args=(i,)) for i in range(pinned)]
        for thread in threads:
            thread.start()
        try:
            work()
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        if self.errors:
            raise self.errors[0]
        for first, want, seen, what in self.reads:
            assert any(want(state) == seen for state in self.states[first:]), f"{what}: {seen} is of no epoch"


def proof_holds(explanation: Any, row: tuple[str, str], state: State) -> bool:
    """True if the explanation proves the row from edges of the state; None is right for a row that is not there."""
    if explanation is None:
        return row not in state["Reach"]
    facts = facts_of(explanation)
    reach = expected(facts, set())["Reach"]
    return facts <= set(state["Edge"]) and row in reach


def facts_of(explanation: Any) -> set[tuple[str, str]]:
    """Returns the edges that an explanation rests on."""
    return {tuple(step.row) for step in explanation if step.relation == "Edge"}
