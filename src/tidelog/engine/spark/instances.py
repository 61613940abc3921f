"""Rules and what a wave reads → the heads of the instances that the wave meets, each once, with their levels.

A wave has events: rows that come or go. An instance may hold several of them, at several positions of the body, and
must be met once. So the positions are ordered as they stand: where an event stands at one of them, those in front of it
are read in one version of the state, those behind it in another (`Reading`), and the two versions differ by the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

from tidelog.engine.spark.body import LEVEL, rule_frame
from tidelog.engine.spark.slots import Slots
from tidelog.rules.ir import Atom, Negative, Positive, Rule, Stratum

SMALL_DELTA = 20_000
"""Events of at most this many rows are sent to every task, which spares the shuffle of what they are joined with."""


@dataclass(frozen=True, slots=True)
class Events:
    """The rows that come or go in a wave, of which there are at most `count`."""

    rows: Any
    count: int


class Reading(Protocol):
    """What one wave reads of each relation, in the encoding of frames; those of the stratum have a column `_rank`.

    `negated` asks for the rows whose absence a literal needs; its events are those whose absence ends, or begins.
    """

    def events(self, relation: str, negated: bool) -> Events | None:
        """The rows that come or go in this wave; None where there are none."""

    def front(self, relation: str, negated: bool) -> Any:
        """What a literal reads that stands in front of the event."""

    def behind(self, relation: str, negated: bool) -> Any:
        """What a literal reads that stands behind the event."""


def met_by_rules(spark: Any, stratum: Stratum, slots: Slots, reading: Reading) -> Any:
    """The heads of all instances of the rules that read nothing of the stratum: a Bootstrap's first wave."""
    parts = []
    for rule in stratum.rules:
        if any(atom.relation in stratum.relations for atom in rule.positives):
            continue
        frames = {place: reading.front(atom.relation, negated) for place, atom, negated in _positions(rule)}
        parts.append(_heads(spark, stratum, slots, rule, frames))
    return _together(parts, slots)


def met_by_events(spark: Any, stratum: Stratum, slots: Slots, reading: Reading) -> Any:
    """The heads of all instances in which an event of this wave stands."""
    parts = [
        _heads(spark, stratum, slots, variant, frames, place, count <= SMALL_DELTA)
        for rule in stratum.rules
        for variant, frames, place, count in _variants(rule, reading)
    ]
    return _together(parts, slots)


def _variants(rule: Rule, reading: Reading) -> Iterator[tuple[Rule, dict[int, Any], int, int]]:
    """The rule once for each position at which an event may stand: there it is joined, even where it is negated."""
    positions = _positions(rule)
    for at, atom, negated in positions:
        events = reading.events(atom.relation, negated)
        if events is None:
            continue
        frames = {at: events.rows}
        for place, other, other_negated in positions:
            if place != at:
                read = reading.front if place < at else reading.behind
                frames[place] = read(other.relation, other_negated)
        body = (*rule.body[:at], Positive(atom), *rule.body[at + 1 :])
        yield replace(rule, body=body), frames, at, events.count


def _positions(rule: Rule) -> list[tuple[int, Atom, bool]]:
    """The literals that read a relation: place in the body, atom, whether it is negated."""
    return [
        (place, literal.atom, isinstance(literal, Negative))
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive | Negative)
    ]


def _heads(
    spark: Any,
    stratum: Stratum,
    slots: Slots,
    rule: Rule,
    frames: dict[int, Any],
    delta: int | None = None,
    is_small: bool = False,
) -> Any:
    ranked = [place for place, atom, negated in _positions(rule) if atom.relation in stratum.relations and not negated]
    heads = rule_frame(
        spark, rule, frames, delta, ", ".join(stratum.relations), ranked, is_small, functions=slots.functions
    )
    return slots.placed(heads, rule.head.relation, [LEVEL])


def _together(parts: Sequence[Any], slots: Slots) -> Any:
    if not parts:
        return slots.nothing([LEVEL])
    return reduce(lambda left, right: left.unionByName(right), parts)
