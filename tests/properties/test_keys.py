"""Relations with primary keys against a dictionary: every call, every error, commits, rollbacks, epochs that fail.

A call that raises must leave the transaction as it was before it; the next commit must show exactly what a dictionary
with the same calls holds, and change what is derived from it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import tidelog
from tidelog.values import Vec

TEXT = """
typedef Kind = Plain | Tagged{tags: Vec<string>}
input relation Host(name: string, port: u8, kind: Kind) primary key (h) (h.name, h.port)
input relation Other(name: string)
output relation Tag(name: string, tag: string)
output relation Ports(name: string, n: u64)
output relation Lonely(name: string, port: u8)
Tag(n, t) :- Host(n, _, Tagged{tags}), var t = FlatMap(tags).
Ports(n, c) :- Host(n, p, _), var c = p.group_by(n).count_distinct().
Lonely(n, p) :- Host(n, p, _), not Other(n).
input relation Fuse(x: u8) primary key (f) f.x
output relation Blown(x: u8)
Blown(1 / x) :- Fuse(x).
"""
NAMES, PORTS, TAGS = "ab", (1, 2, 3), ((), ("x",), ("x", "y", "x"))
Row = tuple[str, int, tuple[str, ...] | None]
Key = tuple[str, int]


class RefusedError(Exception):
    """The model refuses a call."""


@dataclass
class Model:
    """What the input relations hold."""

    hosts: dict[Key, Row] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def copy(self) -> Model:
        return Model(dict(self.hosts), set(self.others))

    def call(self, verb: str, argument: Any) -> None:
        match verb:
            case "insert":
                keys = [row[:2] for row in argument]
                if len(set(keys)) < len(keys) or any(key in self.hosts for key in keys):
                    raise RefusedError
                self.hosts |= {row[:2]: row for row in argument}
            case "delete":
                if any(self.hosts.get(row[:2]) != row for row in argument) or len(set(argument)) < len(argument):
                    raise RefusedError
                for row in argument:
                    del self.hosts[row[:2]]
            case "delete_key":
                if argument not in self.hosts:
                    raise RefusedError
                del self.hosts[argument]
            case "upsert":
                self.hosts |= {row[:2]: row for row in argument}
            case "modify":
                key, tags = argument
                if key not in self.hosts:
                    raise RefusedError
                self.hosts[key] = (*key, tags)
            case "clear":
                self.hosts = {}
            case "other":
                self.others ^= {argument}

    def outputs(self) -> dict[str, set[tuple[Any, ...]]]:
        rows = self.hosts.values()
        return {
            "Tag": {(name, tag) for name, _, tags in rows for tag in tags or ()},
            "Ports": {(name, sum(other == name for other, *_ in rows)) for name, *_ in rows},
            "Lonely": {(name, port) for name, port, _ in rows if name not in self.others},
        }


def random_call(rng: random.Random) -> tuple[str, Any]:
    def row() -> Row:
        return rng.choice(NAMES), rng.choice(PORTS), rng.choice((None, *TAGS))

    match rng.choice(("insert", "insert", "delete", "delete_key", "upsert", "upsert", "modify", "clear", "other")):
        case "insert" | "delete" | "upsert" as verb:
            return verb, [row() for _ in range(rng.choice((1, 1, 2, 3)))]
        case "delete_key":
            return "delete_key", row()[:2]
        case "modify":
            return "modify", (row()[:2], rng.choice((None, *TAGS)))
        case "clear":
            return ("clear", None) if rng.random() < 0.3 else ("other", "a")
        case _:
            return "other", rng.choice(NAMES)


class Live:
    """The database behind the same calls."""

    def __init__(self) -> None:
        self.program = tidelog.compile(TEXT)
        self.database = self.program.open()
        self.others: set[str] = set()

    def kind(self, tags: tuple[str, ...] | None) -> Any:
        types = self.program.types
        return types.Plain() if tags is None else types.Tagged(Vec(tags))

    def call(self, tx: Any, model: Model, verb: str, argument: Any) -> None:
        match verb:
            case "insert" | "delete" | "upsert":
                getattr(tx, verb)("Host", [(name, port, self.kind(tags)) for name, port, tags in argument])
            case "delete_key":
                tx.delete_key("Host", argument)
            case "modify":
                key, tags = argument
                tx.modify("Host", key, {"kind": self.kind(tags)})
            case "clear":
                tx.clear("Host")
            case "other":
                (tx.delete if argument in model.others else tx.insert)("Other", [(argument,)])

    def outputs(self) -> dict[str, set[tuple[Any, ...]]]:
        return {name: set(self.database.relation(name).rows()) for name in ("Tag", "Ports", "Lonely")}


@pytest.mark.parametrize("seed", range(12))
def test_a_relation_with_a_key_is_a_dictionary(seed: int) -> None:
    rng, live, committed = random.Random(seed), Live(), Model()
    refused = 0
    for _ in range(12):
        model = committed.copy()
        before = committed.outputs()
        tx = live.database.transaction().begin()
        for _ in range(rng.randint(1, 6)):
            verb, argument = random_call(rng)
            attempt = model.copy()
            try:
                attempt.call(verb, argument)
            except RefusedError:
                refused += 1
                with pytest.raises(tidelog.TransactionError):
                    live.call(tx, model, verb, argument)
            else:
                live.call(tx, model, verb, argument)
                model = attempt
        end = rng.choice(("commit", "commit", "commit", "rollback", "failure"))
        if end == "rollback":
            tx.rollback()
        elif end == "failure":
            tx.insert("Fuse", [(0,)])
            with pytest.raises(tidelog.EvaluationError):
                tx.commit()
        else:
            tx.commit()
            committed = model
            after = model.outputs()
            changes = {name: (set(delta.inserted), set(delta.deleted)) for name, delta in tx.changes.items()}
            expected = {
                name: (after[name] - before[name], before[name] - after[name])
                for name in after
                if after[name] != before[name]
            }
            assert changes == expected
        assert live.outputs() == committed.outputs()
        assert len(live.database.relation("Host")) == len(committed.hosts)
    live.database.close()
    assert refused >= 5
