"""A relation of groups follows its members: one row a key, exchanged when a member comes or leaves."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tidelog.diagnostics.spans import Source, Span
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.rules.ir import Atom, Column, Group, Positive, Relation, Role, Rule, RuleProgram, Variable, Wildcard
from tidelog.rules.stratify import find_strata
from tidelog.types import STRING, U32, NamedType
from tidelog.values import Group as GroupValue

SPAN = Span(Source("<test>", ""), 0, 0)
TEAM, NAME, POINTS = Variable("team", STRING), Variable("name", STRING), Variable("points", U32)
GROUPED = NamedType("ddlog_std::Group", (STRING, U32))
ALL = Variable("g", GROUPED)


def program(keys: tuple[Variable, ...]) -> RuleProgram:
    """`Score(team, name, points)`, its points grouped by the keys, and the groups once more through a join."""
    score = Atom("Score", (TEAM, NAME, POINTS), SPAN)
    members = Atom("M#", (*keys, POINTS), SPAN)
    groups = Atom("G#", (*keys, ALL), SPAN)
    rules = (
        Rule(0, members, (Positive(score),), "members", SPAN),
        Rule(1, groups, (Group(Atom("M#", (*keys, Wildcard()), SPAN), ALL, len(keys) == 1),), "groups", SPAN),
        Rule(2, Atom("Out", (*keys, ALL), SPAN), (Positive(groups),), "out", SPAN),
    )
    key_columns = tuple(Column(key.name, key.type) for key in keys)
    relations = {
        "Score": Relation("Score", tuple(Column(v.name, v.type) for v in (TEAM, NAME, POINTS)), Role.INPUT, SPAN),
        "M#": Relation("M#", (*key_columns, Column("points", U32)), Role.HIDDEN, SPAN),
        "G#": Relation("G#", (*key_columns, Column("g", GROUPED)), Role.HIDDEN, SPAN),
        "Out": Relation("Out", (*key_columns, Column("g", GROUPED)), Role.INTERNAL, SPAN),
    }
    return RuleProgram(relations, rules, find_strata(relations, rules))


def groups_of(engine: LocalEngine, keys: int) -> dict[tuple[str, ...], GroupValue]:
    """The rows of Out, straight from the store: groups have no Arrow form."""
    store = engine._store("Out")
    words = store.columns_of(store.lines())
    columns = [engine._values.decode(words[:, i].copy(), STRING) for i in range(keys)]
    values = engine._values.decode(words[:, keys].copy(), GROUPED)
    rows = list(zip(*columns, values, strict=True))
    assert len({row[:-1] for row in rows}) == len(rows), "one row a key"
    return {row[:-1]: row[-1] for row in rows}


@pytest.mark.parametrize("keys", [(), (TEAM,), (TEAM, NAME)], ids=["one group", "by one column", "by two columns"])
def test_groups_equal_the_members_after_every_epoch(keys: tuple[Variable, ...]) -> None:
    engine, rng = LocalEngine(program(keys)), random.Random(len(keys))
    engine.open()
    held: set[tuple[str, str, int]] = set()
    for _ in range(60):
        operations = []
        for _ in range(rng.choice([1, 1, 5, 30])):
            row = (rng.choice("abc"), rng.choice("xyz"), rng.randrange(6))
            sign = -1 if row in held and rng.random() < 0.7 else 1
            (held.add if sign > 0 else held.discard)(row)
            columns = {"team": [row[0]], "name": [row[1]], "points": pa.array([row[2]], pa.uint32())}
            operations.append(Operation("Score", sign, pa.table(columns)))
        engine.commit(operations)
        expected: dict[tuple[str, ...], set[int]] = {}
        for team, name, points in held:
            expected.setdefault((team, name)[: len(keys)], set()).add(points)
        found = groups_of(engine, len(keys))
        assert {key: list(group.values) for key, group in found.items()} == {
            key: sorted(values) for key, values in expected.items()
        }
        assert all(group.key == (key[0] if len(keys) == 1 else key) for key, group in found.items())
