"""The interpreter of the dynamic Datalog paper as a circuit over words: changes of facts or rules → rule instances.

    facts ── index ──────────┐
                             product ── rewrites ──┬── ground ── instances
    directions ── gatekeep ──┘                     │
                      └────────────────────────────┘

A rewrite Σ stands at a prefix of a body (`rule_rows`). *Gatekeep* joins rewrites with the directions that lead on from
their prefix, *product* joins those with facts that match, *ground* joins rewrites at the end of a body with heads. All
rules take each step together, so a change takes as many joins as the longest body has literals, whatever the number of
rules.

Every operator is linear or bilinear, so a change of facts propagates as a delta, with two traces as the only state: the
rewrites that wait in front of a literal (`lefts`), and the facts by the orders in which they are looked up (`facts`,
figure 3). Instances are not stored, nor are rewrites that only wait to be grounded: when a rule with a known body is
added or removed, they are derived again. Negation is bilinear too: all rewrites, less those that meet a row.

Within a call, facts are only inserted (rows of negated literals only deleted), or the other way round. So all instances
have one sign, once those of a negated literal are summed, and no expression is evaluated for a rewrite of weight 0.

The paper has time inside an epoch as well; this circuit has none: recursion is handled by ranks (`stratum`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.dbsp.row_hashes import Hashes, Words, consolidate, hash_on, hash_rows, hash_start, places_of, run_of
from tidelog.dbsp.trace import Trace
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.python_step import evaluate
from tidelog.engine.local.kernels.layout import INSTANCE_EXTRA
from tidelog.engine.local.strategies.circuit.kernel import ground, product
from tidelog.engine.local.strategies.circuit.rule_arrays import Flags, RuleArrays
from tidelog.engine.local.strategies.circuit.rule_rows import Order, RuleRows
from tidelog.engine.rule_rows import ROOT
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.maintain.limits import paced
from tidelog.rules.ir import Rule
from tidelog.types import Type

PAIRS = 1 << 16
"""The number of pairs of a rewrite and a fact that are matched at once."""


@dataclass(frozen=True, slots=True)
class FactDelta:
    """Inserted or deleted facts: `rows` are relation (`rule_arrays.code_of`), rank (0 if negated), columns."""

    rows: Words
    weights: Words


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Rewrites at prefixes: `rows` are prefix, level (the highest rank of a fact so far), Σ."""

    rows: Words
    weights: Words


@dataclass(frozen=True, slots=True)
class Instances:
    """Inserted or (`sign` is -1) deleted instances of one relation, for its store; and how many of each rule."""

    relation: int
    sign: int
    out: Words
    rules: list[tuple[Rule, int]]


@dataclass(frozen=True, slots=True)
class Fresh:
    """Restricts an operator to new directions and signals."""

    directions: Flags
    signals: Flags


FactsOf = Callable[[Order], Words]
"""Returns the rows (rank, columns) of a relation that are present when a rule is added."""
_Pending = list[list[Rewrites]]


class Circuit:
    """The circuit. `state` and `restore`: a change is rolled back by restoring the state before it.

    `look` is called again and again while the circuit works, and may raise.
    """

    def __init__(self, rule_rows: RuleRows, values: Values, look: Callable[[], None]) -> None:
        self._values = values
        self._look = look
        self._rule_rows = rule_rows
        self._tables = RuleArrays(rule_rows)
        self._lefts = Trace.empty(2 + self._tables.slots)
        self._facts = Trace.empty(2 + self._tables.columns)
        self.running: Rule | None = None

    def state(self) -> tuple[RuleRows, RuleArrays, Trace, Trace]:
        return self._rule_rows, self._tables, self._lefts, self._facts

    def restore(self, state: tuple[RuleRows, RuleArrays, Trace, Trace]) -> None:
        self._rule_rows, self._tables, self._lefts, self._facts = state

    def succeed(self, numbers: Mapping[str, int], functions: CompiledFunctions, look: Callable[[], None]) -> Circuit:
        """Returns a circuit that continues from here, for a program with other rules; this one does not change."""
        other = Circuit(self._rule_rows.copy(numbers, functions), self._values, look)
        other._lefts, other._facts = self._lefts, self._facts
        return other

    def bytes(self) -> int:
        return self._lefts.bytes() + self._facts.bytes()

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields the words of rewrites that expressions made, by their types: they need not be in any row."""
        if not any(walk.made for walk in self._rule_rows.walks.values()):
            return
        rows, _ = self._lefts.everything()
        for walk in self._rule_rows.walks.values():
            for direction, slot, type_ in walk.made:
                behind = walk.prefixes[walk.prefixes.index(direction + 1) :]
                waiting = self._tables.out[np.isin(self._tables.out_origins, behind)]
                yield type_, rows[np.isin(rows[:, 0], waiting), 2 + slot]

    # Changes

    def change(self, facts: FactDelta) -> Iterator[Instances]:
        """Yields the instances that these facts insert or delete."""
        pending = self._nothing_pending()
        keys, indexed, weights = self._index(facts)
        for rewrites in self._product(keys, self._lefts, indexed, weights, facts_lie=False):
            yield from self._deliver(rewrites, pending, None)
        self._facts = self._facts.add(keys, indexed, weights)
        yield from self._flow(pending, None)

    def add_rules(self, rules: Sequence[Rule], facts_of: FactsOf) -> Iterator[Instances]:
        """Yields the instances of added rules over the present facts."""
        rule_rows = self._rule_rows.copy()
        known = {signal.rule.id for signal in rule_rows.signals}
        directions: list[int] = []
        orders: list[Order] = []
        starts: set[int] = set()
        for rule in rules:
            walk, fresh, wanted = rule_rows.add(rule)
            directions += fresh
            orders += wanted
            # Rewrites at the last prefix that was known before are where the new part of the rule begins.
            new = {number + 1 for number in directions}
            starts.add(next((each for each in reversed(walk.prefixes) if each not in new), ROOT))
        begin = [self._rewrites_at(prefix) for prefix in sorted(starts)]
        self._exchange(rule_rows)
        for order in orders:
            self._load(order, facts_of(order))
        tables = self._tables
        is_fresh = np.zeros(len(tables.order), dtype=np.bool_)
        is_fresh[directions] = True
        signals = np.array([rule.id not in known for rule in tables.rules], dtype=np.bool_)
        pending = self._nothing_pending()
        for rewrites in begin:
            self._put(self._widened(rewrites), pending)
        yield from self._flow(pending, Fresh(is_fresh, signals))

    def remove_rules(self, rules: Sequence[Rule]) -> Iterator[Instances]:
        """Yields the instances of removed rules, with negative weights."""
        removed = {rule.id for rule in rules}
        signals = np.array([rule.id in removed for rule in self._tables.rules], dtype=np.bool_)
        only = Fresh(np.zeros(len(self._tables.order), dtype=np.bool_), signals)
        for prefix in sorted(set(self._tables.signal_prefixes[signals].tolist())):
            there = self._rewrites_at(prefix)
            yield from self._ground(Rewrites(there.rows, -there.weights), only)
        rule_rows = self._rule_rows.copy()
        for rule in rules:
            directions, orders = rule_rows.remove(rule)
            self._lefts = self._lefts.without(0, np.array(directions, dtype=np.int64))
            self._facts = self._facts.without(0, np.array(orders, dtype=np.int64))
        self._exchange(rule_rows)

    # Operators

    def _index(self, facts: FactDelta) -> tuple[Hashes, Words, Words]:
        """Returns each fact by every order of its relation: the hash of the key; order, rank, columns; the weight."""
        tables = self._tables
        which, place = places_of(tables.order_relations, facts.rows[:, 0])
        orders = tables.by_relation[place]
        rows = _fitted(facts.rows[which], 2 + tables.columns)
        rows[:, 0] = orders
        return self._fact_keys(rows), rows, facts.weights[which]

    def _gatekeep(self, rewrites: Rewrites, fresh: Fresh | None) -> tuple[Words, Rewrites]:
        """Returns each rewrite with every direction that leads on from its prefix."""
        tables = self._tables
        which, place = places_of(tables.out_origins, rewrites.rows[:, 0])
        directions = tables.out[place]
        if fresh is not None:
            kept = np.flatnonzero(fresh.directions[directions])
            which, directions = which[kept], directions[kept]
        return directions, Rewrites(rewrites.rows[which], rewrites.weights[which])

    def _product(
        self, keys: Hashes, trace: Trace, rows: Words, weights: Words, *, facts_lie: bool
    ) -> Iterator[Rewrites]:
        """Joins waiting rewrites and facts, one of which lies in a trace; yields the rewrites that go on.

        `rows` and `weights` are the other side, and `keys` the hashes to look its partners up by.
        """
        tables = self._tables
        shape = tables.order, tables.sign, tables.constants, tables.must, tables.binds
        for batch in trace.batches:
            starts, ends = run_of(batch.marks, keys)
            for part in _parts(ends - starts):
                lying, probing = (batch.rows, batch.weights), (rows[part], weights[part])
                lefts, facts = (probing, lying) if facts_lie else (lying, probing)
                self._look()
                pairs = int((ends[part] - starts[part]).sum())
                out = np.empty((pairs, 2 + tables.slots), dtype=np.int64)
                own = np.empty(pairs, dtype=np.int64)
                count = product(*lefts, *facts, int(facts_lie), starts[part], ends[part], *shape, out, own)
                if count:
                    yield Rewrites(out[:count], own[:count])

    def _ground(self, rewrites: Rewrites, fresh: Fresh | None) -> Iterator[Instances]:
        """Yields the instances of rewrites at the end of a body."""
        tables = self._tables
        which, signals = places_of(tables.signal_prefixes, rewrites.rows[:, 0])
        if fresh is not None:
            kept = np.flatnonzero(fresh.signals[signals])
            which, signals = which[kept], signals[kept]
        times = np.abs(rewrites.weights[which])
        if not (times == 1).all():
            which, signals = np.repeat(which, times), np.repeat(signals, times)
        heads = tables.heads[signals]
        for relation in np.unique(heads).tolist():
            own = slice(None) if tables.has_one_head else np.flatnonzero(heads == relation)
            columns = len(tables.rules[int(signals[own][0])].head.terms)
            out = np.empty((len(signals[own]), columns + INSTANCE_EXTRA), dtype=np.int64)
            ground(rewrites.rows, which[own], signals[own], tables.head_terms, tables.head_constants, out)
            counts = enumerate(np.bincount(signals[own]).tolist())
            rules = [(tables.rules[signal], count) for signal, count in counts if count]
            yield Instances(relation, 1 if rewrites.weights[0] > 0 else -1, out, rules)

    # The way of a delta

    def _flow(self, pending: _Pending, fresh: Fresh | None) -> Iterator[Instances]:
        """Moves rewrites on, literal by literal, until all have been grounded or wait for facts."""
        for depth in range(len(pending)):
            waiting, pending[depth] = pending[depth], []
            if waiting:
                rewrites = self._consolidated(waiting)
                yield from self._ground(rewrites, fresh)
                yield from self._go_on(rewrites, pending, fresh)

    def _go_on(self, rewrites: Rewrites, pending: _Pending, fresh: Fresh | None) -> Iterator[Instances]:
        tables = self._tables
        directions, candidates = self._gatekeep(rewrites, fresh)
        is_computed = tables.order[directions] < 0
        for direction in np.unique(directions[is_computed]).tolist():
            own = np.flatnonzero(directions == direction)
            self._put(self._compute(direction, candidates.rows[own], candidates.weights[own]), pending)
        if is_computed.any():
            kept = np.flatnonzero(~is_computed)
            directions, candidates = directions[kept], Rewrites(candidates.rows[kept], candidates.weights[kept])
        if not len(directions):
            return
        passing = np.flatnonzero(tables.sign[directions] < 0)
        if len(passing):
            rows = candidates.rows[passing]
            rows[:, 0] = directions[passing] + 1
            self._put(Rewrites(rows, candidates.weights[passing]), pending)
        lefts, weights = candidates.rows.copy(), candidates.weights
        lefts[:, 0] = directions
        keys = self._left_keys(lefts)
        self._lefts = self._lefts.add(keys, lefts, weights)
        for found in self._product(keys, self._facts, lefts, weights, facts_lie=True):
            yield from self._deliver(found, pending, fresh)

    def _compute(self, direction: int, rows: Words, weights: Words) -> Rewrites:
        """Returns the rewrites that go on through a direction that Python evaluates."""
        tables = self._tables
        step = tables.computed[direction]
        self._look()
        walks = self._rule_rows.walks.values()
        self.running = next(walk.signal.rule for walk in walks if direction + 1 in walk.prefixes)
        given = np.concatenate([rows[:, 2:], rows[:, 1:2], weights[:, None]], axis=1)
        parts = [*evaluate(step, given, self._values, paced(self._look))]
        self.running = None
        if not parts:
            return Rewrites(np.empty((0, 2 + tables.slots), dtype=np.int64), np.empty(0, dtype=np.int64))
        found = np.concatenate(parts)
        made = found.shape[1] - tables.slots - 2
        first = int(tables.first_slots[direction])
        after = np.empty((len(found), 2 + tables.slots), dtype=np.int64)
        after[:, 0] = direction + 1
        after[:, 1] = found[:, tables.slots]
        after[:, 2:] = found[:, : tables.slots]
        after[:, 2 + first : 2 + first + made] = found[:, tables.slots + 1 : -1]
        return Rewrites(after, found[:, -1].copy())

    def _deliver(self, rewrites: Rewrites, pending: _Pending, fresh: Fresh | None) -> Iterator[Instances]:
        """Grounds the rewrites that have no other direction at once; the rest is pending."""
        is_final = self._tables.is_final[rewrites.rows[:, 0]]
        if is_final.all():
            yield from self._ground(rewrites, fresh)
            return
        if is_final.any():
            yield from self._ground(Rewrites(rewrites.rows[is_final], rewrites.weights[is_final]), fresh)
            rewrites = Rewrites(rewrites.rows[~is_final], rewrites.weights[~is_final])
        self._put(rewrites, pending)

    def _put(self, rewrites: Rewrites, pending: _Pending) -> None:
        depths = self._tables.depths[rewrites.rows[:, 0]]
        for depth in np.unique(depths).tolist():
            own = depths == depth
            pending[depth].append(Rewrites(rewrites.rows[own], rewrites.weights[own]))

    def _consolidated(self, parts: Sequence[Rewrites]) -> Rewrites:
        """Returns all rewrites; weights that a negated literal has made cancel are summed."""
        rows = np.concatenate([each.rows for each in parts])
        weights = np.concatenate([each.weights for each in parts])
        if self._tables.is_mixed[rows[:, 0]].any():
            _, rows, weights = consolidate(hash_rows(rows), rows, weights)
        return Rewrites(rows, weights)

    def _nothing_pending(self) -> _Pending:
        return [[] for _ in range(self._tables.deepest + 1)]

    # Rules

    def _rewrites_at(self, prefix: int) -> Rewrites:
        """Returns all rewrites at a prefix: those that wait there, or else those derived from the prefix before it."""
        tables = self._tables
        if prefix == ROOT:
            return Rewrites(np.zeros((1, 2 + tables.slots), dtype=np.int64), np.ones(1, dtype=np.int64))
        waiting = [each for each in tables.out[tables.out_origins == prefix].tolist() if tables.order[each] >= 0]
        if waiting:
            rows, weights = self._lefts.everything()
            own = np.flatnonzero(rows[:, 0] == waiting[0])
            rows = rows[own]
            rows[:, 0] = prefix
            return Rewrites(rows, weights[own])
        direction = prefix - 1
        origin = int(tables.out_origins[tables.out == direction][0])
        before = self._rewrites_at(origin)
        if tables.order[direction] < 0:
            return self._compute(direction, before.rows, before.weights)
        lefts = before.rows.copy()
        lefts[:, 0] = direction
        parts = [Rewrites(np.empty((0, 2 + tables.slots), dtype=np.int64), np.empty(0, dtype=np.int64))]
        if tables.sign[direction] < 0:
            rows = before.rows.copy()
            rows[:, 0] = prefix
            parts.append(Rewrites(rows, before.weights))
        keys = self._left_keys(lefts)
        parts += self._product(keys, self._facts, lefts, before.weights, facts_lie=True)
        return self._consolidated(parts)

    def _exchange(self, rule_rows: RuleRows) -> None:
        """Replaces the rule rows; rewrites and facts get the width of the new ones."""
        before = self._tables
        self._rule_rows = rule_rows
        self._tables = RuleArrays(rule_rows)
        tables = self._tables
        if tables.slots != before.slots:
            rows, weights = self._lefts.everything()
            rows = _fitted(rows, 2 + tables.slots)
            self._lefts = Trace.empty(2 + tables.slots).add(self._left_keys(rows), rows, weights)
        if tables.columns != before.columns:
            rows, weights = self._facts.everything()
            rows = _fitted(rows, 2 + tables.columns)
            self._facts = Trace.empty(2 + tables.columns).add(self._fact_keys(rows), rows, weights)

    def _load(self, order: Order, found: Words) -> None:
        """Indexes the present facts by a new order."""
        rows = np.zeros((len(found), 2 + self._tables.columns), dtype=np.int64)
        rows[:, 0] = self._rule_rows.orders.of[order]
        rows[:, 1 : 1 + found.shape[1]] = found
        self._facts = self._facts.add(self._fact_keys(rows), rows, np.ones(len(rows), dtype=np.int64))

    def _widened(self, rewrites: Rewrites) -> Rewrites:
        return Rewrites(_fitted(rewrites.rows, 2 + self._tables.slots), rewrites.weights)

    # Keys

    def _left_keys(self, lefts: Words) -> Hashes:
        """Returns the hashes that rewrites look up: the order, and the words that its columns must have."""
        tables = self._tables
        directions = lefts[:, 0]
        orders = tables.order[directions]
        sources = np.concatenate([lefts[:, 2:], tables.constants[directions]], axis=1)
        return self._hashed(orders, sources, tables.keys[directions])

    def _fact_keys(self, facts: Words) -> Hashes:
        orders = facts[:, 0]
        return self._hashed(orders, facts[:, 2:], self._tables.order_columns[orders])

    def _hashed(self, orders: Words, sources: Words, places: Words) -> Hashes:
        hashes = hash_on(hash_start(len(orders)), np.ascontiguousarray(orders))
        lengths = self._tables.order_keys[orders]
        for place in range(int(lengths.max(initial=0))):
            words = np.take_along_axis(sources, places[:, place : place + 1], axis=1)[:, 0]
            hashes = np.where(place < lengths, hash_on(hashes, words), hashes)
        return hashes


def _parts(lengths: npt.NDArray[np.intp]) -> Iterator[slice]:
    """Yields slices of runs with about PAIRS places each, the first of them with any."""
    ends = np.cumsum(lengths)
    start, total = 0, int(ends[-1]) if len(ends) else 0
    done = 0
    while done < total:
        end = max(int(np.searchsorted(ends, done + PAIRS, side="right")), start + 1)
        yield slice(start, end)
        start, done = end, int(ends[end - 1])


def _fitted(rows: Words, width: int) -> Words:
    """Returns the rows with this width: padded with zeros, or without their last columns, which are zeros."""
    fitted = np.zeros((len(rows), width), dtype=np.int64)
    common = min(width, rows.shape[1])
    fitted[:, :common] = rows[:, :common]
    return fitted
