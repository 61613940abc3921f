"""One stratum, derived from nothing by semi-naive rounds of DataFrame joins: the plan `frames`.

All relations of the stratum live in one frame, so that a round is one job whatever the number of rules:

    member  round  b0  l0  l1  s0        `member` says whose row it is; its columns stand in slots of their type,
    0       3      ..  7   9   ""         the slots it does not need hold a constant

A round joins the rows of the last round (the delta) with what the rules ask for, and keeps for each row the first round
that found it: one aggregation does both the union and the difference. The result is cut from its history
(`localCheckpoint`) and counted in the same job, so the plan of a round has the size of the rules, not of the rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tidelog.engine.spark.body import rule_frame
from tidelog.engine.spark.encode import frame_type
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Negative, Positive, Relation, Rule, Stratum

_MEMBER, _ROUND = "member", "round"
_EMPTY = {"boolean": False, "long": 0, "double": 0.0, "string": "", "binary": b""}
_SLOTS = {"boolean": "b", "long": "l", "double": "d", "string": "s", "binary": "e"}

SMALL_DELTA, LARGE_STATE = 20_000, 500_000
"""A small delta of a large state is sent to every task, which spares the shuffle of what it is joined with."""


@dataclass(frozen=True, slots=True)
class Derived:
    """All rows of a stratum. `frames` are by relation, with columns `c0`, ... in the encoding of frames."""

    frames: Mapping[str, Any]
    rounds: int


def derive(
    spark: Any,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    below: Mapping[str, Any],
    functions: CompiledFunctions,
) -> Derived:
    """Derives the stratum; `below` has a frame, in the encoding of frames, for every other relation its rules read.

    Without recursion nothing runs yet: the frames are plans.
    """
    slots = _Slots(stratum, relations, functions)
    round_ = 1
    state = _first_rounds(_evaluate(spark, stratum, slots, below, None).withColumn(_ROUND, _long(round_)), slots)
    if stratum.recursive:
        state, new = _cut(state, round_)
        total = new
        while new:
            found = _evaluate(spark, stratum, slots, below, _Reached(state, round_, new, total))
            round_ += 1
            both = state.unionByName(found.withColumn(_ROUND, _long(round_)))
            state, new = _cut(_first_rounds(both, slots), round_)
            total += new
    return Derived({name: slots.rows_of(state, name) for name in stratum.relations}, round_)


@dataclass(frozen=True, slots=True)
class _Reached:
    """The state after a round, of whose `total` rows `new` were found in that round."""

    state: Any
    round: int
    new: int
    total: int

    @property
    def spreads(self) -> bool:
        return self.new <= SMALL_DELTA and self.total >= LARGE_STATE


class _Slots:
    """Where each column of each relation of the stratum stands in the common frame."""

    def __init__(self, stratum: Stratum, relations: Mapping[str, Relation], functions: CompiledFunctions) -> None:
        self.functions = functions
        self._members = {name: number for number, name in enumerate(stratum.relations)}
        self._places: dict[str, list[str]] = {}
        types: dict[str, str] = {}
        for name in stratum.relations:
            used: dict[str, int] = {}
            self._places[name] = []
            for column in relations[name].columns:
                type_ = frame_type(column.type)
                slot = f"{_SLOTS[type_]}{used.get(type_, 0)}"
                used[type_] = used.get(type_, 0) + 1
                types[slot] = type_
                self._places[name].append(slot)
        self._types = dict(sorted(types.items()))

    @property
    def keys(self) -> list[str]:
        return [_MEMBER, *self._types]

    def nothing(self, spark: Any) -> Any:
        """A common frame without rows and rounds."""
        from pyspark.sql import functions as f

        values = [f.lit(_EMPTY[type_]).cast(type_).alias(slot) for slot, type_ in self._types.items()]
        return spark.range(0).select(_long(0).alias(_MEMBER), *values)

    def placed(self, heads: Any, name: str) -> Any:
        """Rows of a relation in the common frame, without a round."""
        from pyspark.sql import functions as f

        column_of = {slot: f"c{i}" for i, slot in enumerate(self._places[name])}
        values = [
            f.col(column_of[slot]).alias(slot) if slot in column_of else f.lit(_EMPTY[type_]).cast(type_).alias(slot)
            for slot, type_ in self._types.items()
        ]
        return heads.select(_long(self._members[name]).alias(_MEMBER), *values)

    def rows_of(self, state: Any, name: str, condition: Any | None = None) -> Any:
        """The rows of one relation, columns `c0`, ...; only those for which the condition on their round holds."""
        from pyspark.sql import functions as f

        rows = state.filter(f.col(_MEMBER) == self._members[name])
        rows = rows if condition is None else rows.filter(condition)
        return rows.select(*(f.col(slot).alias(f"c{i}") for i, slot in enumerate(self._places[name])))


def _evaluate(spark: Any, stratum: Stratum, slots: _Slots, below: Mapping[str, Any], reached: _Reached | None) -> Any:
    """All heads that one round finds, in the common frame, duplicates included."""
    label = ", ".join(stratum.relations)
    parts = [
        slots.placed(rule_frame(spark, rule, frames, delta, label, functions=slots.functions), rule.head.relation)
        for rule in stratum.rules
        for frames, delta in _variants(rule, stratum.relations, slots, below, reached)
    ]
    return reduce(lambda left, right: left.unionByName(right), parts, slots.nothing(spark))


def _variants(
    rule: Rule, inside: Sequence[str], slots: _Slots, below: Mapping[str, Any], reached: _Reached | None
) -> Iterator[tuple[dict[int, Any], int | None]]:
    """The ways a round evaluates a rule: the frame of each literal, and which of them is the delta.

    The first round takes the rules that read nothing of the stratum; each later one takes the others once for each
    literal inside, which reads the delta while those in front of it read what was known before and those behind all.
    """
    from pyspark.sql import functions as f

    places = {
        place: literal.atom.relation
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive | Negative)
    }
    own = [place for place, name in places.items() if name in inside]
    outside = {place: below[name] for place, name in places.items() if name not in inside}
    if reached is None:
        if not own:
            yield outside, None
        return
    for delta in own:
        frames = dict(outside)
        for place in own:
            condition = None
            if place < delta:
                condition = f.col(_ROUND) < reached.round
            elif place == delta:
                condition = f.col(_ROUND) == reached.round
            rows = slots.rows_of(reached.state, places[place], condition)
            frames[place] = f.broadcast(rows) if place == delta and reached.spreads else rows
        yield frames, delta


def _first_rounds(rows: Any, slots: _Slots) -> Any:
    """Each row once, with the first of its rounds."""
    from pyspark.sql import functions as f

    return rows.groupBy(*slots.keys).agg(f.min(_ROUND).alias(_ROUND))


def _cut(rows: Any, round_: int) -> tuple[Any, int]:
    """The same rows, cut from their history; and how many of them have this round."""
    from pyspark.sql import functions as f

    state = rows.localCheckpoint(eager=False)
    return state, state.filter(f.col(_ROUND) == round_).count()


def _long(value: int) -> Any:
    from pyspark.sql import functions as f

    return f.lit(value).cast("long")
