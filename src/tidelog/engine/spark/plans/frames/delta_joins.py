"""Rules and the events of a wave → the heads of the instances that the wave meets, each once, with their levels.

The events of a wave are rows that are inserted or deleted. An instance may hold several of them, at several positions
of the body, and must be met once. So positions have an order: for an event at one of them, literals in front of it read
one version of the state and literals behind it another (`Reading`); the two versions differ by the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tidelog.engine.spark.plans.frames.cut_lineage import cut, release
from tidelog.engine.spark.plans.frames.join_rule import LEVEL, RANK, rule_frame
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.engine.spark.storage.scan import union
from tidelog.rules.ir import Atom, Negative, Positive, Rule, Stratum, Variable

SMALL_DELTA = 20_000
"""Events of at most this many rows are sent to every task, which spares the shuffle of the other side."""


@dataclass(frozen=True, slots=True)
class Events:
    """The rows that are inserted or deleted in a wave, at most `count` of them."""

    rows: Any
    count: int


class Reading(Protocol):
    """The versions of the state that one wave reads, in the encoding of frames.

    The rows of the stratum are its common frame (`packed_rows`) with a column `_rank`. `negated`: the rows whose
    absence a literal needs; their events are the rows whose absence ends or begins.
    """

    @property
    def below(self) -> Mapping[str, RelationVersions]:
        """The relations below the stratum."""

    @property
    def inside_rows(self) -> int:
        """The number of rows of the stratum, about."""

    @property
    def steady(self) -> str | None:
        """A name for the state below the stratum without events: readings with the same name read the same rows."""

    def inside_events(self) -> Events | None:
        """Returns the rows of the stratum that this wave inserts or deletes; None if there are none."""

    def inside(self, *, is_front: bool) -> Any:
        """Returns the rows of the stratum that a literal in front of the event reads, or one behind it."""

    def events(self, relation: str, negated: bool) -> Events | None:
        """Returns the rows of a relation below that this wave inserts or deletes; None if there are none."""

    def rows(self, relation: str, negated: bool, *, is_front: bool) -> Any:
        """Returns the rows of a relation below that a literal in front of the event reads, or one behind it."""


class Finder(Protocol):
    """A way to find the rule instances of a stratum."""

    def met(self, reading: Reading, by_event: Sequence[Rule], entire: Sequence[Rule] = ()) -> Any:
        """Returns heads, in the common frame with their levels: of the instances of the rules `by_event` that hold an
        event of the wave, and of all instances of the rules `entire` (added or removed rules, and the first wave of a
        Bootstrap), which read the version in front of an event."""

    def arrange(self, below: Mapping[str, RelationVersions]) -> Mapping[str, RelationVersions]:
        """Returns the relations below, read once for all rounds of a Bootstrap."""

    def release(self) -> None:
        """Releases the frames that Spark keeps for it."""


class Joins:
    """A `Finder` with a join of its own for each rule and each position of an event."""

    def __init__(self, spark: Any, stratum: Stratum, packed: PackedRows) -> None:
        self._spark = spark
        self._stratum = stratum
        self._packed = packed
        self._arranged_frames: list[Any] = []

    def met(self, reading: Reading, by_event: Sequence[Rule], entire: Sequence[Rule] = ()) -> Any:
        parts = [
            self._heads(variant, frames, place, count <= SMALL_DELTA)
            for rule in by_event
            for variant, frames, place, count in self._variants(rule, reading)
        ]
        for rule in entire:
            positions = positions_of(rule)
            frames = {place: self._read(reading, atom, negated, True) for place, atom, negated in positions}
            parts.append(self._heads(rule, frames))
        return union(parts) if parts else self._packed.empty([LEVEL])

    def arrange(self, below: Mapping[str, RelationVersions]) -> Mapping[str, RelationVersions]:
        """Spreads the relations below so that their rows are where rows of the stratum look for them."""
        return {name: self._arranged(versions) for name, versions in below.items()}

    def release(self) -> None:
        release(*self._arranged_frames)
        self._arranged_frames.clear()

    def _arranged(self, versions: RelationVersions) -> RelationVersions:
        columns = _probed(self._stratum, versions.relation.name)
        rows = versions.after.repartition(*(f"c{i}" for i in columns)) if columns else versions.after
        arranged = cut(rows)
        self._arranged_frames.append(arranged)
        return replace(versions, arranged=arranged)

    def _variants(self, rule: Rule, reading: Reading) -> Iterator[tuple[Rule, dict[int, Any], int, int]]:
        """Yields the rule once for each position of an event: that literal is joined, even if it is negated."""
        positions = positions_of(rule)
        for at, atom, negated in positions:
            events = self._events(reading, atom, negated)
            if events is None:
                continue
            frames = {at: events.rows}
            for place, other, other_negated in positions:
                if place != at:
                    frames[place] = self._read(reading, other, other_negated, place < at)
            body = (*rule.body[:at], Positive(atom), *rule.body[at + 1 :])
            yield replace(rule, body=body), frames, at, events.count

    def _events(self, reading: Reading, atom: Atom, negated: bool) -> Events | None:
        if atom.relation in reading.below:
            return reading.events(atom.relation, negated)
        events = reading.inside_events()
        return None if events is None else replace(events, rows=self._packed.unpack(events.rows, atom.relation, [RANK]))

    def _read(self, reading: Reading, atom: Atom, negated: bool, is_front: bool) -> Any:
        if atom.relation in reading.below:
            return reading.rows(atom.relation, negated, is_front=is_front)
        return self._packed.unpack(reading.inside(is_front=is_front), atom.relation, [RANK])

    def _heads(self, rule: Rule, frames: dict[int, Any], delta: int | None = None, is_small: bool = False) -> Any:
        own = self._stratum.relations
        ranked = [place for place, atom, negated in positions_of(rule) if atom.relation in own and not negated]
        functions = self._packed.functions
        heads = rule_frame(self._spark, rule, frames, delta, ", ".join(own), ranked, is_small, functions=functions)
        return self._packed.pack(heads, rule.head.relation, [LEVEL])


def positions_of(rule: Rule) -> list[tuple[int, Atom, bool]]:
    """Returns the literals that read a relation: place in the body, atom, and True if it is negated."""
    return [
        (place, literal.atom, isinstance(literal, Negative))
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive | Negative)
    ]


def _probed(stratum: Stratum, relation: str) -> tuple[int, ...]:
    """Returns the columns by which rows of the stratum look up rows of a relation below, by the first such rule."""
    for rule in stratum.rules:
        inside = {term for atom in rule.positives if atom.relation in stratum.relations for term in atom.terms}
        for atom in rule.positives:
            columns = tuple(i for i, term in enumerate(atom.terms) if isinstance(term, Variable) and term in inside)
            if atom.relation == relation and columns:
                return columns
    return ()
