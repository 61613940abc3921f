"""An engine's explanation of a row: its derivation, or the literal at which each rule that could derive it fails.

A proof is a list of rows, each once, that refer to one another by number: a tree in which equal branches are shared,
and which may be thousands of steps high. Values are in their Python form; `database.explain` formats them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tidelog.rules.ir import Rule

Row = tuple[Any, ...]

SHOWN_CONTRIBUTIONS = 5
"""Most members of an aggregate over rows that a proof has."""


class Origin(Enum):
    """Why a row is present."""

    INPUT = "input"  # a transaction inserted it
    FACT = "fact"  # it stands in the program's text
    RULE = "rule"  # a rule derives it
    GROUP = "group"  # it groups the rows that it rests on
    TRANSFORMER = "transformer"  # a transformer made it: nobody can look inside
    DELAYED = "delayed"  # it was a row of its source some epochs ago
    STREAM = "stream"  # the stream brought it in this epoch
    CIRCLE = "circle"  # it only supports itself: recursion with groups reached a fixpoint that contains it


@dataclass(frozen=True, slots=True)
class Proved:
    """A row of a proof. `rows` are the numbers of the rows that it rests on, each with the place of its literal in the
    rule's body (0 for the members of a group); `values` are those of the rule's variables.

    `derivations` counts the rule instances that derive it now, if the state knows. An aggregate over rows has only its
    largest contributions among `rows`, and a least or greatest value inside recursion the members that decide it;
    `members` is the number of all. `is_past`: a round of the recursion had the row, and a later one has another value.
    """

    relation: str
    row: Row
    origin: Origin
    rule: Rule | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[tuple[int, int], ...] = ()
    weight: int = 1
    derivations: int | None = None
    members: int | None = None
    is_past: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """`rows[0]` is the proved row. `is_shortest`: it is known that no proof is lower."""

    rows: tuple[Proved, ...]
    is_shortest: bool


@dataclass(frozen=True, slots=True)
class FailedMatch:
    """How far one rule matches for an absent row.

    `fits` is false if the head cannot become the row. `place` is the literal of the body that no binding gets past,
    `done` the places of those that the best binding got past, and `values` that binding. `instead` has the computed
    value where the row needs another one. If the literal stands for an earlier part of the rule (before a `group_by` or
    an `Inspect`), `inner` says how far that part matches. Without a `place` the rule does derive the row, and other
    weights cancel it. `is_sure`: all bindings were tried. `below` says why there is no row for the literal, if rules
    could derive one; `present` is a proof of the row that a negated literal meets.
    """

    rule: Rule
    fits: bool
    place: int | None = None
    done: tuple[int, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[str, Any] = field(default_factory=dict)
    inner: FailedMatch | None = None
    is_sure: bool = True
    below: Absence | None = None
    present: Proof | None = None


class Cut(Enum):
    """Why an explanation of missing rows goes no further."""

    DEPTH = "depth"  # it is as deep as was asked for
    AGAIN = "again"  # the same rows are missing further up
    ENOUGH = "enough"  # it has as many parts as one can read


@dataclass(frozen=True, slots=True)
class Absence:
    """Rows that are missing: those of a relation with these values in some columns. Each rule says how far it matches,
    unless the explanation is cut here."""

    relation: str
    columns: Mapping[int, Any]
    attempts: tuple[FailedMatch, ...] = ()
    cut: Cut | None = None
