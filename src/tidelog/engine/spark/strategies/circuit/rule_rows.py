"""Rules → rows that the circuit of the dynamic Datalog paper joins with facts, here for DataFrames (`finder`).

A rule is walked once for each position at which an event may stand: the event first, then literal by literal, those in
front of it in one version of the state, those behind it in another (`delta_joins`). A *prefix* is an interned number
for the literals walked so far; walks that begin alike share it. A *rewrite* stands at a prefix and has a word for each
variable bound so far (`engine/rule_rows`). The rows are, with the depth in the body at which they are used,

    direction   origin, target      prefix → next prefix, through the facts of an order, or their absence
                number, y…, k…      the order, and the words of its key: from the rewrite, or constants
                b…                  for each word of the rewrite the column of the fact that it comes from
    order       number, code, side  the facts of a relation in a version of the state ...
                y…, x…, z…          ... by the words in some columns, where other columns are equal in pairs
    signal      origin, target      last prefix → relation of the head
                y…, k…              the words of the head: from the rewrite, or constants

    T(x, z) :- E(x, y), T(y, z).      an event of T:  0 → 1 by T as (), binding y and z    1 → 2 by E as (1), binding x

Conditions, assignments and patterns are no rows: Python runs them for the rewrites at a prefix (`Step`). A rewrite at
the end of a body waits there until all are (`PASS`), so every wave has the same joins for all rules.

Differs from the rule rows of the local engine: nothing waits in front of a literal from one wave to the next, so walks
begin at the event, and weights are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pyarrow as pa

from tidelog.engine.rule_rows import ROOT, BodyWalk, Compute, Field, Slot, Word
from tidelog.engine.spark.plans.frames.join_rule import literal_order
from tidelog.engine.spark.plans.frames.python_step import RulePlace
from tidelog.engine.spark.strategies.circuit.words import Words
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Negative, Positive, Rule
from tidelog.types import Type

UNIT = 0
"""The order of the unit facts, by which any rewrite passes."""


class Side(IntEnum):
    """The version of the state that a literal reads."""

    FRONT = 1
    BEHIND = 2
    EVENT = 4


class Kind(IntEnum):
    """The way a direction leads on: for all rewrites, for each fact that fits, or where there is none."""

    PASS = 0
    JOIN = 1
    ANTI = 2


class Row(IntEnum):
    """The kind of a row."""

    DIRECTION = 0
    ORDER = 1
    SIGNAL = 2


@dataclass(frozen=True, slots=True)
class Walk:
    """A rule, the place of its literal at which the event stands (None: all instances), and the relations that differ
    in front of the event and behind it."""

    rule: Rule
    event: int | None
    split: frozenset[str] = frozenset()

    def side(self, place: int, relation: str) -> Side:
        if place == self.event:
            return Side.EVENT
        is_behind = self.event is not None and place > self.event
        return Side.BEHIND if is_behind and relation in self.split else Side.FRONT


@dataclass(frozen=True, slots=True)
class Order:
    """Facts of a relation in a version, by some columns, with pairs of columns that must be equal."""

    relation: str
    negated: bool
    side: Side
    columns: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An expression that Python evaluates for rewrites, and the rule that it is in."""

    compute: Compute
    place: RulePlace


@dataclass(slots=True)
class _Layer:
    """One literal of a walk that reads facts (or a unit), and the steps of Python behind it."""

    kind: Kind
    order: Order | None = None
    keys: tuple[Slot | Word, ...] = ()
    binds: tuple[tuple[int, int], ...] = ()
    steps: list[Step] = field(default_factory=list)


class RuleRows:
    """The rows of some walks. `codes` numbers the relations; `stratum` is for errors."""

    def __init__(
        self,
        walks: Sequence[Walk],
        codes: Mapping[str, int],
        words: Words,
        functions: CompiledFunctions,
        stratum: str = "",
    ) -> None:
        self._codes = codes
        self._words = words
        self._functions = functions
        self._stratum = stratum
        self._prefixes: dict[object, int] = {}
        self._layers: dict[int, tuple[int, int, _Layer]] = {}  # by target: depth, origin
        self._numbers: dict[tuple[int, Kind, Order], int] = {}
        self._signals: list[tuple[int, str, tuple[Slot | Word, ...]]] = []
        self._ends: dict[int, int] = {}  # last prefix → the layers that lead there
        self.steps: dict[int, dict[int, tuple[Step, ...]]] = {}
        """Steps of Python, by depth and prefix."""
        self.slots = self.columns = self.keys = 1
        """The words of the longest rewrite, of the widest fact and of the longest key."""
        for walk in walks:
            self._add(walk)
        self.depth = max(self._ends.values(), default=0)
        """The joins that a wave takes, whatever the number of walks."""
        self.terms = max([self.keys, *(len(terms) for _, _, terms in self._signals)])
        self.pairs = max((len(order.equal) for _, _, order in self._numbers), default=0)
        """The words of the widest head or key, and the most pairs of columns that an order compares."""

    def reads(self, depth: int, kind: Kind) -> set[tuple[str, bool, Side]]:
        """Returns the relations that are read at a depth, each with whether its absence is read, and the version."""
        orders = (order for at, how, order in self._numbers if (at, how) == (depth, kind))
        return {(order.relation, order.negated, order.side) for order in orders}

    def has(self, depth: int, kind: Kind) -> bool:
        """True if there are directions of a kind at a depth."""
        if kind is Kind.PASS and any(layers <= depth for layers in self._ends.values()):
            return True
        return any((at, layer.kind) == (depth, kind) for at, _, layer in self._layers.values())

    def order_count(self, depth: int) -> int:
        return sum(at == depth for at, _, _ in self._numbers)

    def code(self, relation: str, negated: bool) -> int:
        """Returns the number of a relation in facts: rows that say no are those of another relation."""
        return 2 * self._codes[relation] + negated

    def table(self) -> pa.Table:
        """Returns all rows."""
        numbers = ("row", "depth", "kind", "origin", "target", "number", "code", "side")
        counts = {"y": self.terms, "k": self.terms, "b": self.slots, "x": self.pairs, "z": self.pairs}
        names = [name for letter, count in counts.items() for name in names_of(letter, count)]
        keys = names_of("k", self.terms)
        blank = dict.fromkeys(names) | dict.fromkeys(numbers, 0)
        rows = [blank | dict.fromkeys(keys, self._words.filler) | row for row in self._rows()]
        types = dict.fromkeys(keys, self._words.arrow_type)
        schema = pa.schema([(name, types.get(name, pa.int32())) for name in blank])
        return pa.Table.from_pylist(rows, schema=schema)

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for target, (depth, origin, layer) in self._layers.items():
            number = UNIT if layer.order is None else self._numbers[depth, layer.kind, layer.order]
            named = {"row": Row.DIRECTION, "depth": depth, "origin": origin, "target": target, "number": number}
            binds = {f"b{slot}": column for slot, column in layer.binds}
            rows.append({**named, "kind": layer.kind, **_sources(layer.keys), **binds})
        for prefix, layers in self._ends.items():
            named = {"row": Row.DIRECTION, "origin": prefix, "target": prefix, "number": UNIT, "kind": Kind.PASS}
            rows += [{**named, "depth": depth} for depth in range(layers, self.depth)]
        for (depth, kind, order), number in self._numbers.items():
            named = {"row": Row.ORDER, "depth": depth, "kind": kind, "number": number, "side": order.side}
            keys = {f"y{i}": column for i, column in enumerate(order.columns)}
            pairs = {f"{name}{i}": pair[n] for i, pair in enumerate(order.equal) for n, name in enumerate("xz")}
            rows.append({**named, "code": self.code(order.relation, order.negated), **keys, **pairs})
        for prefix, relation, terms in self._signals:
            named = {"row": Row.SIGNAL, "origin": prefix, "target": self._codes[relation]}
            rows.append({**named, **_sources(terms)})
        return rows

    def _add(self, walk: Walk) -> None:
        body = BodyWalk(self._word, self._functions)
        rule_place = RulePlace(walk.rule.text, str(walk.rule.span), self._stratum)
        layers: list[_Layer] = []
        for place in literal_order(walk.rule, walk.event):
            literal = walk.rule.body[place]
            if not layers and not (isinstance(literal, Positive) or place == walk.event):
                layers.append(_Layer(Kind.PASS))
            if isinstance(literal, Positive | Negative):
                layers.append(self._layer(walk, place, literal, body))
            else:
                layers[-1].steps.append(Step(body.compute(literal), rule_place))
        prefix = ROOT
        for depth, layer in enumerate(layers or [_Layer(Kind.PASS)]):
            prefix = self._prefix(depth, prefix, layer)
        self._ends[prefix] = max(len(layers), 1)
        terms = tuple(map(body.source, walk.rule.head.terms))
        self._signals.append((prefix, walk.rule.head.relation, terms))
        self.slots = max(self.slots, len(body))

    def _prefix(self, depth: int, origin: int, layer: _Layer) -> int:
        # Functions are compiled for each rule, so no other rule shares their prefix.
        own = object() if layer.steps else None
        known = (origin, layer.kind, layer.order, layer.keys, layer.binds, own)
        if known not in self._prefixes:
            prefix = self._prefixes[known] = ROOT + 1 + len(self._prefixes)
            self._layers[prefix] = (depth, origin, layer)
            if layer.steps:
                self.steps.setdefault(depth, {})[prefix] = tuple(layer.steps)
            if layer.order is not None:
                self._numbers.setdefault((depth, layer.kind, layer.order), UNIT + 1 + len(self._numbers))
            self.keys = max(self.keys, len(layer.keys))
        return self._prefixes[known]

    def _layer(self, walk: Walk, place: int, literal: Positive | Negative, body: BodyWalk) -> _Layer:
        atom, first_slot = literal.atom, len(body)
        found = body.match(atom)
        negated = isinstance(literal, Negative)
        order = Order(atom.relation, negated, walk.side(place, atom.relation), found.columns, found.equal)
        self.columns = max(self.columns, len(atom.terms))
        kind = Kind.ANTI if negated and place != walk.event else Kind.JOIN
        keys = tuple(source for source in found.must if not isinstance(source, Field))
        return _Layer(kind, order, keys, tuple(enumerate(found.binds, first_slot)))

    def _word(self, value: Any, type_: Type) -> Any:
        (word,) = self._words.of_values([value], type_)
        return word


def names_of(letter: str, count: int) -> list[str]:
    """Returns the names of so many columns of one kind."""
    return [f"{letter}{i}" for i in range(count)]


def _sources(sources: Sequence[Slot | Word]) -> dict[str, Any]:
    found = {}
    for i, source in enumerate(sources):
        if isinstance(source, Slot):
            found[f"y{i}"] = source.number
        else:
            found[f"k{i}"] = source.word
    return found
