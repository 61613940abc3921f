"""Rules and what a wave reads → the heads of the instances that the wave meets, each once, with their levels.

A wave has events: rows that come or go. An instance may hold several of them, at several positions of the body, and
must be met once. So the positions are ordered as they stand: where an event stands at one of them, those in front of it
are read in one version of the state, those behind it in another (`Reading`), and the two versions differ by the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

from tidelog.engine.spark.plans.frames.cut_lineage import cut, release
from tidelog.engine.spark.plans.frames.join_rule import LEVEL, RANK, rule_frame
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.rules.ir import Atom, Negative, Positive, Rule, Stratum, Variable

SMALL_DELTA = 20_000
"""Events of at most this many rows are sent to every task, which spares the shuffle of what they are joined with."""


@dataclass(frozen=True, slots=True)
class Events:
    """The rows that come or go in a wave, of which there are at most `count`."""

    rows: Any
    count: int


class Reading(Protocol):
    """What one wave reads, in the encoding of frames.

    Of the stratum that is its common frame (`slots`) with a column `_rank`, without an argument; of a relation below it
    its columns. `negated` asks for the rows whose absence a literal needs; its events are those whose absence ends, or
    begins.
    """

    @property
    def below(self) -> Mapping[str, RelationVersions]:
        """The relations below the stratum."""

    @property
    def inside_rows(self) -> int:
        """About how many rows the stratum has."""

    @property
    def steady(self) -> str | None:
        """A name for what is read below the stratum if that has no events: whoever has the same name reads the same."""

    def inside_events(self) -> Events | None:
        """The rows of the stratum that come or go in this wave; None where there are none."""

    def inside_front(self) -> Any:
        """What a literal reads of the stratum that stands in front of the event."""

    def inside_behind(self) -> Any:
        """What a literal reads of the stratum that stands behind the event."""

    def events(self, relation: str, negated: bool) -> Events | None:
        """The rows of a relation below that come or go in this wave; None where there are none."""

    def front(self, relation: str, negated: bool) -> Any:
        """What a literal reads of a relation below that stands in front of the event."""

    def behind(self, relation: str, negated: bool) -> Any:
        """What a literal reads of a relation below that stands behind the event."""


class Finder(Protocol):
    """A way to find the rule instances of a stratum."""

    def met(self, reading: Reading, by_event: Sequence[Rule], entire: Sequence[Rule] = ()) -> Any:
        """The heads, in the common frame with their levels, of the instances of some rules in which an event of the
        wave stands, and of all instances of others: those of a rule that comes or goes itself, and of a Bootstrap's
        first wave. What these read is what stands in front of an event."""

    def arrange(self, below: Mapping[str, RelationVersions]) -> Mapping[str, RelationVersions]:
        """The relations below, read once for all rounds of a Bootstrap."""

    def release(self) -> None:
        """Lets go of what Spark keeps for it."""


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
        return together(parts, self._packed)

    def arrange(self, below: Mapping[str, RelationVersions]) -> Mapping[str, RelationVersions]:
        """Their rows are then where the stratum's own rows look for them."""
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
        """The rule once for each position at which an event may stand: there it is joined, even where it is negated."""
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
            return (reading.front if is_front else reading.behind)(atom.relation, negated)
        rows = reading.inside_front() if is_front else reading.inside_behind()
        return self._packed.unpack(rows, atom.relation, [RANK])

    def _heads(self, rule: Rule, frames: dict[int, Any], delta: int | None = None, is_small: bool = False) -> Any:
        own = self._stratum.relations
        ranked = [place for place, atom, negated in positions_of(rule) if atom.relation in own and not negated]
        functions = self._packed.functions
        heads = rule_frame(self._spark, rule, frames, delta, ", ".join(own), ranked, is_small, functions=functions)
        return self._packed.pack(heads, rule.head.relation, [LEVEL])


def positions_of(rule: Rule) -> list[tuple[int, Atom, bool]]:
    """The literals that read a relation: place in the body, atom, whether it is negated."""
    return [
        (place, literal.atom, isinstance(literal, Negative))
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive | Negative)
    ]


def together(parts: Sequence[Any], packed: PackedRows) -> Any:
    """All heads in one frame."""
    if not parts:
        return packed.empty([LEVEL])
    return reduce(lambda left, right: left.unionByName(right), parts)


def _probed(stratum: Stratum, relation: str) -> tuple[int, ...]:
    """The columns by which rules look rows of a relation below up, from rows of the stratum; the first such rule's."""
    for rule in stratum.rules:
        inside = {term for atom in rule.positives if atom.relation in stratum.relations for term in atom.terms}
        for atom in rule.positives:
            columns = tuple(i for i, term in enumerate(atom.terms) if isinstance(term, Variable) and term in inside)
            if atom.relation == relation and columns:
                return columns
    return ()
